"""Two variants' races beside each other: the gates' verdicts, hints on every other number, and what was not the same.

Pure. Without declared gates it decides by geometric means over the tasks that all races have in common.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from fairlap.comparison.facts.fairness_table import row_of
from fairlap.comparison.facts.fairness_words import NOTHING
from fairlap.comparison.numbers.block_numbers import AS_PLANNED, OF_DEVICE, are_alike, is_common
from fairlap.comparison.numbers.race_numbers import Kind, Number, Raced
from fairlap.comparison.numbers.same_work import tasks_of_one_side, told_apart, units_of
from fairlap.comparison.terms.gate_metrics import CAPACITY_GATE, DEFAULT_MARGINS, MOST_FAILED
from fairlap.comparison.terms.verdicts import ComparisonVerdict, together
from fairlap.statistics.gates import USUAL_ALPHA, GateFinding, GateVerdict, Look, judge_estimates
from fairlap.statistics.multiplicity import q_values
from fairlap.statistics.paired import Estimate, paired, unpaired
from fairlap.wording.counts import counted
from fairlap_race.contract.as_percent import as_percent
from fairlap_race.contract.some_of import some_of

MARGINS = {Kind(metric): margin / 100 for metric, margin in DEFAULT_MARGINS.items()}
"""The gates when none are declared, and from which change on a difference matters."""
CAPACITY_MARGINS = {Kind.CAPACITY: (CAPACITY_GATE.margin or 0) / 100}
"""The only gate of races that look for the capacity."""
_ASKED_WORKLOAD = ("track", "challenge", "Rally", "pipeline", "spec.race")
"""So begins what was asked for, or stands in a race.json, of which `is_workload` tells."""
_ASKED = "spec."
"""What was asked for is known as a whole: what is not there, while other parts are, was not asked for."""
_PARAMETER, _IN_RACE_JSON = re.compile(r"(track|car|plugin) parameter "), "Rally"
"""So is what was given to Rally, where a race.json names its Rally: it leaves parameters out only if there are none."""
_GIVEN_BY_THE_OPERATOR = "track parameter error_level"
"""which says what becomes of requests that fail; a race by hand mostly lacks it"""
_MOST_OBSTACLES, _MOST_TASKS = 30, 10


@dataclass(frozen=True)
class Line:
    """One number of both variants."""

    what: str
    kind: Kind
    unit: str
    baseline: float
    """median over the races"""
    contender: float
    finding: GateFinding | None
    """None where a variant has one race only: it has no spread"""
    margin: float
    q: float | None = None
    """of numbers that decide nothing: the share of false ones among all findings up to this one"""


@dataclass(frozen=True)
class Difference:
    """What is known of both and not the same."""

    what: str
    baseline: str
    contender: str


@dataclass(frozen=True)
class SideBySide:
    """What the races of two variants say of each other."""

    verdict: ComparisonVerdict
    gates: tuple[Line, ...]
    others: tuple[Line, ...]
    differences: tuple[Difference, ...]
    obstacles: tuple[str, ...]
    """sentences: why nothing may be compared"""
    notes: tuple[str, ...]
    """sentences: what a reader must know beside the numbers"""


def judge_side_by_side(
    baseline: Sequence[Raced],
    contender: Sequence[Raced],
    *,
    in_blocks: bool = False,
    names: tuple[str, str] = ("the baseline", "the contender"),
) -> SideBySide:
    """Return what the races of two variants say; each has one race or more.

    `in_blocks`: the races of the same place in both were raced back to back. Raises ValueError where one has no other.
    `names`: how a sentence calls the two.
    """
    if in_blocks and len(baseline) != len(contender):
        raise ValueError(f"{len(baseline)} and {len(contender)} races are no pairs: give as many of each")
    everyone = [*baseline, *contender]
    found = differences(baseline, contender)
    obstacles = [
        f"{each.what} is not the same: {each.baseline} and {each.contender}" for each in found if is_workload(each.what)
    ]
    obstacles += tasks_of_one_side((baseline, contender), names)
    obstacles += _repeats(everyone)
    obstacles += _failed(everyone)
    obstacles += [words for group in (baseline, contender) for words in _varies(group, in_blocks=in_blocks)]
    obstacles += _on_two_machines(baseline, contender) if in_blocks else []
    arms = _Arms(baseline, contender, in_blocks)
    there = {number: arms.units(number) for number in everyone[0].values if _all_have(everyone, number)}
    common = [number for number, units in there.items() if len(units) < 2]
    if not common:
        obstacles.append("the races have no number in common")
    gates = _gates(arms, common)
    others = _hints(arms, common)
    verdict = ComparisonVerdict.NOT_COMPARABLE if obstacles else overall(line.finding for line in gates)
    sentences = list(dict.fromkeys(obstacles))
    if more := len(sentences[_MOST_OBSTACLES:]):
        sentences[_MOST_OBSTACLES:] = [f"and {more} more of these"]
    return SideBySide(verdict, gates, others, tuple(found), tuple(sentences), tuple(_notes(arms, there)))


def _all_have(races: Sequence[Raced], number: Number) -> bool:
    """Tell whether all races have a number, and by the same source: a device's bytes are no container's."""
    columns = number.kind.metric.columns
    told = {race.sources.get(columns, "") for race in races if columns} - {""}
    return all(number in race.values for race in races) and len(told) <= 1


def is_workload(what: str) -> bool:
    """Tell whether a fact says what was raced rather than on what: where that differs, races did not do the same."""
    return what.startswith(_ASKED_WORKLOAD) or row_of(what).workload


def differences(baseline: Sequence[Raced], contender: Sequence[Raced]) -> list[Difference]:
    """Return what is known of both variants and not the same.

    A fact that only one knows is not compared; what one was not asked for is known.
    """
    found = []
    for key in _facts_of((*baseline, *contender)):
        ours, theirs = (_values(group, key) for group in (baseline, contender))
        if ours and theirs and ours != theirs:
            found.append(Difference(key, " or ".join(ours), " or ".join(theirs)))
    return found


def overall(findings: Iterable[GateFinding | None]) -> ComparisonVerdict:
    """Return what all gates together say."""
    return together(finding.verdict if finding else GateVerdict.INCONCLUSIVE for finding in findings)


@dataclass(frozen=True)
class _Arms:
    baseline: Sequence[Raced]
    contender: Sequence[Raced]
    in_blocks: bool

    @property
    def everyone(self) -> Sequence[Raced]:
        return [*self.baseline, *self.contender]

    @property
    def races(self) -> int:
        return min(len(self.baseline), len(self.contender))

    def logs(self, numbers: Sequence[Number]) -> tuple[list[float], list[float]]:
        """Return for each race of both the mean logarithm of some numbers."""
        one, two = (
            [fmean(math.log(race.values[number]) for number in numbers) for race in group]
            for group in (self.baseline, self.contender)
        )
        return one, two

    def estimate(self, numbers: Sequence[Number]) -> Estimate | None:
        """Return the estimate of the cost's log ratio over some numbers of one kind."""
        if self.races < 2:
            return None
        one, two = self.logs(numbers)
        if self.in_blocks:
            found = paired([after - before for before, after in zip(one, two, strict=True)])
        else:
            found = unpaired(one, two)
        return found.mirrored() if numbers[0].kind.more_is_better else found

    def medians(self, numbers: Sequence[Number]) -> tuple[float, float]:
        """Return for both the median over the races of a number as it is, or of the geometric mean of several."""
        if len(numbers) == 1:
            one, two = (median(race.values[numbers[0]] for race in group) for group in (self.baseline, self.contender))
        else:
            one, two = (median(math.exp(value) for value in group) for group in self.logs(numbers))
        return one, two

    def units(self, number: Number) -> list[str]:
        """Return the units in which the races tell a number: several cannot be compared."""
        return units_of((self.baseline, self.contender), number)

    def unit(self, numbers: Sequence[Number]) -> str:
        """Return the unit of some numbers of one kind: that of their tasks where all have the same."""
        units = {unit for number in numbers for unit in self.units(number) or [numbers[0].kind.metric.unit]}
        return units.pop() if len(units) == 1 else numbers[0].kind.metric.unit


