"""Whether the cluster stayed what it was while a task was measured, from what was seen of it during the race."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.verdict.violation import Violation
from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.cluster_course import MissingCopies, TaskCaches
from fairlap_race.contract.recorded.record import IndexRecord, Record, Task
from fairlap_race.contract.recorded.task_spans import CLOCK_SET_SECONDS, TaskSpan, seconds_of, task_spans
from fairlap_race.contract.watched_machines.series import Span

_TOLERATED_SECONDS, _TOLERATED_SHARE = 1.0, 0.01
"""Of a task's measured time: an index that is made during a task has its replicas a moment later."""
_WAITING = frozenset({"cluster-health", "wait-for-recovery", "wait-for-snapshot-create", "wait-for-transform", "sleep"})
"""Rally's operation types that wait for what is missing (esrally/track/track.py): what they measure is that wait."""
_MOST = 200
"""Of each list: the runner keeps as many, and each is compared with each task."""
_ADDED_LATER = "REPLICA_ADDED"
_NEW = "INDEX_CREATED"
_CACHED_SHARE = 0.5
_UNEVEN = 1.5
"""Times the mean of all nodes."""
_LEAST_REQUESTS = 100
"""Below these the requests of the race's beginning and end, which one client sends, would decide."""
_FALSIFIED_SHARE = 0.001
"""Of a task's time: a clock that is kept right by and by is wrong by half of that at most (adjtimex(2), 500 ppm)."""


class _Gap(NamedTuple):
    """For how long copies were missing while a task was measured."""

    task: str
    seconds: float
    of_seconds: float

    @property
    def tolerated(self) -> bool:
        return self.seconds <= max(_TOLERATED_SECONDS, _TOLERATED_SHARE * self.of_seconds)


def replicas_were_there(record: Record, spec: BenchmarkSpec) -> Violation | None:
    """Return the first replica that was to be there and was not while a task was measured."""
    spans, indices = _spans(record), {it.name: it for it in reversed(record.indices or ())}
    for missing in record.course.missing[:_MOST]:
        if missing.primary or missing.why == _ADDED_LATER:
            continue
        if missing.copies <= _unattainable(record, spec, missing, indices.get(missing.index)):
            continue
        for gap in _gaps(spans, missing.since, missing.until):
            if not gap.tolerated:
                return Violation(Reason.REPLICAS_MISSING, _missing_copies_sentence(missing, gap))
    return None


def nodes_stayed(record: Record, _: BenchmarkSpec) -> Violation | None:
    """Return that a node left the cluster during the race, though none restarted."""
    course, nodes = record.course, len(record.environment.nodes)
    if course.rejoined:
        names = ", ".join(sorted(course.rejoined)[:20])
        return Violation(Reason.NODE_LEFT, f"left the cluster during the race and joined it again: {names}")
    if course.fewest_nodes is not None and course.fewest_nodes < nodes:
        text = f"during the race the cluster had {course.fewest_nodes} of its {nodes} nodes for a while"
        return Violation(Reason.NODE_LEFT, text)
    if course.elections:
        text = f"during the race the cluster lost its master and elected another, {course.elections} time(s)"
        return Violation(Reason.NODE_LEFT, text)
    return None


def remarks(record: Record) -> Iterator[RaceRemark]:
    """Yield what a reader must know of the cluster's course although it does not void the race."""
    yield from (RaceRemark(Reason.SHARDS_IN_MOTION, text) for text in islice(_in_motion(record), _MOST))
    if text := "; ".join(_untold(record)):
        yield RaceRemark(Reason.MACHINE_FIGURES_INCOMPLETE, text)
    repeating = _repeating(record)
    searching = [task for task in record.tasks if _searches(task) or task.task in repeating]
    requests = {task.task: task.samples.warmup + task.samples.normal for task in searching}
    varying = {it.task for it in record.requests.answers if it.drawn} - repeating if record.requests else set()
    for of_task in record.course.caches:
        if text := _cached(of_task, requests.get(of_task.task, 0), varies=of_task.task in varying):
            yield RaceRemark(Reason.CACHE_MEASURED, text)
    if record.target is None and (text := _uneven(record)):
        yield RaceRemark(Reason.REQUESTS_UNEVEN, text)
    if record.course.merging:
        text = (
            f"{record.course.merging} merge(s) still ran when the size of the data was read: it would have become "
            "another one"
        )
        yield RaceRemark(Reason.MERGES_RUNNING, text)
    yield from (RaceRemark(Reason.CLOCK_STEPPED, text) for text in islice(_clock_set(record), _MOST))


def _clock_set(record: Record) -> Iterator[str]:
    """Yield when the load generator's clock was set: while a task ran, or between the beginnings of two."""
    for task in record.tasks:
        if (shift := task.clock_shift_seconds) and shift >= _FALSIFIED_SHARE * _seconds(task):
            figures = (
                "its figures are by another clock, which only goes forward"
                if record.http
                else "Rally's throughput is computed from it, the throughput of windows is not"
            )
            yield (
                f"task {task.task}: the load generator's clock was set by {shift:.2f} s or more while it ran: {figures}"
            )
    set_by, within, since = 0.0, 0.0, "the race"
    for task in sorted((it for it in record.tasks if it.started_at), key=lambda it: it.started_at or ""):
        step = (task.clock_set_seconds or 0.0) - set_by
        if abs(step) - within >= CLOCK_SET_SECONDS:  # more than was seen while the one before it ran
            yield (
                f"the load generator's clock was set {'back' if step < 0 else 'forward'} by {abs(step):.2f} s between "
                f"the beginnings of {since} and of task {task.task}: times and machine figures are by the clock as it "
                "was at the race's beginning"
            )
        set_by, within = set_by + step, task.clock_shift_seconds or 0.0
        since = f"task {task.task}"


