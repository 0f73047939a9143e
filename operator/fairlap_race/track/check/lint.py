"""Rules from experience about a track that Rally would load without a word, each a pure function of facts.

An error means that the race cannot give a valid number; a warning means that it may not be the one that was meant.
A rule stays silent where a track's own Python code or a parameter source could make it wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairlap_race.contract.index_settings import NO_PIPELINE, comes_with_elasticsearch
from fairlap_race.contract.reasons import Reason

SLOW_DOCUMENTS_PER_SECOND = 5000
SLOW_BYTES_PER_SECOND = 10_000_000
"""Rates that most clusters reach; a warm-up that outlasts the data at both of them is worth a word."""
_REPEATED = {"search", "paginated-search", "scroll-search", "raw-request", "composite", "sql", "esql"}
"""Operations of Rally that have no end of their own (their parameter sources are infinite)."""


@dataclass(frozen=True)
class TaskFacts:
    """One task of the challenge, in the order of the schedule."""

    name: str
    kind: str = ""
    """operation type"""
    operation: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    clients: int = 1
    warmup_time_period: float | None = None
    time_period: float | None = None
    warmup_iterations: int | None = None
    iterations: int | None = None
    custom: bool = False
    """the track's own Python code makes its requests or their parameters"""
    ended_by_other: bool = False
    """another task of the same parallel element ends it"""
    documents: int | None = None
    """documents that a bulk task indexes; None when the track does not determine it"""
    in_files: tuple[int, ...] = ()
    """documents of each of its files, as many as it takes of them; Rally fills no bulk across files"""
    size: float | None = None
    """their bytes; None when the track does not say"""
    targets: tuple[str, ...] = ()
    """indices that a bulk task's corpora name"""
    errors_ignored: bool = False
    """an error response does not end the race"""


@dataclass(frozen=True)
class TrackFacts:
    """What the rules look at: one challenge."""

    tasks: tuple[TaskFacts, ...] = ()
    indices: tuple[str, ...] = ()
    """names of the track's indices"""
    templates: bool = False
    """the track defines index templates or data streams"""
    existing_cluster: bool = False
    """the cluster is not built for the race, so that it may have pipelines of its own"""
    words: Mapping[str, int] = field(default_factory=dict)
    """how often each text stands as a JSON value anywhere in the track, its files and quoted in its Python code"""


@dataclass(frozen=True)
class Remark:
    """What a rule found; `key` is the member of the task or operation that it is about."""

    rule: str
    task: TaskFacts
    what: str
    cure: str
    reason: Reason | None = None
    """None makes it a warning"""
    key: str = ""


def lint(facts: TrackFacts) -> Iterator[Remark]:
    """Yield what the rules find, rule by rule."""
    for rule in RULES:
        yield from rule(facts)


def endless_task(facts: TrackFacts) -> Iterator[Remark]:
    """A warm-up time without a time period makes Rally repeat an operation that has no end of its own for ever."""
    for task in facts.tasks:
        looped = task.kind == "bulk" and task.params.get("looped") is True
        repeated = task.kind in _REPEATED and task.warmup_time_period is not None
        if (looped or repeated) and task.time_period is None and not task.custom and not task.ended_by_other:
            why = "its bulk is looped" if looped else "it has a warmup-time-period"
            yield Remark(
                "endless-task",
                task,
                f"task {task.name}: {why} but no time-period, so it never ends",
                "Add a time-period, or count with warmup-iterations and iterations",
                Reason.TRACK_INVALID,
                "warmup-time-period",
            )


def request_path(facts: TrackFacts) -> Iterator[Remark]:
    """Rally ends the race at a raw-request whose path does not begin with a slash."""
    for task in facts.tasks:
        for request in _requests(task.kind, task.params):
            path = request.get("path")
            if isinstance(path, str) and not path.startswith("/") and not task.custom:
                what = f"task {task.name}: the path {path!r} does not begin with a slash"
                yield Remark("request-path", task, what, f"Write /{path}", Reason.TRACK_INVALID, "path")


