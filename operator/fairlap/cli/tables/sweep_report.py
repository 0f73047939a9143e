"""The curve of a sweep as a table, and as the CSV that drnbench writes; pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from fairlap.cli.edge import benchmarks as bm
from fairlap.cli.edge.benchmarks import Benchmark
from fairlap.cli.edge.exits import UsageError
from fairlap.cli.tables.rows import answer_of
from fairlap.cli.tables.text_table import align
from fairlap.comparison_report.guarded_text import csv_cell
from fairlap.wording.numerals import NOTHING, digits_for, number
from fairlap.wording.percentages import share_percent

DRNBENCH = (
    "n_clients",
    "total_n_requests",
    "queries_per_second",
    "min_elapsed_time",
    "max_elapsed_time",
    "average_elapsed_time",
)
"""Columns of drnbench's CSV; behind them one for each HTTP status, with its percentage."""
ANSWERED, ABORTED = "200", "0"
_OF_REQUESTS = ("requests/s", "ops/s")
"""Units of which one is a request."""
_ENOUGH = 10
_JUDGED = (
    "Whether the objective was kept goes by the time of one request; the table has Rally's percentiles, which may lie "
    "between the times of two"
)
"""of probes by Rally: beside the objective the table may seem to say the opposite"""


def _by_rally(benchmark: Benchmark) -> bool:
    return not (bm.status(benchmark).get("environment") or {}).get("k6Version")


def _sweep(benchmark: Benchmark) -> Mapping[str, Any]:
    return (bm.status(benchmark).get("results") or {}).get("sweep") or {}


def curve(benchmark: Benchmark) -> str:
    """Return the steps of the Benchmark's sweep as a table, and below it what they say; "" without a sweep."""
    found = _sweep(benchmark)
    if not found.get("rows"):
        return ""
    rows = found["rows"]
    digits = digits_for(row["throughput"]["median"] for row in rows if row.get("throughput"))
    # Objectives may lie below a millisecond.
    of_times = max(1, digits_for(value for row in rows for value in (row.get("latencyMillis") or {}).values()))
    searched = any(row.get("race") for row in rows)
    head = [
        *(["race"] if searched else []),
        "step",
        found.get("unit") or "requests/s",
        "p50, ms",
        "p90, ms",
        "p99, ms",
        "errors",
    ]
    head += ["schedule", "generator CPU", "nodes' cores", *(["objective"] if searched else []), ""]
    lines = [_cells(row, digits, of_times) for row in rows]
    if searched:
        lines = [
            [str(row.get("race") or 1), *cells[:-1], _kept(row), cells[-1]]
            for row, cells in zip(rows, lines, strict=True)
        ]
    table = align([head, *lines], left=2 if searched else 1, rule=True)
    said = [*(answer_of(benchmark).get("sentences") or ()), *([_JUDGED] if searched and _by_rally(benchmark) else [])]
    sentences = "".join(f"\n* {sentence}" for sentence in said)
    count = f"{len(rows)} {'probes' if searched else 'steps'}"
    return f"{bm.name(benchmark)}: {found.get('task')} in {count}\n\n{table}{sentences}"


def _kept(row: Mapping[str, Any]) -> str:
    kept = row.get("kept")
    return NOTHING if kept is None else "kept" if kept else "broken"


def _cells(row: Mapping[str, Any], digits: int, of_times: int) -> list[str]:
    rate, latency, support = row.get("throughput"), row.get("latencyMillis") or {}, row.get("support") or {}
    times = []
    for key in ("p50", "p90", "p99"):
        few = key in support and support[key] < _ENOUGH
        times.append(f"{number(latency[key], of_times)}{'*' if few else ''}" if key in latency else NOTHING)
    cores = row.get("elasticsearchCpuCores")
    return [
        row["step"],
        number(rate["median"], digits) if rate else NOTHING,
        *times,
        share_percent(row.get("errorRate")),
        share_percent(row.get("scheduleShare")),
        share_percent(row.get("loadGeneratorCpuShare")),
        number(float(cores), 2) if cores is not None else NOTHING,
        _why_unused(row),
    ]


def _why_unused(row: Mapping[str, Any]) -> str:
    if row.get("used"):
        return ""
    return "load generator saturated" if row.get("saturatedRaces") else "not counted beside a saturated step"


def drnbench(benchmark: Benchmark) -> str:
    """Return the sweep as drnbench's CSV, times in seconds; raises UsageError where there are no steps of clients.

    Of requests over HTTP each status has a column, 0 for those without an answer in time. Rally does not tell a status:
    there successful requests stand under 200, and failed ones under 0.
    """
    rows = [row for row in _sweep(benchmark).get("rows") or () if row.get("clients") and row.get("throughput")]
    if not rows or any(row.get("targetThroughput") for row in rows):
        name = bm.name(benchmark)
        raise UsageError(f"{name} has no curve over clients: -o drnbench is for a Benchmark with race.sweep.clients")
    if (unit := _sweep(benchmark).get("unit") or _OF_REQUESTS[0]) not in _OF_REQUESTS:
        text = f"{bm.name(benchmark)} measured {unit}, and drnbench's CSV is of queries per second"
        raise UsageError(f"{text}: -o csv has the figures with their unit")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    shares = {str(row["step"]): _shares(benchmark, row) for row in rows}
    statuses = sorted({ABORTED, ANSWERED}.union(*(found for found in shares.values() if found)))
    writer.writerow([*DRNBENCH, *map(csv_cell, statuses)])
    for row in rows:
        times, samples = row.get("serviceTimeMillis") or {}, row.get("samples") or 0
        writer.writerow(
            [
                row["clients"], samples, row["throughput"]["median"], _seconds(times.get("min")),
                _seconds(times.get("max")), _seconds(times.get("mean")),
                *_percents(shares[row["step"]], statuses),
            ]
        )  # fmt: skip
    return out.getvalue().rstrip("\n")


def _percents(shares: Mapping[str, float] | None, statuses: Sequence[str]) -> list[float | str]:
    return ["" if shares is None else 100 * shares.get(status, 0.0) for status in statuses]


def _shares(benchmark: Benchmark, row: Mapping[str, Any]) -> Mapping[str, float] | None:
    """Return the share of each status in a step's requests; None where the status had no room for the step's task."""
    of_step = next((it for it in bm.tasks(benchmark) if it.get("task") == row["step"]), {})
    if told := (of_step.get("http") or {}).get("statusShares"):
        return {str(status): float(share) for status, share in told.items()}
    if not _by_rally(benchmark):
        return None
    failed = (row.get("failed") or 0) / row["samples"] if row.get("samples") else 0.0
    return {ABORTED: failed, ANSWERED: 1 - failed}


def _seconds(millis: float | None) -> float | str:
    # To the nanosecond: a division would write 0.24 ms as 0.00023999999999999998.
    return "" if millis is None else round(millis / 1000, 9)
