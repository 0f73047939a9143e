"""Races of this machine's Rally against an Elasticsearch on it, without a cluster of Kubernetes."""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import fairlap_race
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec, TrackSource
from fairlap_race.linux import process
from fairlap_race.rally.config import Files, rally_argv, rally_env, write_files
from parts.quiet import Load

LOOK_SECONDS = 1.0
"""Reading /proc costs CPU itself, so not more often."""
ArgvOf = Callable[[list[str]], list[str]]
INDEX = {"settings": {"index.number_of_shards": 1, "index.number_of_replicas": 0}}


def takes_server(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say where Elasticsearch is."""
    parser.add_argument("--host", required=True, help="NAME:PORT of Elasticsearch")
    parser.add_argument("--server-pid", type=int, required=True, help="process id of its Java process")
    parser.add_argument("--user", default="elastic")
    parser.add_argument("--password-file", type=Path)
    parser.add_argument("--ca-file", type=Path)


def refuse_unknown_server(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> None:
    """End with an error where the process is none: its time would be that of others, and every race disturbed."""
    if not Path(f"/proc/{asked.server_pid}/stat").exists():
        parser.error(f"--server-pid {asked.server_pid}: there is no such process on this machine")


def password_of(asked: argparse.Namespace) -> str | None:
    """Return the password of the file that was asked for."""
    return asked.password_file.read_text(encoding="utf-8").rstrip("\n") if asked.password_file else None


def spec_of(asked: argparse.Namespace, name: str, track: Path) -> RaceSpec:
    """Return what a race of that name and track is to do."""
    return RaceSpec(
        mode=Mode.RACE,
        namespace="bench",
        record="bench",
        race_id=name,
        track=TrackSource(path=track),
        hosts=(asked.host,),
        user=asked.user,
        password_file=asked.password_file,
        ca_file=asked.ca_file,
        cores=1,
    )


def environment(files: Files) -> dict[str, str]:
    """Return the environment of a process that starts Rally."""
    return rally_env(files, os.environ) | {"PYTHONPATH": str(Path(fairlap_race.__file__).parents[1])}


def as_stock(argv: list[str]) -> list[str]:
    """Return the arguments that start Rally as it is: its own entry point, and what follows."""
    return [sys.executable, "-m", "esrally.rally", *argv[argv.index("race") :]]


def run_rally(spec: RaceSpec, password: str | None, work: Path, argv_of: ArgvOf, load: Load) -> float:
    """Run one race by Rally alone and return its seconds; raises RuntimeError when it fails."""
    files = Files(work)
    write_files(spec, files, {}, password, spec.cores or 1)
    argv = argv_of(rally_argv(spec, files, spec.track.path or work))
    return follow(process.start(argv, environment(files), work, files.output), files.output, load)


def follow(running: subprocess.Popen[bytes], output: Path, load: Load) -> float:
    """Wait for the end of a process and return its seconds; raises RuntimeError when it fails."""
    # What it leaves to nobody is ours, too, when it is asked what others use.
    process.become_subreaper()
    started = time.monotonic()
    load.begin()
    while running.poll() is None:
        time.sleep(LOOK_SECONDS)
    if running.returncode != 0:
        raise RuntimeError(output.read_text(encoding="utf-8")[-2000:])
    return time.monotonic() - started


def numbers(race_json: Path, only: Sequence[str] = ()) -> dict[str, float]:
    """Return what Rally measured, by 'task · number'; of these tasks only where some are named."""
    found = {}
    results: dict[str, Any] = json.loads(race_json.read_text(encoding="utf-8"))["results"]
    for task in results["op_metrics"]:
        if only and task["task"] not in only:
            continue
        for name in ("mean", "median"):
            found[f"{task['task']} · throughput {name}"] = float(task["throughput"][name])
        for name in ("50_0", "90_0", "99_0"):
            if name in task["service_time"]:
                found[f"{task['task']} · service time p{name[:2]}"] = float(task["service_time"][name])
    return found


def write_documents(path: Path, count: int) -> None:
    """Write documents of a log, the same ones each time."""
    with path.open("w", encoding="utf-8") as out:
        for number in range(count):
            document = {
                "n": number,
                "ip": f"10.0.{number * 7 % 256}.{number * 31 % 256}",
                "text": f"GET /{number % 997}",
            }
            out.write(json.dumps(document) + "\n")


def write_track(directory: Path, index: str, documents: int, schedule: Sequence[dict[str, Any]]) -> None:
    """Write a track of one index that is made anew, indexed and searched."""
    directory.mkdir(parents=True)
    write_documents(directory / "docs.json", documents)
    track = {
        "version": 2,
        "description": "what a bench measures",
        "indices": [{"name": index, "body": "index.json"}],
        "corpora": [{"name": index, "documents": [{"source-file": "docs.json", "document-count": documents}]}],
        "schedule": [
            {"operation": {"operation-type": "delete-index", "name": "delete"}},
            {"operation": {"operation-type": "create-index", "name": "create"}},
            *schedule,
        ],
    }
    (directory / "index.json").write_text(json.dumps(INDEX), encoding="utf-8")
    (directory / "track.json").write_text(json.dumps(track), encoding="utf-8")
