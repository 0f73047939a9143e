"""The command line: `esbench`, also as a kubectl plugin (`kubectl esbench`)."""
