"""From samples of the whole machine to what happened to it in a span of time. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from fairlap_race.contract.watched_machines.machine_watch import WatchedSpan
from fairlap_race.contract.watched_machines.series import Points, Span, increase, level
from fairlap_race.elasticsearch.node_stats import MERGES_ENDED, MERGES_RUNNING


def watched_span(signals: Mapping[str, Points], span: Span, task: str = "") -> WatchedSpan:
    """Return the whole machine in a span; `signals`: as `linux.whole_machine` names them, counters as read."""

    def rate(name: str) -> float | None:
        found = increase(risen(signals[name]), span) if name in signals else None
        return None if found is None else found[0] / found[1]

    steal, processors = rate("steal_seconds"), rate("processor_seconds")
    clock = level(signals["megahertz"], span) if "megahertz" in signals else None
    return WatchedSpan(
        task=task,
        seconds=round(span.seconds, 3),
        steal_share=_share(steal / processors) if steal is not None and processors else None,
        processors=_rounded(processors),
        busy_cores=_rounded(rate("busy_seconds")),
        cpu_waiting_share=_share(rate("cpu_waiting")),
        memory_waiting_share=_share(rate("memory_waiting")),
        io_waiting_share=_share(rate("io_waiting")),
        interrupts_per_second=_rounded(rate("interrupts")),
        megahertz=None if clock is None else round(clock[0], 1),
    )


def merged(nodes: Iterable[Mapping[str, Points]], span: Span) -> bool | None:
    """Return whether one of Elasticsearch's nodes merged in a span or up to a look before or after; None: none told.

    What began and ended between two looks is known by the number of those that have ended.
    """
    told = False
    for signals in nodes:
        running, ended = (signals.get(name, Points()) for name in (MERGES_RUNNING, MERGES_ENDED))
        if any(running.value[position] > 0 for position in running.around(span)):
            return True
        if len({ended.value[position] for position in ended.around(span)}) > 1:
            return True
        told = told or bool(running.at)
    return False if told else None


def risen(points: Points) -> Points:
    """Return a counter of the whole machine without its steps back.

    It does not begin anew while a pod lives on the machine; a clock that is corrected steps back a little.
    """
    result, highest = Points(), -math.inf
    for at, value in zip(points.at, points.value, strict=True):
        highest = max(highest, value)
        result.add(at, highest)
    return result


def _share(value: float | None) -> float | None:
    return None if value is None else round(min(1.0, max(0.0, value)), 4)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
