"""Conditions on the system under test, read from itself: pointers into its answers, and what a race itself made.

An engine often counts a rate since its start: a rate r over n requests. Before a race it is r1 over n1, after it r2
over n2, and the race's own is (r2·n2 - r1·n1) / (n2 - n1): linear, so that percent stay percent and shares stay
shares. Pure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from fairlap_race.contract.request_files.request_lines import is_path

MOST_PROBES = 20
MOST_MEMBERS = 200
"""What a * may stand for."""
LARGEST = 1 << 53
"""A number is smaller than this: all readers of JSON agree on these."""
EVERY = "*"
_ROUNDING = Fraction(1, 10**15)
"""Of numbers as JSON writes them, several times over."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_LONGEST_PATH = 1000
_POINTER = re.compile(r"(/([^/~]|~[01])*)+")
_INDEX = re.compile(r"0|[1-9][0-9]{0,14}")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,39})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?")

JsonNumber = int | float
NumbersByPointer = Mapping[str, JsonNumber]
"""by the pointer that each was found at"""


class PointerError(ValueError):
    """A pointer finds no number. The message has no value of the answer: any host can be asked."""


@dataclass(frozen=True)
class ProbeSpec:
    """What to read: a value (`pointer`, with the `weight` it counts by), or two counters (`part` and `rest`)."""

    name: str
    path: str
    pointer: str | None = None
    weight: str | None = None
    part: str | None = None
    rest: str | None = None

    @property
    def main(self) -> str:
        """The pointer to the value, or to the counter of the part."""
        return self.pointer or self.part or ""

    @property
    def beside(self) -> str | None:
        """The pointer to what is read beside it."""
        return self.weight or self.rest

    @property
    def is_plain(self) -> bool:
        """Whether the value is taken as it is."""
        return self.beside is None


@dataclass(frozen=True)
class ProbeLook:
    """What a probe read on one host at one moment."""

    main: NumbersByPointer
    beside: NumbersByPointer


@dataclass(frozen=True)
class ProbeReading:
    """What a probe read on one host, before and after the race."""

    host: str = ""
    before: float | None = None
    """the value, or the percentage since the counters began; None where nothing was counted yet"""
    after: float | None = None
    own: float | None = None
    """the race's own; of a plain value that after it"""
    weight: float | None = None
    """what counted in the race: the growth of the weight, or of both counters; None of a plain value"""
    why: str = ""
    """why there is no value of the race's own"""


@dataclass(frozen=True)
class ProbeRecord:
    """What a probe read on every host."""

    name: str = ""
    hosts: tuple[ProbeReading, ...] = ()
    own: float | None = None
    """all hosts together, by their weights; None of a plain value on several hosts, and where it cannot be told"""
    why: str = ""
    """why it cannot be told"""
    unread: bool = False
    """a host did not answer after the race, or not with these numbers"""


def is_pointer(text: str) -> bool:
    """Return whether a text is a JSON pointer (RFC 6901) to something below the whole document."""
    return _POINTER.fullmatch(text) is not None


def find_wrong_probes(probes: Sequence[ProbeSpec]) -> Iterator[str]:
    """Yield a sentence for each value that is out of its bounds or contradicts another."""
    if len(probes) > MOST_PROBES:
        yield f"probes: there are {len(probes)}; write at most {MOST_PROBES}"
    names = [probe.name for probe in probes]
    for number, probe in enumerate(probes):
        at = f"probes[{number}]"
        if not _NAME.fullmatch(probe.name) or names.index(probe.name) != number:
            yield f"{at}.name: {probe.name!r} must be small letters, digits and underscores, and no other probe's"
        if len(probe.path) > _LONGEST_PATH or not is_path(probe.path):
            yield f"{at}.path: {probe.path!r} is no path"
        for field in ("pointer", "weight", "part", "rest"):
            if (pointer := getattr(probe, field)) is not None and not is_pointer(pointer):
                yield f"{at}.{field}: {pointer!r} is no JSON pointer; it begins with / and writes ~ as ~0 and / as ~1"
        if (probe.pointer is None) == (probe.part is None):
            yield f"{at}: must have exactly one of pointer and part"
        if (probe.part is None) != (probe.rest is None) or (probe.weight is not None and probe.pointer is None):
            yield f"{at}: part and rest need each other, and weight needs pointer"


