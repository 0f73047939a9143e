"""Does cutting Rally's waits change what Rally measures? The same races with stock and with reduced intervals.

Runs pairs of races, one as Rally is and one as `fairlap_race.rally.launch` starts it, in alternating order, against one
Elasticsearch, and prints for each task and number the ratio reduced/stock: its geometric mean over the pairs and the
95 % interval of that mean. A ratio of 1 inside the interval means that no difference was seen.

On a machine that others use too, each race waits until the machine is idle, and a pair in which other processes took
more than a few seconds of CPU is run again: their load would be in one race of the pair and not in the other.

Needs a Python with Rally, and an Elasticsearch on this machine that nothing else uses:

    PYTHONPATH=operator python bench/aa_intervals.py --host localhost:9200 --server-pid PID --pairs 6 \\
        [--user elastic --password-file FILE --ca-file FILE]

With --smallest it runs one pair of races of a few seconds, however busy the machine is: only to see that it works.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import fairlap_race
from fairlap_race.contract.race_spec import Mode, RaceSpec, TrackSource
from fairlap_race.linux import process
from fairlap_race.rally.config import Files, rally_argv, rally_env, write_files
from fairlap_race.rally.launch import POLL_INTERVALS

CPUS = os.cpu_count() or 1
QUIET_SECONDS = 3.0
QUIET_SHARE = 0.08
"""Of all CPUs: what may be used by others before a race begins."""
OTHERS_SECONDS = 18.0
"""CPU seconds of others in one race: about 8 are Rally's own processes that ended between two looks, in either arm."""
LOOK_SECONDS = 1.0
"""Reading /proc costs CPU itself, so not more often."""
ArgvOf = Callable[[list[str]], list[str]]
T_95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26, 12: 2.20, 15: 2.14, 20: 2.09}
"""Student's t for a 95 % interval, by number of pairs."""


class Size(NamedTuple):
    """How long a race is, and what is asked of the machine meanwhile."""

    pairs: int
    documents: int
    searches: int
    throttled_seconds: int
    undisturbed: bool
    """whether races wait for a quiet machine, and are run again when others disturbed them"""


SMALLEST = Size(pairs=1, documents=1000, searches=20, throttled_seconds=1, undisturbed=False)


def write_track(directory: Path, size: Size) -> None:
    """Write a track of an indexing task, an unthrottled search and a throttled one."""
    directory.mkdir(parents=True)
    chosen = random.Random(7)
    with (directory / "docs.json").open("w", encoding="utf-8") as out:
        for number in range(size.documents):
            document = {
                "n": number,
                "ip": f"10.0.{chosen.randrange(256)}.{chosen.randrange(256)}",
                "text": f"GET /{number % 997}",
            }
            out.write(json.dumps(document) + "\n")
    query = {"query": {"match": {"text": "997"}}}
    search = {"operation-type": "search", "index": "aa", "body": query}
    schedule: list[dict[str, Any]] = [
        {"operation": {"operation-type": "delete-index", "name": "delete"}},
        {"operation": {"operation-type": "create-index", "name": "create"}},
        {"name": "bulk", "clients": 2, "operation": {"operation-type": "bulk", "bulk-size": 100}},
        {"operation": {"operation-type": "refresh", "name": "refresh"}},
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
    track = {
        "version": 2,
        "description": "Rally's intervals",
        "indices": [{"name": "aa", "body": "index.json"}],
        "corpora": [{"name": "aa", "documents": [{"source-file": "docs.json", "document-count": size.documents}]}],
        "schedule": schedule,
    }
    settings = {"settings": {"index.number_of_shards": 1, "index.number_of_replicas": 0}}
    (directory / "index.json").write_text(json.dumps(settings), encoding="utf-8")
    (directory / "track.json").write_text(json.dumps(track), encoding="utf-8")


class Load:
    """How much of this machine's CPU time is used by others than the race and the Elasticsearch under test."""

    def __init__(self, server: int) -> None:
        self._server = server
        self._used: dict[int, float] = {}

    def _ours(self) -> float:
        for pid in [os.getpid(), self._server, *process.descendants()]:
            self._used[pid] = process.cpu_seconds(pid) or self._used.get(pid, 0.0)
        return sum(self._used.values())

    def wait_for_quiet(self) -> None:
        """Return once the machine was idle for a few seconds."""
        while True:
            before = busy_seconds(), time.monotonic()
            time.sleep(QUIET_SECONDS)
            if busy_seconds() - before[0] < QUIET_SHARE * CPUS * (time.monotonic() - before[1]):
                return

    def begin(self) -> None:
        """Start counting."""
        self._start = busy_seconds(), self._ours()

    def look(self) -> None:
        """Take in the processes of the race before they are gone."""
        self._ours()

    def others(self) -> float:
        """Return the CPU seconds that others used since `begin`."""
        busy, ours = self._start
        return max(0.0, busy_seconds() - busy - (self._ours() - ours))


def busy_seconds() -> float:
    """Return the CPU time that all processes of this machine have used."""
    user, nice, system, _, _, irq, softirq, *_ = (
        int(value) for value in Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:]
    )
    return (user + nice + system + irq + softirq) / process.TICKS


