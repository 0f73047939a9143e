"""Texts of others in Markdown and CSV: no name becomes a link, a mention, an element or a formula. Pure."""

from __future__ import annotations

import re
from typing import Final

from fairlap.comparison_report.markup import plain

_MARKS: Final = re.compile(r"([\\`*_\[\]<>|~&$])")
_CALLS: Final = re.compile(r"([@#])")
"""begin a mention or a number of an issue, escaped or not; a word joiner behind them ends that"""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def markdown_text(text: str) -> str:
    """Return a text that Markdown shows as it is: no name becomes a link, a mention, a cell or an element."""
    return _CALLS.sub("\\1\N{WORD JOINER}", _MARKS.sub(r"\\\1", " ".join(plain(text).split())))


def csv_cell(text: str) -> str:
    """Return a text that a spreadsheet does not take for a formula."""
    shown = plain(text)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
