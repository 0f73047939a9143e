"""What the searches for the capacity of all races found together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, log
from statistics import fmean

from fairlap.api.capacity_status import CapacityRace, CapacityRange, CapacityResult
from fairlap.wording.counts import counted
from fairlap.wording.numerals import rate_text
from fairlap_race.contract.recorded.race_capacity import BOTTLENECK, RaceCapacity, race_capacity
from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.some_of import some_of
from fairlap_race.contract.specification.capacity_search import CapacitySearch, End

_OUTSIDE = {
    End.NEVER_KEPT: "the objective is not kept at {low}, the lowest rate that was tried",
    End.NEVER_BROKEN: "the objective is still kept at {high}, the highest rate that was tried",
    BOTTLENECK: "the load generator was the bottleneck where the objective broke",
}
_CURES = {
    End.NEVER_KEPT: "write a lower race.capacity.targetThroughput.from",
    End.NEVER_BROKEN: "write a higher race.capacity.targetThroughput.to",
    BOTTLENECK: "give it more CPU, or the probes more clients",
}
_DIFFER = "The races differ by more than their intervals say: something else changed between them"
_NO_PROBE = "no probe was recorded"
_MOST_RACES = 10


def capacity_result(records: Sequence[Record]) -> CapacityResult | None:
    """Return what the valid races `records` found; None where nothing was, or can have been, looked for."""
    swept = records[0].track.sweep if records else None
    if swept is None or swept.search is None:
        return None
    search, found = swept.search, [it for record in records if (it := race_capacity(record))]
    if not found:
        return None
    unit = next((it.unit for it in found if it.unit), "requests/s")
    races = [_race(it) for it in found]
    result = CapacityResult(
        task=swept.task, objective=_objective(search), unit=unit, races=races, refused=_refused(races, search, unit)
    )
    if not result.refused:
        rates = [race.rate for race in races if race.rate]
        result = result.model_copy(update={"rate": _together(races, search, exp(fmean(map(log, rates))))})
    said = [*_sentences(result, subject(records[0]), found), *_of_clients(found)]
    return result.model_copy(update={"sentences": said})


def _race(found: RaceCapacity) -> CapacityRace:
    return CapacityRace(end=found.end, rate=found.rate, low=found.low, high=found.high, probes=found.probes)


def _together(races: Sequence[CapacityRace], search: CapacitySearch, rate: float) -> CapacityRange:
    """Return the interval that holds those of all races, around their mean `rate`."""
    return CapacityRange(
        value=rate,
        low=min(race.low or search.lowest for race in races),
        high=max(race.high or search.highest for race in races),
        open_below=any(race.low is None for race in races),
        open_above=any(race.high is None for race in races),
    )


def _outside(end: str, search: CapacitySearch, unit: str) -> str:
    low, high = (f"{rate_text(rate)} {unit}" for rate in (search.lowest, search.highest))
    return _OUTSIDE[end].format(low=low, high=high)


def _refused(races: Sequence[CapacityRace], search: CapacitySearch, unit: str) -> str:
    """Return why all races together have no capacity: of several, which ones, and what the others found."""
    odd: dict[str, list[int]] = {}
    for number, race in enumerate(races, start=1):
        if race.end in _OUTSIDE or race.rate is None:
            odd.setdefault(race.end if race.end in _OUTSIDE else "", []).append(number)
    if not odd:
        return ""
    why = {end: _outside(end, search, unit) if end else _NO_PROBE for end in odd}
    others = [race for race in races if race.end not in _OUTSIDE and race.rate]
    if len(odd) == 1 and not others:
        (end,) = odd
        return f"{why[end]}: {_CURES[end]}" if end else why[end]
    parts = [
        f"in {len(numbers)} of {len(races)} races ({some_of((f'race {it}' for it in numbers), _MOST_RACES)}) {why[end]}"
        for end, numbers in odd.items()
    ]
    if others:
        parts.append(f"the others found {_ends(_together(others, search, 0.0))} {unit}")
    return "; ".join(parts)


def _objective(search: CapacitySearch) -> str:
    errors = f"{search.error_rate:.3g} of the requests failed at most" if search.error_rate else "no request failed"
    return f"{search.percentile} of latency at most {search.millis:.10g} ms, and {errors}"


def _ends(found: CapacityRange) -> str:
    """Return the interval for people: an end that no probe bounds lies outside the rates that were asked for."""
    below, above = "from below " if found.open_below else "", "above " if found.open_above else ""
    return f"{below}{rate_text(found.low)} to {above}{rate_text(found.high)}"


def _sentences(found: CapacityResult, raced: str, by_race: Sequence[RaceCapacity]) -> list[str]:
    number = sum(race.probes for race in found.races)
    if found.rate is None:
        refused = f"{raced} has no capacity to be told for {found.task}: {found.refused}"
        return [refused, *([] if _agree(found.races) else [_DIFFER])]
    it = found.rate
    sure = f"90 % interval {_ends(it)}, {number} probes"
    more = f" in {len(found.races)} races" if len(found.races) > 1 else ""
    said = [f"{raced} carries {rate_text(it.value)} {found.unit} of {found.task} with {found.objective} ({sure}{more})"]
    if any(race.end == End.WIDE and not race.left_out for race in by_race):
        said.append(
            "The probes contradict each other, so the interval is wider than the resolution: longer probes, or a "
            "coarser race.capacity.resolution"
        )
    if left_out := sum(race.left_out for race in by_race):
        wider = any(race.end == End.WIDE and race.left_out for race in by_race)
        are, so = "is" if left_out == 1 else "are", ", so the interval is wider than the resolution" if wider else ""
        said.append(
            f"{counted(left_out, 'probe')} in which the load generator was the bottleneck {are} left out{so}: "
            "give it more CPU"
        )
    if not _agree(found.races):
        said.append(_DIFFER)
    return said


def _of_clients(found: Sequence[RaceCapacity]) -> Iterator[str]:
    busy = [it.busy_clients for it in found if it.busy_clients]
    if busy:
        who = f"All {max(busy):,} clients were" if max(busy) > 1 else "The only client was"
        yield (
            f"{who} busy where the objective broke, and the answers themselves came in time: "
            "more clients (race.capacity.clients) may carry more"
        )


def _agree(races: Sequence[CapacityRace]) -> bool:
    """Tell whether the intervals of all races have a rate in common; a bottleneck bounds only what is below it."""
    lows = [race.low or 0.0 for race in races]
    highs = [race.high for race in races if race.high is not None and race.end != BOTTLENECK]
    return not highs or max(lows) <= min(highs)


def subject(record: Record) -> str:
    """Return what was raced, for people: the version, over HTTP what all servers call themselves, if they agree."""
    if record.environment.version or record.http is None:
        return record.environment.version or "the cluster"
    names = {host.server for host in record.http.hosts}
    return (names.pop() if len(names) == 1 else None) or "the target"
