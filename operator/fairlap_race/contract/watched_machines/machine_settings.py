"""How a machine is set up where that decides how steady its numbers are: which files tell, what they say, what harms.

Pure: the runner reads the files of its own machine (`linux.settings_files`), an init container prints those of
Elasticsearch's. Which settings are called harmful, and by whom, stands at each function of `advice`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from fairlap_race.contract.watched_machines.cpu_list import NODE_CPUS, ONLINE, count_of, members

_CPU: Final = "/sys/devices/system/cpu"
_HUGE: Final = "/sys/kernel/mm/transparent_hugepage"
FILES: Final = (
    f"{_HUGE}/enabled",
    f"{_HUGE}/defrag",
    f"{_CPU}/intel_pstate/no_turbo",
    f"{_CPU}/cpufreq/boost",
    f"{_CPU}/smt/active",
    f"{_CPU}/smt/control",
    ONLINE,
    "/sys/devices/system/node/online",
    NODE_CPUS,
    "/proc/sys/vm/swappiness",
    f"{_CPU}/cpufreq/policy*/scaling_governor",
    f"{_CPU}/cpufreq/policy*/boost",
    f"{_CPU}/cpu[0-9]*/topology/thread_siblings_list",
)
"""Patterns of the files that are read, as a shell and pathlib know them; the first line of each is enough."""

_HEADING: Final = re.compile(r"==> (/[^\s<>]{1,200}) <==")
_WORD: Final = re.compile(r"[A-Za-z0-9_+-]{1,40}")
_CHOSEN: Final = re.compile(r"\[([a-z+]{1,40})\]")
_SWITCH: Final = {"0": False, "1": True}
STEADY_GOVERNORS: Final = frozenset({"performance", "userspace"})
"""Those that hold a clock."""
_MOST_GOVERNORS: Final = 10
UNKNOWN: Final = "unknown"


@dataclass(frozen=True)
class MachineSettings:
    """Settings of a machine; None or empty for what it does not tell, as most virtual machines."""

    huge_pages: str | None = None
    """when the kernel gives transparent huge pages: always, madvise (to who asks for them) or never"""
    huge_pages_defrag: str | None = None
    """who waits until memory is compacted for one: always, defer, defer+madvise, madvise or never"""
    governors: tuple[str, ...] = ()
    """what sets the clock of the processors (cpufreq), each once"""
    turbo: bool | None = None
    """whether processors may run faster than their nominal clock"""
    smt_active: bool | None = None
    """whether some cores run several threads at a time"""
    smt_control: str | None = None
    """on, off, forceoff, notsupported or notimplemented"""
    whole_cores: bool | None = None
    """whether each core that the container may use is its own with all threads"""
    numa_nodes: int | None = None
    """of the machine, whatever the container may use of them"""
    swap_bytes: int | None = None
    """swap of the machine; 0 for none"""
    swappiness: int | None = None


def sections(text: str) -> dict[str, str]:
    """Return path -> text of each file from what `head` prints of several; a last line that was cut is left out."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text[: text.rfind("\n") + 1].split("\n"):
        heading = _HEADING.fullmatch(line)
        if heading:
            lines = found.setdefault(heading[1], [])
        else:
            lines.append(line)
    return {path: "\n".join(body) for path, body in found.items()}


