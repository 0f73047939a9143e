"""Starts the command that the user asked for; every failure is one sentence on standard error and an exit code."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from fairlap.cli.arguments import parser, track_params
from fairlap.cli.completion import COMMAND, SCRIPTS, complete
from fairlap.cli.exits import FAILED, INTERRUPTED, SUCCEEDED, CliError, UsageError

DEBUG = "FAIRLAP_DEBUG"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (None: that of the process); return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    program = _program()
    try:
        if words[:1] == [COMMAND]:
            print("\n".join(complete(parser(program), words[1:], _names)))
            return SUCCEEDED
        return _command(parser(program).parse_args(words))
    except CliError as error:
        print(f"fairlap: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough; Python must not complain again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SUCCEEDED
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        print(f"fairlap: this should not have happened: {what} ({DEBUG}=1 shows where)", file=sys.stderr)
        return FAILED


def completion_main() -> int:
    """Answer kubectl, which completes `kubectl fairlap …` by starting `kubectl_complete-fairlap`."""
    answer = complete(parser("kubectl fairlap"), sys.argv[1:], _names)
    # kubectl reads words, and then a directive: 4 is "no file names", 0 leaves those to the shell.
    files = answer == [":files"]
    print("\n".join([*([] if files else answer), ":0" if files else ":4"]))
    return SUCCEEDED


def _program() -> str:
    return "kubectl fairlap" if Path(sys.argv[0]).name.startswith("kubectl-") else "fairlap"


def _command(options: Namespace) -> int:
    if options.command == "track":
        return _track(options)
    if options.command == "completion":
        print(SCRIPTS[options.shell], end="")
        return SUCCEEDED
    # The Kubernetes client takes half a second to import, which the other commands need not wait for.
    from fairlap.cli import logs, results, run  # noqa: PLC0415
    from fairlap.cli.connection import Cluster  # noqa: PLC0415

    if options.command == "logs":
        step = logs.step_name(options.race) if options.race else None
        return logs.logs(Cluster.connect(options.context, options.namespace), options.name, step, options.follow)
    if options.command in ("run", "rerun") and options.timeout is not None and not options.wait:
        raise UsageError("--timeout is for --wait")
    cluster = Cluster.connect(options.context, options.namespace)
    if options.command == "results":
        return results.results(cluster, options.names, options.output)
    if options.command == "rerun":
        return run.rerun(cluster, options.name, options.wait, options.timeout)
    return run.run(cluster, options.filename, options.wait, options.timeout, options.dry_run)


def _track(options: Namespace) -> int:
    from fairlap.cli import builtin, scaffold, track_check  # noqa: PLC0415

    if options.verb == "list":
        return builtin.list_tracks()
    if options.verb == "new":
        return scaffold.new_track(Path(options.directory))
    if options.verb == "generate":
        params = track_params(options.param, None)
        asked = {"documents": options.documents, "seed": options.seed}
        params |= {key: value for key, value in asked.items() if value is not None}
        return builtin.generate_track(options.track, Path(options.directory), params)
    params = track_params(options.param, options.params)
    return track_check.check_tracks(options.paths, params, options.challenge, options.test_mode, options.output)


def _names(words: Sequence[str]) -> list[str]:
    """Return the names that fit where a name is wanted: builtin tracks or Benchmarks; none when that fails."""
    from fairlap.cli import builtin  # noqa: PLC0415

    if words[:2] == ["track", "generate"]:
        return list(builtin.builtin_tracks())
    from fairlap.cli.connection import Cluster  # noqa: PLC0415

    try:
        cluster = Cluster.connect(_value(words, "--context"), _value(words, "-n", "--namespace"))
        return [each["metadata"]["name"] for each in cluster.benchmarks()]
    except CliError:
        return []


def _value(words: Sequence[str], *options: str) -> str | None:
    return next((words[at + 1] for at, word in enumerate(words[:-1]) if word in options), None)