def _margins(races: Iterable[Raced]) -> dict[Kind, float]:
    """Return the margins of the kinds that decide: of races that look for their capacity that alone."""
    return CAPACITY_MARGINS if any(race.sought for race in races) else MARGINS


def _gates(arms: _Arms, common: Sequence[Number]) -> tuple[Line, ...]:
    lines = []
    for kind, margin in _margins(arms.everyone).items():
        numbers = [number for number in common if number.kind == kind and _may_decide(arms, number)]
        if numbers:
            lines.append((_title(numbers), kind, margin, numbers))
    estimates = [arms.estimate(numbers) for *_, numbers in lines]
    findings: Sequence[GateFinding | None] = [None] * len(lines)
    known = [estimate for estimate in estimates if estimate]
    if known:
        findings = judge_estimates(known, [margin for _, _, margin, _ in lines], Look(arms.races, USUAL_ALPHA))
    return tuple(
        Line(name, kind, arms.unit(numbers), *arms.medians(numbers), finding, margin)
        for (name, kind, margin, numbers), finding in zip(lines, findings, strict=True)
    )


def _title(numbers: Sequence[Number]) -> str:
    """Return what a gate over some numbers of one kind is about."""
    kind = numbers[0].kind
    if kind == Kind.STORE:
        return kind.label
    if kind == Kind.CAPACITY:
        return f"{kind.label} of {numbers[0].task}"
    return f"{kind.label}, geometric mean of {counted(len(numbers), 'task')}"


