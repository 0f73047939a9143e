"""The numbers of a Comparison's blocks: pair by pair, or why there are none that may decide. Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from statistics import fmean, median
from types import MappingProxyType
from typing import NamedTuple

from fairlap.api.block_record import TWIN, BlockRecord, Measured, RaceRecord
from fairlap.comparison.numbers.same_work import raced_alone
from fairlap.comparison.terms.gate_metrics import LATENCIES, METRICS
from fairlap_race.contract.recorded.record import SCHEDULE_KEPT
from fairlap_race.contract.some_of import some_of

Key = tuple[str, str]
"""task, "" for the whole race, and metric"""


OF_DEVICE = "nodeStats"
"""the source that knows no container: what it tells of the disk is of the whole device"""
_ONE_SOURCE_OF_USE = "see that Prometheus (prometheus.url of the chart) answers during all races, or do without it"
AS_PLANNED = "a rate was asked for, which is the throughput as long as it is kept"
"""why a task's throughput tells nothing in a mean: it thins out what the others show"""
_MOST_TASKS = 10
"""named in one sentence"""
_ONE_SOURCE_OF_RATES = "race all variants anew with one version of the load generator's image"


class RacedNumbers(NamedTuple):
    """One race's numbers."""

    numbers: Mapping[Key, Measured]
    rates: Mapping[str, float]
    """operations per second that were asked for, by task"""
    sources: Mapping[str, str] = MappingProxyType({})
    """who told rates, and what the nodes used, by group of columns"""
    no_capacity: str = ""
    """why it found no capacity to compare"""
    failed: Mapping[str, float] | None = None
    """share of the measured requests that failed, by task; None where that was not recorded"""


_PairedArms = tuple[Sequence[RacedNumbers], Sequence[RacedNumbers]]
"""the races of the baseline and those of a contender, block by block"""


class Pairs(NamedTuple):
    """One number of two variants, block by block."""

    baseline: tuple[float, ...] = ()
    contender: tuple[float, ...] = ()
    tasks: tuple[str, ...] = ()
    """those in a geometric mean"""
    unit: str = ""
    requests: int | None = None
    """the fewest behind any of its numbers, where they were counted"""
    obstacle: str = ""
    """why it cannot be judged, and what to write instead"""
    left_out: Mapping[str, str] = MappingProxyType({})
    """why a task is not in a geometric mean: absent, requests, rate, units, sources, paced"""
    of_device: bool = False
    """it is of the whole device, whoever wrote"""
    other_work: bool = False
    """the obstacle is that one of both ran tasks that the other never ran"""

    def cost_ratios(self, *, more_is_better: bool) -> list[float]:
        """Return ln(contender / baseline) of each block, mirrored where more is better."""
        pairs = zip(self.baseline, self.contender, strict=True)
        logs = (math.log(theirs) - math.log(ours) for ours, theirs in pairs)
        return [-each if more_is_better else each for each in logs]

    def medians(self) -> tuple[float, float]:
        """Return the median over the races of both."""
        return median(self.baseline), median(self.contender)


