"""How many seconds does a step of a schedule cost, however small it is? Stock Rally, and Rally as a race starts it.

Races a track of many tiny tasks and a longer one at its end by three kinds of Rally, in turning order: `stock`,
`polled` (the shorter waits, but workers that look once a second whether their task is over) and `told` (what a race
uses). Prints the seconds a step of each kind and their ratio to `told`; then how many samples reached Rally's driver in
how many messages, which is all that sampling does while a task is measured; and what Rally measured of the longer one.

Needs a Python with Rally, and an Elasticsearch on this machine that nothing else uses:

    PYTHONPATH=operator python bench/steps.py --host localhost:9200 --server-pid PID \\
        [--user elastic --password-file FILE --ca-file FILE]

A stock race of 60 steps takes more than six minutes. With --smallest it runs one race of a few steps of each kind.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from parts import local_race, timed_steps
from parts.lines import Json, read
from parts.quiet import Load

from fairlap_race.rally.config import Files

LONG = "long"


class Size(NamedTuple):
    """How many races of each kind, of how many steps."""

    rounds: int
    steps: int
    long_seconds: int
    undisturbed: bool
    """whether races wait for a quiet machine"""


class Timed(NamedTuple):
    """What one race took."""

    steps: list[float]
    """seconds from the end of each step to the end of the next, those of the tiny tasks only"""
    tiny: Json
    """samples and messages of the tiny tasks"""
    long: Json
    """samples and messages of the longer task"""
    seconds: float
    numbers: dict[str, float]


def write_track(directory: Path, size: Size) -> None:
    """Write a track of tiny searches, and a longer one that is throttled and therefore sends the same in each race."""
    search = {"operation-type": "search", "index": "steps", "body": {"query": {"match": {"text": "7"}}}}
    tiny: list[dict[str, Any]] = [
        {"name": f"tiny-{n}", "clients": 1 + n % 2, "iterations": 4, "operation": {"name": f"tiny-{n}", **search}}
        for n in range(size.steps)
    ]
    bulk = {"name": "bulk", "clients": 2, "operation": {"operation-type": "bulk", "bulk-size": 100}}
    long = {"name": LONG, "target-throughput": 200, "iterations": 200 * size.long_seconds}
    operation = {"name": LONG, **search}
    local_race.write_track(directory, "steps", 1000, [bulk, *tiny, {**long, "operation": operation}])


def run(kind: str, asked: argparse.Namespace, size: Size, directory: Path) -> Timed:
    """Run one race."""
    name = f"{kind}-{time.monotonic_ns()}"
    spec, work, times = (
        local_race.spec_of(asked, name, directory / "steps"),
        directory / name,
        directory / f"{name}.jsonl",
    )
    load = Load(asked.server_pid)
    if size.undisturbed:
        load.wait_for_quiet()

    def argv_of(argv: list[str]) -> list[str]:
        # After `-m` and the module's name come the directory and Rally's own arguments.
        return [sys.executable, str(Path(timed_steps.__file__)), str(times), kind, *argv[argv.index("race") - 1 :]]

    took = local_race.run_rally(spec, local_race.password_of(asked), work, argv_of, load)
    found = timed(read(times), took, local_race.numbers(Files(work).race_json(name), [LONG]))
    others = load.others()
    print(
        f"{kind}: {took:.1f} s, {statistics.median(found.steps):.3f} s a step, others used {others:.1f} s", flush=True
    )
    return found


def timed(lines: list[Json], seconds: float, numbers: dict[str, float]) -> Timed:
    """Return what the lines of a race say; they begin where the first step's tasks may begin, before any was raced."""
    # Three steps make the index and fill it; from the end of the third on each step is a tiny one but the last.
    start, end, last = lines[3], lines[-2], lines[-1]
    tiny = [after["at"] - before["at"] for before, after in pairwise(lines[3:-1])]
    counts = [{key: b[key] - a[key] for key in ("samples", "messages")} for a, b in ((start, end), (end, last))]
    return Timed(tiny, counts[0], counts[1], seconds, numbers)


def table(races: dict[str, list[Timed]]) -> str:
    """Return the tables of all races by their kind."""
    lines = [
        "| Rally | races | s a step, median | 90th percentile | a whole race, s | times `told` |",
        "|---|---|---|---|---|---|",
    ]
    medians = {kind: statistics.median(step for each in ran for step in each.steps) for kind, ran in races.items()}
    for kind, ran in races.items():
        steps = sorted(step for each in ran for step in each.steps)
        whole = statistics.median(each.seconds for each in ran)
        high = steps[int(0.9 * (len(steps) - 1))]
        ratio = medians[kind] / medians["told"]
        lines.append(f"| {kind} | {len(ran)} | {medians[kind]:.3f} | {high:.3f} | {whole:.1f} | {ratio:.1f} |")
    lines += [
        "",
        "| Rally | tiny tasks: samples | messages | longer task: samples | messages |",
        "|---|---|---|---|---|",
    ]
    for kind, ran in races.items():
        for each in ran:
            counts = (each.tiny["samples"], each.tiny["messages"], each.long["samples"], each.long["messages"])
            lines.append(f"| {kind} | {' | '.join(map(str, counts))} |")
    lines += ["", f"| longer task | {' | '.join(races)} |", "|---" * (len(races) + 1) + "|"]
    for name in next(iter(races.values()))[0].numbers:
        middle = [statistics.median(each.numbers.get(name, float("nan")) for each in ran) for ran in races.values()]
        lines.append(f"| {name} | {' | '.join(f'{value:.2f}' for value in middle)} |")
    return "\n".join(lines)


def main() -> None:
    """Run the races and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    local_race.takes_server(parser)
    parser.add_argument("--rounds", type=int, default=3, help="races of each kind")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--kinds", nargs="+", choices=timed_steps.KINDS, default=timed_steps.KINDS)
    parser.add_argument("--disturbed", action="store_true", help="do not wait until others leave the machine idle")
    parser.add_argument("--smallest", action="store_true", help="one race of the fewest steps of each kind")
    asked = parser.parse_args()
    full = Size(asked.rounds, asked.steps, long_seconds=20, undisturbed=not asked.disturbed)
    size = Size(1, steps=3, long_seconds=1, undisturbed=False) if asked.smallest else full
    kinds = list(dict.fromkeys([*asked.kinds, "told"]))
    races: dict[str, list[Timed]] = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory() as directory:
        write_track(Path(directory) / "steps", size)
        for number in range(size.rounds):
            for kind in kinds[number % len(kinds) :] + kinds[: number % len(kinds)]:
                races[kind].append(run(kind, asked, size, Path(directory)))
    print(f"\n{table(races)}")


if __name__ == "__main__":
    main()
