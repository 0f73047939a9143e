"""How much memory the operator takes with many Benchmarks, and how long it needs from a restart to its first decision.

    .venv/bin/python bench/memory.py [--finished 200 1000 5000] [--active 200] [--large 50]
    .venv/bin/python bench/memory.py --smallest  # one of each: only to see that it works

It starts a real kube-apiserver with the fake ECK and Job controllers of tests/api, so it needs no cluster. One is
driven to its end; the other finished ones are copies of it, each with a record of the size that `log_ingest` gives,
and `--large` of them with one at its bound. Resident memory is the process' VmRSS, its peak VmHWM. The first decision
is the first status of a Benchmark that was created while the operator was away.
"""

import argparse
import asyncio
import base64
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.api.controlplane import ControlPlane
from tests.api.manifests import benchmark
from tests.api.operator_process import Operator
from tests.api.stage import Stage

from fairlap_race.contract.config_maps import packed
from fairlap_race.contract.recorded.record import MAX_ARTIFACT_BYTES, MAX_RECORD_BYTES

Json = dict[str, Any]
NAMESPACE = "memory"
SETTLE_SECONDS = 5.0
AT_ONCE = 20
# What a race of log_ingest leaves: race.json and the end of Rally's log, compressed.
RACE_JSON_BYTES, LOG_BYTES = 12 * 1024, 40 * 1024


class Row(NamedTuple):
    """One line of the table; memory in bytes."""

    state: str
    resident: int
    peak: int
    seconds: float | None = None
    """from the start of the process to its first decision"""


def measured(operator: Operator, state: str, seconds: float | None = None) -> Row:
    """Return the operator's memory after a moment of quiet."""
    time.sleep(SETTLE_SECONDS)
    operator.lives()
    return Row(state, operator.memory("VmRSS"), operator.memory("VmHWM"), seconds)


def _noise(size: int) -> str:
    return base64.b64encode(os.urandom(size)).decode()


def record_of(owner: Json, model: Json, large: bool) -> Json:
    """Return a record like `model` that belongs to `owner`."""
    entries = {**model["binaryData"], "race.json.gz": _noise(RACE_JSON_BYTES), "rally.log.gz": _noise(LOG_BYTES)}
    if large:
        archive = _noise(MAX_ARTIFACT_BYTES)
        entries |= {"race.json.gz": archive, "rally.log.gz": archive}
        entries |= packed({"record.json": _noise(MAX_RECORD_BYTES)[:MAX_RECORD_BYTES]})
    meta, name = owner["metadata"], owner["metadata"]["name"]
    labels = {**model["metadata"]["labels"], "fairlap.dev/benchmark": name, "fairlap.dev/uid": meta["uid"]}
    reference = {**model["metadata"]["ownerReferences"][0], "name": name, "uid": meta["uid"]}
    return {
        "metadata": {
            "name": f"{name}-race-1", "namespace": NAMESPACE, "labels": labels, "ownerReferences": [reference],
        },
        "binaryData": entries,
    }  # fmt: skip


async def copy(stage: Stage, name: str, model: Json, record: Json, large: bool) -> None:
    """Create one finished Benchmark with its record."""
    rest = stage.world.rest
    manifest = benchmark(NAMESPACE, name, smokeTest=False)
    made = await rest.create("benchmarks", NAMESPACE, manifest)
    await rest.patch("benchmarks", NAMESPACE, name, {"status": model["status"]}, "status")
    await rest.create("configmaps", NAMESPACE, record_of(made, record, large))


def fill(stage: Stage, first: int, beyond: int, model: Json, record: Json, large: int) -> None:
    """Create the finished Benchmarks from number `first` on; the first `large` of all have a record at its bound."""

    async def some(numbers: range) -> None:
        await asyncio.gather(*(copy(stage, f"done-{n}", model, record, n < large) for n in numbers))

    for begin in range(first, beyond, AT_ONCE):
        stage.do(some(range(begin, min(begin + AT_ONCE, beyond))))


def race(stage: Stage, active: int) -> None:
    """Let `active` Benchmarks race until the end of all."""
    names = [f"run-{number}" for number in range(active)]
    for name in names:
        stage.behave(NAMESPACE, name, race="hangs")
    stage.apply(*(benchmark(NAMESPACE, name, smokeTest=False) for name in names))
    for name in names:
        stage.reaches(NAMESPACE, name, "Racing", seconds=300)


def restarted(stage: Stage, operator: Operator, number: int) -> float:
    """End the operator, begin another, and return the seconds until it has decided something."""
    operator.stop()
    name = f"new-{number}"
    stage.apply(benchmark(NAMESPACE, name, smokeTest=False, suspend=True))
    began = time.monotonic()
    operator.start()
    stage.until(lambda: stage.status(NAMESPACE, name).get("phase"), "the first decision", 300)
    return time.monotonic() - began


def run(stage: Stage, operator: Operator, finished: list[int], active: int, large: int) -> Iterator[Row]:
    """Yield one row for each state."""
    operator.start()
    operator.wait_ready()
    yield measured(operator, "idle, no Benchmark")
    stage.apply(benchmark(NAMESPACE, "model", smokeTest=False))
    stage.ends(NAMESPACE, "model", seconds=300)
    model, record = stage.benchmark(NAMESPACE, "model"), stage.find("configmaps", NAMESPACE, "model-race-1")
    if record is None:
        raise SystemExit("the model's record is not there")
    race(stage, active)
    yield measured(operator, f"{active} racing")
    there = 0
    for wanted in finished:
        operator.stop()
        fill(stage, there, wanted, model, record, large)
        there = wanted
        seconds = restarted(stage, operator, wanted)
        yield measured(operator, f"{wanted} finished and {active} racing, after a restart", seconds)


def table(rows: list[Row]) -> str:
    """Return the rows as text for people."""
    width = max(len(row.state) for row in rows)
    lines = [f"{'operator':<{width}}  resident MiB  peak MiB  first decision s"]
    for row in rows:
        seconds = "-" if row.seconds is None else f"{row.seconds:.1f}"
        lines.append(f"{row.state:<{width}}  {row.resident / 2**20:12.1f}  {row.peak / 2**20:8.1f}  {seconds:>16}")
    return "\n".join(lines)


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--finished", type=int, nargs="+", default=[200], help="Benchmarks that have ended, rising")
    parser.add_argument("--active", type=int, default=50, help="Benchmarks that race at once")
    parser.add_argument("--large", type=int, default=50, help="finished ones whose record is at its bound")
    parser.add_argument("--smallest", action="store_true", help="one Benchmark of each kind")
    wanted = parser.parse_args()
    if wanted.smallest:
        wanted.finished, wanted.active, wanted.large = [1], 1, 1
    plane = ControlPlane()
    plane.start()
    stage = Stage(plane)
    rows: list[Row] = []
    try:
        stage.make_namespace(NAMESPACE)
        operator = Operator(plane, NAMESPACE, maxActive=wanted.active + 1)
        try:
            for row in run(stage, operator, wanted.finished, wanted.active, wanted.large):
                rows.append(row)
                print(row, file=sys.stderr, flush=True)
        finally:
            operator.kill()
        print(table(rows))
    finally:
        stage.close()
        plane.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
