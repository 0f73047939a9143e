"""What one race measured and what is known of how; from a race.json of Rally, wherever it comes from. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from fairlap.api.raw import as_list, as_mapping
from fairlap.comparison.facts.race_facts import as_text
from fairlap.comparison.terms.gate_metrics import METRICS, MetricKind
from fairlap_race.contract.untrusted import as_number

_FACTS = {
    "track": "track", "track-revision": "track revision", "challenge": "challenge", "rally-version": "Rally",
    "pipeline": "pipeline", "car": "car",
}  # fmt: skip
_CLUSTER_FACTS = {
    "distribution-version": "Elasticsearch", "distribution-flavor": "flavour", "revision": "build",
}  # fmt: skip


class Kind(Enum):
    """Which of the metrics of `gate_metrics` a number of a race is."""

    THROUGHPUT = "throughput"
    P50 = "serviceTimeP50"
    P90 = "serviceTimeP90"
    P99 = "serviceTimeP99"
    STORE = "storeBytes"
    CAPACITY = "capacity"
    """only of a Benchmark that looks for it"""
    CPU = "cpuSecondsPerOperation"
    """only of a Benchmark whose Elasticsearch told what it used, as are the next two"""
    MEMORY = "memoryPeakBytes"
    DISK = "diskWriteBytes"

    @property
    def metric(self) -> MetricKind:
        """What is known of the metric."""
        return METRICS[self.value]

    @property
    def label(self) -> str:
        """As people read it."""
        return self.metric.words

    @property
    def more_is_better(self) -> bool:
        """Whether a larger number is a better one."""
        return self.metric.more_is_better


_TIMESTAMP = re.compile(r"\d{8}T\d{6}Z")
"""as Rally writes it; as texts they are in the order of time"""
OF_A_FAILED_REQUEST = "ops/s"
"""Rally counts a request that failed as 0 of these, whatever its task counts in (its execute_single), and tells of a
task the unit of the first rate that it found, in the warm-up too (its get_unit)."""
_AS_ONE_TEXT = "(as one text)"
"""stands for the names of parameters that are no object"""
_PARAMS = {"track-params": "track parameter", "car-params": "car parameter", "plugin-params": "plugin parameter"}
_PERCENTILES = {Kind.P50: "50_0", Kind.P90: "90_0", Kind.P99: "99_0"}
# Rally gives a percentile only from so many requests on (its percentiles_for_sample_size).
_GIVEN_FROM = {"90_0": 10, "99_0": 100, "99_9": 1000, "99_99": 10000}


class Number(NamedTuple):
    """Which number of a race: its task, "" for the whole race, and its kind."""

    task: str
    kind: Kind

    def __str__(self) -> str:
        """Return it as people read it."""
        return f"{self.task} {self.kind.label}".strip()


@dataclass(frozen=True)
class Raced:
    """One race."""

    name: str
    """how a report calls it"""
    identity: str
    """the same wherever the same race is read from again"""
    values: Mapping[Number, float]
    """operations per second, milliseconds, seconds, bytes"""
    tasks: tuple[str, ...]
    """those that its results tell of, with numbers or without"""
    facts: Mapping[str, str] = field(default_factory=dict)
    """what is known of how it ran, in words"""
    supported: frozenset[Number] = frozenset()
    """percentiles that are known to stand on enough requests, and all other numbers"""
    error_rates: Mapping[str, float] = field(default_factory=dict)
    """by task, 0 to 1"""
    units: Mapping[Number, str] = field(default_factory=dict)
    """as they were told; "" is the kind's own, or not known"""
    sources: Mapping[str, str] = field(default_factory=dict)
    """who told rates, and what the Elasticsearch nodes used, by group of columns"""
    rates: Mapping[str, float] | None = None
    """operations per second that were asked for, by task; None where that is not known, as of a race.json"""
    judged: bool = False
    """it is a Benchmark's, and was found to count"""
    sought: str = ""
    """the task whose capacity it looked for, whether it found one or not"""
    began: str = ""
    """race-timestamp of its race.json; "" where it is not known"""


class NotARaceError(ValueError):
    """A text is no race.json with results; the message says what it is instead."""