class BlockNumbers:
    """All numbers of the blocks that count."""

    def __init__(self, blocks: Sequence[BlockRecord], baseline: str) -> None:
        self.baseline = baseline
        self.count = len(blocks)
        lacking = [race.tasks_left_out for block in blocks for race in block.races if race.valid]
        self.tasks_left_out = max(lacking, default=0)
        """for whose numbers a record had no room, of the race with most of them"""
        self._blocks = [{race.variant: _numbers(race) for race in block.races if race.valid} for block in blocks]
        self._alone: dict[str, str] = {}

    def first(self, count: int) -> "BlockNumbers":
        """Return those of the first `count` blocks."""
        found = copy(self)
        found._blocks = self._blocks[:count]
        found.count, found._alone = len(found._blocks), {}
        return found

    def pairs(self, contender: str, task: str, metric: str) -> Pairs:
        """Return a number of a contender beside the baseline's, block by block; without `task` the mean over tasks."""
        arms = self._arms(contender)
        if arms is None:
            return Pairs(obstacle=f"a race of {self.baseline} or {contender} is not in its block's record")
        of_all = METRICS[metric].of_tasks and not task
        if of_all and (obstacle := self._other_work(contender)):
            return Pairs(obstacle=obstacle, other_work=True)
        tasks = self._tasks(arms, metric) if of_all else (task,)
        missing = {each: _missing(arms, each, metric) for each in tasks}
        if of_all and metric == "throughput":
            missing |= {each: "paced" for each in tasks if self.is_as_planned(contender, each)}
        good = [each for each, why in missing.items() if not why]
        if metric == "capacity" and "absent" in missing.values():
            return Pairs(obstacle=_why_no_capacity(arms, (self.baseline, contender)))
        if not good:
            return Pairs(obstacle=_why_none(arms, task, metric, missing))
        one, two = ([_mean(race, good, metric) for race in arm] for arm in arms)
        numbers = [race.numbers[(each, metric)] for arm in arms for race in arm for each in good]
        counts = [number.requests for number in numbers if number.requests is not None]
        units = {unit for each in good for unit in _units(arms, each, metric) or [METRICS[metric].unit]}
        unit = units.pop() if len(units) == 1 else METRICS[metric].unit
        named = () if task or not METRICS[metric].of_tasks else tuple(good)
        left_out = {each: why for each, why in missing.items() if why}
        told = {race.sources.get(METRICS[metric].columns) for arm in arms for race in arm}
        of_device = metric == "diskWriteBytes" and OF_DEVICE in told
        return Pairs(tuple(one), tuple(two), named, unit, min(counts, default=None), "", left_out, of_device)

    def twin_ratios(self, tasks: Sequence[str], metric: str) -> list[float]:
        """Return ln(twin / baseline) of each block in which the baseline also raced against itself."""
        found = []
        for block in self._blocks:
            ours, again = block.get(self.baseline), block.get(self.baseline + TWIN)
            if ours and again and not _missing(((ours,), (again,)), tasks, metric):
                one, two = (_mean(race, tasks, metric) for race in (ours, again))
                if one > 0 and two > 0:
                    found.append(math.log(two) - math.log(one))
        return found

    def keys(self, contender: str) -> list[Key]:
        """Return which numbers all races of both have."""
        arms = self._arms(contender)
        races = [race for arm in arms or () for race in arm]
        if not races:
            return []
        return [key for key in races[0].numbers if all(key in race.numbers for race in races)]

    def is_never_paced(self, contender: str, task: str) -> bool:
        """Tell whether all races of both measured the task ("": any), and none was asked for a rate there."""
        races = [race for arm in self._arms(contender) or () for race in arm]
        measured = all(
            any(task in ("", each) for each, metric in race.numbers if METRICS[metric].of_tasks) for race in races
        )
        return bool(races) and measured and not any(race.rates.get(task) if task else race.rates for race in races)

    def is_paced(self, contender: str, task: str) -> bool:
        """Tell whether one rate was asked for in all races of both."""
        races = [race for arm in self._arms(contender) or () for race in arm]
        return is_common([race.rates.get(task, 0.0) for race in races])

    def is_as_planned(self, contender: str, task: str) -> bool:
        """Tell whether a task's throughput is that of one rate which all races of both were asked for and kept."""
        told = [[race.numbers.get((task, "throughput")) for race in arm] for arm in self._arms(contender) or ()]
        return self.is_paced(contender, task) and are_alike(*([each.value for each in arm if each] for arm in told))

    def failed_shares(self, contender: str, task: str) -> tuple[float, float]:
        """Return which share of a task's measured requests failed, in the mean of the races of each of both.

        That is of the blocks in which it was recorded of both; without any such block 0 of each.
        """
        ours, theirs = self._arms(contender) or ((), ())
        known = [
            (one.failed.get(task, 0.0), two.failed.get(task, 0.0))
            for one, two in zip(ours, theirs, strict=True)
            if one.failed is not None and two.failed is not None
        ]
        return (fmean(one for one, _ in known), fmean(two for _, two in known)) if known else (0.0, 0.0)

    def left_out(self, contender: str) -> list[str]:
        """Return tasks that some race of both has a throughput of, and some has not."""
        arms = self._arms(contender) or ((), ())
        races = [race for arm in arms for race in arm]
        tasks = dict.fromkeys(task for race in races for task, metric in race.numbers if metric == "throughput")
        return [task for task in tasks if not all((task, "throughput") in race.numbers for race in races)]

    def _other_work(self, contender: str) -> str:
        """Return what one of both ran alone, in a sentence; "" for nothing. A mean of the others is then no answer."""
        if contender not in self._alone:
            of_tasks = [
                [dict.fromkeys(task for task, metric in race.numbers if METRICS[metric].of_tasks) for race in arm]
                for arm in self._arms(contender) or ((), ())
            ]
            clauses = list(raced_alone(of_tasks, (self.baseline, contender))) if not self.tasks_left_out else []
            cure = "give both the same tasks, or gate on a task that both have"
            self._alone[contender] = f"{' and '.join(clauses)}: {cure}" if clauses else ""
        return self._alone[contender]

    def _arms(self, contender: str) -> _PairedArms | None:
        if not all(self.baseline in block and contender in block for block in self._blocks):
            return None
        return [block[self.baseline] for block in self._blocks], [block[contender] for block in self._blocks]

    def _tasks(self, arms: _PairedArms, metric: str) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(task for arm in arms for race in arm for task, each in race.numbers if each == metric)
        )


def _numbers(race: RaceRecord) -> RacedNumbers:
    known = {(each.task, each.metric): each for each in race.numbers if math.isfinite(each.value)}
    return RacedNumbers(
        {key: each for key, each in known.items() if key[1] in METRICS},
        race.target_throughput,
        race.sources,
        race.no_capacity,
        race.failed_shares,
    )


def _mean(race: RacedNumbers, tasks: Sequence[str], metric: str) -> float:
    values = [race.numbers[(task, metric)].value for task in tasks]
    return values[0] if len(values) == 1 else math.exp(fmean(math.log(value) for value in values))


