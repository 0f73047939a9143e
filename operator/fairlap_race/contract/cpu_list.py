"""Lists of processors as the kernel writes them, like 0-3,8 (the format of cpuset(7))."""

import re
from typing import Final

_LIST: Final = re.compile(r"\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*")
_MOST: Final = 8192
"""Processors of the largest machines (NR_CPUS of the kernel on x86)."""


def count_of(listed: str) -> int | None:
    """Return how many numbers a list like 0-1,4 has; None for what is no such list."""
    if not _LIST.fullmatch(listed):
        return None
    ends = [part.split("-") for part in listed.split(",")]
    return sum(max(0, int(each[-1]) - int(each[0]) + 1) for each in ends)


def members(listed: str) -> frozenset[int] | None:
    """Return the numbers of a list like 0-1,4; None for what is no such list, or longer than any machine's."""
    count = count_of(listed)
    if count is None or count > _MOST:
        return None
    ends = [part.split("-") for part in listed.split(",")]
    return frozenset(number for each in ends for number in range(int(each[0]), int(each[-1]) + 1))
