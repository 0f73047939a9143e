"""Texts of others in Markdown and CSV: no name becomes a link, a mention, an element or a formula. Pure."""

from __future__ import annotations

import re
from typing import Final

from fairlap.comparison_report.markup import plain

_MARKS: Final = re.compile(r"([\\`*_\[\]<>|~&$])")
_CALLS: Final = re.compile(r"([@#])")
"""begin a mention or a number of an issue, escaped or not; a word joiner behind them ends that"""
_LINKS: Final = re.compile(r"\b(https?|ftp|www)(?=://|\.)", re.IGNORECASE)
"""begin what many readers of Markdown make a link of by themselves"""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""the full-width signs, too, which some spreadsheets take for the others"""


def markdown_text(text: str) -> str:
    """Return a text that Markdown shows as it is: no name becomes a link, a mention, a cell or an element."""
    marked = _MARKS.sub(r"\\\1", " ".join(plain(text).split()))
    return _LINKS.sub("\\1\N{WORD JOINER}", _CALLS.sub("\\1\N{WORD JOINER}", marked))


def csv_cell(text: str) -> str:
    """Return a text that a spreadsheet does not take for a formula, in one cell."""
    shown = plain(text).replace("\r", "\n")  # which Python's csv writes without quotes: another line would begin there
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
