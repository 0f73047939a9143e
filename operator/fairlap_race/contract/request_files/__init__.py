"""Requests as the user writes them in a file, and what an answer tells: its hits, and conditions on what is asked.

Pure.
From outside: all of it.
"""
