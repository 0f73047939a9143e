"""`fairlap report`: what is known of a Comparison, as a file for people or for a pipeline."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from fairlap.api.block_record import BlockRecord
from fairlap.cli.edge.comparison_files import Connect, Json, from_cluster, from_files
from fairlap.cli.edge.exits import SUCCEEDED, CliError, UsageError
from fairlap.cli.edge.printable import print_text
from fairlap.comparison_report.archive import archive_of
from fairlap.comparison_report.comparison_view import NotAComparisonError
from fairlap.comparison_report.html_report import report_html
from fairlap.comparison_report.plain_reports import report_csv, report_junit, report_markdown

_STANDARD_OUTPUT = "-"


class Source(NamedTuple):
    """Where a Comparison comes from: a cluster by its name, or a file, with a folder of records where it has none."""

    name: str | None
    file: str | None
    folder: str | None


def report(connect: Connect, source: Source, format_: str, output: str | None) -> int:
    """Write the report in the format `format_` to the file `output`; return the exit code. Raises CliError.

    Without `output` HTML goes to NAME.html and all else to standard output. `connect` opens the cluster; it is called
    only when the Comparison is in one.
    """
    if (source.name is None) == (source.file is None):
        raise UsageError("say which Comparison: its NAME, or -f with a file that was kept of it")
    if source.folder is not None and source.file is None:
        raise UsageError("--blocks is for -f")
    if source.file is not None:
        comparison, blocks = from_files(source.file, source.folder)
    else:
        comparison, blocks, missing = from_cluster(connect(), str(source.name))
        for sentence in missing:
            print_text(f"fairlap: {sentence}", sys.stderr)
    try:
        text = FORMATS[format_](comparison, blocks)
    except NotAComparisonError as error:
        raise UsageError(f"{source.file or source.name}: {error}") from error
    _write(text, output or _usual(comparison, format_))
    return SUCCEEDED


def _usual(comparison: Json, format_: str) -> str:
    if format_ != "html":
        return _STANDARD_OUTPUT
    meta = comparison.get("metadata")
    name = str(meta.get("name") or "") if isinstance(meta, dict) else ""
    # A name from a file may be anything.
    kept = "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in name).lstrip(".")
    return f"{kept[:100] or 'comparison'}.html"


def _write(text: str, output: str) -> None:
    if output == _STANDARD_OUTPUT:
        print_text(text.removesuffix("\n"))
        return
    path = Path(output)
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise CliError(f"{path} cannot be written: {error.strerror}") from error
    print_text(f"report: {path.resolve()}")


def _archive(comparison: Json, blocks: Sequence[BlockRecord]) -> str:
    return json.dumps(archive_of(comparison, blocks), sort_keys=True) + "\n"


FORMATS: dict[str, Callable[[Json, Sequence[BlockRecord]], str]] = {
    "html": report_html,
    "md": report_markdown,
    "csv": report_csv,
    "junit": report_junit,
    "json": _archive,
}
