"""The whole machine at one moment, as far as a container sees it: steal, busy processors, interrupts, PSI, clock."""

from __future__ import annotations

import os
import re
from pathlib import Path

from fairlap_race.linux.kernel_files import read_number, read_text, whole_number
from fairlap_race.linux.pressure import read_pressures

WAITING = ("cpu_waiting", "memory_waiting", "io_waiting")
CLOCK = "megahertz"
_CLOCK_LINE = re.compile(r"^cpu MHz\s*:\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)$", re.MULTILINE)
_MOST_PROCESSORS = 64
"""Whose clock is read at a look: more would take the time of the measured."""


def read_machine(proc: Path = Path("/proc"), system: Path = Path("/sys")) -> dict[str, float]:
    """Return signal -> value: counters in seconds, `interrupts`, and `megahertz`; what is not told is not there."""
    found: dict[str, float | None] = {**_processors(read_text(proc / "stat"))}
    pressures = read_pressures(proc / "pressure", "")
    found |= {name: pressures.get(name) for name in WAITING}
    found[CLOCK] = _megahertz(proc, system)
    return {name: value for name, value in found.items() if value is not None}


def _processors(stat: str) -> dict[str, float]:
    """Return the counters of proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal; guest is in user."""
    tick = float(os.sysconf("SC_CLK_TCK"))
    found = dict[str, float]()
    for line in stat.splitlines():
        name, *words = line.split() or [""]
        numbers = [number for it in words[:8] if (number := whole_number(it)) is not None]
        if name == "cpu" and len(numbers) == 8:
            user, nice, system, idle, waiting, hard, soft, steal = (number / tick for number in numbers)
            busy = user + nice + system + hard + soft
            found |= {
                "steal_seconds": steal,
                "busy_seconds": busy,
                "processor_seconds": busy + idle + waiting + steal,
            }
        elif name == "intr" and words and (interrupts := whole_number(words[0])) is not None:
            found["interrupts"] = float(interrupts)
    return found


def _megahertz(proc: Path, system: Path) -> float | None:
    count = min(_MOST_PROCESSORS, os.cpu_count() or 1)
    files = [system / f"devices/system/cpu/cpu{number}/cpufreq/scaling_cur_freq" for number in range(count)]
    known = [hertz / 1000 for path in files if (hertz := read_number(path))]
    if not known:  # as on virtual machines
        known = [float(it) for it in _CLOCK_LINE.findall(read_text(proc / "cpuinfo"))]
    return sum(known) / len(known) if known else None
