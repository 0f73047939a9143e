"""The rows of a report: one quantity each, with a cell for every Benchmark; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairlap.cli.edge import benchmarks as bm
from fairlap.cli.edge.benchmarks import Benchmark
from fairlap.cli.tables.figures import figure, name_in_words, short_digest
from fairlap.comparison.terms.gate_metrics import METRICS
from fairlap.wording.counts import counted
from fairlap.wording.numerals import NOTHING, digits_for, number
from fairlap.wording.percentages import share_percent
from fairlap.wording.sizes import byte_scale

IN_TURN = "in turn"
"""in the place of a throughput: the rate is that of all races together"""
ENOUGH_SUPPORT = 10
"""Requests at or beyond a percentile; on fewer, one more or less moves it to another request's time."""


@dataclass(frozen=True)
class Row:
    """One quantity of all Benchmarks."""

    subject: str
    """what it belongs to: a task, a pipeline, a machine; "" for the Benchmark"""
    what: str
    unit: str
    cells: tuple[Any, ...]
    """a figure with median, min, max and races; a number; a text; or None"""

    @property
    def label(self) -> str:
        """What a reader sees before the cells."""
        return (
            (f"{self.subject}: " if self.subject else "")
            + self.what
            + (f", {self.unit}" if self.unit not in ("", "%") else "")
        )

    def texts(self) -> list[str]:
        """Return the cells as people read them, all with the same decimals."""
        if self.unit == "%":
            return [_share(cell) for cell in self.cells]
        digits = digits_for(value for cell in self.cells for value in _values(cell))
        return [_text(cell, digits) for cell in self.cells]


def _values(cell: Any) -> list[float]:
    if isinstance(cell, Mapping):
        return [cell[key] for key in ("median", "min", "max") if cell.get(key) is not None]
    return [cell] if isinstance(cell, float) else []


def _text(cell: Any, digits: int) -> str:
    if cell is None or cell == "":
        return NOTHING
    if isinstance(cell, Mapping):
        return figure(cell, digits) + _standing(cell.get("support"))
    if isinstance(cell, float):
        return number(cell, digits)
    return number(cell) if isinstance(cell, int) else str(cell)


def _standing(support: Any) -> str:
    """Return on how few requests a percentile stands, as a mark behind it; "" on enough or where it is not known."""
    few = isinstance(support, int) and support < ENOUGH_SUPPORT
    return f" [{counted(support, 'request')}]" if few else ""


