"""What a reader looks at first: the main rows of a report; pure."""

from __future__ import annotations

from collections.abc import Sequence

from fairlap.cli.edge import benchmarks as bm
from fairlap.cli.edge.benchmarks import Benchmark
from fairlap.cli.tables.rows import Row, evidence_rows, result_rows

_PERCENTILES = ("p50", "p99")
_BY_VERSION = ("build", "image")
"""Evidence that another version changes in any case."""


def main_rows(benchmarks: Sequence[Benchmark]) -> list[Row]:
    """Return throughput, p50 and p99 of each task, errors, the store, the verdict, and what ran and is not the same."""
    found = result_rows(benchmarks)
    tasks = dict.fromkeys(str(task["task"]) for benchmark in benchmarks for task in bm.tasks(benchmark))
    rows = [row for task in tasks for row in _of_one_task([row for row in found if row.subject == task])]
    rows += _errors([row for row in found if row.subject in tasks and row.what == "error rate"], len(benchmarks))
    rows += [row for row in found if not row.subject and row.what == "store"]
    verdict, *evidence = evidence_rows(benchmarks)
    return [*rows, verdict, *_differing(evidence)]


def _of_one_task(rows: Sequence[Row]) -> list[Row]:
    # With a rate asked for, the service time leaves out how long a request had to wait.
    timed = "latency" if any(row.what.startswith("latency ") for row in rows) else "service time"
    wanted = ("throughput", *(f"{timed} {percentile}" for percentile in _PERCENTILES))
    return [row for row in rows if row.what in wanted]


def _errors(rows: Sequence[Row], columns: int) -> list[Row]:
    """Return a row for each task with errors, or one for all when there is none."""
    failed = [row for row in rows if any(row.cells)]
    if failed or not rows:
        return failed
    worst = [max((row.cells[at] for row in rows if row.cells[at] is not None), default=None) for at in range(columns)]
    return [Row("", "error rate, all tasks", "%", tuple(worst))]


def _differing(evidence: Sequence[Row]) -> list[Row]:
    """Return the version, and whatever else is not the same."""
    version = [row for row in evidence if row.what == "Elasticsearch"]
    follows = _BY_VERSION if any(_differs(row) for row in version) else ()
    others = [row for row in evidence if row not in version and row.what not in follows and _differs(row)]
    return [*version, *others]


def _differs(row: Row) -> bool:
    return any(cell != row.cells[0] for cell in row.cells)
