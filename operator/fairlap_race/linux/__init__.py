"""What the kernel says of this container and its processes, and how processes are started and ended.

May be imported by `elasticsearch`, `track`, `runner` and `__main__`.
From outside: all but `kernel_files` and `pressure`.
"""
