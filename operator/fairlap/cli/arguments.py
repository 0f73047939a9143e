"""The words that the command line understands."""

from __future__ import annotations

import argparse
import json
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml

from fairlap.cli.completion import SCRIPTS
from fairlap.cli.exits import UsageError

_UNITS = {"s": 1, "m": 60, "h": 3600}


def parser(program: str) -> argparse.ArgumentParser:
    """Return the parser; `program` is the name that the user called."""
    top = argparse.ArgumentParser(
        prog=program, description="Elasticsearch benchmarks on Kubernetes.", allow_abbrev=False
    )
    top.add_argument("--version", action="version", version=f"fairlap {_version()}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _run(commands)
    _rerun(commands)
    _results(commands)
    _logs(commands)
    _track(commands)
    shell = commands.add_parser("completion", help="print the shell's completion script", allow_abbrev=False)
    shell.add_argument("shell", choices=sorted(SCRIPTS))
    return top


def _run(commands: Any) -> None:
    run = _with_cluster(commands, "run", "apply Benchmarks and follow them to their end")
    run.add_argument(
        "-f", "--filename", metavar="FILE", action="append", required=True,
        help="manifest, directory of manifests, or - for standard input; may be given several times",
    )  # fmt: skip
    _waiting(run)
    run.add_argument("--dry-run", action="store_true", help="let the API server check the manifests, change nothing")


def _rerun(commands: Any) -> None:
    rerun = _with_cluster(commands, "rerun", "measure the same once more, as a new Benchmark")
    rerun.add_argument("name", metavar="NAME", help="Benchmark")
    _waiting(rerun)


def _waiting(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--wait", action="store_true",
        help="show progress until all have ended: exit code 0 when all succeeded, 1 when one failed",
    )  # fmt: skip
    command.add_argument(
        "--timeout", type=_seconds, metavar="TIME",
        help="with --wait: stop waiting after this time, as in 90m, with exit code 124",
    )  # fmt: skip


def _results(commands: Any) -> None:
    results = _with_cluster(commands, "results", "results of Benchmarks side by side")
    results.add_argument("names", metavar="NAME", nargs="+", help="Benchmarks")
    results.add_argument(
        "-o",
        "--output",
        choices=["table", "json", "csv", "md", "machines"],
        default="table",
        help="format (default: table)",
    )


def _logs(commands: Any) -> None:
    logs = _with_cluster(commands, "logs", "what Rally logged, or logs while it runs")
    logs.add_argument("name", metavar="NAME", help="Benchmark")
    logs.add_argument(
        "--race", metavar="STEP", help="number of the race, smoke or check (default: the one that runs, or ran last)"
    )
    logs.add_argument("-f", "--follow", action="store_true", help="go on until the Benchmark has ended")


def _track(commands: Any) -> None:
    track = commands.add_parser("track", help="check and make tracks; needs no cluster", allow_abbrev=False)
    verbs = track.add_subparsers(dest="verb", metavar="VERB", required=True)
    check = verbs.add_parser("check", help="find what is wrong with a track before it is raced", allow_abbrev=False)
    check.add_argument("paths", metavar="PATH", nargs="+", help="a track's directory, or the name of a builtin track")
    _parameters(check)
    check.add_argument("--params", metavar="FILE", help="track parameters as a JSON or YAML file")
    check.add_argument("--challenge", metavar="CHALLENGE", help="look at this challenge only (default: at all)")
    check.add_argument("--test-mode", action="store_true", help="as the smoke test races it")
    check.add_argument("-o", "--output", choices=["text", "json"], default="text", help="format (default: text)")
    generate = verbs.add_parser("generate", help="write a builtin track with its documents", allow_abbrev=False)
    generate.add_argument("track", metavar="TRACK", help="name of the builtin track")
    generate.add_argument("directory", metavar="DIR", help="a new or empty directory")
    generate.add_argument("--documents", type=int, metavar="N", help="how many (default: as the track says)")
    generate.add_argument("--seed", type=int, metavar="N", help="another seed gives other documents")
    _parameters(generate)
    new = verbs.add_parser("new", help="write a small track to begin with", allow_abbrev=False)
    new.add_argument("directory", metavar="DIR", help="a new or empty directory")
    verbs.add_parser("list", help="list the builtin tracks", allow_abbrev=False)


def _parameters(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--param", metavar="KEY=VALUE", action="append", default=[],
        help="a track parameter; the value is JSON, or else a text; may be given several times",
    )  # fmt: skip


def _with_cluster(commands: Any, name: str, text: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, allow_abbrev=False)
    command.add_argument("-n", "--namespace", metavar="NAMESPACE", help="default: that of the context")
    command.add_argument("--context", metavar="CONTEXT", help="of the kubeconfig (default: the current one)")
    return command


def track_params(pairs: list[str], file: str | None) -> dict[str, Any]:
    """Return the track parameters of --params and --param; the latter win. Raises UsageError."""
    params: dict[str, Any] = {}
    if file is not None:
        try:
            found = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise UsageError(
                f"--params {file}: {getattr(error, 'strerror', None) or 'is neither JSON nor YAML'}"
            ) from error
        if not isinstance(found, dict):
            raise UsageError(f"--params {file}: must hold one object with the parameters")
        params |= found
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--param {pair}: write KEY=VALUE")
        try:
            params[key] = json.loads(value)
        except ValueError:
            params[key] = value
    return params


def _seconds(text: str) -> float:
    parts = re.findall(r"(\d+(?:\.\d+)?)([smh])", text)
    if not parts or "".join(f"{number}{unit}" for number, unit in parts) != text:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write 90s, 30m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _version() -> str:
    try:
        return version("fairlap")
    except PackageNotFoundError:
        return "(not installed)"
