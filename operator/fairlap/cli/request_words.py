"""The words of `fairlap requests`, declared with click; each command returns the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from fairlap.cli.edge.exits import UsageError

F = TypeVar("F", bound=Callable[..., Any])


def _common(command: F) -> F:
    files = click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True))
    output = click.option(
        "-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Default: standard output."
    )
    most = click.option(
        "--most", type=click.IntRange(min=1), metavar="N", help="Write at most so many requests (default: 1000000)."
    )
    return files(output(most(command)))


@click.group(short_help="Make files of requests for the track replay; needs no cluster.")
def requests() -> None:
    """Make files of requests for the builtin track replay; needs no cluster. What is none is left out, and said."""


@requests.command("from-slowlog", short_help="From Elasticsearch's slow log of searches.")
@_common
def from_slowlog(files: tuple[str, ...], output: str | None, most: int | None) -> int:
    """Take the searches of slow logs FILE... (- is standard input), as JSON or as text, by their time.

    Each node logs its own shards: name the files of all nodes together.
    """
    from fairlap.cli.commands import requests_command  # noqa: PLC0415
    from fairlap.requests.slow_log import from_slow_log  # noqa: PLC0415

    return requests_command.make_requests(files, from_slow_log, output, most)


@requests.command("from-access-log", short_help="From the access log of a proxy before Elasticsearch.")
@_common
@click.option("--strip", default="", metavar="PATH", help="The beginning of paths that the proxy takes away, as /es.")
@click.option("--match", default="", metavar="TEXT", help="Only paths that have this text in them, as /_search.")
@click.option("--without-body", is_flag=True, help="Keep searches without q or source: they are sent without a body.")
def from_access_log(
    files: tuple[str, ...], output: str | None, most: int | None, strip: str, match: str, without_body: bool
) -> int:
    """Take the GETs of access logs FILE... (common or combined format, or JSON lines) that were answered well."""
    from fairlap.cli.commands import requests_command  # noqa: PLC0415
    from fairlap.requests import access_log  # noqa: PLC0415

    return requests_command.make_requests(
        files, lambda lines: access_log.from_access_log(lines, strip, match, without_body), output, most
    )


@requests.command("from-search-results", short_help="Searches for terms that hit, from answers of a search engine.")
@_common
@click.option("--field", required=True, metavar="FIELD", help="Of the hits: its values are the terms, as title.")
@click.option("--index", metavar="INDEX", help="Search this index for all words of a term in the field.")
@click.option("--path", metavar="PATH", help="Another path, with {term} in it, as '/d/select?query={term}'.")
@click.option("--body", metavar="JSON", help="Another body, with {term} in it; needs --index or --path.")
@click.option("--words", is_flag=True, help="Each word of a value is a term, not the whole.")
@click.option(
    "--sanitize", is_flag=True,
    help=r'A blank for each of !"&()*+-/:;<=>?[\]^{|}~ in a term; its words AND, OR and NOT in small letters.',
)  # fmt: skip
def from_search_results(
    files: tuple[str, ...],
    output: str | None,
    most: int | None,
    field: str,
    index: str | None,
    path: str | None,
    body: str | None,
    **terms: bool,
) -> int:
    """Ask for the terms that hits of Elasticsearch or Groonga have in a field; FILE... are their answers."""
    from fairlap.cli.commands import requests_command  # noqa: PLC0415
    from fairlap.requests.search_results import TERM, Wanted, from_search_results  # noqa: PLC0415

    if (index is None) == (path is None):
        raise UsageError("say what to ask: --index INDEX, or --path PATH with {term} in it or in --body")
    if index is not None:
        asked: Any = {"query": {"match": {field: {"query": TERM, "operator": "and"}}}}
    try:
        asked = json.loads(body) if body is not None else asked if index is not None else None
    except ValueError as error:
        raise UsageError(f"--body is not JSON: {error}") from error
    wanted = Wanted(field, path or f"/{index}/_search", asked, **terms)
    if TERM not in wanted.path and TERM not in json.dumps(asked):
        raise UsageError("neither --path nor --body has {term} in it, so that all requests would be the same")
    return requests_command.make_requests(files, lambda lines: from_search_results(lines, wanted), output, most)


@requests.command("same-hits", short_help="The lines of several engines' files that find as much everywhere.")
@click.option(
    "-e", "--engine", "engines", nargs=3, type=str, metavar="FILE URL POINTER", multiple=True, required=True,
    help="A file, the engine that it is for, and where its answers tell the number of hits; given for each engine.",
)  # fmt: skip
@click.option(
    "-o", "--output", metavar="FOLDER", required=True, type=click.Path(file_okay=False),
    help="Where the files are written to, under their names; not a folder of theirs.",
)  # fmt: skip
@click.option("--most", type=click.IntRange(min=1), metavar="N", help="Keep at most so many lines.")
def same_hits(engines: tuple[tuple[str, str, str], ...], output: str, most: int | None) -> int:
    """Keep the lines that find as many hits in every engine, and list the others.

    Line by line the files ask for the same, each in its engine's words. A Comparison of engines needs such files.
    """
    from fairlap.cli.commands import same_hits_command  # noqa: PLC0415

    if len(engines) < 2:
        raise UsageError("name two engines or more: -e FILE URL POINTER -e FILE URL POINTER")
    names = [file.rpartition("/")[2] for file, _, _ in engines]
    if len(set(names)) < len(names):
        raise UsageError(f"the files need different names, since they are written to {output} under them")
    return same_hits_command.same_hits([same_hits_command.Engine(*it) for it in engines], output, most)
