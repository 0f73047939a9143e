"""What a race is to do: its specification and the parts of it. The operator writes them, the runner reads them.

Pure. What both work out alike from a specification (the next rate of a search) stands beside it.
From outside: all of it.
"""
