"""What machines did while a race ran, how they are set up, and what follows from samples of both.

Pure.
From outside: all of it.
"""
