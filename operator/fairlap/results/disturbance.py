"""Whether the load generator's machine was another one during or after a race.

Its canary, steal, what else ran, who else wrote to its disk, and times in which all stood still.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final, NamedTuple

from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.as_percent import as_percent
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.recorded.task_spans import tasks_at_once
from fairlap_race.contract.some_of import some_clauses
from fairlap_race.contract.watched_machines.canary_margins import DISTURBED_WORDS, HASHING, READING_MEMORY, WRITING
from fairlap_race.contract.watched_machines.machine_watch import Canary, MachineWatch, WatchedSpan

STEAL_SHARE, STEAL_CORES = 0.05, 0.1
"""Beyond a tenth of a processor the share is of what was wanted: idle ones lose nothing, however many there are."""
OTHERS_CORES, OTHERS_SHARE = 0.5, 0.05
"""Of all processors. A machine with all of Kubernetes on it uses 0.16 cores when idle (docs/noise.md)."""
STALL_SECONDS: Final = 1.0
"""Besides garbage collections, which are Elasticsearch's own."""
DISK_WAITED_SHARE: Final = 0.2
"""Of a task's time, in a task in which Elasticsearch writes nothing; so is the next one (docs/noise.md)."""
DISK_WRITTEN: Final = 0.5e6
"""Bytes a second: what Kubernetes writes for itself stays below."""
_READING: Final = frozenset(
    {"search", "paginated-search", "scroll-search", "composite-agg", "sql", "esql", "vector-search"}
)
"""Types of operations of which Elasticsearch writes nothing."""
_WRITES_NOTHING: Final = _READING | {"sleep"}
SHORTEST_SECONDS: Final = 5.0
"""Of a task: in less of it there are one or two looks."""
_SHOWN = 5


class DisturbanceKind(StrEnum):
    """By what it is known that a machine was disturbed."""

    CANARY = "canary"
    """the same work took another time after the race"""
    STEAL = "steal"
    STALL = "stall"
    """all stood still"""
    OTHERS = "others"
    """something else used its processors"""
    WRITERS = "writers"
    """something else wrote to its disk"""


class Disturbance(NamedTuple):
    """One thing that disturbed a machine."""

    kind: DisturbanceKind
    sentence: str
    """without a capital and a full stop"""


def reading_tasks(record: Record) -> frozenset[str]:
    """Return the tasks of a race in which Elasticsearch only reads: none beside which one ran that may write."""
    writing = {task.task for task in record.tasks if task.type not in _WRITES_NOTHING}
    reading = frozenset(task.task for task in record.tasks if task.type in _READING)
    return reading - tasks_at_once(record.tasks, writing)


def remarks(found: Sequence[Disturbance]) -> Iterator[RaceRemark]:
    """Yield that the machine was disturbed, and by what; nothing where nothing was found."""
    if found:
        said = some_clauses((it.sentence for it in found), _SHOWN)
        yield RaceRemark(Reason.MACHINE_DISTURBED, f"{DISTURBED_WORDS}{said}")


def disturbances(
    watch: MachineWatch,
    elasticsearch_on: Collection[str],
    load_generator_on: str,
    reading: Collection[str] = (),
    unread: Collection[str] = (),
    *,
    over_http: bool = False,
    in_turn: bool = False,
) -> list[Disturbance]:
    """Return what disturbed the machine; the pods' machines tell whose CPU time is whose.

    `reading`: the tasks in which Elasticsearch only reads; `unread`: those whose numbers nobody reads; `over_http`:
    nothing but the load generator was watched; `in_turn`: other races, of which neither use nor merges are known here,
    were raced at the same time.
    """
    read = _of_what_is_read(watch, unread)
    found: dict[DisturbanceKind, Iterator[str]] = {
        DisturbanceKind.CANARY: _canary(read),
        DisturbanceKind.STEAL: _steal(judged_spans(watch, unread)),
        DisturbanceKind.STALL: _stalls(read, "it" if over_http else "it or Elasticsearch"),
    }
    if not in_turn:
        found[DisturbanceKind.OTHERS] = _others(read, elasticsearch_on, load_generator_on)
    if not in_turn and set(elasticsearch_on) == {load_generator_on}:
        found[DisturbanceKind.WRITERS] = _writers(read, reading)
    return [Disturbance(kind, sentence) for kind, sentences in found.items() for sentence in sentences]


def _of_what_is_read(watch: MachineWatch, unread: Collection[str]) -> MachineWatch:
    """Return what was watched in tasks whose numbers somebody reads: what disturbs a pause disturbs no number."""
    tasks = tuple(span for span in watch.tasks if span.task not in unread)
    return replace(watch, tasks=tasks, stalls=tuple(stall for stall in watch.stalls if stall.task not in unread))