def parse(texts: Mapping[str, str]) -> MachineSettings:
    """Return the settings that the texts of `FILES`, /proc/meminfo and /proc/self/status tell, by their paths.

    What is missing, or is not what the kernel writes there, is unknown. Raises for no text. The formats are those of
    the kernel's Documentation/ABI/testing/sysfs-devices-system-cpu, admin-guide/mm/transhuge, admin-guide/pm/cpufreq.
    """
    governors = {word for text in _like(texts, "scaling_governor") if (word := _word(text))}
    swap = re.search(r"^SwapTotal:\s+(\d{1,15}) kB$", texts.get("/proc/meminfo", ""), re.MULTILINE)
    allowed = re.search(r"^Cpus_allowed_list:\s+(\S{1,300})$", texts.get("/proc/self/status", ""), re.MULTILINE)
    swappiness = texts.get("/proc/sys/vm/swappiness", "").strip()
    return MachineSettings(
        huge_pages=_chosen(texts.get(f"{_HUGE}/enabled", "")),
        huge_pages_defrag=_chosen(texts.get(f"{_HUGE}/defrag", "")),
        governors=tuple(sorted(governors)[:_MOST_GOVERNORS]),
        turbo=_turbo(texts),
        smt_active=_SWITCH.get(texts.get(f"{_CPU}/smt/active", "").strip()),
        smt_control=_word(texts.get(f"{_CPU}/smt/control", "")),
        whole_cores=_whole_cores(texts, allowed[1] if allowed else ""),
        numa_nodes=count_of(texts.get("/sys/devices/system/node/online", "").strip()),
        swap_bytes=int(swap[1]) * 1024 if swap else None,
        swappiness=int(swappiness) if re.fullmatch(r"[0-9]{1,3}", swappiness) else None,
    )


def _like(texts: Mapping[str, str], name: str) -> Iterator[str]:
    return (text for path, text in texts.items() if path.startswith(f"{_CPU}/") and path.endswith(f"/{name}"))


def _word(text: str) -> str | None:
    word = text.strip()
    return word if _WORD.fullmatch(word) else None


def _chosen(text: str) -> str | None:
    """Return the word in brackets, as in "always [madvise] never"."""
    found = _CHOSEN.search(text)
    return found[1] if found else None


def _turbo(texts: Mapping[str, str]) -> bool | None:
    """Return what intel_pstate says, else the switch of all other drivers, else that of any policy (amd-pstate)."""
    switched_off = _SWITCH.get(texts.get(f"{_CPU}/intel_pstate/no_turbo", "").strip())
    if switched_off is not None:
        return not switched_off
    told = _SWITCH.get(texts.get(f"{_CPU}/cpufreq/boost", "").strip())
    if told is not None:
        return told
    each = [_SWITCH.get(text.strip()) for text in _like(texts, "boost")]
    return True if True in each else False if each and None not in each else None


def _whole_cores(texts: Mapping[str, str], allowed: str) -> bool | None:
    own = members(allowed)
    if not own:
        return None
    cores = [members(texts.get(f"{_CPU}/cpu{cpu}/topology/thread_siblings_list", "").strip()) for cpu in own]
    if any(core is not None and not core <= own for core in cores):
        return False
    return None if None in cores else True


def describe(settings: MachineSettings | None) -> str:
    """Return the settings in words for a reader, what is not known as such."""
    if settings is None:
        return f"settings {UNKNOWN}"
    swap = UNKNOWN if settings.swap_bytes is None else f"{settings.swap_bytes / 2**30:.1f} GiB"
    return ", ".join(
        (
            f"governor {' and '.join(settings.governors) or UNKNOWN}",
            f"turbo {_switch(settings.turbo)}",
            f"SMT {_switch(settings.smt_active)}",
            f"transparent huge pages {settings.huge_pages or UNKNOWN} (defrag {settings.huge_pages_defrag or UNKNOWN})",
            f"NUMA nodes {settings.numa_nodes or UNKNOWN}",
            f"swap {'none' if settings.swap_bytes == 0 else swap}",
        )
    )


def _switch(value: bool | None) -> str:
    return UNKNOWN if value is None else "on" if value else "off"


def advice(settings: MachineSettings | None, exclusive: bool | None, resources: str) -> tuple[str, ...]:
    """Return a sentence for each setting that makes numbers less steady: what it is, what follows, what to change.

    `exclusive` tells whether the processors are the container's alone, `resources` is the field of a spec that asks for
    them. What is unknown is no harm, and no comfort.
    """
    if settings is None:
        return ()
    smt = _of_smt(settings, exclusive, resources)
    found = (_of_governor(settings), _of_turbo(settings), smt, _of_huge_pages(settings))
    return tuple(sentence for sentence in found if sentence)


