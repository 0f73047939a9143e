"""What a sweep's curve says, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from fairlap.api.sweep_spec import Objective
from fairlap.api.sweep_status import SweepResult
from fairlap.statistics.scalability import Capacity
from fairlap.wording.numerals import rate_text
from fairlap.wording.percentages import signed
from fairlap_race.contract.as_percent import as_percent
from fairlap_race.contract.some_of import some_of

FEWEST_WAITING = 0.95
"""Of the clients' time, by Little's law; with less a step tells of the load generator, too, and is not fitted."""


def sentences(found: SweepResult, raced: str, objective: Objective | None, bounds: str = "") -> list[str]:
    """Return what the curve of what was `raced` says; the first is the answer, the others what limits it.

    `bounds`: what the capacity lies between, in words.
    """
    return [_headline(found, raced, objective, bounds), *_limits(found)]


def bounds_words(found: Capacity, *, are_rates: bool) -> str:
    """Return what the capacity lies between and why; "" where there is none. `are_rates`: the steps are of rates."""
    it, best, beyond = found.load, found.best, found.beyond
    if it is None:
        return ""
    if best is None or beyond is None:
        return f"95 % interval {rate_text(it.low)} to {rate_text(it.high)}, {found.by_races} races"
    if it.low == it.high:
        return f"what the step {best:g} carried, the most of those that keep it; the step {beyond:g} carried no more"
    between = f"between {rate_text(it.low)} and {rate_text(it.high)}"
    if are_rates and not found.is_between:
        return f"{between}: the step {best:g} was carried, and {beyond:g} was not"
    return f"{between}, what the steps {best:g} and {beyond:g} carried"


def _headline(found: SweepResult, raced: str, objective: Objective | None, sure: str) -> str:
    parts: list[str] = []
    if objective and found.capacity:
        it = found.capacity
        limit = f"{objective.millis:.10g} ms at {objective.percentile}"
        failed = max((row.error_rate for row in found.rows if row.used), default=0.0)
        errors = f", while up to {as_percent(failed, decimals=2)} of a step's requests failed" if failed else ""
        parts.append(f"carries {rate_text(it.value)} {_unit(found)} below {limit} ({sure}){errors}")
    elif objective:
        parts.append(f"has no capacity to be told: {found.capacity_refused}")
    if found.knee_clients is not None:
        beyond = ", the most that count, or beyond" if found.knee_at_end else ""
        where = f"{found.knee_clients:g} client{'' if found.knee_clients == 1 else 's'}{beyond}"
        parts.append(f"the knee is at {where}" if parts else f"has its knee at {where}")
    if found.peak_clients and found.peak_throughput is not None:
        it = found.peak_clients
        parts.append(
            f"the peak is {rate_text(found.peak_throughput)} {_unit(found)} at {it.value:.0f} clients "
            f"(95 % interval {it.low:.0f} to {it.high:.0f})"
        )
    return f"{raced} {'; '.join(parts)}" if parts else f"{raced}: the curve of {found.task} says nothing more"


def _limits(found: SweepResult) -> Iterator[str]:
    if found.fit_refused:
        yield f"No Universal Scalability Law is fitted: {found.fit_refused}"
    if found.peak_refused:
        yield f"No peak is told: {found.peak_refused}"
    if left_out := [row for row in found.rows if not row.used]:
        saturated = [row.step for row in left_out if row.saturated_races]
        count = f"{len(left_out)} of {len(found.rows)}"
        others = [row.step for row in left_out if not row.saturated_races]
        beside = f", and with them {some_of(others, 5)}" if others else ""
        yield f"The load generator was the bottleneck in {some_of(saturated, 5)}: {count} steps do not count{beside}"
    waiting = [row for row in found.rows if row.waiting_share is not None and row.waiting_share < FEWEST_WAITING]
    if waiting:
        least = min(waiting, key=lambda row: row.waiting_share or 0.0)
        waited = as_percent(least.waiting_share or 0.0, FEWEST_WAITING)
        yield (
            f"In {len(waiting)} of {len(found.rows)} steps the clients waited for answers less than "
            f"{as_percent(FEWEST_WAITING)} of their time ({waited} in {least.step}): the load generator's own work is "
            "a part of the curve, and no law is fitted to these"
        )
    if found.hysteresis is not None:
        yield f"On the way down a step differs by {signed(found.hysteresis)} from the way up at most"


def _unit(found: SweepResult) -> str:
    return found.unit or "requests/s"
