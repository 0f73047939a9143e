"""What Linux says of processes and control groups, and how processes are started and ended.

May be imported by the rooms of the race image that run Rally or measure it.
"""