def find_number(document: Any, pointer: str) -> JsonNumber:
    """Return the number that the JSON pointer (RFC 6901) finds in a JSON document.

    A text that is a number as JSON writes it counts as one: Elasticsearch's _cat answers so. Raises PointerError.
    """
    return _number(find_value(document, pointer), pointer)


def find_value(document: Any, pointer: str) -> Any:
    """Return what the JSON pointer finds in a JSON document, with "" the whole of it. Raises PointerError."""
    (found,) = _walk(document, pointer, every=False).values()
    return found


def find_counters(document: Any, pointer: str) -> dict[str, JsonNumber]:
    """Return the counters that a pointer finds, where a level * stands for each member of that level.

    Raises PointerError.
    """
    return {at: _number(found, pointer) for at, found in _walk(document, pointer, every=True).items()}


def look(probe: ProbeSpec, document: Any) -> ProbeLook:
    """Return what a probe reads in the answer to its path. Raises PointerError."""
    if probe.part is not None and probe.rest is not None:
        found = ProbeLook(find_counters(document, probe.part), find_counters(document, probe.rest))
    else:
        main = {probe.main: find_number(document, probe.main)}
        beside = {probe.weight: find_number(document, probe.weight)} if probe.weight is not None else {}
        found = ProbeLook(main, beside)
    for pointer, counters in ((probe.part, found.main), (probe.beside, found.beside)):
        if pointer is not None and min(counters.values()) < 0:
            raise PointerError(f"{pointer} is below 0, and a counter never is")
    return found


def _walk(document: Any, pointer: str, *, every: bool) -> dict[str, Any]:
    """Return the values that a pointer finds, by the pointer to each. Raises PointerError."""
    found, level = {"": document}, ""
    for token in pointer.split("/")[1:]:
        following: dict[str, Any] = {}
        for at, value in found.items():
            if every and token == EVERY:
                following.update(_members(value, at))
            else:
                following[f"{at}/{token}"] = _step(value, token, _Level(pointer, level))
        if not following:
            raise _Level(pointer, level).without("where nothing is below it")
        if len(following) > MOST_MEMBERS:
            raise PointerError(f"{pointer} stands for more than {MOST_MEMBERS} members: name fewer")
        found, level = following, f"{level}/{token}"
    return found


class _Level(NamedTuple):
    """A level of a pointer, as the pointer writes it: which members an answer has is not said either."""

    pointer: str
    at: str

    def without(self, what: str) -> PointerError:
        deepest = f"is {self.at}, {what}" if self.at else f"is the whole answer, {what}"
        return PointerError(f"{self.pointer} finds nothing: the deepest level that exists {deepest}")


