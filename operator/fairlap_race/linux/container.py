"""This container now, as numbers by signal (see `contract.watched_machines.series`): group, pressure, network."""

from __future__ import annotations

from pathlib import Path

from fairlap_race.contract.watched_machines.resources import note
from fairlap_race.contract.watched_machines.series import Sample
from fairlap_race.linux.cgroup import ROOT, is_version_2, read_signals
from fairlap_race.linux.kernel_files import read_text, whole_number
from fairlap_race.linux.pressure import read_pressures

PRESSURE_NOTE = note("pressure", "of the whole machine; the control group has none of its own")


def read_container(root: Path = ROOT, proc: Path = Path("/proc")) -> Sample:
    """Return what this container's control group and network say now; works for both versions of control groups."""
    signals = read_signals(root) | _network(proc / "net/dev")
    pressures = read_pressures(root, ".pressure") if is_version_2(root) else {}
    values = {name: value for name, value in (signals | pressures).items() if value is not None}
    if "cpu_waiting" in values:
        return Sample(values)
    machine = {name: value for name, value in read_pressures(proc / "pressure", "").items() if value is not None}
    return Sample({**values, **machine}, notes=(PRESSURE_NOTE,) if machine else ())


def _network(path: Path) -> dict[str, float | None]:
    received = sent = 0
    lines = [line for line in read_text(path).splitlines() if ":" in line]
    for line in lines:
        name, _, rest = line.partition(":")
        words = rest.split()
        if name.strip() != "lo" and len(words) >= 9:
            received += whole_number(words[0]) or 0
            sent += whole_number(words[8]) or 0
    return {"network_received_bytes": received, "network_sent_bytes": sent} if lines else {}
