"""Does cutting Rally's waits change what Rally measures? The same races with stock and with reduced intervals.

Runs pairs of races, one as Rally is and one as `esbench_race.launch` starts it, in alternating order, against one
Elasticsearch, and prints for each task and number the ratio reduced/stock: its geometric mean over the pairs and the
95 % interval of that mean. A ratio of 1 inside the interval means that no difference was seen.

Needs a Python with Rally, and an Elasticsearch that nothing else uses:

    PYTHONPATH=operator python bench/aa_intervals.py --host localhost:9200 --pairs 6 \\
        [--user elastic --password-file FILE --ca-file FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import esbench_race
from esbench_race.launch import POLL_INTERVALS
from esbench_race.rally_config import Files, rally_argv, rally_env, write_files
from esbench_race.spec import Mode, RaceSpec

DOCUMENTS = 60_000
T_95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26, 12: 2.20, 15: 2.14, 20: 2.09}
"""Student's t for a 95 % interval, by number of pairs."""


def write_track(directory: Path) -> None:
    """Write a track of an indexing task, an unthrottled search and a throttled one."""
    directory.mkdir(parents=True)
    chosen = random.Random(7)
    with (directory / "docs.json").open("w", encoding="utf-8") as out:
        for number in range(DOCUMENTS):
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
        {"name": "search", "warmup-iterations": 500, "iterations": 5000, "operation": {"name": "a", **search}},
        {
            "name": "search-throttled",
            **{"target-throughput": 100, "warmup-time-period": 2, "time-period": 15},
            "operation": {"name": "b", **search},
        },
    ]
    track = {
        "version": 2,
        "description": "Rally's intervals",
        "indices": [{"name": "aa", "body": "index.json"}],
        "corpora": [{"name": "aa", "documents": [{"source-file": "docs.json", "document-count": DOCUMENTS}]}],
        "schedule": schedule,
    }
    settings = {"settings": {"index.number_of_shards": 1, "index.number_of_replicas": 0}}
    (directory / "index.json").write_text(json.dumps(settings), encoding="utf-8")
    (directory / "track.json").write_text(json.dumps(track), encoding="utf-8")


def race(
    spec: RaceSpec, password: str | None, track: Path, work: Path, reduced: bool
) -> tuple[float, dict[str, float]]:
    """Run one race and return its seconds and its numbers by 'task · number'. Raises RuntimeError when it fails."""
    files = Files(work)
    write_files(spec, files, {}, password, spec.cores or 1)
    argv = rally_argv(spec, files, track)
    if not reduced:
        # As Rally is: its own entry point with the same arguments.
        argv = [sys.executable, "-m", "esrally.rally", *argv[argv.index("race") :]]
    env = rally_env(files, os.environ) | {"PYTHONPATH": str(Path(esbench_race.__file__).parents[1])}
    started = time.monotonic()
    with files.output.open("wb") as output:
        done = subprocess.run(argv, env=env, cwd=work, stdout=output, stderr=output, check=False)
    seconds = time.monotonic() - started
    if done.returncode != 0:
        raise RuntimeError(files.output.read_text(encoding="utf-8")[-2000:])
    found = {}
    results = json.loads(files.race_json(spec.race_id).read_text(encoding="utf-8"))["results"]
    for task in results["op_metrics"]:
        for name in ("mean", "median"):
            found[f"{task['task']} · throughput {name}"] = float(task["throughput"][name])
        for name in ("50_0", "90_0", "99_0"):
            if name in task["service_time"]:
                found[f"{task['task']} · service time p{name[:2]}"] = float(task["service_time"][name])
    return seconds, found


def interval(ratios: list[float]) -> tuple[float, float, float]:
    """Return the geometric mean of `ratios` and its 95 % interval."""
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    near = min(T_95, key=lambda pairs: abs(pairs - len(logs)))
    half = T_95[near] * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def table(pairs: list[tuple[dict[str, float], dict[str, float]]]) -> str:
    """Return the table of ratios for pairs of (stock, reduced) numbers."""
    lines = [
        "| number | stock, median | reduced, median | ratio | 95 % interval | 1 inside |",
        "|---|---|---|---|---|---|",
    ]
    for name in pairs[0][0]:
        stock, reduced = [pair[0][name] for pair in pairs], [pair[1][name] for pair in pairs]
        mean, low, high = interval([b / a for a, b in zip(stock, reduced, strict=True)])
        inside = "yes" if low <= 1 <= high else "NO"
        lines.append(
            f"| {name} | {statistics.median(stock):.2f} | {statistics.median(reduced):.2f} | {mean:.3f} "
            f"| {low:.3f} to {high:.3f} | {inside} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run the pairs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", required=True, help="NAME:PORT of Elasticsearch")
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--user", default="elastic")
    parser.add_argument("--password-file", type=Path)
    parser.add_argument("--ca-file", type=Path)
    asked = parser.parse_args()
    password = asked.password_file.read_text(encoding="utf-8").rstrip("\n") if asked.password_file else None
    pairs, seconds = [], {False: [], True: []}  # type: tuple[list[Any], dict[bool, list[float]]]
    with tempfile.TemporaryDirectory() as directory:
        track = Path(directory) / "aa"
        write_track(track)
        for number in range(-1, asked.pairs):
            pair = {}
            for reduced in (False, True) if number % 2 else (True, False):
                work = Path(directory) / f"{number}-{reduced}"
                spec = RaceSpec(
                    mode=Mode.RACE,
                    namespace="aa",
                    record="aa",
                    race_id=f"aa-{number}-{reduced}",
                    track_path=track,
                    hosts=(asked.host,),
                    user=asked.user,
                    ca_file=asked.ca_file,
                    cores=1,
                )
                took, pair[reduced] = race(spec, password, track, work, reduced)
                label = "reduced" if reduced else "stock"
                print(f"{'warm-up' if number < 0 else f'pair {number + 1}'} {label}: {took:.1f} s", flush=True)
                if number >= 0:
                    seconds[reduced].append(took)
            # The first pair meets a cold server and only warms it.
            if number >= 0:
                pairs.append((pair[False], pair[True]))
    print(f"\nintervals (seconds): {POLL_INTERVALS}\n")
    print(table(pairs))
    stock, reduced_seconds = (statistics.median(seconds[arm]) for arm in (False, True))
    print(f"\nwhole race: stock {stock:.1f} s, reduced {reduced_seconds:.1f} s")


if __name__ == "__main__":
    main()
