"""The command line: `fairlap`, also as a kubectl plugin (`kubectl fairlap`).

Not a part of the operator: no other room may import it; pyproject.toml starts its `main`.
From outside: nothing.
"""