def _hints(arms: _Arms, common: Sequence[Number]) -> tuple[Line, ...]:
    """Return every number by itself, each tested alone, with the share of false ones among those that stand out."""
    shown = [number for number in common if number.kind not in (Kind.STORE, Kind.CAPACITY)]
    estimates = [arms.estimate([number]) for number in shown]
    known = [estimate.p_value() for estimate in estimates if estimate]
    q = iter(q_values(known) if known else [])
    lines = []
    for number, estimate in zip(shown, estimates, strict=True):
        margin = MARGINS.get(number.kind, 0.05)
        finding = _alone(estimate, margin, arms.races) if estimate else None
        share = next(q) if estimate else None
        about = (str(number), number.kind, arms.unit([number]))
        lines.append(Line(*about, *arms.medians([number]), finding, margin, share))
    return tuple(lines)


def _may_decide(arms: _Arms, number: Number) -> bool:
    return _is_supported(arms, number) and not (_is_as_planned(arms, number) or _failed_apart(arms, number))


def _is_as_planned(arms: _Arms, number: Number) -> bool:
    """Tell whether a throughput is that of one rate: asked for in all races of which that is known, and kept alike."""
    rates = [race.rates.get(number.task, 0.0) for race in arms.everyone if race.rates is not None]
    if number.kind != Kind.THROUGHPUT or not is_common(rates):
        return False
    return are_alike(*([race.values[number] for race in group] for group in (arms.baseline, arms.contender)))


def _failed_apart(arms: _Arms, number: Number) -> bool:
    """Tell whether errors may have made a number: more of its task's requests failed in one of both than it bears.

    They are mostly fast, so what is worse with more of them, or better with fewer, is so in spite of them.
    """
    ours, theirs = (
        fmean([race.error_rates.get(number.task, 0.0) for race in group]) for group in (arms.baseline, arms.contender)
    )
    if abs(theirs - ours) <= number.kind.metric.most_failed:
        return False
    one, two = (fmean(logs) for logs in arms.logs([number]))
    cost = one - two if number.kind.more_is_better else two - one
    return cost <= 0 if theirs > ours else cost >= 0


