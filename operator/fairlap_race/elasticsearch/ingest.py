"""What ingest pipelines did, processor by processor, from `_nodes/stats/ingest` and `_ingest/pipeline`. Pure.

A pipeline lists its processors in their order, each as {NAME[:TAG]: {type, stats}}; before 6.5 there is no such list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fairlap_race.contract.recorded.ingest_record import MOST_PROCESSORS, ProcessorCount, ProcessorWork
from fairlap_race.contract.recorded.record import Pipeline
from fairlap_race.elasticsearch.answers import dig, whole_number

DROP, REROUTE = "drop", "reroute"
_ELSEWHERE = (DROP, REROUTE)
_MOST_LEVELS = 30


@dataclass(frozen=True)
class _Sum:
    """One pipeline or processor, summed over the nodes."""

    type: str = ""
    count: int = 0
    millis: int = 0
    failed: int = 0

    def with_stats(self, stats: Any) -> _Sum:
        return _Sum(
            self.type,
            self.count + (whole_number(dig(stats, "count")) or 0),
            self.millis + (whole_number(dig(stats, "time_in_millis")) or 0),
            self.failed + (whole_number(dig(stats, "failed")) or 0),
        )

    def since(self, start: _Sum) -> _Sum:
        # What was deleted and put again counts from zero.
        if self.count < start.count or self.type != start.type:
            return self
        return _Sum(self.type, self.count - start.count, self.millis - start.millis, self.failed - start.failed)


def read_pipelines(earlier: Any, later: Any, definitions: Any = None) -> tuple[Pipeline, ...]:
    """Return what each pipeline did between two answers to `_nodes/stats/ingest`.

    Elasticsearch's own pipelines are left out unless they did something. `definitions`: the answer to
    `_ingest/pipeline`, None when it could not be had.
    """
    start, found = _sums(earlier), []
    for name, (end, processors) in sorted(_sums(later).items()):
        before, first = start.get(name, (_Sum(), None))
        again = end.count < before.count
        done = end.since(before)
        if not (done.count or done.failed or name not in start):
            continue
        began = None if again else first
        work = None if processors is None else read_work(_since(processors, began or []))
        hidden = hidden_types(dig(definitions, name)) if isinstance(definitions, Mapping) else ()
        found.append(
            Pipeline(
                name=name,
                count=done.count,
                time_millis=done.millis,
                failed=done.failed,
                work=replace(work, hidden=hidden) if work else None,
            )
        )
    return tuple(found)


def _sums(stats: Any) -> dict[str, tuple[_Sum, list[_Sum] | None]]:
    """Return each pipeline and its processors, None where they are not listed."""
    sums: dict[str, tuple[_Sum, list[_Sum] | None]] = {}
    for node in (dig(stats, "nodes") or {}).values():
        for name, it in (dig(node, "ingest", "pipelines") or {}).items():
            whole, parts = sums.get(name, (_Sum(), None))
            listed = dig(it, "processors")
            if isinstance(listed, list):
                parts = _added(parts or [], [_processor(each) for each in listed])
            sums[name] = (whole.with_stats(it), parts)
    return sums


def _processor(listed: Any) -> tuple[str, Any]:
    """Return type and counters of one entry of the list."""
    for name, it in listed.items() if isinstance(listed, Mapping) else ():
        # 6.8 and the first of 7 give the counters without a type; the name is the type, or the type and a tag.
        return str(dig(it, "type") or str(name).split(":")[0]), dig(it, "stats") or it
    return "", None


def _added(sums: list[_Sum], listed: list[tuple[str, Any]]) -> list[_Sum]:
    """Return the sums with one more node's list, which is the same on every node."""
    padded = [*sums, *(_Sum(kind) for kind, _ in listed[len(sums) :])]
    return [*(each.with_stats(it) for each, (_, it) in zip(padded, listed, strict=False)), *padded[len(listed) :]]


def _since(processors: list[_Sum], start: list[_Sum]) -> list[_Sum]:
    first = [*start, *(_Sum() for _ in processors[len(start) :])]
    return [end.since(begin) for end, begin in zip(processors, first, strict=False)]


def read_work(processors: list[_Sum]) -> ProcessorWork:
    """Return the processors of one pipeline together, and those that failed or never ran one by one."""
    listed = [ProcessorCount(place, it.type, it.count, it.failed) for place, it in enumerate(processors, start=1)]
    odd = sorted((it for it in listed if it.failed or not it.count), key=lambda it: (not it.failed, it.place))
    return ProcessorWork(
        processors=len(listed),
        done=sum(max(0, it.count - it.failed) for it in listed),
        dropped=sum(it.count for it in listed if it.type == DROP),
        rerouted=sum(it.count for it in listed if it.type == REROUTE),
        told=tuple(odd[:MOST_PROCESSORS]),
    )


def hidden_types(definition: Any) -> tuple[str, ...]:
    """Return the types that take documents elsewhere among those processors of a pipeline that have no counters."""
    found: set[str] = set()
    listed = dig(definition, "processors")
    for processor in listed if isinstance(listed, list) else ():
        for body in processor.values() if isinstance(processor, Mapping) else ():
            found.update(_types(dig(body, "on_failure"), _MOST_LEVELS))
            found.update(_types([dig(body, "processor")], _MOST_LEVELS))
    found.update(_types(dig(definition, "on_failure"), _MOST_LEVELS))
    return tuple(sorted(found & set(_ELSEWHERE)))


def _types(processors: Any, levels: int) -> Iterator[str]:
    for processor in processors if isinstance(processors, list) and levels else ():
        for kind, body in processor.items() if isinstance(processor, Mapping) else ():
            yield str(kind)
            yield from _types(dig(body, "on_failure"), levels - 1)
            yield from _types([dig(body, "processor")], levels - 1)
