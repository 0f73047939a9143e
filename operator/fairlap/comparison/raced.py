"""What one race measured and what is known of how; from a race.json of Rally, wherever it comes from. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from fairlap.api.raw import as_list, as_mapping
from fairlap.comparison.gate_metrics import METRICS, MetricKind
from fairlap.comparison.race_facts import as_text
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
    def about(self) -> MetricKind:
        """What is known of the metric."""
        return METRICS[self.value]

    @property
    def words(self) -> str:
        """As people read it."""
        return self.about.words

    @property
    def more_is_better(self) -> bool:
        """Whether a larger number is a better one."""
        return self.about.more_is_better


_TIMESTAMP = re.compile(r"\d{8}T\d{6}Z")
"""as Rally writes it; as texts they are in the order of time"""
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
        return f"{self.task} {self.kind.words}".strip()


@dataclass(frozen=True)
class Raced:
    """One race."""

    name: str
    """how a report calls it"""
    identity: str
    """the same wherever the same race is read from again"""
    values: Mapping[Number, float]
    """operations per second, milliseconds, seconds, bytes"""
    facts: Mapping[str, str] = field(default_factory=dict)
    """what is known of how it ran, in words"""
    supported: frozenset[Number] = frozenset()
    """percentiles that are known to stand on enough requests, and all other numbers"""
    error_rates: Mapping[str, float] = field(default_factory=dict)
    """by task, 0 to 1"""
    units: Mapping[Number, str] = field(default_factory=dict)
    """of throughputs, as their tasks have them"""
    sources: Mapping[str, str] = field(default_factory=dict)
    """who told what the Elasticsearch nodes used, by group of columns"""
    judged: bool = False
    """it is a Benchmark's, and was found to count"""
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
    values, supported = dict(_values(results, tasks)), set[Number]()
    for task in tasks:
        supported |= set(_supported(task))
    values = {number: value for number, value in values.items() if value > 0}
    supported |= {number for number in values if number.kind not in _PERCENTILES}
    errors = {str(task["task"]): found for task in tasks if (found := as_number(task.get("error_rate"))) is not None}
    began = race.get("race-timestamp")
    return Raced(
        name,
        _identity(race, text),
        values,
        facts=dict(_facts(race)),
        supported=frozenset(supported & set(values)),
        error_rates=errors,
        units=dict(map(_unit, tasks)),
        began=began if isinstance(began, str) and _TIMESTAMP.fullmatch(began) else "",
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
        if (found := as_number(throughput.get("mean", throughput.get("median")))) is not None:
            yield Number(name, Kind.THROUGHPUT), found
        for kind, key in _PERCENTILES.items():
            if (found := as_number(times.get(key))) is not None:
                yield Number(name, kind), found
    if (found := as_number(results.get("store_size"))) is not None:
        yield Number("", Kind.STORE), found


def _unit(task: Mapping[str, Any]) -> tuple[Number, str]:
    unit = as_mapping(task.get("throughput")).get("unit")
    return Number(str(task["task"]), Kind.THROUGHPUT), unit[:63] if isinstance(unit, str) else ""


def _supported(task: Mapping[str, Any]) -> Iterator[Number]:
    # race.json does not say how many requests a task made; which percentiles Rally gave bounds it from below.
    given = as_mapping(task.get("service_time"))
    least = max((count for key, count in _GIVEN_FROM.items() if key in given), default=1)
    for kind in _PERCENTILES:
        if least >= kind.about.requests:
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
        for name, value in as_mapping(race.get(key)).items():
            yield f"{words} {name}", json.dumps(value, sort_keys=True)
