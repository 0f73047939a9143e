"""One module a command: each takes what was asked for and returns the exit code.

From outside: all of it.
"""