def _requests(kind: str, params: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if kind == "raw-request":
        yield params
    elif kind == "composite":
        requests = params.get("requests")
        for element in requests if isinstance(requests, list) else ():
            if isinstance(element, Mapping):
                if isinstance(element.get("stream"), list):
                    yield from _requests("composite", {"requests": element["stream"]})
                yield from _requests(str(element.get("operation-type")), element)


def pipeline_not_created(facts: TrackFacts) -> Iterator[Remark]:
    """A bulk through an ingest pipeline that does not exist is refused, document by document."""
    created: list[str] = []
    later = [str(task.params.get("id")) for task in facts.tasks if task.kind == "put-pipeline"]
    for task in facts.tasks:
        if task.kind == "put-pipeline" and "id" not in task.params:
            return  # said elsewhere, and it may be this one
        if task.kind == "put-pipeline":
            created.append(str(task.params.get("id")))
        elif task.custom:
            return  # its code may create pipelines
        elif task.kind in ("raw-request", "composite"):
            created += _pipelines_in(task)
        pipeline = task.params.get("pipeline") if task.kind == "bulk" else None
        if not isinstance(pipeline, str) or pipeline in NO_PIPELINE or pipeline in created:
            continue
        if comes_with_elasticsearch(pipeline):
            continue
        late = pipeline in later
        if facts.existing_cluster and not late:
            continue
        when = "is created only after it" if late else "is created by no task of the challenge"
        yield Remark(
            "pipeline-not-created",
            task,
            f"task {task.name}: the pipeline {pipeline!r} {when}",
            "Move its put-pipeline before this task" if late else "Add a put-pipeline with this id before this task",
            Reason.PIPELINE_MISSING,
            "pipeline",
        )


def _pipelines_in(task: TaskFacts) -> list[str]:
    paths = (str(request.get("path", "")) for request in _requests(task.kind, task.params))
    return [found[1] for path in paths if (found := re.match(r"/_ingest/pipeline/([^/?]+)", path))]


def pipeline_not_used(facts: TrackFacts) -> Iterator[Remark]:
    """A pipeline that nothing names does nothing, which often means that the bulk lacks it."""
    # A bulk whose parameters come from code may use any pipeline.
    if any(task.custom for task in facts.tasks):
        return
    bulks = [task.name for task in facts.tasks if task.kind == "bulk"]
    for task in facts.tasks:
        name = task.params.get("id")
        if task.kind == "put-pipeline" and isinstance(name, str) and bulks and not facts.words.get(name):
            yield Remark(
                "pipeline-not-used",
                task,
                f"task {task.name}: nothing uses the pipeline {name!r}",
                f'Add "pipeline": "{name}" to the operation of {bulks[0]}, or remove the pipeline',
                key="id",
            )


def warmup_longer_than_data(facts: TrackFacts) -> Iterator[Remark]:
    """What is indexed during the warm-up is not measured; Rally then says "No throughput metrics available"."""
    for task in facts.tasks:
        seconds, documents = task.warmup_time_period, task.documents
        if task.kind != "bulk" or not seconds or not documents or task.custom or task.params.get("looped"):
            continue
        rate = documents / seconds
        if rate < SLOW_DOCUMENTS_PER_SECOND and (task.size or 0) / seconds < SLOW_BYTES_PER_SECOND:
            yield Remark(
                "warmup-longer-than-data",
                task,
                f"task {task.name}: a cluster that indexes {math.ceil(rate):,} documents/s or more is done with all "
                f"{documents:,} within the warm-up of {seconds:g} s, and nothing is measured",
                "Shorten warmup-time-period or index more documents",
                key="warmup-time-period",
            )


def warmup_takes_all(facts: TrackFacts) -> Iterator[Remark]:
    """A bulk ends with its data, so warm-up iterations can use up all of its requests."""
    for task in facts.tasks:
        size, wanted = task.params.get("bulk-size"), task.warmup_iterations
        if task.kind != "bulk" or task.custom or not wanted or not task.documents or task.params.get("looped"):
            continue
        if not str(size).isdecimal() or int(str(size)) < 1 or task.iterations:
            continue
        share = max(1, task.clients) * int(str(size))
        requests = sum(math.ceil(documents / share) for documents in task.in_files or (task.documents,))
        if requests <= wanted:
            yield Remark(
                "warmup-takes-all",
                task,
                f"task {task.name}: each client makes {requests} requests and all of them are warm-up",
                f"Write fewer than {requests} as warmup-iterations, or a smaller bulk-size",
                Reason.WARMUP_ATE_ALL,
                "warmup-iterations",
            )


def errors_ignored(facts: TrackFacts) -> Iterator[Remark]:
    """Failed bulks are fast, so a race that goes on after errors shows good numbers for nothing."""
    for task in facts.tasks:
        if task.kind == "bulk" and task.errors_ignored:
            yield Remark(
                "errors-ignored",
                task,
                f"task {task.name}: rejected documents do not end the race",
                'Write "ignore-response-error-level": "{{ error_level | default(\'non-fatal\') }}", '
                "which a strict race sets to nothing",
                key="ignore-response-error-level",
            )


def index_not_created(facts: TrackFacts) -> Iterator[Remark]:
    """An index that no task creates appears with the first document, with other mappings than the track has."""
    if facts.templates or any(task.custom for task in facts.tasks):
        return
    if any(task.kind in ("create-index", "raw-request", "composite", "restore-snapshot") for task in facts.tasks):
        return
    for task in facts.tasks:
        missing = [name for name in task.targets if name in facts.indices]
        if task.kind == "bulk" and missing:
            what = f"task {task.name}: no task creates the index {missing[0]}, so the track's settings do not apply"
            yield Remark("index-not-created", task, what, "Add a create-index before it")
            return


RULES: tuple[Callable[[TrackFacts], Iterator[Remark]], ...] = (
    endless_task,
    request_path,
    pipeline_not_created,
    pipeline_not_used,
    warmup_longer_than_data,
    warmup_takes_all,
    errors_ignored,
    index_not_created,
)
