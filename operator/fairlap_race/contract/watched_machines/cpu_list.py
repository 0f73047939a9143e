"""Lists of processors as the kernel writes them, like 0-3,8 (the format of cpuset(7))."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

_LIST: Final = re.compile(r"\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*")
ONLINE: Final = "/sys/devices/system/cpu/online"
"""The file that tells which processors run: those that are offline are in no cpuset."""
NODE_CPUS: Final = "/sys/devices/system/node/node[0-9]*/cpulist"
"""Pattern of the files that tell which processors each NUMA node has."""
_NODE_CPUS: Final = re.compile(r"/sys/devices/system/node/node(\d{1,4})/cpulist")
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


def listed(numbers: Iterable[int]) -> str:
    """Return numbers as the kernel lists them; "" for none."""
    spans: list[list[int]] = []
    for number in sorted(set(numbers)):
        if spans and number == spans[-1][-1] + 1:
            spans[-1][1:] = [number]
        else:
            spans.append([number])
    return ",".join("-".join(map(str, span)) for span in spans)


def numa_nodes_of(cpus: str, texts: Mapping[str, str]) -> str | None:
    """Return the NUMA nodes that the processors `cpus`, like 0-1, are of, as the kernel lists nodes.

    `texts` are files by their paths, among them each node's cpulist. None where a processor's node is not told.
    """
    own, nodes, found = members(cpus) or frozenset(), set[int](), set[int]()
    for path, text in texts.items():
        node = _NODE_CPUS.fullmatch(path)
        if node and (shared := own & (members(text.strip()) or frozenset())):
            nodes.add(int(node[1]))
            found |= shared
    return listed(nodes) if own and found == own else None
