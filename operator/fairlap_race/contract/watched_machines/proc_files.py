"""What /proc/cpuinfo, /proc/meminfo and /proc/self/status say of a machine, together or each by itself (proc(5))."""

import re

from fairlap_race.contract.watched_machines.cpu_list import count_of


def cpu_model(text: str) -> str | None:
    """Return the name of the first CPU, of which ARM's kernels tell two numbers; None where it is not told."""
    maker, part = _value("CPU implementer", text), _value("CPU part", text)
    return _value("model name", text) or (f"implementer {maker} part {part}" if maker and part else None)


def memory_bytes(text: str) -> int | None:
    """Return the memory of the whole machine."""
    kibibytes = re.fullmatch(r"([0-9]{1,15}) kB", _value("MemTotal", text))
    return int(kibibytes[1]) * 1024 if kibibytes else None


def numa_nodes(text: str) -> int | None:
    """Return of how many NUMA nodes the process may use the memory; None where it is not told."""
    return count_of(_value("Mems_allowed_list", text))


def allowed_cpus(text: str) -> str | None:
    """Return the processors that the process may use, like 0-1,4; None where it is not told."""
    listed = _value("Cpus_allowed_list", text)
    return listed if count_of(listed) else None


def _value(key: str, text: str) -> str:
    found = re.search(rf"^{key}[ \t]*:[ \t]*(\S.*)$", text, re.MULTILINE)
    return found[1].strip() if found else ""
