"""What a race left behind: its record, part by part, and what follows from one alike for runner and operator.

Pure.
From outside: all of it.
"""