def read_race(name: str, text: str | bytes) -> Raced:
    """Return the race of a race.json. Raises NotARaceError."""
    try:
        race = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotARaceError(f"{name} is no JSON: {str(error).splitlines()[0][:100]}") from error
    results = race.get("results") if isinstance(race, dict) else None
    if not isinstance(results, dict):
        raise NotARaceError(f'{name} is no race.json of Rally with results: it has no object "results"')
    tasks = [task for task in as_list(results.get("op_metrics")) if isinstance(task, dict) and task.get("task")]
    _refuse_repeats(name, tasks)
    values, supported = dict(_values(results, tasks)), set[Number]()
    for task in tasks:
        supported |= set(_supported(task))
    values = {number: value for number, value in values.items() if value > 0}
    supported |= {number for number in values if number.kind not in _PERCENTILES}
    errors = dict(_error_rates(name, tasks))
    began = race.get("race-timestamp")
    return Raced(
        name,
        _identity(race, text),
        values,
        tuple(str(task["task"]) for task in tasks),
        facts=dict(_facts(race)),
        supported=frozenset(supported & set(values)),
        error_rates=errors,
        units=dict(_units(tasks, errors)),
        began=began if isinstance(began, str) and _TIMESTAMP.fullmatch(began) else "",
    )


def untold(races: Sequence[Raced]) -> list[str]:
    """Return which facts of a race.json are not known of every race, in words.

    That a parameter was not given is known where Rally is: it writes those that were.
    """
    found = [
        words
        for words in (*_FACTS.values(), *_CLUSTER_FACTS.values())
        if not all(words in race.facts for race in races)
    ]
    without_rally = [race for race in races if _FACTS["rally-version"] not in race.facts]
    for words in _PARAMS.values():
        if not all(any(fact.startswith(f"{words} ") for fact in race.facts) for race in without_rally):
            found.append(f"{words}s")
    return found


def _refuse_repeats(name: str, tasks: Sequence[Mapping[str, Any]]) -> None:
    for task, entries in Counter(str(each["task"]) for each in tasks).items():
        if entries > 1:
            raise NotARaceError(
                f"{name} has {entries} entries of the task {task[:100]} in op_metrics, and Rally writes one: "
                "leave in the one that is right"
            )


def _error_rates(name: str, tasks: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    for task in tasks:
        told = task.get("error_rate")
        share = as_number(told)
        if share is not None and 0 <= share <= 1:
            yield str(task["task"]), share
        elif told is not None:
            raise NotARaceError(
                f"{name}: error_rate of the task {str(task['task'])[:100]} is {json.dumps(told)[:50]}: "
                "write which share of its requests failed, a number from 0 to 1"
            )


def _identity(race: Mapping[str, Any], text: str | bytes) -> str:
    given = race.get("race-id")
    if isinstance(given, str) and given:
        return given
    return hashlib.sha256(text.encode(errors="replace") if isinstance(text, str) else text).hexdigest()


def _values(results: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Number, float]]:
    for task in tasks:
        name, times = str(task["task"]), as_mapping(task.get("service_time"))
        throughput = as_mapping(task.get("throughput"))
        mean = as_number(throughput.get("mean"))
        if (found := as_number(throughput.get("median")) if mean is None else mean) is not None:
            yield Number(name, Kind.THROUGHPUT), found
        for kind, key in _PERCENTILES.items():
            if (found := as_number(times.get(key))) is not None:
                yield Number(name, kind), found
    if (found := as_number(results.get("store_size"))) is not None:
        yield Number("", Kind.STORE), found


def _units(tasks: Sequence[Mapping[str, Any]], error_rates: Mapping[str, float]) -> Iterator[tuple[Number, str]]:
    for task in tasks:
        name, throughput = str(task["task"]), _unit(task.get("throughput"))
        failed = error_rates.get(name, 0.0) > 0
        yield Number(name, Kind.THROUGHPUT), "" if failed and throughput == OF_A_FAILED_REQUEST else throughput
        for kind in _PERCENTILES:
            yield Number(name, kind), _unit(task.get("service_time"))


def _unit(told: Any) -> str:
    unit = as_mapping(told).get("unit")
    return unit[:63] if isinstance(unit, str) else ""


def _supported(task: Mapping[str, Any]) -> Iterator[Number]:
    # race.json does not say how many requests a task made; which percentiles Rally gave bounds it from below.
    given = as_mapping(task.get("service_time"))
    least = max((count for key, count in _GIVEN_FROM.items() if key in given), default=1)
    for kind in _PERCENTILES:
        if least >= kind.metric.requests:
            yield Number(str(task["task"]), kind)


def _facts(race: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, words in _FACTS.items():
        if race.get(key):
            yield words, as_text(race[key])
    cluster = as_mapping(race.get("cluster"))
    for key, words in _CLUSTER_FACTS.items():
        if cluster.get(key):
            yield words, str(cluster[key])
    for key, words in _PARAMS.items():
        given = race.get(key)
        if given and not isinstance(given, Mapping):
            yield f"{words} {_AS_ONE_TEXT}", as_text(given)
        for name, value in as_mapping(given).items():
            yield f"{words} {name}", json.dumps(value, sort_keys=True)
