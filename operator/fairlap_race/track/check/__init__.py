"""Everything that is wrong or doubtful in a track, with file and line: `step` for a Benchmark, `review` in the child.

The command line has `review` run, too, and reads each `finding` of it; all other modules are its parts.
May be imported by `__main__` and `cli`.
From outside: `finding` and `step`.
"""
