"""The only place where the command line prints what comes from a cluster: it cannot steer the reader's terminal.

A status, a log or a task's name can hold escape sequences, which recolour, overwrite or retitle a terminal, and marks
that reverse the direction of a text. They are shown as JSON writes them, so that JSON stays JSON.
"""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from typing import Final, TextIO

from fairlap.cli.edge.exits import NotWrittenError

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories: controls, formats (the direction of text too), halves of characters, separators of lines."""
_GUARD: Final = "\N{WORD JOINER}"
"""of no width; it neither steers a terminal nor turns the direction of a text"""
_GUARDING: Final = re.compile(f"(?<=[@#]){_GUARD}|(?<=[a-z]){_GUARD}(?=://|\\.)", re.IGNORECASE)
"""where Markdown has it, so that a name becomes no mention and no link: its readers do not know how JSON writes it"""


def printable(text: str) -> str:
    """Return a text of any number of lines with everything invisible shown.

    Line ends and tabs stay, and what guards names in Markdown.
    """
    if text.isascii() and text.isprintable():
        return text
    return _GUARD.join("".join(map(_shown, part)) for part in _GUARDING.split(text))


def one_line(text: str) -> str:
    """Return a text as one line, with its line ends and tabs shown, too, and whatever has no width."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t").replace(_GUARD, json.dumps(_GUARD)[1:-1])


def print_text(text: str, out: TextIO | None = None) -> bool:
    """Print a text and a line end to `out` (None: standard output) at once; return what `write_shown` does."""
    return write_shown(f"{printable(text)}\n", out or sys.stdout)


def write_shown(text: str, out: TextIO | None) -> bool:
    """Write a text that steers a terminal on purpose, or not at all; return whether there was still a reader.

    One that has seen enough, say `head`, makes no exit code another and ends no waiting. None is a closed output.
    Raises NotWrittenError where a disk is full.
    """
    try:
        print(text, file=out, end="", flush=True)
    except OSError as error:
        if out is not None:
            stop_printing(out)
        if not isinstance(error, BrokenPipeError) and out is not sys.stderr:
            raise NotWrittenError(error) from error
        return False
    return True


def stop_printing(out: TextIO) -> None:
    """Let all that is still printed to `out` go nowhere: its reader has seen enough, and Python must not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def _shown(character: str) -> str:
    hidden = character not in "\n\t" and unicodedata.category(character) in _INVISIBLE
    return json.dumps(character)[1:-1] if hidden else character