def numa_advice(cpus: str, nodes: str, exclusive: bool | None) -> str:
    """Return a sentence where a container's own processors are of several NUMA nodes, like 0-1; else "".

    What one node's processors read from another one's memory takes longer, and where a page is, is chance. The static
    policy takes from one node what fits there, and only a topology manager policy refuses the rest (Kubernetes:
    "Control Topology Management Policies on a node").
    """
    if not exclusive or (count_of(nodes) or 0) < 2:
        return ""
    return (
        f"its own processors {cpus} are of the NUMA nodes {nodes}, so how far its memory is depends on where each page "
        "happens to be: ask for no more than one node has, and let the kubelet align it (topologyManagerPolicy: "
        "single-numa-node)"
    )


def _of_governor(settings: MachineSettings) -> str:
    """Every governor but `performance`, and `userspace` that holds one clock, lets the clock follow the load.

    Or keeps it at the least. Kernel, admin-guide/pm/cpufreq ("Generic Scaling Governors") and intel_pstate ("Active
    Mode"); benchmarks are run with `performance`: LLVM's "Benchmarking tips", Google Benchmark's "Reducing Variance".
    """
    loose = [name for name in settings.governors if name not in STEADY_GOVERNORS]
    if not loose:
        return ""
    return (
        f"the cpufreq governor is {' and '.join(loose)}, so the processors' clock follows their load or stays low: set "
        "performance (cpupower frequency-set -g performance)"
    )


def _of_turbo(settings: MachineSettings) -> str:
    """Boost depends on the load and heat of the whole package: "While running benchmarks, reproducible results are
    important" (kernel, cpu-freq/boost, "Rationale for disable switch"); LLVM's "Benchmarking tips" turn it off, too.
    """
    if not settings.turbo:
        return ""
    return (
        "turbo is on, so the clock depends on temperature and neighbours: turn it off (echo 1 > "
        f"{_CPU}/intel_pstate/no_turbo, or echo 0 > {_CPU}/cpufreq/boost)"
    )


def _of_smt(settings: MachineSettings, exclusive: bool | None, resources: str) -> str:
    """A thread is as fast as the other thread of its core lets it be.

    LLVM's "Benchmarking tips" disable the other one; Kubernetes has the option full-pcpus-only for it ("Control CPU
    Management Policies on the Node"). No harm where the container has whole cores to itself.
    """
    if not settings.smt_active or not (exclusive is False or settings.whole_cores is False):
        return ""
    return (
        "SMT is on and these are not whole cores of its own, so others take turns on the other thread of a core: let "
        "the kubelet give whole cores (--cpu-manager-policy=static with full-pcpus-only) and ask for whole ones in "
        f"{resources}, mostly a multiple of 2 CPUs, or turn SMT off (echo off > "
        f"{_CPU}/smt/control)"
    )


def _of_huge_pages(settings: MachineSettings) -> str:
    """Only where each allocation may have to wait for the kernel to make a huge page, both for and without asking.

    That is `enabled` and `defrag` both `always` (kernel, admin-guide/mm/transhuge: "will stall on allocation failure
    and directly reclaim pages and compact memory"). `always`, `madvise` and `never` alone are no harm: Elasticsearch
    recommends none of them (elastic/elasticsearch#26551 asks for it, and is open), and JVMs run with each.
    """
    if (settings.huge_pages, settings.huge_pages_defrag) != ("always", "always"):
        return ""
    return (
        "transparent huge pages and their defrag are always, so whoever touches memory may wait until some is "
        f"compacted: set defrag to madvise, the kernel's default (echo madvise > {_HUGE}/defrag)"
    )
