"""The lines of a container's log that say why it ended."""

import re

_FRAME = re.compile(r"^\s*(at |\.\.\. \d+ more|Suppressed:)")
_WORDS = re.compile(r"error|exception|fatal|fail|unknown|invalid|denied|cannot|exit", re.IGNORECASE)
_LINE_LENGTH = 500
_LINES = 12


def telling_lines(log: str) -> str:
    """Return the last lines that name a cause, without stack frames; the plain end of the log when none does."""
    lines = [line[:_LINE_LENGTH] for line in log.splitlines() if line.strip() and not _FRAME.match(line)]
    naming = [line for line in lines if _WORDS.search(line)]
    return "\n".join((naming or lines)[-_LINES:])
