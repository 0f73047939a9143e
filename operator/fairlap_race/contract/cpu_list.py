"""Lists of processors as the kernel writes them, like 0-3,8 (the format of cpuset(7))."""

import re
from typing import Final

_LIST: Final = re.compile(r"\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*")


def count_of(listed: str) -> int | None:
    """Return how many numbers a list like 0-1,4 has; None for what is no such list."""
    if not _LIST.fullmatch(listed):
        return None
    ends = [part.split("-") for part in listed.split(",")]
    return sum(max(0, int(each[-1]) - int(each[0]) + 1) for each in ends)
