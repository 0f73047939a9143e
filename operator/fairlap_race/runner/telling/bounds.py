"""Keeps everything that goes into the ConfigMap within its bounds, and secrets out of it."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import ROUND_CEILING, Context
from pathlib import Path

from fairlap_race.contract.codec import Bounds
from fairlap_race.contract.config_maps import compressed
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import (
    MAX_ARTIFACT_BYTES,
    MAX_RECORD_BYTES,
    IndexRecord,
    Outcome,
    RallyNumbers,
    Record,
    Task,
    Throughput,
)
from fairlap_race.contract.specification.document_plan import DocumentPlan
from fairlap_race.contract.untrusted import MAX_JSON_CHARACTERS, MAX_JSON_VALUES, value_count

MAX_MESSAGE = 2000
MAX_TEXT = 600
MAX_ITEMS = 200
FEW = 40
"""Of each list, when a record cannot be judged anyway."""
TAIL_BYTES = 4 << 20
LEFT_OUT = "left out of the record"
"""In the place of a text that there was."""
_SIX_DIGITS_UP = Context(prec=6, rounding=ROUND_CEILING)


def shorten(text: str, limit: int = MAX_MESSAGE) -> str:
    """Return `text` of at most `limit` characters; the middle goes, since errors name their cause at either end."""
    if len(text) <= limit:
        return text
    half = (limit - 5) // 2
    return f"{text[:half]} ... {text[-half:]}"


def scrub(text: str, secrets: tuple[str, ...]) -> str:
    """Return `text` with every secret, plain or as an error quotes it, replaced by asterisks."""
    for secret in filter(None, secrets):
        for written in (secret, repr(secret)[1:-1]):
            text = text.replace(written, "*****")
    return text


def bug_words(error: Exception) -> str:
    """Return a sentence for an error that nobody foresaw; of one that may quote a header only its type."""
    text = "" if "header" in str(error).lower() else f": {error}"
    return f"the runner failed: {type(error).__name__}{text}"


def bounded(record: Record, room: int = MAX_RECORD_BYTES) -> Record:
    """Return `record` within `room` bytes of compressed JSON: without parts that decide nothing, as far as needed.

    `left_out` names what is missing. A record that is still too large says so as its outcome, unless it failed anyway.
    """
    record = replace(
        record,
        outcome=replace(record.outcome, message=shorten(record.outcome.message)),
        rally=replace(record.rally, warnings=tuple(shorten(w, MAX_TEXT) for w in record.rally.warnings[:20])),
        tasks=tuple(replace(t, first_error=t.first_error and shorten(t.first_error, MAX_TEXT)) for t in record.tasks),
    )
    if not _lists_are_read(replace(record, shards=None, track=replace(record.track, corpora=()))):
        return _cannot_be_judged(record, room)  # no other list becomes shorter below
    size = _size(record)
    for what, without in DISPENSABLE:
        if size <= room:
            return record
        smaller = without(record)
        if smaller != record:
            record = replace(smaller, left_out=(*record.left_out, what))
            size = _size(record)
    return record if _lists_are_read(record) and size <= room else _cannot_be_judged(record, room)


def _lists_are_read(record: Record) -> bool:
    """Return whether the operator reads each list to its end."""
    track = record.track
    lists = (
        *(record.environment.nodes, record.indices or (), record.shards or (), record.pipelines or (), record.tasks),
        *(track.tasks, track.corpora, track.pipelines, track.expected_documents or (), track.documents.uncounted),
    )
    return all(len(it) <= Bounds().items for it in lists)


def _size(record: Record) -> int:
    """Return the bytes of the compressed record; what no reader would unpack does not fit, however small."""
    text = record.to_json()
    is_read = len(text) <= MAX_JSON_CHARACTERS // 2 and value_count(text) <= MAX_JSON_VALUES
    return len(compressed(text)) if is_read else len(text)


def _without_touches(record: Record) -> Record:
    """Return the record with the first touches, and those of what was there, which explain documents and pipelines."""
    if record.target is None:
        return record
    kept = tuple(it for place, it in enumerate(record.target.touches) if place < MAX_ITEMS or it.existing)
    return replace(record, target=replace(record.target, touches=kept))


def _without_jvm_arguments(record: Record) -> Record:
    if record.target is None:  # only a target's nodes were asked for no heap and no options
        return record
    nodes = record.environment.nodes
    rest = tuple(replace(node, jvm_arguments=()) for node in nodes[1:])
    return replace(record, environment=replace(record.environment, nodes=(*nodes[:1], *rest)))


def _with_indices(record: Record, change: Callable[[IndexRecord], IndexRecord]) -> Record:
    return replace(record, indices=record.indices and tuple(change(index) for index in record.indices))


def _with_tasks(record: Record, change: Callable[[Task], Task]) -> Record:
    return replace(record, tasks=tuple(change(task) for task in record.tasks))


def _with_six_digits(task: Task) -> Task:
    """Return the task with its measured numbers to six digits; but not those that are compared with a fixed bound."""
    rally, windows = task.rally, task.windows
    return replace(
        task,
        rally=rally and _rounded(rally),
        windows=windows
        and replace(
            windows,
            median=windows.median and _six(windows.median),
            p10=windows.p10 and _six(windows.p10),
            p90=windows.p90 and _six(windows.p90),
        ),
        client_seconds=task.client_seconds and _six(task.client_seconds),
    )


def _rounded(rally: RallyNumbers) -> RallyNumbers:
    def each(times: Mapping[str, float]) -> dict[str, float]:
        # Up, since an objective of no more digits is kept by what is not beyond it.
        return {key: float(_SIX_DIGITS_UP.create_decimal(repr(value))) for key, value in times.items()}

    low, mean, median, high = (
        value and _six(value)
        for value in (rally.throughput.min, rally.throughput.mean, rally.throughput.median, rally.throughput.max)
    )
    return replace(
        rally,
        throughput=Throughput(low, mean, median, high),
        service_time_millis=each(rally.service_time_millis),
        latency_millis=each(rally.latency_millis),
        processing_time_millis=each(rally.processing_time_millis),
    )


def _six(value: float) -> float:
    return float(f"{value:.6g}")


def _without_digests(record: Record) -> Record:
    if record.requests is None:
        return record
    answers = tuple(replace(it, request=None, hit_ids=None, content=None) for it in record.requests.answers)
    return replace(record, requests=replace(record.requests, answers=answers))


def _without_rates_over_time(task: Task) -> Task:
    return replace(task, windows=task.windows and replace(task.windows, over_time=()))


def _without_hosts(task: Task) -> Task:
    return replace(task, http=task.http and replace(task.http, hosts=()))


def _without_first_error(task: Task) -> Task:
    return replace(task, first_error=task.first_error and LEFT_OUT)


def _without_shares_of_cpu(task: Task) -> Task:
    """Return the task without how busy the load generator was: that it was the bottleneck, or throttled, decides."""
    return replace(task, load=task.load and replace(task.load, cpu_share=None, busiest_share=None, why=""))


def _without_processing_times(task: Task) -> Task:
    return replace(task, rally=task.rally and replace(task.rally, processing_time_millis={}))


# The least important first. What decides is never here, be it whether the race counts (plan/verdict), its capacity or
# which steps of a sweep count: who misses something gives a false answer, or none. What is only shown may be.
DISPENSABLE: tuple[tuple[str, Callable[[Record], Record]], ...] = (
    ("the histograms of each task's times", lambda r: _with_tasks(r, lambda t: replace(t, histogram=None))),
    (
        "the names of the track's parameters and challenges",
        lambda r: replace(r, track=replace(r.track, exposed_params=(), challenges=())),
    ),
    ("the throughput of each task over time", lambda r: _with_tasks(r, _without_rates_over_time)),
    ("how each host answered in each task", lambda r: _with_tasks(r, _without_hosts)),
    ("the settings of the indices that nobody set", lambda r: _with_indices(r, lambda i: replace(i, defaults={}))),
    (
        "the modules of the release",
        lambda r: replace(r, environment=replace(r.environment, modules=None)),
    ),
    (f"what the track touches on the target and was not there, from the {MAX_ITEMS + 1}st on", _without_touches),
    ("where the copies of the shards were", lambda r: replace(r, shards=None)),
    ("the JVM arguments of all nodes but the first", _without_jvm_arguments),
    (
        f"the track's files of documents, from the {MAX_ITEMS + 1}st on",
        lambda r: replace(r, track=replace(r.track, corpora=r.track.corpora[:MAX_ITEMS])),
    ),
    (
        "the first error of each task",
        lambda r: _with_tasks(r, _without_first_error),
    ),
    ("what searches answered, as digests", _without_digests),
    (
        "how busy the load generator was in each task",
        lambda r: _with_tasks(r, _without_shares_of_cpu),
    ),
    ("digits beyond the sixth of what was measured", lambda r: _with_tasks(r, _with_six_digits)),
    ("the settings of the indices that somebody set", lambda r: _with_indices(r, lambda i: replace(i, explicit={}))),
    ("the processing times of each task", lambda r: _with_tasks(r, _without_processing_times)),
    ("how many samples support each percentile", lambda r: _with_tasks(r, lambda t: replace(t, support={}))),
    (
        "the track's parameters",
        lambda r: replace(r, track=replace(r.track, params={})),
    ),
)


def _cannot_be_judged(record: Record, room: int) -> Record:
    """Return a record that fits, of a race that does not count because what it is judged by does not fit."""
    environment, track, target = record.environment, record.track, record.target
    message = (
        f"the record needs {_size(record)} bytes, and {room} fit: {len(environment.nodes)} nodes, "
        f"{len(record.indices or ())} indices, {len(record.pipelines or ())} ingest pipelines, "
        f"{len(record.tasks)} tasks; what the race is judged by cannot be kept"
    )
    nodes = tuple(replace(node, jvm_arguments=()) for node in environment.nodes[:MAX_ITEMS])
    return replace(
        record,
        outcome=record.outcome if record.outcome.reason else Outcome(Reason.RECORD_MISSING, message),
        environment=replace(environment, nodes=nodes, modules=None, cluster_settings=None, node_settings=None),
        fresh=record.fresh and replace(record.fresh, user_indices=record.fresh.user_indices[:FEW]),
        indices=record.indices and tuple(
            replace(i, settings={}, explicit={}, defaults={}) for i in record.indices[:FEW]
        ),
        pipelines=record.pipelines and record.pipelines[:FEW],
        requests=None,
        nodes_restarted=record.nodes_restarted and record.nodes_restarted[:FEW],
        tasks=record.tasks[:FEW],
        track=replace(
            track, tasks=track.tasks[:FEW], corpora=track.corpora[:FEW], pipelines=track.pipelines[:FEW],
            expected_documents=None, documents=DocumentPlan(), pipeline_documents={}, passed_as={},
        ),
        target=target and replace(
            target, touches=tuple(replace(t, existing=t.existing[:1]) for t in target.touches[:FEW]),
            unforeseen=target.unforeseen[:FEW], removed=target.removed[:FEW], left=target.left[:FEW],
            others=target.others[:FEW],
        ),
        left_out=(*record.left_out, "most of what the race is judged by"),
    )  # fmt: skip


def packed_tail(path: Path, secrets: tuple[str, ...]) -> str | None:
    """Return the end of the text file at `path`, compressed within the bound and in base64; None when there is none."""
    try:
        with path.open("rb") as content:
            size = content.seek(0, 2)
            content.seek(max(0, size - TAIL_BYTES))
            text = content.read()
    except OSError:
        return None
    clean = scrub(text.decode("utf-8", "replace"), secrets).encode()
    while True:
        packed = gzip.compress(clean, mtime=0)
        if len(packed) <= MAX_ARTIFACT_BYTES:
            return base64.b64encode(packed).decode()
        clean = clean[len(clean) // 4 :]
