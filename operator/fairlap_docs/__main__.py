"""Writes the generated pages: `python -m fairlap_docs docs`."""

import sys
from pathlib import Path

from fairlap_docs.pages import pages


def main(folder: Path) -> None:
    """Write the generated pages into `folder`."""
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
