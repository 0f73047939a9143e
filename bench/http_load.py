"""What do k6 and Rally cost, and how near the truth are they? Requests a second of one core, and known delays.

First a server that does next to nothing, on a core of its own: k6 as a race over HTTP runs it, with the runner on the
same core; then k6 that writes nothing down, k6 with its own output as JSON, and Rally with one worker. Then a server
that answers after exactly 5, 20 and 100 ms, and notes when it really did: what both tools say of it, in a closed loop
of four clients and at a rate.

Needs a Python with Rally, and k6 in the PATH or by --k6:

    PYTHONPATH=operator python bench/http_load.py --k6 $(python -m localkube tool k6)

With --smallest it is one number of clients and one delay, two seconds each.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from parts import local_race, one_http_race, trivial_server
from parts.quiet import Load
from parts.timed_server import TimedServer

from fairlap_race.contract.codec import encode
from fairlap_race.contract.recorded.record import Record, Task
from fairlap_race.contract.specification.http_spec import HttpLoad, HttpSpec
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec, TrackSource, parse_spec
from fairlap_race.http.k6 import SCRIPT, K6Files, k6_argv, k6_env, make_plan, write_plan
from fairlap_race.rally.config import Files

Json = dict[str, Any]
CLIENTS = (1, 4, 16)
DELAYS: Mapping[int, float] = {5: 200, 20: 100, 100: 40}
"""Milliseconds, and requests a second at a rate."""
LOAD_CORE, SERVER_CORE = 0, 1


class Said(NamedTuple):
    """What a tool says of one load; times in milliseconds."""

    rate: float
    p50: float
    mean: float


def http_spec(host: str, folder: Path, loads: list[Json]) -> Json:
    """Return the specification of a race over HTTP."""
    return {
        "format": 1, "mode": "race", "namespace": "bench", "record": "bench", "raceId": "bench", "hosts": [host],
        "requests": {"path": str(folder), "file": "paths.txt"}, "http": {"loads": loads},
    }  # fmt: skip


def race_with_k6(host: str, paths: list[str], loads: list[Json], folder: Path) -> Record:
    """Return the record of a race over HTTP, which has no trouble."""
    folder.mkdir()
    (folder / "paths.txt").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
    (folder / "spec.json").write_text(json.dumps(http_spec(host, folder, loads)), encoding="utf-8")
    argv = [sys.executable, one_http_race.__file__, str(folder / "spec.json"), str(folder / "work")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    record = Record.from_json(done.stdout)
    if record is None or record.outcome.reason:
        raise RuntimeError(f"{record and record.outcome} {done.stderr[-2000:]}")
    return record


def by_k6(task: Task) -> Said:
    """Return what the record says of a task."""
    if task.rally is None or task.rate is None:
        raise RuntimeError(f"{task.task} has no numbers")
    times = task.rally.service_time_millis
    return Said(task.rate, times["p50"], times["mean"])


def race_with_rally(host: str, schedule: list[Json], folder: Path) -> dict[str, Said]:
    """Return by task what Rally says."""
    track = folder / "track"
    track.mkdir(parents=True)
    (track / "track.json").write_text(json.dumps({"version": 2, "description": "bench", "schedule": schedule}))
    spec = RaceSpec(Mode.RACE, "bench", "bench", folder.name, TrackSource(path=track), hosts=(host,), cores=1)
    work = folder / "work"
    work.mkdir()
    local_race.run_rally(spec, None, work, lambda argv: argv, Load(os.getpid()))
    results = json.loads(Files(work).race_json(folder.name).read_text(encoding="utf-8"))["results"]["op_metrics"]
    return {
        it["task"]: Said(it["throughput"]["mean"], it["service_time"]["50_0"], it["service_time"]["mean"])
        for it in results
    }


def rally_task(name: str, path: str, clients: int, seconds: float, rate: float | None = None) -> Json:
    """Return a task that sends GET `path`."""
    target = {} if rate is None else {"target-throughput": rate}
    operation = {"name": name, "operation-type": "raw-request", "path": path, "method": "GET"}
    times = {"warmup-time-period": 1, "time-period": seconds}
    return {"name": name, "clients": clients, "operation": operation, **times, **target}


class Trivial:
    """The trivial server on a core of its own."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        argv = [sys.executable, "-m", trivial_server.__name__, str(self.port)]
        self._process = subprocess.Popen(argv, cwd=Path(__file__).parent)
        os.sched_setaffinity(self._process.pid, {SERVER_CORE % (os.cpu_count() or 1)})
        self.host = f"127.0.0.1:{self.port}"
        limit = time.monotonic() + 20
        while True:
            try:
                self.count()
                return
            except OSError:
                if time.monotonic() > limit:
                    raise
                time.sleep(0.1)

    def count(self) -> int:
        """Return how many requests there were."""
        with urllib.request.urlopen(f"http://{self.host}/count") as answer:
            return int(answer.read())

    def end(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


def plain_k6(server: Trivial, clients: int, seconds: float, folder: Path, *, output: bool) -> float:
    """Return the requests a second of k6 with the same script but for its line, with k6's own output or none."""
    folder.mkdir()
    files = K6Files(folder)
    load = HttpLoad("x", seconds, clients)
    spec = parse_spec(json.dumps(http_spec(server.host, folder, [encode(load)])))
    (folder / "requests.json").write_text('[["GET", "/r", null, null]]')
    write_plan(files, make_plan(spec, HttpSpec((load,)), load, folder / "requests.json", 1))
    script = folder / "script.js"
    text = SCRIPT.read_text(encoding="utf-8")
    script.write_text("".join(line for line in text.splitlines(keepends=True) if "console.log" not in line))
    more = [f"--out=json={folder / 'out.json'}"] if output else []
    argv = [*k6_argv(files)[:-1], *more, str(script)]
    before = server.count()
    subprocess.run(argv, env=k6_env(spec, files, os.environ), check=True, stdout=subprocess.DEVNULL)
    return (server.count() - before) / seconds


def throughputs(clients: Sequence[int], seconds: float, folder: Path) -> str:
    """Return the table of requests a second on one core."""
    server = Trivial()
    try:
        os.sched_setaffinity(0, {LOAD_CORE})
        loads = [{"name": f"c{n}", "seconds": seconds, "clients": n, "warmupSeconds": 1} for n in clients]
        raced = [by_k6(task).rate for task in race_with_k6(server.host, ["/r"], loads, folder / "raced").tasks]
        bare = [plain_k6(server, n, seconds, folder / f"bare{n}", output=False) for n in clients]
        as_json = [plain_k6(server, n, seconds, folder / f"json{n}", output=True) for n in clients]
        tasks = [rally_task(f"c{n}", "/r", n, seconds) for n in clients]
        said = race_with_rally(server.host, tasks, folder / "rally-rates")
        rally = [said[f"c{n}"].rate for n in clients]
    finally:
        server.end()
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    lines = [
        "| requests/s on one core | " + " | ".join(f"{n} clients" for n in clients) + " |",
        "|---" * (1 + len(clients)) + "|",
    ]
    for name, rates in (
        ("k6, as raced", raced),
        ("k6, nothing recorded", bare),
        ("k6 --out json", as_json),
        ("Rally", rally),
    ):
        lines.append(f"| {name} | " + " | ".join(f"{rate:,.0f}" for rate in rates) + " |")
    lines.append(
        "| k6 as raced / Rally | " + " | ".join(f"{a / b:.1f}" for a, b in zip(raced, rally, strict=True)) + " |"
    )
    return "\n".join(lines)


def truths(delays: Mapping[int, float], seconds: float, folder: Path) -> str:
    """Return the table of what the tools say of known delays."""
    numbers = "| p50 | mean | more, ms | rate | a client's round, more, ms "
    lines = [f"| answer after, ms | loop | tool | server: mean, ms {numbers}|", "|---" * 9 + "|"]
    for delay, rate in delays.items():
        for loop, clients, target in (("closed, 4 clients", 4, None), (f"open, {rate}/s", 20, rate)):
            server = TimedServer()
            name = f"{delay}-{loop.split(',')[0]}"
            load = {"name": name, "seconds": seconds, "clients": clients, "warmupSeconds": 1, "rate": target}
            k6 = by_k6(race_with_k6(server.host, [f"/{delay}"], [load], folder / f"k6-{name}").tasks[0])
            true_k6 = statistics.mean(server.taken[1:]) * 1000
            server.forget()
            task = rally_task(name, f"/{delay}", clients, seconds, target)
            rally = race_with_rally(server.host, [task], folder / f"rally-{name}")[name]
            true_rally = statistics.mean(server.taken) * 1000
            server.close()
            for tool, said, true in (("k6", k6, true_k6), ("Rally", rally, true_rally)):
                # In a closed loop a client's round is all that it does from request to request: clients / throughput.
                round_more = f"{1000 * clients / said.rate - true:.2f}" if target is None else ""
                cells = f"{true:.2f} | {said.p50:.2f} | {said.mean:.2f} | {said.mean - true:.2f} | {said.rate:.1f}"
                cells += f" | {round_more}"
                lines.append(f"| {delay} | {loop} | {tool} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--k6", type=Path, help="the program k6")
    parser.add_argument("--seconds", type=float, default=15, help="of each load")
    parser.add_argument("--smallest", action="store_true", help="one load of each kind, two seconds")
    asked = parser.parse_args()
    if asked.k6:
        os.environ["PATH"] = f"{asked.k6.parent}:{os.environ['PATH']}"
    seconds = 2 if asked.smallest else asked.seconds
    with tempfile.TemporaryDirectory() as directory:
        print(throughputs((4,) if asked.smallest else CLIENTS, seconds, Path(directory)), end="\n\n", flush=True)
        print(truths({20: 100} if asked.smallest else DELAYS, seconds, Path(directory)), flush=True)


if __name__ == "__main__":
    main()
