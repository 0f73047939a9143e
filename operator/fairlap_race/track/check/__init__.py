"""What is wrong or doubtful in a track, with file and line, before a cluster is built for it.

May be imported by the race image's entry point (the step `check`) and by the command line (`fairlap track check`).
"""