def _alone(estimate: Estimate, margin: float, races: int) -> GateFinding:
    """Return what a number says by itself; its interval is that of a difference whatever the verdict."""
    (found,) = judge_estimates([estimate], [margin], Look(races, USUAL_ALPHA))
    # All numbers stand in one column, which has one confidence.
    low, high = estimate.interval(USUAL_ALPHA)
    return found._replace(low=low, high=high, confidence=1 - USUAL_ALPHA)


def _is_supported(arms: _Arms, number: Number) -> bool:
    return all(number in race.supported for race in arms.everyone)


def _facts_of(races: Sequence[Raced]) -> list[str]:
    return list(dict.fromkeys(key for race in races for key in race.facts))


def _values(races: Sequence[Raced], key: str) -> list[str]:
    return sorted({race.facts.get(key, NOTHING) for race in races if key in race.facts or _was_not_asked(race, key)})


def _was_not_asked(race: Raced, key: str) -> bool:
    if _PARAMETER.match(key):
        return _IN_RACE_JSON in race.facts and key != _GIVEN_BY_THE_OPERATOR
    return key.startswith(_ASKED) and any(each.startswith(_ASKED) for each in race.facts)


def _varies(races: Sequence[Raced], *, in_blocks: bool) -> list[str]:
    """Return a sentence for each fact that is not the same in all races of one variant; blocks may have their own."""
    keys = [key for key in _facts_of(races) if not (in_blocks and row_of(key).of_block)]
    varying = [(key, values) for key in keys if len(values := _values(races, key)) > 1]
    return [f"{key} is not the same in the races of one variant: {' and '.join(values)}" for key, values in varying]


def _on_two_machines(baseline: Sequence[Raced], contender: Sequence[Raced]) -> list[str]:
    """Return a sentence for each pair that differs in its machine or image, where that changes from pair to pair.

    One that is another one in all pairs alike is a difference of the variants.
    """
    found = []
    for key in _facts_of((*baseline, *contender)):
        if not row_of(key).of_block or all(len(_values(group, key)) < 2 for group in (baseline, contender)):
            continue
        for number, pair in enumerate(zip(baseline, contender, strict=True), start=1):
            values = _values(pair, key)
            if len(values) > 1:
                found.append(f"{key} is not the same in the two races of pair {number}: {' and '.join(values)}")
    return found


def _repeats(races: Sequence[Raced]) -> list[str]:
    """Return a sentence for each race that is there more than once: its copies would pass for races without noise."""
    names: dict[str, list[str]] = {}
    for race in races:
        names.setdefault(race.identity, []).append(race.name)
    return [
        f"one race is given {len(each)} times ({', '.join(each)}): a copy of it is no other race"
        for each in names.values()
        if len(each) > 1
    ]


def _worst_error_rates(races: Sequence[Raced]) -> dict[str, float]:
    """Return by task the largest share of requests that failed in a race."""
    found: dict[str, float] = {}
    for race in races:
        for task, rate in race.error_rates.items():
            found[task] = max(found.get(task, 0.0), rate)
    return found


def _failed(races: Sequence[Raced]) -> list[str]:
    """Return a sentence for each task whose requests failed too often to be compared: errors are mostly fast.

    Of a Benchmark's races it was judged how many may fail.
    """
    return [
        f"{task}: {as_percent(rate, MOST_FAILED, decimals=2)} of the requests of a race failed, so its times are not "
        "those of answers"
        for task, rate in _worst_error_rates([race for race in races if not race.judged]).items()
        if rate > MOST_FAILED
    ]


