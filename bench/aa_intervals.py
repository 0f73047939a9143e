"""Does cutting Rally's waits change what Rally measures? The same races with stock and with reduced intervals.

Runs pairs of races, one as Rally is and one as `fairlap_race.rally.inside.launch` starts it, in alternating order,
against one Elasticsearch, and prints for each task and number the ratio reduced/stock: its geometric mean over the
pairs and the 95 % interval of that mean. A ratio of 1 inside the interval means that no difference was seen.

On a machine that others use too, each race waits until the machine is idle, and a pair in which other processes took
more than a few seconds of CPU is run again: their load would be in one race of the pair and not in the other. Each pair
is a line of the file of results: a stopped run goes on with the same command.

Needs a Python with Rally, and an Elasticsearch on this machine that nothing else uses:

    PYTHONPATH=operator python bench/aa_intervals.py --host localhost:9200 --server-pid PID --pairs 6 \\
        [--user elastic --password-file FILE --ca-file FILE --results FILE]

Stock Rally waits for seconds between two tasks, in which Elasticsearch compiles and merges at nobody's cost. With
--rest both kinds rest so long before the searches; --searches makes these longer. What differs then is no lack of rest.

With --smallest it runs one pair of races of a few seconds, however busy the machine is: only to see that it works.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from parts import local_race
from parts.lines import Json, append, read
from parts.local_race import ArgvOf
from parts.pairs import T_95, Numbers, in_all, interval, not_compared
from parts.quiet import Load, is_disturbed, once_more

from fairlap_race.rally.config import Files
from fairlap_race.rally.inside.launch import POLL_INTERVALS

RESULTS = Path(__file__).parent / "results" / "aa_intervals.jsonl"


class Size(NamedTuple):
    """How long a race is, and what is asked of the machine meanwhile."""

    documents: int
    searches: int
    throttled_seconds: int
    rest: int
    """seconds between the bulk and the searches"""
    undisturbed: bool
    """whether races wait for a quiet machine, and are run again when others disturbed them"""

    @property
    def design(self) -> str:
        """Digest of what is raced, and with which waits: pairs of another one do not count."""
        return hashlib.sha256(json.dumps([self, POLL_INTERVALS], sort_keys=True).encode()).hexdigest()[:12]


SMALLEST = Size(documents=1000, searches=20, throttled_seconds=1, rest=1, undisturbed=False)


def write_track(directory: Path, size: Size) -> None:
    """Write a track of an indexing task, an unthrottled search and a throttled one."""
    query = {"query": {"match": {"text": "997"}}}
    search = {"operation-type": "search", "index": "aa", "body": query}
    schedule: list[dict[str, Any]] = [
        {"name": "bulk", "clients": 2, "operation": {"operation-type": "bulk", "bulk-size": 100}},
        {"operation": {"operation-type": "refresh", "name": "refresh"}},
        *([{"operation": {"operation-type": "sleep", "name": "rest", "duration": size.rest}}] if size.rest else []),
        {
            "name": "search",
            **{"warmup-iterations": size.searches // 10, "iterations": size.searches},
            "operation": {"name": "a", **search},
        },
        {
            "name": "search-throttled",
            **{"target-throughput": 100, "warmup-time-period": 2, "time-period": size.throttled_seconds},
            "operation": {"name": "b", **search},
        },
    ]
    local_race.write_track(directory, "aa", size.documents, schedule)


def table(pairs: list[tuple[Numbers, Numbers]]) -> str:
    """Return the table of ratios for pairs of (stock, reduced) numbers, then a line on what not every race has."""
    lines = [
        "| number | stock, median | reduced, median | ratio | 95 % interval | 1 inside |",
        "|---|---|---|---|---|---|",
    ]
    names, missing = in_all(pairs)
    for name in names:
        stock, reduced = [pair[0][name] for pair in pairs], [pair[1][name] for pair in pairs]
        mean, low, high = interval([b / a for a, b in zip(stock, reduced, strict=True)], T_95)
        inside = "yes" if low <= 1 <= high else "NO"
        lines.append(
            f"| {name} | {statistics.median(stock):.2f} | {statistics.median(reduced):.2f} | {mean:.3f} "
            f"| {low:.3f} to {high:.3f} | {inside} |"
        )
    return "\n".join([*lines, *not_compared(missing)])


ARMS: dict[str, ArgvOf] = {"stock": local_race.as_stock, "reduced": list}


def run_pair(number: int, asked: argparse.Namespace, size: Size, directory: Path, password: str | None) -> Json | None:
    """Return seconds and numbers of one race of each kind by kind; None when others disturbed them."""
    found: Json = {}
    for arm in list(ARMS) if number % 2 else list(reversed(ARMS)):
        name = f"{number}-{arm}-{time.monotonic_ns()}"
        spec, work = local_race.spec_of(asked, name, directory / "aa"), directory / name
        load = Load(asked.server_pid)
        if size.undisturbed:
            load.wait_for_quiet()
        took = local_race.run_rally(spec, password, work, ARMS[arm], load)
        others = load.others()
        found[arm] = {"seconds": round(took, 3), "numbers": local_race.numbers(Files(work).race_json(name))}
        print(f"pair {number} {arm}: {took:.1f} s, others used {others:.1f} s of CPU", flush=True)
        if size.undisturbed and is_disturbed(others, took):
            return None
    return found


def run_pairs(asked: argparse.Namespace, size: Size, directory: Path) -> list[Json]:
    """Race until the file of results has so many pairs, and return them; raises SystemExit on a busy machine."""
    found, disturbed = counted(read(asked.results), size), 0
    print(f"{len(found)} of {asked.pairs} pairs are in {asked.results}", flush=True)
    password = local_race.password_of(asked)
    if len(found) < asked.pairs:
        write_track(directory / "aa", size)
        if size.undisturbed:
            # The first race meets a cold server and only warms it.
            run_pair(0, asked, size, directory, password)
    while len(found) < asked.pairs:
        pair = run_pair(len(found) + 1, asked, size, directory, password)
        if pair is None:
            disturbed += 1
            once_more(disturbed)
            continue
        disturbed = 0
        append(asked.results, {"design": size.design, **pair})
        found.append(pair)
    return found[: asked.pairs]


def counted(lines: Sequence[Json], size: Size) -> list[Json]:
    """Return the pairs that were raced of the same design."""
    return [line for line in lines if line.get("design") == size.design]


def main() -> None:
    """Run the pairs that are missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    local_race.takes_server(parser)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--rest", type=int, default=0, help="seconds that both kinds rest before the searches")
    parser.add_argument("--searches", type=int, default=5000, help="of the task that runs as fast as it can")
    parser.add_argument("--results", type=Path, default=RESULTS, help="a JSON line for each pair")
    parser.add_argument("--disturbed", action="store_true", help="do not wait until others leave the machine idle")
    parser.add_argument("--smallest", action="store_true", help="one pair of the shortest races, however disturbed")
    asked = parser.parse_args()
    local_race.refuse_unknown_server(parser, asked)
    size = Size(100_000, asked.searches, throttled_seconds=15, rest=asked.rest, undisturbed=not asked.disturbed)
    if asked.smallest:
        size, asked.pairs = SMALLEST, 1
    with tempfile.TemporaryDirectory() as directory:
        pairs = run_pairs(asked, size, Path(directory))
    print(f"\nintervals (seconds): {POLL_INTERVALS}\n")
    print(table([(pair["stock"]["numbers"], pair["reduced"]["numbers"]) for pair in pairs]))
    stock, reduced = (statistics.median(pair[arm]["seconds"] for pair in pairs) for arm in ("stock", "reduced"))
    print(f"\nwhole race: stock {stock:.1f} s, reduced {reduced:.1f} s")


if __name__ == "__main__":
    main()
