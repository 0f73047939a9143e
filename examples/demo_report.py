"""The demo's texts, made from Benchmark objects as `kubectl get -o json` gives them; no effects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Benchmark = Mapping[str, Any]
TERMINAL = ("Succeeded", "Failed")
NOTHING = "-"


def name(benchmark: Benchmark) -> str:
    """Return the Benchmark's name."""
    return str(benchmark["metadata"]["name"])


def status(benchmark: Benchmark) -> Mapping[str, Any]:
    """Return the status, empty before the operator has seen the Benchmark."""
    found: Mapping[str, Any] = benchmark.get("status") or {}
    return found


def phase(benchmark: Benchmark) -> str:
    """Return the phase; "Pending" before the operator has seen the Benchmark."""
    return str(status(benchmark).get("phase") or "Pending")


def ended(benchmark: Benchmark) -> bool:
    """Return whether the Benchmark is over."""
    return phase(benchmark) in TERMINAL


def progress_line(benchmark: Benchmark, width: int = 0) -> str:
    """Return one line on how far a Benchmark is, cut to `width` columns (0: not cut)."""
    found = status(benchmark)
    text = f"{name(benchmark):<12} {phase(benchmark):<13} {found.get('progress') or 'not seen by the operator yet'}"
    return text if not width or len(text) <= width else text[: width - 1] + "…"


def without_percent(line: str) -> str:
    """Return a progress line without its percentage, so that a log shows each task once."""
    return re.sub(r"\s*\d+\s*%", "", line)


def number(value: float | None, digits: int = 0) -> str:
    """Return a number with thousands separated and `digits` decimals; "-" when there is none."""
    return NOTHING if value is None else f"{value:,.{digits}f}"


def figure(found: Mapping[str, Any] | None, digits: int = 0) -> str:
    """Return the median over the races with the smallest and largest, as "median (min–max)"."""
    if not found:
        return NOTHING
    middle, low, high = (number(found.get(key), digits) for key in ("median", "min", "max"))
    return middle if found.get("races") == 1 else f"{middle} ({low}–{high})"


def percent(share: float | None) -> str:
    """Return a share (0 to 1) as a percentage; a small one never reads as none at all."""
    if share is None:
        return NOTHING
    if 0 < share < 0.0001:
        return "< 0.01 %"
    return f"{share * 100:.2f} %"


def short_digest(image: str) -> str:
    """Return the first 12 hex digits of an image's digest, or the text as it is when it has none."""
    found = re.findall(r"sha256:([0-9a-f]{12})", image)
    return f"sha256:{found[-1]}" if found else image


Row = tuple[str, Callable[[Benchmark], str]]


def _task(benchmark: Benchmark, task: str) -> Mapping[str, Any]:
    tasks = (status(benchmark).get("results") or {}).get("tasks") or ()
    return next((found for found in tasks if found["task"] == task), {})


def bulk_tasks(benchmarks: Sequence[Benchmark]) -> list[str]:
    """Return the names of all tasks that index, in the order of the schedule."""
    names = (
        task["task"]
        for benchmark in benchmarks
        for task in (status(benchmark).get("results") or {}).get("tasks") or ()
        if task.get("type") == "bulk"
    )
    return list(dict.fromkeys(names))


def _task_rows(task: str) -> list[Row]:
    def of(key: str) -> Callable[[Benchmark], str]:
        return lambda b: figure(_task(b, task).get(key))

    def service(key: str) -> Callable[[Benchmark], str]:
        return lambda b: figure((_task(b, task).get("serviceTimeMillis") or {}).get(key), 1)

    return [
        (f"{task}: throughput, docs/s", of("throughput")),
        (f"{task}: docs/s in 1 s windows", of("windowThroughput")),
        (f"{task}: service time p50, ms", service("p50")),
        (f"{task}: service time p99, ms", service("p99")),
        (f"{task}: error rate", lambda b: percent(_task(b, task).get("errorRate"))),
    ]


def _pipelines(benchmark: Benchmark) -> dict[str, Mapping[str, Any]]:
    found = (status(benchmark).get("results") or {}).get("ingestPipelines") or ()
    return {pipeline["name"]: pipeline for pipeline in found}


def _pipeline_rows(pipeline: str) -> list[Row]:
    return [
        (f"pipeline {pipeline}: documents", lambda b: figure(_pipelines(b).get(pipeline, {}).get("count"))),
        (f"pipeline {pipeline}: time, ms", lambda b: figure(_pipelines(b).get(pipeline, {}).get("timeMillis"))),
    ]


def _ran(key: str, text: Callable[[Any], str] = str) -> Callable[[Benchmark], str]:
    def cell(benchmark: Benchmark) -> str:
        found = (status(benchmark).get("environment") or {}).get(key)
        return text(found) if found else NOTHING

    return cell


