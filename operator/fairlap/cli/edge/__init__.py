"""Where the command line meets the world: the cluster, files, the terminal, and another Python.

From outside: all but `transport`.
"""