def _missing(arms: Iterable[Sequence[RacedNumbers]], tasks: str | Sequence[str], metric: str) -> str:
    """Return what keeps a number from deciding: absent, requests, rate, units, sources; "" for nothing."""
    races = [race for arm in arms for race in arm]
    columns = METRICS[metric].columns
    # A number is always somebody's: a record that does not say whose is of an operator from before.
    several = bool(columns) and len({race.sources.get(columns, "") for race in races} - {""}) > 1
    for task in [tasks] if isinstance(tasks, str) else tasks:
        numbers = [race.numbers.get((task, metric)) for race in races]
        if any(each is None or (each.value <= 0 and not METRICS[metric].exact) for each in numbers):
            return "absent"
        if metric in LATENCIES and not is_common([race.rates.get(task, 0.0) for race in races]):
            return "rate"
        if not all(each is not None and each.supported for each in numbers):
            return "requests"
        if len(_units([races], task, metric)) > 1:
            return "units"
    return "sources" if several else ""


def _units(arms: Iterable[Sequence[RacedNumbers]], task: str, metric: str) -> list[str]:
    """Return the units that races tell a number in; one that tells none is of an operator from before, and fits all."""
    numbers = [race.numbers.get((task, metric)) for arm in arms for race in arm]
    return list(dict.fromkeys(each.unit for each in numbers if each and each.unit))


def is_common(rates: Sequence[float]) -> bool:
    """Tell whether one rate was asked for in all races; 0 is none. Only then is latency the same question to all."""
    return min(rates, default=0.0) > 0 and math.isclose(min(rates), max(rates), rel_tol=1e-6)


def are_alike(baseline: Sequence[float], contender: Sequence[float]) -> bool:
    """Tell whether both kept a rate that was asked for alike, in the mean; where one falls behind, that is to count."""
    if not baseline or not contender or min(*baseline, *contender) <= 0:
        return False
    slower, faster = sorted(fmean(map(math.log, rates)) for rates in (baseline, contender))
    return slower - faster >= math.log(SCHEDULE_KEPT)


def _why_no_capacity(arms: _PairedArms, names: tuple[str, str]) -> str:
    """Return which races of both found no capacity, why, and what to write instead."""
    told = []
    for name, arm in zip(names, arms, strict=True):
        counts = Counter(race.no_capacity for race in arm if race.no_capacity)
        told += [f"in {count} of {len(arm)} races of {name} {why}" for why, count in counts.items()]
    # A block of an operator from before does not say it.
    unsaid = "results.capacity of each race's Benchmark says why"
    return (
        f"not every race of both found a capacity ({'; '.join(told) or unsaid}): write rates in "
        "template.race.capacity.targetThroughput that leave room on both sides, and give a load generator that was the "
        "bottleneck more CPU"
    )


def _why_none(arms: _PairedArms, task: str, metric: str, missing: Mapping[str, str]) -> str:
    """Return why there is no number that may decide, and what to write instead; `missing`: why, by task."""
    kind, reasons = METRICS[metric], list(missing.values())
    subject = f"task {task}" if task else "no task"
    if metric in LATENCIES and "requests" not in reasons:
        verb = "has no" if task else "has a"
        return (
            f"{subject} {verb} target throughput that is the same in all races: what is called latency is service time "
            f"at full load then; give it one in the track, or gate on serviceTime{kind.percentile.upper()}"
        )
    if "requests" in reasons:
        verb = "does not have" if task else "has"
        return (
            f"{subject} {verb} the {kind.requests} requests in every race that {kind.percentile} needs: give it more "
            "iterations or a longer time-period in the track, or gate on a lower percentile"
        )
    if "units" in reasons:
        units = _units(arms, next(each for each, why in missing.items() if why == "units"), metric)
        return (
            f"{kind.words} was told in {' in some races and in '.join(units)} in others: have the track count it in "
            "one unit for all variants, or gate on serviceTimeP50"
        )
    if "sources" in reasons:
        told = dict.fromkeys(who for arm in arms for race in arm if (who := race.sources.get(kind.columns)))
        return (
            f"{kind.words} was told by {' in some races and by '.join(told)} in others, which do not mean the same: "
            f"{_ONE_SOURCE_OF_RATES if metric == 'throughput' else _ONE_SOURCE_OF_USE}"
        )
    if "paced" in reasons:
        paced = some_of([each for each, why in missing.items() if why == "paced"], _MOST_TASKS)
        return f"of {paced} {AS_PLANNED}: gate on latencies or service times, or look for the capacity (race.capacity)"
    if metric == "diskWriteBytes":
        return (
            "not every race of both has it: nothing was written to a device there, or, in turn, what Elasticsearch "
            "tells of its whole device is what all variants wrote; prometheus.url of the chart knows single containers"
        )
    if metric == "cpuSecondsPerOperation":
        return (
            f"{subject} {'does not have' if task else 'has'} it in every race of both: either the machines were not "
            "looked at, or other tasks ran at the same time and a machine shows what all of them used; give the task "
            "a step of its own in the track, or gate on serviceTimeP50"
        )
    if kind.of_tasks:
        return f"{subject} {'does not have' if task else 'has'} it in every race of both: nothing was measured there"
    return "not every race of both has it: nothing was measured there"