def _indices(found: Sequence[Mapping[str, Any]]) -> str:
    shapes = (f"{i.get('shards')} shards, {i.get('replicas')} replicas, codec {i.get('codec') or '?'}" for i in found)
    return "; ".join(dict.fromkeys(shapes))


_EVIDENCE: list[Row] = [
    ("races valid / asked", lambda b: str(status(b).get("racesDone") or NOTHING)),
    ("ran: Elasticsearch", _ran("version")),
    ("ran: build", _ran("buildHash", lambda text: str(text)[:12])),
    ("ran: Java", _ran("java")),
    ("ran: nodes", _ran("nodes")),
    ("ran: heap, MiB", _ran("heapBytes", lambda found: number(found / 2**20))),
    ("ran: indices", _ran("indices", _indices)),
    ("ran: image", _ran("images", lambda found: ", ".join(short_digest(image) for image in found))),
    ("ran: Rally", _ran("rallyVersion")),
]


def table(benchmarks: Sequence[Benchmark]) -> str:
    """Return the results side by side, one column a Benchmark, from their statuses alone."""
    pipelines = dict.fromkeys(pipeline for benchmark in benchmarks for pipeline in _pipelines(benchmark))
    rows: list[Row] = [
        *(row for task in bulk_tasks(benchmarks) for row in _task_rows(task)),
        *(row for pipeline in pipelines for row in _pipeline_rows(pipeline)),
        *_EVIDENCE,
    ]
    cells = [["", *(name(b) for b in benchmarks)]]
    cells += [[label, *(cell(b) for b in benchmarks)] for label, cell in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in cells]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([lines[0], rule, *lines[1:]])


def remarks(benchmarks: Sequence[Benchmark]) -> list[str]:
    """Return what a reader must know beside the numbers: each sentence once a Benchmark, with the races it is about."""
    found: dict[tuple[str, str], list[str]] = {}
    for benchmark in benchmarks:
        for race in status(benchmark).get("races") or ():
            for remark in race.get("remarks") or () if race["name"].startswith("race-") else ():
                found.setdefault((name(benchmark), remark), []).append(race["name"])
    return [f"{owner}, {', '.join(races)}: {remark}" for (owner, remark), races in found.items()]


def reading(benchmarks: Sequence[Benchmark]) -> str:
    """Return what the spread allows to say of two Benchmarks' indexing throughput; "" when there is nothing to say."""
    if len(benchmarks) != 2:
        return ""
    for task in bulk_tasks(benchmarks)[:1]:
        one, two = (_task(b, task).get("throughput") for b in benchmarks)
        if not one or not two:
            return ""
        first, second = (name(b) for b in benchmarks)
        ratio = f"{task}: {second} has {two['median'] / one['median']:.2f} times the throughput of {first}."
        if min(one["races"], two["races"]) < 2:
            return f"{ratio} One race has no spread: this says nothing yet about which is faster."
        if one["min"] <= two["max"] and two["min"] <= one["max"]:
            return f"{ratio} Their ranges overlap: these races do not tell the two apart."
        return f"{ratio} Their ranges do not overlap, but {one['races']} races are few: repeat before you decide."
    return ""


def failure(benchmark: Benchmark, namespace: str) -> str:
    """Return why a Benchmark failed and where to read more."""
    found = status(benchmark)
    lines = [f"{name(benchmark)} failed: {found.get('reason') or 'no reason given'}", f"  {found.get('message') or ''}"]
    record = next((race.get("record") for race in reversed(found.get("races") or ()) if race.get("record")), None)
    if record:
        lines += [
            "  Rally's log, if Rally was started:",
            f"    kubectl -n {namespace} get configmap {record} "
            r"-o jsonpath='{.binaryData.rally\.log\.gz}' | base64 -d | gunzip",
        ]
    lines.append(f"  what happened when:  kubectl -n {namespace} describe bm {name(benchmark)}")
    return "\n".join(lines)


def next_commands(benchmarks: Sequence[Benchmark], namespace: str) -> str:
    """Return three commands worth trying after the demo."""
    last = name(benchmarks[-1])
    commands = (
        ("the whole record of a Benchmark", f"kubectl -n {namespace} get bm {last} -o yaml"),
        (
            "every fact of one race",
            f"kubectl -n {namespace} get configmap {last}-race-1 "
            r"-o jsonpath='{.data.record\.json}' | python3 -m json.tool",
        ),
        ("a track of your own, in a ConfigMap", f"kubectl -n {namespace} apply -f examples/inline-track/"),
    )
    return "\n".join(f"  # {what}\n  {command}" for what, command in commands)
