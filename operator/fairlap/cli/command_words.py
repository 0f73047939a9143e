"""The words that the command line understands, declared with click; each command returns the exit code.

What a command does is imported when it is called: the Kubernetes client takes half a second, which `track list` and the
completion of words need not wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from fairlap.cli.edge.exits import SUCCEEDED, CliError, UsageError
from fairlap.cli.option_values import Percent, TimeOption, track_params
from fairlap.cli.request_words import requests

if TYPE_CHECKING:
    from fairlap.cli.edge.connection import Connection

F = TypeVar("F", bound=Callable[..., Any])
SHELLS = ("bash", "fish", "zsh")
_CHOSEN = "fairlap.cluster."
"""Prefix of the keys in a context's `meta`, which a command shares with the words before it."""


class _InOrder(click.Group):
    """A group that lists its commands as they stand here."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def _keep(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None and param.name:
        ctx.meta[_CHOSEN + param.name] = value


def not_empty(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Return what stands for a name, or several; raises UsageError for "", say of a variable that is not set."""
    for each in value if isinstance(value, tuple) else (value,):
        if each is not None and not each.strip():
            raise UsageError(f"{(param.metavar or 'NAME').strip('[].')} is empty: write a name")
    return value


def _cluster_options(command: F) -> F:
    """Add the options that choose a cluster; given before and after the command, the latter win."""
    namespace = click.option(
        "-n",
        "--namespace",
        metavar="NAMESPACE",
        callback=_keep,
        expose_value=False,
        help="Default: that of the context.",
    )
    context = click.option(
        "--context", metavar="CONTEXT", callback=_keep, expose_value=False,
        help="Of the kubeconfig (default: the current one).",
    )  # fmt: skip
    return namespace(context(command))


def _connect(ctx: click.Context) -> Connection:
    from fairlap.cli.edge.connection import Connection  # noqa: PLC0415

    return Connection.open(ctx.meta.get(f"{_CHOSEN}context"), ctx.meta.get(f"{_CHOSEN}namespace"))


