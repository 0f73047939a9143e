"""How long tasks waited for CPU, memory and disk: the kernel's pressure stall information (PSI)."""

from __future__ import annotations

from pathlib import Path

from fairlap_race.linux.kernel_files import read_text, whole_number


def read_pressures(folder: Path, suffix: str) -> dict[str, float | None]:
    """Return signal -> seconds from the files cpu, memory and io in `folder`, whose names end with `suffix`.

    `…_waiting`: some task waited; `…_stalled`: all of them did, which the kernel does not tell of a CPU.
    """
    values: dict[str, float | None] = {}
    for resource in ("cpu", "memory", "io"):
        some, full = _pressure(folder / f"{resource}{suffix}")
        values[f"{resource}_waiting"] = some
        if resource != "cpu":
            values[f"{resource}_stalled"] = full
    return values


def _pressure(path: Path) -> tuple[float | None, float | None]:
    found = {}
    for line in read_text(path).splitlines():
        kind, _, rest = line.partition(" ")
        total = whole_number(rest.rpartition("total=")[2])
        if total is not None:
            found[kind] = total * 1e-6
    return found.get("some"), found.get("full")
