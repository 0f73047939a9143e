"""What the kernel says of this container and its processes, and how processes are started and ended.

May be imported by the rooms of the race image that start processes or measure.
"""