def _members(value: Any, at: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((f"{at}/{_escaped(str(key))}", member) for key, member in value.items())
    elif isinstance(value, list):
        yield from ((f"{at}/{number}", member) for number, member in enumerate(value))


def _step(value: Any, token: str, level: _Level) -> Any:
    key = token.replace("~1", "/").replace("~0", "~")
    if isinstance(value, Mapping):
        if key in value:
            return value[key]
        raise level.without(f"an object without {key!r}")
    if isinstance(value, list):
        if not _INDEX.fullmatch(key):
            raise level.without(f"a list, whose levels are numbers from 0, not {key!r}")
        if int(key) < len(value):
            return value[int(key)]
        raise level.without(f"a list without an entry {key}")
    raise level.without(f"{_kind(value)}, which has no levels")


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return "null" if value is None else "a text" if isinstance(value, str) else "a number"


def _number(value: Any, pointer: str) -> JsonNumber:
    found = value
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        found = float(value) if set(value) & set(".eE") else int(value)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise PointerError(f"{pointer} is {_kind(value)}, and no number")
    if not abs(found) < LARGEST:
        raise PointerError(f"{pointer} is no finite number below 2^53, up to which all whole numbers can be told apart")
    return found


def compare(probe: ProbeSpec, host: str, before: ProbeLook, after: ProbeLook) -> ProbeReading:
    """Return what the race made on one host, from what was read there before and after it."""
    reading = ProbeReading(host, _value(probe, before), _value(probe, after))
    if probe.is_plain:
        return ProbeReading(host, reading.before, reading.after, reading.after)
    main, beside = _grown(before.main, after.main), _grown(before.beside, after.beside)
    if probe.part is None:
        main = Fraction(0)
    if main is None or beside is None:
        why = f"{probe.beside if beside is None else probe.main} went down or has other members: it began anew"
        return _without_own(reading, why)
    counted = beside + (main if probe.part is not None else 0)
    if counted == 0:
        why = f"{probe.beside if probe.part is None else f'{probe.part} and {probe.rest}'} did not grow"
        return _without_own(reading, why, 0.0)
    own = 100 * main / counted
    if probe.part is None:
        own = _product_grown(before, after) / counted
    return ProbeReading(host, reading.before, reading.after, float(own), float(counted))


def _without_own(reading: ProbeReading, why: str, weight: float | None = None) -> ProbeReading:
    return ProbeReading(reading.host, reading.before, reading.after, None, weight, why)


def _value(probe: ProbeSpec, seen: ProbeLook) -> float | None:
    main = _sum(seen.main)
    if probe.part is None:
        return float(main)
    total = main + _sum(seen.beside)
    return float(100 * main / total) if total else None


def _sum(numbers: NumbersByPointer) -> Fraction:
    return sum((Fraction(number) for number in numbers.values()), Fraction(0))


def _product(seen: ProbeLook) -> Fraction:
    return _sum(seen.main) * _sum(seen.beside)


def _product_grown(before: ProbeLook, after: ProbeLook) -> Fraction:
    """Return by how much a rate times its weight grew; what may be the rounding of the rates alone is nothing."""
    first, last = _product(before), _product(after)
    return last - first if abs(last - first) > _ROUNDING * max(abs(first), abs(last)) else Fraction(0)


def _grown(before: NumbersByPointer, after: NumbersByPointer) -> Fraction | None:
    """Return by how much counters grew together; None when one went down, came or went."""
    if set(before) != set(after) or any(after[at] < before[at] for at in after):
        return None
    return _sum(after) - _sum(before)


def combine(probe: ProbeSpec, hosts: Sequence[ProbeReading]) -> ProbeRecord:
    """Return what the race made on all hosts together; one that nothing counted on has no part in it."""
    readings = tuple(hosts)
    lost = next((it for it in readings if it.own is None and it.weight is None), None)
    if lost is not None:
        return ProbeRecord(probe.name, readings, None, f"on {lost.host} {lost.why}")
    if probe.is_plain:
        return ProbeRecord(probe.name, readings, readings[0].own if len(readings) == 1 else None)
    total = sum((Fraction(it.weight or 0) for it in readings), Fraction(0))
    if not total:
        return ProbeRecord(probe.name, readings, None, f"{readings[0].why} on any host" if readings else "no host")
    counted = (Fraction(it.own) * Fraction(it.weight) for it in readings if it.own is not None and it.weight)
    return ProbeRecord(probe.name, readings, _unrounded(float(sum(counted, Fraction(0)) / total)))


def _unrounded(value: float) -> float:
    """Return the number of ten digits that a value misses by no more than rounding: a bound may be met exactly."""
    short = float(f"{value:.10g}")
    return short if math.isclose(value, short, rel_tol=1e-12) else value