def _untold(record: Record) -> Iterator[str]:
    """Yield what Elasticsearch did not tell of its course; nothing where nobody looked at it."""
    course = record.course
    if course.unlisted:
        yield f"at {course.unlisted} look(s) copies of shards were missing that could not be listed"
    if record.outcome.reason is not None or record.http is not None or course.looks is None:
        return
    if course.looks == 0:
        yield "Elasticsearch did not tell during the race where the copies of the shards were"
    figures = {
        "which copies of shards were made": course.recoveries,
        "whether a node left and came back": course.rejoined,
        "how often a master was elected": course.elections,
        "whether merges still ran when the size of the data was read": course.merging,
    }
    if unknown := [name for name, value in figures.items() if value is None]:
        old = (record.environment.version or "").startswith("6.") and course.elections is None
        why = " (versions before 7 do not count elections)" if old else ""
        yield f"Elasticsearch did not tell {', '.join(unknown)}{why}"


def _unattainable(record: Record, spec: BenchmarkSpec, missing: MissingCopies, index: IndexRecord | None) -> int:
    """Return how many replicas of an index this cluster can never hold, and nobody asked for by a field of the spec."""
    if spec.index and spec.index.replicas:
        return 0
    nodes = max(1, len(record.environment.data_nodes))
    # What the race only searches is not among the indices of its record.
    shards, replicas = (index.shards, index.replicas) if index else (missing.shards, missing.replicas)
    if shards is None or replicas is None:
        return missing.copies if nodes == 1 else 0
    return shards * max(0, replicas - (nodes - 1))


def _spans(record: Record) -> tuple[TaskSpan, ...]:
    """Return when each task was measured of which Rally reports numbers, and that does not wait for a cluster."""
    unreported = {task.name for task in record.track.tasks if not task.reported}
    return task_spans(it for it in record.tasks if it.task not in unreported and it.type not in _WAITING)


def _gaps(spans: Iterable[TaskSpan], since: str | None, until: str | None) -> Iterator[_Gap]:
    """Yield for each task for how long something went on while it was measured, if at all; no end is one to come."""
    began, ended = seconds_of(since), seconds_of(until)
    for span in spans:
        seconds = _shared(span.span, began, ended)
        if seconds > 0:
            yield _Gap(span.task, seconds, span.span.seconds)


def _shared(span: Span, since: float | None, until: float | None) -> float:
    if since is None:
        return 0.0
    return min(span.end, span.end if until is None else until) - max(span.start, since)


def _missing_copies_sentence(missing: MissingCopies, gap: _Gap) -> str:
    kind = "primary shard(s)" if missing.primary else "replica(s)"
    why = f" ({missing.why})" if missing.why else ""
    return (
        f"index {missing.index}: {missing.copies} {kind} not started for {gap.seconds:.1f} s of the "
        f"{gap.of_seconds:.1f} s in which task {gap.task} was measured{why}"
    )


def _in_motion(record: Record) -> Iterator[str]:
    nodes, spans = len(record.environment.data_nodes), _spans(record)
    for missing in record.course.missing[:_MOST]:
        if missing.primary and missing.why == _NEW:
            continue  # every index begins so
        # On one node with data every replica stays away for good, which another remark says.
        if nodes > 1 or missing.primary or missing.why == _ADDED_LATER:
            yield from (_missing_copies_sentence(missing, gap) for gap in _gaps(spans, missing.since, missing.until))
    for it in (record.course.recoveries or ())[:_MOST]:
        for gap in _gaps(spans, it.began_at, it.ended_at):
            copy = f"{it.shard}{'p' if it.primary else 'r'}"
            where = f"from {it.source} to {it.target}" if it.source else f"on {it.target} from its disk"
            yield (
                f"index {it.index}: shard {copy} was made {where} for {gap.seconds:.1f} s of the {gap.of_seconds:.1f} "
                f"s in which task {gap.task} was measured"
            )


def _searches(task: Task) -> bool:
    return "search" in (task.type or "").lower() or (task.type or "").lower() in ("esql", "sql", "composite")


def _repeating(record: Record) -> set[str]:
    """Return the tasks whose requests are known to be one search again and again, a raw request's too."""
    return {it.task for it in record.requests.answers if not it.drawn} if record.requests else set()


def _cached(caches: TaskCaches, requests: int, *, varies: bool) -> str:
    """Return a sentence when most of a searching task's look-ups were answered by a cache, else ""."""
    for kind, hits, misses in (
        ("request", caches.request_hits, caches.request_misses),
        ("query", caches.query_hits, caches.query_misses),
    ):
        if varies and kind == "query":
            continue  # a filter that searches share is in it, however much they differ
        looked = (hits or 0) + (misses or 0)
        if requests and hits and hits >= _CACHED_SHARE * max(looked, requests):
            return (
                f"task {caches.task}: {hits} of {looked} look-ups in the {kind} cache were hits, for {requests} "
                "requests: repeated searches measured the cache"
            )
    return ""


def _uneven(record: Record) -> str:
    counts = {it.node: it.requests for it in record.course.requests if it.requests is not None}
    total = sum(counts.values())
    if len(counts) < 2 or total < _LEAST_REQUESTS:
        return ""
    node, most = max(counts.items(), key=lambda it: (it[1], it[0]))
    if most < _UNEVEN * total / len(counts):
        return ""
    return (
        f"node {node} took {most} of {total} requests, an even share of {len(counts)} nodes is {total // len(counts)}"
    )


def _seconds(task: Task) -> float:
    start, end = seconds_of(task.started_at), seconds_of(task.ended_at)
    return end - start if start is not None and end is not None else 0.0