def _notes(arms: _Arms, there: Mapping[Number, Sequence[str]]) -> Iterable[str]:
    """Yield what a reader must know beside the numbers; `there`: those that all races have, each with its units."""
    everyone = arms.everyone
    apart = {number: units for number, units in there.items() if len(units) > 1}
    common = [number for number in there if number not in apart]
    if arms.races < 2:
        yield "one race has no spread: nothing can be told from it; race each variant 3 times or more"
    elif not arms.in_blocks:
        yield (
            "not paired: all of one variant may have met another machine than all of the other; "
            "races in turn, back to back, need far fewer"
        )
    for task, rate in _worst_error_rates(everyone).items():
        if rate > 0:
            failed = as_percent(rate, decimals=2)
            yield f"{task}: {failed} of the requests of a race failed: its times are those of errors, too"
    silent = [task for race in everyone if not race.judged for task in race.tasks if task not in race.error_rates]
    if silent:
        unsure = _named(list(dict.fromkeys(silent)))
        yield f"not every race tells how many requests failed (error_rate): times of {unsure} may be those of errors"
    tasks = dict.fromkeys(number.task for race in everyone for number in race.values if number.task)
    missing = [task for task in tasks if not any(number.task == task for number in there)]
    if missing:
        yield f"not compared, since not every race has it: {', '.join(missing)}"
    used = dict.fromkeys(number for race in everyone for number in race.values if number.kind.metric.columns)
    if lacking := dict.fromkeys(number.kind.label for number in used if number not in there):
        yield f"not compared, since not every race has it by the same source: {', '.join(lacking)}"
    yield from told_apart(apart)
    told_by = everyone[0].sources.get(Kind.DISK.metric.columns)
    if any(number.kind == Kind.DISK for number in common) and told_by == OF_DEVICE:
        yield f"{Kind.DISK.label} are of the whole device, whoever wrote: Elasticsearch knows no container"
    yield from _left_out(arms, common, set(apart))


def _left_out(arms: _Arms, common: Sequence[Number], apart: Collection[Number]) -> Iterable[str]:
    """Yield a sentence for each kind of number that decides and is without some tasks of all races.

    `apart`: what is told in several units, which is said elsewhere.
    """
    deciding = _margins(arms.everyone)
    if Kind.CAPACITY in deciding:
        sought = {race.sought for race in arms.everyone} - {""}
        without = [task for task in sorted(sought) if Number(task, Kind.CAPACITY) not in common]
        if without:
            yield f"capacity of {_named(without)} decides nothing: not every race found one"
        return
    there = set(common)
    tasks = list(dict.fromkeys(number.task for number in common if number.task))
    fewer = "not every race had as many" if all(race.judged for race in arms.everyone) else "the files prove fewer"
    for kind in [kind for kind in deciding if kind.metric.of_tasks]:
        absent = [task for task in tasks if Number(task, kind) not in there and Number(task, kind) not in apart]
        few = [task for task in tasks if Number(task, kind) in there and not _is_supported(arms, Number(task, kind))]
        planned = [task for task in tasks if Number(task, kind) in there and _is_as_planned(arms, Number(task, kind))]
        failing = [task for task in tasks if Number(task, kind) in there and _failed_apart(arms, Number(task, kind))]
        if kind.metric.percentile and kind != Kind.P50:
            # Rally gives a high percentile only where there are requests enough.
            few += [task for task in absent if Number(task, Kind.P50) in there]
            absent = [task for task in absent if task not in few]
        if absent:
            yield f"{kind.label} of {_named(absent)} decides nothing: not every race has a number above 0 of it"
        if planned:
            yield f"{kind.label} of {_named(planned)} decides nothing: {AS_PLANNED}"
        if failing:
            yield f"{kind.label} of {_named(failing)} decides nothing: more of its requests failed in one of both"
        if few:
            needed = f"it needs {kind.metric.requests} requests, and {fewer}"
            yield f"{kind.metric.percentile} of {_named(few)} decides nothing: {needed}"


def _named(tasks: Sequence[str]) -> str:
    return some_of(tasks, _MOST_TASKS)
