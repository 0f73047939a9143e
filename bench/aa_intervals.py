"""Does cutting Rally's waits change what Rally measures? The same races with stock and with reduced intervals.

Runs pairs of races, one as Rally is and one as `fairlap_race.rally.launch` starts it, in alternating order, against one
Elasticsearch, and prints for each task and number the ratio reduced/stock: its geometric mean over the pairs and the
95 % interval of that mean. A ratio of 1 inside the interval means that no difference was seen.

On a machine that others use too, each race waits until the machine is idle, and a pair in which other processes took
more than a few seconds of CPU is run again: their load would be in one race of the pair and not in the other.

Needs a Python with Rally, and an Elasticsearch on this machine that nothing else uses:

    PYTHONPATH=operator python bench/aa_intervals.py --host localhost:9200 --server-pid PID --pairs 6 \\
        [--user elastic --password-file FILE --ca-file FILE]

Stock Rally waits for seconds between two tasks, in which Elasticsearch compiles and merges at nobody's cost. With
--rest both kinds rest so long before the searches; --searches makes these longer. What differs then is no lack of rest.

With --smallest it runs one pair of races of a few seconds, however busy the machine is: only to see that it works.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from parts import local_race
from parts.local_race import ArgvOf
from parts.pairs import T_95, Numbers, in_all, interval, not_compared
from parts.quiet import OTHERS_SECONDS, Load

from fairlap_race.rally.config import Files
from fairlap_race.rally.launch import POLL_INTERVALS


class Size(NamedTuple):
    """How long a race is, and what is asked of the machine meanwhile."""

    pairs: int
    documents: int
    searches: int
    throttled_seconds: int
    rest: int
    """seconds between the bulk and the searches"""
    undisturbed: bool
    """whether races wait for a quiet machine, and are run again when others disturbed them"""


SMALLEST = Size(pairs=1, documents=1000, searches=20, throttled_seconds=1, rest=0, undisturbed=False)


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


def run_pair(
    number: int, asked: argparse.Namespace, size: Size, directory: Path, password: str | None
) -> dict[str, Any] | None:
    """Return the seconds and numbers of one race of each kind by kind, or None when others disturbed them."""
    found: dict[str, Any] = {}
    for arm in list(ARMS) if number % 2 else list(reversed(ARMS)):
        name = f"{number}-{arm}-{time.monotonic_ns()}"
        spec, work = local_race.spec_of(asked, name, directory / "aa"), directory / name
        load = Load(asked.server_pid)
        if size.undisturbed:
            load.wait_for_quiet()
        took = local_race.run_rally(spec, password, work, ARMS[arm], load)
        others = load.others()
        found[arm] = took, local_race.numbers(Files(work).race_json(name))
        print(f"pair {number} {arm}: {took:.1f} s, others used {others:.1f} s of CPU", flush=True)
        if size.undisturbed and others > OTHERS_SECONDS:
            return None
    return found


def main() -> None:
    """Run the pairs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    local_race.takes_server(parser)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--rest", type=int, default=0, help="seconds that both kinds rest before the searches")
    parser.add_argument("--searches", type=int, default=5000, help="of the task that runs as fast as it can")
    parser.add_argument("--disturbed", action="store_true", help="do not wait until others leave the machine idle")
    parser.add_argument("--smallest", action="store_true", help="one pair of the shortest races, however disturbed")
    asked = parser.parse_args()
    full = Size(
        asked.pairs,
        documents=100_000,
        searches=asked.searches,
        throttled_seconds=15,
        rest=asked.rest,
        undisturbed=not asked.disturbed,
    )
    size = SMALLEST if asked.smallest else full
    password = local_race.password_of(asked)
    pairs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as directory:
        write_track(Path(directory) / "aa", size)
        if size.undisturbed:
            # The first race meets a cold server and only warms it.
            run_pair(0, asked, size, Path(directory), password)
        while len(pairs) < size.pairs:
            pair = run_pair(len(pairs) + 1, asked, size, Path(directory), password)
            if pair is None:
                print("disturbed by others: once more", flush=True)
            else:
                pairs.append(pair)
    print(f"\nintervals (seconds): {POLL_INTERVALS}\n")
    print(table([(pair["stock"][1], pair["reduced"][1]) for pair in pairs]))
    stock, reduced = (statistics.median(pair[arm][0] for pair in pairs) for arm in ("stock", "reduced"))
    print(f"\nwhole race: stock {stock:.1f} s, reduced {reduced:.1f} s")


if __name__ == "__main__":
    main()