def _canary(watch: MachineWatch) -> Iterator[str]:
    """Yield each piece of fixed work that took another time after the race than before it, by more than its margin."""
    before, after = watch.before or Canary(), watch.after or Canary()
    for piece, first, last in (
        (HASHING, before.cpu_seconds, after.cpu_seconds),
        (READING_MEMORY, before.memory_seconds, after.memory_seconds),
        (WRITING, before.disk_seconds, after.disk_seconds),
    ):
        if first and last and piece.differ(first, last):
            took = f"{1000 * first:.3g} ms before the race and {1000 * last:.3g} ms after it"
            yield f"the same work, {piece.words}, took {took}"


def judged_spans(watch: MachineWatch, unread: Collection[str] = ()) -> list[WatchedSpan]:
    """Return the tasks that are long enough to be judged, without those that nobody reads; maybe none.

    Where no task at all is as long it is the race, where that is: one with a long pause tells mostly of the pause.
    """
    if long := _spans(watch):
        return [span for span in long if span.task not in unread]
    return [it for it in (watch.race,) if it.seconds >= SHORTEST_SECONDS]


def stolen_share(span: WatchedSpan) -> float | None:
    """Return what share (0 to 1) of the processors' time the hypervisor took, None where unknown.

    It is that of the time for which something wanted to run; of all time where that is not known, or little was taken.
    """
    if span.steal_share is None or span.busy_cores is None or span.processors is None:
        return span.steal_share
    stolen = span.steal_share * span.processors
    return stolen / (stolen + span.busy_cores) if stolen > STEAL_CORES else span.steal_share


def _steal(spans: Sequence[WatchedSpan]) -> Iterator[str]:
    for span in spans:
        share = stolen_share(span)
        if share is None or span.steal_share is None or share <= STEAL_SHARE:
            continue
        where = f"in task {span.task}" if span.task else "in the race"
        if span.steal_share > STEAL_SHARE:
            yield f"the hypervisor took {as_percent(span.steal_share, STEAL_SHARE)} of its processors' time {where}"
        else:
            wanted = as_percent(share, STEAL_SHARE)
            yield f"the hypervisor took {wanted} of the time in which its processors were wanted {where}"


def _stalls(watch: MachineWatch, who: str) -> Iterator[str]:
    for stall in watch.stalls:
        if stall.task and stall.seconds - stall.collected_seconds >= STALL_SECONDS:
            collected = f", {stall.collected_seconds:.1f} s of it to collect garbage" if stall.collected_seconds else ""
            yield f"{who} stood still for {stall.seconds:.1f} s or more in task {stall.task}{collected}"


def _writers(watch: MachineWatch, reading: Collection[str]) -> Iterator[str]:
    """Yield tasks that only read, in which somebody wrote to the disk of all nodes' data, and something waited.

    Where Elasticsearch merged, what an earlier task wrote was its own to write again.
    """
    for span in _spans(watch):
        waited = span.io_waiting_share or 0.0
        if span.task not in reading or span.merging or waited <= DISK_WAITED_SHARE:
            continue
        written = span.data_written_bytes or 0.0
        if written > max(span.data_read_bytes or 0.0, DISK_WRITTEN * span.seconds):
            yield (
                f"something waited for its disk {as_percent(waited, DISK_WAITED_SHARE)} of task {span.task}, which "
                f"only reads, while {written / span.seconds / 1e6:.1f} MB a second were written"
            )


def _others(watch: MachineWatch, elasticsearch_on: Collection[str], load_generator_on: str) -> Iterator[str]:
    if not load_generator_on or not elasticsearch_on:
        return
    alone, together = load_generator_on not in elasticsearch_on, set(elasticsearch_on) == {load_generator_on}
    if not alone and not together:  # which nodes are here is not known
        return
    for span in _spans(watch):
        elasticsearch = span.elasticsearch_cores if together else 0.0
        if span.busy_cores is None or span.own_cores is None or elasticsearch is None:
            continue
        others = span.busy_cores - span.own_cores - elasticsearch
        if others > max(OTHERS_CORES, OTHERS_SHARE * (span.processors or 0.0)):
            whose = "Rally and Elasticsearch" if together else "Rally"
            yield f"beside {whose} something else used {others:.1f} cores of it in task {span.task}"


def _spans(watch: MachineWatch) -> list[WatchedSpan]:
    return [span for span in watch.tasks if span.seconds >= SHORTEST_SECONDS]
