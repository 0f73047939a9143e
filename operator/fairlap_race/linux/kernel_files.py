"""Small files in which the kernel tells numbers; one that is missing says nothing, and none is too odd to be read."""

from __future__ import annotations

import re
from pathlib import Path

_WHOLE = re.compile(r"[0-9]{1,20}")
"""As long as the kernel's longest counters, which have 64 bits."""


def read_text(path: Path) -> str:
    """Return the text without white space around it; empty when the file cannot be read.

    A name in it may have any bytes: what is no UTF-8 is replaced.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def whole_number(text: str) -> int | None:
    """Return the number that a text is, 0 or more; None for what is none, or longer than any of the kernel's."""
    return int(text) if _WHOLE.fullmatch(text) else None


def read_number(path: Path) -> int | None:
    """Return the whole number in a file; None when it holds something else, such as "max"."""
    text = read_text(path)
    number = whole_number(text.removeprefix("-"))
    return -number if number is not None and text.startswith("-") else number


def read_pairs(path: Path) -> dict[str, int]:
    """Return name -> number from a file with lines of two words; others are left out."""
    pairs = (line.partition(" ") for line in read_text(path).splitlines())
    return {name: number for name, _, value in pairs if (number := whole_number(value)) is not None}
