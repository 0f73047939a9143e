"""How much memory the operator takes: idle, with 200 finished Benchmarks, and with 50 that race at the same time.

    .venv/bin/python bench/memory.py [--finished 200] [--active 50]
    .venv/bin/python bench/memory.py --smallest  # one of each: only to see that it works

It starts a real kube-apiserver with the fake ECK and Job controllers of tests/api, so it needs no cluster. Every
Benchmark is driven by the operator from its creation on. Resident memory is the process' VmRSS, its peak VmHWM.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.api.controlplane import ControlPlane
from tests.api.manifests import benchmark
from tests.api.operator_process import Operator
from tests.api.stage import Stage

NAMESPACE = "memory"
SETTLE_SECONDS = 5.0


class Row(NamedTuple):
    """One line of the table; memory in bytes."""

    state: str
    resident: int
    peak: int


def measured(operator: Operator, state: str) -> Row:
    """Return the operator's memory after a moment of quiet."""
    time.sleep(SETTLE_SECONDS)
    operator.lives()
    return Row(state, operator.memory("VmRSS"), operator.memory("VmHWM"))


def run(stage: Stage, operator: Operator, finished: int, active: int) -> list[Row]:
    """Return one row for each state."""
    operator.start()
    operator.wait_ready()
    rows = [measured(operator, "idle, no Benchmark")]
    names = [f"done-{number}" for number in range(finished)]
    for begin in range(0, finished, 50):
        batch = names[begin : begin + 50]
        stage.apply(*(benchmark(NAMESPACE, name, smokeTest=False) for name in batch))
        for name in batch:
            stage.ends(NAMESPACE, name, seconds=300)
    rows.append(measured(operator, f"{finished} finished, which it has driven"))
    operator.stop()
    operator.start()
    operator.wait_ready()
    rows.append(measured(operator, f"{finished} finished, after a restart"))
    racing = [f"run-{number}" for number in range(active)]
    for name in racing:
        stage.behave(NAMESPACE, name, race="hangs")
    stage.apply(*(benchmark(NAMESPACE, name, smokeTest=False) for name in racing))
    for name in racing:
        stage.reaches(NAMESPACE, name, "Racing", seconds=120)
    rows.append(measured(operator, f"{finished} finished and {active} racing"))
    return rows


def table(rows: list[Row]) -> str:
    """Return the rows as text for people."""
    width = max(len(row.state) for row in rows)
    lines = [f"{'operator':<{width}}  resident MiB  peak MiB"]
    lines += [f"{row.state:<{width}}  {row.resident / 2**20:12.1f}  {row.peak / 2**20:8.1f}" for row in rows]
    return "\n".join(lines)


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--finished", type=int, default=200, help="Benchmarks that have ended")
    parser.add_argument("--active", type=int, default=50, help="Benchmarks that race at once")
    parser.add_argument("--smallest", action="store_true", help="one Benchmark of each kind")
    wanted = parser.parse_args()
    if wanted.smallest:
        wanted.finished = wanted.active = 1
    plane = ControlPlane()
    plane.start()
    stage = Stage(plane)
    try:
        stage.make_namespace(NAMESPACE)
        operator = Operator(plane, NAMESPACE, maxActive=max(wanted.active, 1))
        try:
            rows = run(stage, operator, wanted.finished, wanted.active)
        finally:
            operator.kill()
        print(table(rows))
    finally:
        stage.close()
        plane.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
