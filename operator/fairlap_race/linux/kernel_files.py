"""Small files in which the kernel tells numbers; one that is missing says nothing."""

from __future__ import annotations

from pathlib import Path


def read_text(path: Path) -> str:
    """Return the text without white space around it; empty when the file cannot be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def read_number(path: Path) -> int | None:
    """Return the whole number in a file; None when it holds something else, such as "max"."""
    text = read_text(path)
    return int(text) if text.lstrip("-").isdecimal() else None


def read_pairs(path: Path) -> dict[str, int]:
    """Return name -> number from a file with lines of two words; others are left out."""
    pairs = (line.partition(" ") for line in read_text(path).splitlines())
    return {name: int(value) for name, _, value in pairs if value.isdecimal()}
