"""`python -m esbench.cli` is `esbench`."""

import sys

from .main import main

if __name__ == "__main__":
    sys.exit(main())