def race(
    spec: RaceSpec, password: str | None, track: Path, work: Path, argv_of: ArgvOf, load: Load
) -> tuple[float, float, dict[str, float]]:
    """Run one race and return its seconds, the CPU seconds that others used, and its numbers by 'task · number'.

    Raises RuntimeError when it fails.
    """
    files = Files(work)
    write_files(spec, files, {}, password, spec.cores or 1)
    argv = argv_of(rally_argv(spec, files, track))
    env = rally_env(files, os.environ) | {"PYTHONPATH": str(Path(fairlap_race.__file__).parents[1])}
    started = time.monotonic()
    running = process.start(argv, env, work, files.output)
    load.begin()
    while running.poll() is None:
        load.look()
        time.sleep(LOOK_SECONDS)
    seconds = time.monotonic() - started
    if running.returncode != 0:
        raise RuntimeError(files.output.read_text(encoding="utf-8")[-2000:])
    others = load.others()
    found = {}
    results = json.loads(files.race_json(spec.race_id).read_text(encoding="utf-8"))["results"]
    for task in results["op_metrics"]:
        for name in ("mean", "median"):
            found[f"{task['task']} · throughput {name}"] = float(task["throughput"][name])
        for name in ("50_0", "90_0", "99_0"):
            if name in task["service_time"]:
                found[f"{task['task']} · service time p{name[:2]}"] = float(task["service_time"][name])
    return seconds, others, found


def interval(ratios: list[float]) -> tuple[float, float, float]:
    """Return the geometric mean of `ratios` and its 95 % interval; of one ratio nothing else is known."""
    if len(ratios) < 2:
        return ratios[0], 0.0, math.inf
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    near = min(T_95, key=lambda pairs: abs(pairs - len(logs)))
    half = T_95[near] * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def table(pairs: list[tuple[dict[str, float], dict[str, float]]]) -> str:
    """Return the table of ratios for pairs of (stock, reduced) numbers, then a line on what not every race has.

    Rally gives the 99th percentile only of 100 requests or more, and a throttled task on a stalled machine makes fewer.
    """
    lines = [
        "| number | stock, median | reduced, median | ratio | 95 % interval | 1 inside |",
        "|---|---|---|---|---|---|",
    ]
    races = [numbers for pair in pairs for numbers in pair]
    names = list(dict.fromkeys(name for numbers in races for name in numbers))
    missing = [name for name in names if not all(name in numbers for numbers in races)]
    for name in names:
        if name in missing:
            continue
        stock, reduced = [pair[0][name] for pair in pairs], [pair[1][name] for pair in pairs]
        mean, low, high = interval([b / a for a, b in zip(stock, reduced, strict=True)])
        inside = "yes" if low <= 1 <= high else "NO"
        lines.append(
            f"| {name} | {statistics.median(stock):.2f} | {statistics.median(reduced):.2f} | {mean:.3f} "
            f"| {low:.3f} to {high:.3f} | {inside} |"
        )
    if missing:
        lines += ["", f"not compared, since not every race has it: {', '.join(missing)}"]
    return "\n".join(lines)


def as_stock(argv: list[str]) -> list[str]:
    """Return the arguments that start Rally as it is: its own entry point, and what follows."""
    return [sys.executable, "-m", "esrally.rally", *argv[argv.index("race") :]]


ARMS: dict[str, ArgvOf] = {"stock": as_stock, "reduced": list}


def run_pair(
    number: int, asked: argparse.Namespace, size: Size, directory: Path, password: str | None
) -> dict[str, Any] | None:
    """Return the seconds and numbers of one race of each kind by kind, or None when others disturbed them."""
    found: dict[str, Any] = {}
    for arm in list(ARMS) if number % 2 else list(reversed(ARMS)):
        name = f"{number}-{arm}-{time.monotonic_ns()}"
        spec = RaceSpec(
            mode=Mode.RACE,
            namespace="aa",
            record="aa",
            race_id=name,
            track=TrackSource(path=directory / "aa"),
            hosts=(asked.host,),
            user=asked.user,
            ca_file=asked.ca_file,
            cores=1,
        )
        load = Load(asked.server_pid)
        if size.undisturbed:
            load.wait_for_quiet()
        took, others, numbers = race(spec, password, directory / "aa", directory / name, ARMS[arm], load)
        found[arm] = took, numbers
        print(f"pair {number} {arm}: {took:.1f} s, others used {others:.1f} s of CPU", flush=True)
        if size.undisturbed and others > OTHERS_SECONDS:
            return None
    return found


def main() -> None:
    """Run the pairs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", required=True, help="NAME:PORT of Elasticsearch")
    parser.add_argument("--server-pid", type=int, required=True, help="process id of its Java process")
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--user", default="elastic")
    parser.add_argument("--password-file", type=Path)
    parser.add_argument("--ca-file", type=Path)
    parser.add_argument("--smallest", action="store_true", help="one pair of the shortest races, however disturbed")
    asked = parser.parse_args()
    full = Size(asked.pairs, documents=100_000, searches=5000, throttled_seconds=15, undisturbed=True)
    size = SMALLEST if asked.smallest else full
    password = asked.password_file.read_text(encoding="utf-8").rstrip("\n") if asked.password_file else None
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