def _share(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    return share_percent(cell / 100 if isinstance(cell, int | float) else None)


def result_rows(benchmarks: Sequence[Benchmark]) -> list[Row]:
    """Return the rows of all tasks, sweeps, pipelines, the store and garbage collection that any Benchmark has."""
    names = dict.fromkeys(task["task"] for benchmark in benchmarks for task in bm.tasks(benchmark))
    rows = [
        row
        for task in names
        for row in (
            *_task_rows(task, benchmarks),
            *_noise_rows(task, [_noise(b, task) for b in benchmarks]),
        )
    ]
    rows += _answer_rows([answer_of(b) for b in benchmarks])
    pipelines = [_by_name(b, "ingestPipelines") for b in benchmarks]
    for pipeline in dict.fromkeys(name for found in pipelines for name in found):
        of = [found.get(pipeline, {}) for found in pipelines]
        rows += [
            Row(f"pipeline {pipeline}", "documents", "", tuple(each.get("count") for each in of)),
            Row(f"pipeline {pipeline}", "time", "ms", tuple(each.get("timeMillis") for each in of)),
        ]
    probes = [_by_name(b, "probes") for b in benchmarks]
    for probe in dict.fromkeys(name for found in probes for name in found):
        of = [found.get(probe, {}) for found in probes]
        rows.append(Row(f"condition {probe}", "value", "", tuple(each.get("value") for each in of)))
    results = [bm.status(b).get("results") or {} for b in benchmarks]
    rows += _sized("", "store", [(found.get("store") or {}).get("storeBytes") for found in results])
    rows += _noise_rows("", [_noise(b, "") for b in benchmarks])
    for key, what, unit in (
        ("youngCount", "young collections", ""),
        ("youngMillis", "young collections", "ms"),
        ("oldCount", "old collections", ""),
        ("oldMillis", "old collections", "ms"),
    ):
        rows.append(Row("", what, unit, tuple((found.get("gc") or {}).get(key) for found in results)))
    return [row for row in rows if any(cell is not None for cell in row.cells)]


def answer_of(benchmark: Benchmark) -> Mapping[str, Any]:
    """Return what was found by a search for the capacity, or else by a sweep; {} without both."""
    results = bm.status(benchmark).get("results") or {}
    return results.get("capacity") or results.get("sweep") or {}


def _answer_rows(found: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield the capacity, knee and peak of each task that was searched or swept: its steps have rows of their own."""
    subjects = [(str(each.get("task") or ""), str(each.get("unit") or "")) for each in found]
    for task, unit in dict.fromkeys(it for it in subjects if it[0]):
        of = [each if it == (task, unit) else {} for it, each in zip(subjects, found, strict=True)]
        ranges = [each.get("rate") or each.get("capacity") or {} for each in of]
        yield Row(task, "capacity", unit, tuple(_capacity(each, it) for each, it in zip(of, ranges, strict=True)))
        for end, key, is_open in (("from", "low", "openBelow"), ("to", "high", "openAbove")):
            ends = tuple(None if it.get(is_open) else _float(it.get(key)) for it in ranges)
            yield Row(task, f"capacity, {end}", unit, ends)
        yield Row(task, "knee, clients", "", tuple(_float(each.get("kneeClients")) for each in of))
        yield Row(task, "peak, clients", "", tuple(_float((each.get("peakClients") or {}).get("value")) for each in of))


def _capacity(answer: Mapping[str, Any], found: Mapping[str, Any]) -> float | str | None:
    """Return the capacity, or that there is none, and how the races ended; None where none was asked for."""
    if found:
        return _float(found["value"])
    ends = ", ".join(dict.fromkeys(race["end"] for race in answer.get("races") or ()))
    return ": ".join(filter(None, ("none", ends))) if answer.get("refused") or answer.get("capacityRefused") else None


def _task(benchmark: Benchmark, name: str) -> Mapping[str, Any]:
    return next((task for task in bm.tasks(benchmark) if task["task"] == name), {})


def _task_rows(name: str, benchmarks: Sequence[Benchmark]) -> Iterator[Row]:
    found = [_task(benchmark, name) for benchmark in benchmarks]
    unit = next((task["unit"] for task in found if task.get("unit")), "")
    yield Row(name, "throughput", unit, tuple(map(_throughput, benchmarks, found)))
    yield Row(name, f"{unit} in 1 s windows".strip(), "", tuple(map(_windows, found)))
    yield Row(name, "Rally's running average, warm-up included", unit, tuple(it.get("throughput") for it in found))
    yield Row(name, "warm-up", "s", tuple(it.get("warmupSeconds") for it in found))
    yield Row(name, "settled", "", tuple(map(_settled, found)))
    yield Row(name, "requests measured", "", tuple(it.get("samples") for it in found))
    if any(task.get("targetThroughput") for task in found):
        yield Row(name, "asked for", unit, tuple(_float(task.get("targetThroughput")) for task in found))
        yield from _percentiles(name, "latency", "latencyMillis", found)
    yield from _percentiles(name, "service time", "serviceTimeMillis", found)
    errors = (task.get("errorRate") for task in found)
    yield Row(name, "error rate", "%", tuple(None if share is None else share * 100 for share in errors))
    yield from _http_rows(name, [task.get("http") or {} for task in found])


def _http_rows(name: str, found: list[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield how the requests over HTTP were answered, and how many of them each host was sent."""
    shares = [each.get("statusShares") or {} for each in found]
    for status in sorted({status for each in shares for status in each}, key=int):
        what = f"answered by {status}" if status != "0" else "not answered"
        yield Row(name, what, "%", tuple(100 * each[status] if status in each else None for each in shares))
    yield Row(name, "dropped", "", tuple(each.get("dropped") for each in found))
    yield Row(name, "connections opened for requests", "", tuple(each.get("connectionsOpened") for each in found))
    by_host = [each.get("requestsByHost") or {} for each in found]
    for host in dict.fromkeys(host for each in by_host for host in each):
        yield Row(name, f"requests to {host}", "", tuple(each.get(host) for each in by_host))


def _noise(benchmark: Benchmark, name: str) -> tuple[int, dict[str, Any]]:
    """Return how many pairs are meant, and by metric what they show at least, in per cent, or "unknown".

    `name`: of a task, "" for the whole race.
    """
    noise = bm.status(benchmark).get("noise") or {}
    tasks = noise.get("tasks") or () if name else (noise,)
    task: Mapping[str, Any] = next((each for each in tasks if each.get("task", "") == name), {})
    found = {str(each["metric"]): each.get("smallestVisible", "unknown") for each in task.get("numbers") or ()}
    return int(noise.get("pairs") or 0), found


def _noise_rows(name: str, found: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[Row]:
    pairs = next((pairs for pairs, _ in found if pairs), 0)
    for metric in dict.fromkeys(metric for _, numbers in found for metric in numbers):
        what = f"{METRICS[metric].words if metric in METRICS else metric}: smallest difference that {pairs} pairs show"
        yield Row(name, what, "%", tuple(numbers.get(metric) for _, numbers in found))


def _percentiles(name: str, what: str, key: str, found: list[Mapping[str, Any]]) -> Iterator[Row]:
    for percentile in ("p50", "p90", "p99", "p99.9"):
        cells = tuple(_supported(task, (task.get(key) or {}).get(percentile), percentile) for task in found)
        if any(cells):
            yield Row(name, f"{what} {percentile}", "ms", cells)


def _supported(task: Mapping[str, Any], cell: Any, percentile: str) -> Any:
    """Return a percentile's figure with the requests that it stands on, where they are known."""
    support = (task.get("support") or {}).get(percentile)
    return {**cell, "support": support} if isinstance(cell, Mapping) and support is not None else cell


def _throughput(benchmark: Benchmark, task: Mapping[str, Any]) -> Any:
    """Return the figure, or that it was raced in turn, and has none of its own; None where there is neither."""
    return IN_TURN if task and bm.is_in_turn(benchmark) else bm.rate(task)


def _windows(task: Mapping[str, Any]) -> Any:
    """Return the figure of the windows, or that it was left out; None where there is neither."""
    return task.get("windowThroughput") or ("left out" if task.get("windowsLeftOut") else None)


def _settled(task: Mapping[str, Any]) -> str | None:
    """Return whether the task had settled, and else for how long it had not; None for a status that says neither."""
    if task.get("settled") is None:
        return "unknown" if task.get("settledLeftOut") else None
    return "yes" if task["settled"] else f"no, not for {number(task.get('unsettledSeconds'), 1)} s"


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def _by_name(benchmark: Benchmark, key: str) -> dict[str, Mapping[str, Any]]:
    found = (bm.status(benchmark).get("results") or {}).get(key) or ()
    return {each["name"]: each for each in found}


def _sized(subject: str, what: str, cells: list[Any]) -> list[Row]:
    """Return a row of bytes in the unit that fits, none when no Benchmark has a number."""
    divisor, unit = byte_scale(value for cell in cells for value in _values(_plain(cell)))
    scaled: list[Any] = []
    for cell in cells:
        if isinstance(cell, Mapping):
            parts = {key: cell[key] / divisor for key in ("median", "min", "max") if cell.get(key) is not None}
            scaled.append({**parts, "races": cell.get("races")})
        else:
            scaled.append(None if cell is None else cell / divisor)
    return [Row(subject, what, unit, tuple(scaled))] if any(cell is not None for cell in cells) else []


def _plain(cell: Any) -> Any:
    return float(cell) if isinstance(cell, int) else cell


# --- what the machines did -------------------------------------------------------------------------------------

_SUFFIXES = (
    ("Bytes", "bytes"),
    ("Cores", "cores"),
    ("Millis", "ms"),
    ("PerMinute", "per minute"),
    ("Share", "%"),
    ("Seconds", "s"),
)


def machine_rows(benchmarks: Sequence[Benchmark]) -> list[Row]:
    """Return a row for each number in status.resources, machine by machine; none where it is absent."""
    found = [_machines(benchmark) for benchmark in benchmarks]
    rows: list[Row] = []
    for machine in dict.fromkeys(name for each in found for name in each):
        of = [each.get(machine, {}) for each in found]
        for key in dict.fromkeys(key for each in of for key, value in each.items() if _is_number(value)):
            rows += _machine_row(machine, key, [each.get(key) for each in of]) if key != "races" else []
    return rows


def _machines(benchmark: Benchmark) -> dict[str, Mapping[str, Any]]:
    listed = bm.status(benchmark).get("resources") or ()
    return {str(each.get("name")): each for each in listed if isinstance(each, Mapping)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _machine_row(machine: str, key: str, cells: list[Any]) -> list[Row]:
    suffix, unit = next(((suffix, unit) for suffix, unit in _SUFFIXES if key.endswith(suffix)), ("", ""))
    what = name_in_words(key.removesuffix(suffix))
    if unit == "bytes":
        return _sized(machine, what, cells)
    if unit == "%":
        return [Row(machine, what, unit, tuple(None if cell is None else cell * 100 for cell in cells))]
    return [Row(machine, what, unit, tuple(_float(cell) for cell in cells))]


# --- what really ran -------------------------------------------------------------------------------------------


def _indices(found: Sequence[Mapping[str, Any]]) -> str:
    shapes = (f"{i.get('shards')} shards, {i.get('replicas')} replicas, codec {_codec(i)}" for i in found)
    return "; ".join(dict.fromkeys(shapes))


def _codec(index: Mapping[str, Any]) -> str:
    # The same name is another algorithm in another version.
    algorithm = index.get("algorithm")
    return f"{index.get('codec') or '?'}{f' ({algorithm})' if algorithm else ''}"


_EVIDENCE: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("Elasticsearch", "version", str),
    ("build", "buildHash", lambda text: str(text)[:12]),
    ("Java", "java", str),
    ("nodes", "nodes", str),
    ("heap, MiB", "heapBytes", lambda found: number(found / 2**20)),
    ("indices", "indices", _indices),
    ("image", "images", lambda found: ", ".join(short_digest(image) for image in found)),
    ("Rally", "rallyVersion", str),
    ("k6", "k6Version", str),
    ("hosts", "httpHosts", ", ".join),
    ("track", "trackDigest", lambda text: str(text)[:19]),
)
EVIDENCE = frozenset(key for _, key, text in _EVIDENCE if text is not _indices)
"""Parts of the environment of which the rows say all; of an index they say its shape."""


def evidence_rows(benchmarks: Sequence[Benchmark]) -> list[Row]:
    """Return verdict and environment: what really ran, as read from the running system."""
    statuses = [bm.status(benchmark) for benchmark in benchmarks]
    rows = [Row("", "races valid / asked", "", tuple(found.get("racesDone") for found in statuses))]
    for what, key, text in _EVIDENCE:
        values = [(found.get("environment") or {}).get(key) for found in statuses]
        if any(values):
            rows.append(Row("ran", what, "", tuple(text(value) if value else None for value in values)))
    return rows
