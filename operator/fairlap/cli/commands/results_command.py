"""`fairlap results`: Benchmarks side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlap.api.names import is_race
from fairlap.api.sweep_spec import Objective
from fairlap.cli.edge import benchmarks as bm
from fairlap.cli.edge.connection import Connection
from fairlap.cli.edge.exits import SUCCEEDED, UsageError
from fairlap.cli.edge.printable import print_text
from fairlap.cli.tables import report, sweep_picture, sweep_report
from fairlap.cli.tables.machine_report import machines
from fairlap.results.aggregate import aggregate
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.recorded.record import KEY_RECORD, Record

Json = dict[str, Any]


def results(connection: Connection, names: Sequence[str], output: str, everything: bool = False) -> int:
    """Print the results of the Benchmarks in the format `output`; return the exit code. Raises CliError.

    A table has the main figures, or all with `everything`; the other formats have all in any case.
    """
    found = [_with_invalid(connection, connection.benchmark(name)) for name in dict.fromkeys(names)]
    if output == "table":
        print_text(report.table(found) if everything else report.main_table(found))
        for sentence in report.sentences(found, brief=not everything):
            print_text(f"* {sentence}")
        for curve in filter(None, map(sweep_report.curve, found)):
            print_text(f"\n{curve}")
        asked = list(dict.fromkeys(names))
        if not everything and any(map(bm.tasks, found)):
            print_text(f"\nAll figures: {connection.command('results', asked)} --all")
        if len(asked) == 2 and any(map(bm.tasks, found)):
            print_text(f"Which is better, and how sure that is: {connection.command('compare', asked)}")
    elif output == "drnbench":
        if len(found) != 1:
            raise UsageError("-o drnbench is the curve of one Benchmark: name one")
        print_text(sweep_report.drnbench(found[0]))
    elif output == "svg":
        print_text(sweep_picture.picture(found))
    elif output == "machines":
        print_text("\n\n".join(machines(connection, connection.benchmark(name)) for name in dict.fromkeys(names)))
    else:
        print_text(report.FORMATS[output](found))
    return SUCCEEDED


def _with_invalid(connection: Connection, benchmark: Json) -> Json:
    """Return the Benchmark with the numbers of its last race where no race was valid, marked as such."""
    status = bm.status(benchmark)
    raced = [race for race in status.get("races") or () if race.get("record") and is_race(race["name"])]
    if bm.tasks(benchmark) or not raced or raced[-1].get("valid"):
        return benchmark
    record = Record.from_json(text_of(connection.config_map(raced[-1]["record"]), KEY_RECORD))
    if record is None or not record.tasks:
        return benchmark
    objective = ((benchmark["spec"].get("race") or {}).get("sweep") or {}).get("objective")
    asked = Objective.model_validate(objective) if objective else None
    numbers = aggregate([record], asked).model_dump(mode="json", by_alias=True, exclude_none=True)
    marked = f"{bm.name(benchmark)} (invalid)"
    return {
        **benchmark,
        "metadata": {**benchmark["metadata"], "name": marked},
        "status": {**status, "results": numbers},
    }
