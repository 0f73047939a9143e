"""What do all checks of whether a race's numbers can be trusted cost? The same race with and without them, alternating.

The checks are: every sample is kept, searches and counters are asked between the steps, the nodes, the machines and the
load generator are looked at every few seconds, and the cluster is asked before and after. Prints for each number that
Rally measured the ratio with/without, its 90 % interval, and whether that is within 1 % of 1, which is what "costs the
measured tasks nothing" means here; then the seconds that the checks add to a race in total.

Each pair is a line of the file of results: a stopped run goes on with the same command. On a machine that others use
too, each race waits until it is idle, and a pair that they disturbed is run again.

Needs a Python with Rally, and an Elasticsearch on this machine that nothing else uses:

    PYTHONPATH=operator python bench/truth.py --host localhost:9200 --server-pid PID --pairs 6 \\
        [--user elastic --password-file FILE --ca-file FILE --results FILE]

With --smallest it runs one pair of races of a few seconds, however busy the machine is: only to see that it works.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from parts import local_race, one_race
from parts.lines import Json, append, read
from parts.pairs import T_90, in_all, interval, not_compared
from parts.quiet import Load, is_disturbed, once_more

from fairlap_race.linux import process
from fairlap_race.rally.config import Files

RESULTS = Path(__file__).parent / "results" / "truth.jsonl"
MARGIN = 0.01
MEASURED = ("bulk", "search", "search-throttled")


class Size(NamedTuple):
    """How long a race is, and what is asked of the machine meanwhile."""

    documents: int
    search_seconds: int
    undisturbed: bool
    """whether races wait for a quiet machine, and are run again when others disturbed them"""

    @property
    def design(self) -> str:
        """Digest of what is raced: pairs of another one do not count."""
        return hashlib.sha256(json.dumps([self, MEASURED]).encode()).hexdigest()[:12]


def write_track(directory: Path, size: Size) -> None:
    """Write a track of an indexing task, an unthrottled search and a throttled one."""
    search = {"operation-type": "search", "index": "truth", "body": {"query": {"match": {"text": "997"}}}}
    measured = {"warmup-time-period": 2, "time-period": size.search_seconds}
    schedule: list[dict[str, Any]] = [
        {"name": "bulk", "clients": 2, "operation": {"operation-type": "bulk", "bulk-size": 100}},
        {"operation": {"operation-type": "refresh", "name": "refresh"}},
        {"name": "search", **measured, "operation": {"name": "a", **search}},
        {"name": "search-throttled", "target-throughput": 100, **measured, "operation": {"name": "b", **search}},
    ]
    local_race.write_track(directory, "truth", size.documents, schedule)


def run(kind: str, asked: argparse.Namespace, size: Size, directory: Path) -> Json:
    """Run one race; return its seconds, the CPU seconds of others, and its numbers. Raises RuntimeError."""
    name = f"{kind}-{time.monotonic_ns()}"
    spec, work, output = (
        local_race.spec_of(asked, name, directory / "truth"),
        directory / name,
        directory / f"{name}.out",
    )
    work.mkdir()
    load = Load(asked.server_pid)
    if size.undisturbed:
        load.wait_for_quiet()
    argv = [sys.executable, str(Path(one_race.__file__)), kind, str(work)]
    environment = local_race.environment(Files(work)) | {"FAIRLAP_RACE_SPEC": spec.to_json()}
    local_race.follow(process.start(argv, environment, work, output), output, load)
    seconds = json.loads(output.read_text(encoding="utf-8").splitlines()[-1])["seconds"]
    others = load.others()
    print(f"  {kind} the checks: {seconds:.1f} s, others used {others:.1f} s of CPU", flush=True)
    numbers = local_race.numbers(Files(work).race_json(name), MEASURED)
    return {"seconds": seconds, "others": round(others, 1), "numbers": numbers}


def run_pairs(asked: argparse.Namespace, size: Size, pairs: int, directory: Path) -> list[Json]:
    """Race until the file of results has so many pairs, and return them."""
    found = counted(read(asked.results), size)
    if len(found) < pairs:
        write_track(directory / "truth", size)
        if size.undisturbed:
            print("one race that only warms the server")
            run("without", asked, size, directory)
    disturbed = 0
    while len(found) < pairs:
        number = len(found) + 1
        print(f"pair {number} of {pairs}", flush=True)
        kinds = one_race.KINDS if number % 2 else one_race.KINDS[::-1]
        line: Json = {"design": size.design, **{kind: run(kind, asked, size, directory) for kind in kinds}}
        if size.undisturbed and any(is_disturbed(line[kind]["others"], line[kind]["seconds"]) for kind in kinds):
            disturbed += 1
            once_more(disturbed)
            continue
        disturbed = 0
        append(asked.results, line)
        found.append(line)
    return found[:pairs]


def counted(lines: Sequence[Json], size: Size) -> list[Json]:
    """Return the pairs that were raced of the same design."""
    return [line for line in lines if line.get("design") == size.design]


def table(lines: Sequence[Json]) -> str:
    """Return the table of the ratios with/without of all pairs, and what the checks add to a race."""
    rows = [
        "| number | without, median | with, median | ratio | 90 % interval | within 1 % |",
        "|---|---|---|---|---|---|",
    ]
    pairs = [(line["without"]["numbers"], line["with"]["numbers"]) for line in lines]
    names, missing = in_all(pairs)
    for name in names:
        without, checked = [pair[0][name] for pair in pairs], [pair[1][name] for pair in pairs]
        ratio, low, high = interval([b / a for a, b in zip(without, checked, strict=True)], T_90)
        reached = max(1 - low, high - 1)
        within = "yes" if reached <= MARGIN else "unknown" if math.isinf(reached) else f"within {reached:.1%}"
        rows.append(
            f"| {name} | {statistics.median(without):.2f} | {statistics.median(checked):.2f} | {ratio:.3f} "
            f"| {low:.3f} to {high:.3f} | {within} |"
        )
    added = statistics.median(line["with"]["seconds"] - line["without"]["seconds"] for line in lines)
    took = {kind: statistics.median(line[kind]["seconds"] for line in lines) for kind in one_race.KINDS}
    return "\n".join(
        [
            *rows,
            *not_compared(missing),
            "",
            f"whole race: {took['without']:.1f} s without, {took['with']:.1f} s with; "
            f"in the median of {len(lines)} pairs {added:.1f} s are added to a race",
        ]
    )


def main() -> None:
    """Run the pairs that are missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    local_race.takes_server(parser)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--search-seconds", type=int, default=20)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--disturbed", action="store_true", help="do not wait until others leave the machine idle")
    parser.add_argument("--smallest", action="store_true", help="one pair of the shortest races, however disturbed")
    asked = parser.parse_args()
    local_race.refuse_unknown_server(parser, asked)
    size = Size(100_000, asked.search_seconds, undisturbed=not asked.disturbed)
    if asked.smallest:
        size, asked.pairs = Size(1000, 1, undisturbed=False), 1
    with tempfile.TemporaryDirectory() as directory:
        lines = run_pairs(asked, size, asked.pairs, Path(directory))
    print(f"\n{table(lines)}")


if __name__ == "__main__":
    main()
