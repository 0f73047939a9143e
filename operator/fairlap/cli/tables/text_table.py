"""Cells in columns for a terminal or a file; pure, standard library only."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from fairlap.cli.edge.printable import one_line

_GAP = "  "


def align(lines: Sequence[Sequence[str]], left: int | None = None, rule: bool = False) -> str:
    """Return lines of cells in columns as wide as their widest cell, however wide the terminal is.

    All lines have the same number of cells. The first `left` columns (None: all) are flush left, the others flush
    right. With `rule` there are dashes below the first line. Cells show what is invisible.
    """
    if not lines:
        return ""
    lines = [[one_line(cell) for cell in cells] for cells in lines]
    widths = [max(map(columns, column)) for column in zip(*lines, strict=True)]
    shown = [_line(cells, widths, len(widths) if left is None else left) for cells in lines]
    if rule:
        shown.insert(1, _GAP.join("-" * width for width in widths))
    return "\n".join(shown)


def _line(cells: Sequence[str], widths: Sequence[int], left: int) -> str:
    padded = []
    for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        blanks = " " * (width - columns(cell))
        padded.append(cell + blanks if column < left else blanks + cell)
    return _GAP.join(padded).rstrip()


def columns(text: str) -> int:
    """Return how many columns a terminal gives a text: two for a wide one (Unicode's annex 11), none for a mark."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in text)
    return len(text) + wide - sum(unicodedata.category(each) in ("Mn", "Me") for each in text)
