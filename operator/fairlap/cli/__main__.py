"""`python -m fairlap.cli` is `fairlap`."""

import sys

from fairlap.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