def _complete_benchmark(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return _begin_so(lambda: _connect(ctx).benchmarks(), incomplete)


def _complete_comparison(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return _begin_so(lambda: _connect(ctx).comparisons(), incomplete)


def _begin_so(listed: Callable[[], Iterable[Any]], incomplete: str) -> list[str]:
    """Return the names of those that begin in this way; none where the cluster does not tell."""
    try:
        names = [str(each["metadata"]["name"]) for each in listed()]
    except CliError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def _complete_source(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    file = [CompletionItem(incomplete, type="file")]
    return file + [CompletionItem(name) for name in _complete_benchmark(ctx, param, incomplete)]


def _complete_builtin(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from fairlap.cli.edge import builtin  # noqa: PLC0415

    return [name for name in builtin.builtin_tracks() if name.startswith(incomplete)]


def _complete_track(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    # Shells take file names where they are told "file"; the names of builtin tracks must not hide those.
    names = _complete_builtin(ctx, param, incomplete) if incomplete else []
    return [CompletionItem(incomplete, type="file"), *map(CompletionItem, names)]


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    try:
        click.echo(f"fairlap {version('fairlap')}")
    except PackageNotFoundError:
        click.echo("fairlap (not installed)")
    ctx.exit()


@click.group("fairlap", cls=_InOrder, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
@_cluster_options
def fairlap() -> None:
    """Elasticsearch benchmarks on Kubernetes."""


# --- with a cluster --------------------------------------------------------------------------------------------


_TIMEOUT = click.option(
    "--timeout", type=TimeOption(), metavar="TIME",
    help="With --wait: stop waiting after this time, as in 90m, with exit code 124.",
)  # fmt: skip
_FILES = click.option(
    "-f", "--filename", "files", metavar="FILE", type=click.Path(), multiple=True, required=True,
    help="Manifest, directory of manifests, or - for standard input; may be given several times.",
)  # fmt: skip


def _waiting(command: F) -> F:
    wait = click.option(
        "--wait", is_flag=True,
        help="Show progress until all have ended: exit code 0 when all succeeded, 1 when one failed or regressed, 3 "
        "when a Comparison cannot tell.",
    )  # fmt: skip
    return wait(_TIMEOUT(command))


def _check_waiting(wait: bool, timeout: float | None) -> None:
    if timeout is not None and not wait:
        raise UsageError("--timeout is for --wait")


_NAME = click.argument("name", metavar="NAME", callback=not_empty, shell_complete=_complete_benchmark)


@fairlap.command(short_help="Apply Benchmarks and Comparisons and follow them to their end.")
@_FILES
@_waiting
@click.option("--dry-run", is_flag=True, help="Let the API server check the manifests, change nothing.")
@_cluster_options
@click.pass_context
def run(ctx: click.Context, files: tuple[str, ...], wait: bool, timeout: float | None, dry_run: bool) -> int:
    """Apply Benchmarks and Comparisons and follow them to their end."""
    from fairlap.cli.commands import run_command  # noqa: PLC0415

    _check_waiting(wait, timeout)
    return run_command.run(_connect(ctx), files, wait, timeout, dry_run)


@fairlap.command(short_help="Say what a Comparison would do, before anything is applied.")
@_FILES
@click.option("--server", is_flag=True, help="Also let the API server check it and each variant's Benchmark.")
@click.option(
    "--race-time", type=TimeOption(some=True), metavar="TIME",
    help="How long a race takes, as in 4m: says how long all take.",
)  # fmt: skip
@click.option(
    "--noise", type=Percent(), metavar="PERCENT",
    help="Standard deviation of a change from block to block: says how small a change will be shown.",
)  # fmt: skip
@_cluster_options
@click.pass_context
def plan(ctx: click.Context, files: tuple[str, ...], server: bool, race_time: float | None, noise: float | None) -> int:
    """Say what the Comparisons in FILE would do: variants, races, their order, what decides. Changes nothing.

    Needs no cluster without --server. Exit code 1 when something is wrong with one, or with a Benchmark in FILE.
    """
    from fairlap.cli.commands import plan_command  # noqa: PLC0415
    from fairlap.cli.tables.plan_text import Known  # noqa: PLC0415

    return plan_command.plan((lambda: _connect(ctx)) if server else None, files, Known(race_time, noise))


@fairlap.command(short_help="Measure the same once more, as a new Benchmark.")
@_NAME
@_waiting
@_cluster_options
@click.pass_context
def rerun(ctx: click.Context, name: str, wait: bool, timeout: float | None) -> int:
    """Measure the same as the Benchmark NAME once more, as a new Benchmark."""
    from fairlap.cli.commands import run_command  # noqa: PLC0415

    _check_waiting(wait, timeout)
    return run_command.rerun(_connect(ctx), name, wait, timeout)


@fairlap.command(short_help="Results of Benchmarks side by side.")
@click.argument(
    "names", metavar="NAME...", nargs=-1, required=True, callback=not_empty, shell_complete=_complete_benchmark
)
@click.option(
    "-o", "--output", type=click.Choice(["table", "json", "csv", "md", "machines", "drnbench", "svg"]), default="table",
    help="Format (default: table); json, csv and md have everything; drnbench and svg are the curve of a sweep.",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="In the table, too: all figures, machines, what really ran.")
@_cluster_options
@click.pass_context
def results(ctx: click.Context, names: tuple[str, ...], output: str, everything: bool) -> int:
    """Show the main figures of the Benchmarks NAME... side by side, and what differs between them."""
    from fairlap.cli.commands import results_command  # noqa: PLC0415

    return results_command.results(_connect(ctx), names, output, everything)


@fairlap.command(short_help="Say which of two variants is better, as far as their races tell.")
@click.argument("baseline", metavar="BASELINE", callback=not_empty, shell_complete=_complete_source)
@click.argument("contender", metavar="CONTENDER", callback=not_empty, shell_complete=_complete_source)
@click.option(
    "--in-blocks", is_flag=True,
    help="The first race of both was raced back to back, the second of both, and so on: compare pair by pair.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Choice(["text", "md", "json", "csv"]), default="text", help="Format (default: text)."
)
@_cluster_options
@click.pass_context
def compare(ctx: click.Context, baseline: str, contender: str, in_blocks: bool, output: str) -> int:
    """Say which of two variants is better, as far as their races tell.

    BASELINE and CONTENDER are each a Benchmark, a race.json of Rally (a name with a / or .json), a folder of them, or
    several of these with commas between them.
    """
    from fairlap.cli.commands import compare_command  # noqa: PLC0415

    return compare_command.compare(lambda: _connect(ctx), baseline, contender, in_blocks, output)


@fairlap.command(short_help="Tell a pipeline whether a Comparison passed its gates.")
@click.argument("name", metavar="NAME", callback=not_empty, shell_complete=_complete_comparison)
@click.option("--wait", is_flag=True, help="Wait for its end, and show its progress meanwhile.")
@_TIMEOUT
@_cluster_options
@click.pass_context
def gate(ctx: click.Context, name: str, wait: bool, timeout: float | None) -> int:
    """Tell whether the Comparison NAME passed its gates.

    Exit code 0: passed; 1: something got worse; 3: cannot be told, not comparable, failed or not over; 124: time-out.
    """
    from fairlap.cli.commands import gate_command  # noqa: PLC0415

    _check_waiting(wait, timeout)
    return gate_command.gate(lambda: _connect(ctx), name, wait, timeout)


@fairlap.command("report", short_help="The report of a Comparison: one HTML file, or Markdown, CSV, JUnit XML.")
@click.argument("name", metavar="[NAME]", required=False, callback=not_empty, shell_complete=_complete_comparison)
@click.option(
    "-o", "format_", type=click.Choice(["html", "md", "csv", "junit", "json"]), default="html",
    help="Format (default: html); json is an archive that every format can be made of later, without the cluster.",
)  # fmt: skip
@click.option(
    "--output", metavar="FILE", type=click.Path(),
    help="Where to (default: NAME.html for html, else standard output, which is -).",
)  # fmt: skip
@click.option(
    "-f", "--filename", "file", metavar="FILE", type=click.Path(),
    help="In place of NAME: an archive, an HTML report, or a Comparison as JSON (kubectl get -o json).",
)  # fmt: skip
@click.option(
    "--blocks", "folder", metavar="DIR", type=click.Path(),
    help="With a Comparison as JSON: where its blocks' records are (ConfigMaps as JSON, or block.json.gz files).",
)  # fmt: skip
@_cluster_options
@click.pass_context
def report_(
    ctx: click.Context, name: str | None, format_: str, output: str | None, file: str | None, folder: str | None
) -> int:
    """Write the report of the Comparison NAME, or of files that were kept of one."""
    from fairlap.cli.commands import report_command  # noqa: PLC0415

    source = report_command.Source(name, file, folder)
    return report_command.report(lambda: _connect(ctx), source, format_, output)


@fairlap.command(short_help="What Rally or k6 logged, or logs while it runs.")
@_NAME
@click.option(
    "--race",
    metavar="STEP",
    callback=not_empty,
    help="Number of the race, smoke, check or probe (default: the one that runs, or ran last).",
)
@click.option("-f", "--follow", is_flag=True, help="Go on until the Benchmark has ended.")
@_cluster_options
@click.pass_context
def logs(ctx: click.Context, name: str, race: str | None, follow: bool) -> int:
    """Show what Rally or k6 logged in a step of the Benchmark NAME, or logs while it runs."""
    from fairlap.cli.commands import logs_command  # noqa: PLC0415

    step = logs_command.step_name(race) if race else None
    return logs_command.logs(_connect(ctx), name, step, follow)


@fairlap.group(cls=_InOrder, short_help="Find what harms numbers in a cluster.")
@_cluster_options
def doctor() -> None:
    """Find what harms numbers in a cluster."""


@doctor.command("noise", short_help="Say what to change so that numbers have less noise.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="Format (default: text).")
@_cluster_options
@click.pass_context
def doctor_noise(ctx: click.Context, output: str) -> int:
    """Say what to change in the cluster so that its numbers have less noise, the most valuable first.

    Looks at nodes, kubelets, pods beside races, and the namespace's finished Benchmarks, with your own rights; changes
    nothing. What it may not see is listed as unknown, with the right that it needs.
    """
    from fairlap.cli.commands import doctor_command  # noqa: PLC0415

    return doctor_command.noise(_connect(ctx), output)


# --- without a cluster -----------------------------------------------------------------------------------------

_PARAM = click.option(
    "--param", "pairs", metavar="KEY=VALUE", multiple=True,
    help="A track parameter; the value is JSON, or else a text; may be given several times.",
)  # fmt: skip
_DIRECTORY = click.argument("directory", metavar="DIR", type=click.Path(file_okay=False), callback=not_empty)


@fairlap.group(cls=_InOrder, short_help="Check and make tracks; needs no cluster.")
def track() -> None:
    """Check and make tracks; needs no cluster."""


@track.command("check", short_help="Find what is wrong with a track before it is raced.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, callback=not_empty, shell_complete=_complete_track)
@_PARAM
@click.option("--params", "file", metavar="FILE", type=click.Path(), help="Track parameters as a JSON or YAML file.")
@click.option("--challenge", metavar="CHALLENGE", help="Look at this challenge only (default: at all).")
@click.option("--test-mode", is_flag=True, help="As the smoke test races it.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="Format (default: text).")
def check(
    paths: tuple[str, ...],
    pairs: tuple[str, ...],
    file: str | None,
    challenge: str | None,
    test_mode: bool,
    output: str,
) -> int:
    """Find what is wrong with the tracks PATH..., each a directory or the name of a builtin track."""
    from fairlap.cli.commands import track_check  # noqa: PLC0415

    return track_check.check_tracks(paths, track_params(pairs, file), challenge, test_mode, output)


@track.command("generate", short_help="Write a builtin track with its documents.")
@click.argument("name", metavar="TRACK", callback=not_empty, shell_complete=_complete_builtin)
@_DIRECTORY
@click.option("--documents", type=click.IntRange(min=1), metavar="N", help="How many (default: as the track says).")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Another seed gives other documents.")
@_PARAM
def generate(name: str, directory: str, documents: int | None, seed: int | None, pairs: tuple[str, ...]) -> int:
    """Write the builtin track TRACK with its documents to DIR, a new or empty directory."""
    from fairlap.cli.commands import track_commands  # noqa: PLC0415

    asked = {"documents": documents, "seed": seed}
    params = track_params(pairs, None) | {key: value for key, value in asked.items() if value is not None}
    return track_commands.generate_track(name, Path(directory), params)


@track.command("new", short_help="Write a small track to begin with.")
@_DIRECTORY
def new(directory: str) -> int:
    """Write a small track of one's own to begin with to DIR, a new or empty directory."""
    from fairlap.cli.commands import scaffold  # noqa: PLC0415

    return scaffold.new_track(Path(directory))


@track.command("list", short_help="List the builtin tracks.")
def list_() -> int:
    """List the builtin tracks."""
    from fairlap.cli.commands import track_commands  # noqa: PLC0415

    return track_commands.list_tracks()


fairlap.add_command(requests)


@fairlap.command(short_help="Print the shell's completion script.")
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
def completion(shell: str) -> int:
    """Print the completion script of SHELL: bash, fish or zsh."""
    from fairlap.cli.completion import completion_script  # noqa: PLC0415

    click.echo(completion_script(fairlap, shell), nl=False)
    return SUCCEEDED
