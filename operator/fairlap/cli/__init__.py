"""The command line: `fairlap`, also as a kubectl plugin (`kubectl fairlap`)."""
