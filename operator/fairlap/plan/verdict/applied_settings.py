"""Index settings: what was asked for, whether the live indices have it, and what the nodes must be given instead."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fairlap.api.spec import BenchmarkSpec, IndexSettings
from fairlap.plan.verdict import indices_beside
from fairlap.plan.verdict.indices_beside import Excused, Group
from fairlap.plan.verdict.violation import Violation
from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.index_settings import (
    CODEC,
    NODE_SCOPED,
    REPLICAS,
    SHARDS,
    SOURCE_MODE,
    flatten,
    settings_asked,
)
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import IndexRecord, Record
from fairlap_race.contract.some_of import some_of

_SHOWN = 5
_OWN_FIELDS = {
    "number_of_shards": "shards",
    "number_of_replicas": "replicas",
    "codec": "codec",
    "mapping.source.mode": "sourceMode",
}

_TIME = {"nanos": 1e-6, "micros": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6, "d": 8.64e7}
_BYTES = {"b": 1, "k": 2**10, "kb": 2**10, "m": 2**20, "mb": 2**20, "g": 2**30, "gb": 2**30, "t": 2**40, "tb": 2**40}
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")


def asked(index: IndexSettings | None) -> dict[str, Any]:
    """Return every setting that was asked for, by its full name."""
    if index is None:
        return {}
    return settings_asked(index.shards, index.replicas, index.codec, index.source_mode, index.settings)


def for_nodes(record: Record, index: IndexSettings | None) -> dict[str, str]:
    """Return what elasticsearch.yml must hold because the track, as it was rendered, takes it in no way."""
    on_nodes = _on_nodes(record)
    return {name: ",".join(map(_text, _items(value))) for name, value in asked(index).items() if name in on_nodes}


def _on_nodes(record: Record) -> list[str]:
    return [name for name, carrier in record.track.passed_as.items() if name in NODE_SCOPED and not carrier]


def remarks(record: Record) -> Iterator[RaceRemark]:
    """Yield what a reader must know of how the settings came to be."""
    for name in _on_nodes(record) if record.target is None else ():
        text = f"{name} was set on the nodes (elasticsearch.yml): the track has no parameter for it"
        yield RaceRemark(Reason.SETTINGS_ON_NODES, text)


def objections(spec: BenchmarkSpec) -> Iterator[str]:
    """Yield what is wrong with the index settings of a spec and CEL cannot see."""
    index = spec.index
    for name, value in flatten(index.settings if index else {}).items():
        if name.startswith("index."):
            yield f"index.settings has {name}: write it without the prefix, {name.removeprefix('index.')}"
        elif name in _OWN_FIELDS:
            field = _OWN_FIELDS[name]
            yield f"index.settings has {name}, which has a field of its own: write index.{field} instead"
        elif value is None:
            yield f"index.settings.{name} has no value: write one, or leave the setting out"
    if spec.elasticsearch is None:
        return
    config = flatten(spec.elasticsearch.config)
    for name, value in asked(index).items():
        if name in config and not same(value, config[name]):
            yield f"elasticsearch.config sets {name} to {config[name]}, but elasticsearch.index asks for {value}"
    major, minor = (int(part) for part in spec.elasticsearch.version.split(".")[:2])
    if index and index.source_mode == "synthetic" and (major, minor) < (8, 4):
        yield (
            f"elasticsearch.index.sourceMode synthetic is not in Elasticsearch {spec.elasticsearch.version}: it came "
            "with 8.4; write stored or disabled, or a later version"
        )


def violation(record: Record, spec: BenchmarkSpec) -> Violation | None:
    """Return the first setting that an index does not have as it was asked for, and that the race needs there."""
    wanted = asked(spec.index)
    if not wanted:
        return None
    if not record.indices:
        if indices_beside.deleted(record):
            return None
        return Violation(Reason.SETTINGS_NOT_APPLIED, "index settings were asked for, but there is no index")
    applied = _Applied(record, wanted)
    for place, index in enumerate(record.indices):
        for name, value in wanted.items():
            if name not in index.settings and _typed(index).get(name) is None:
                unread = f"index {index.name}: Elasticsearch could not be asked for {name}: no evidence"
                return Violation(Reason.CLUSTER_UNREACHABLE, unread)
            if place not in applied.having[name] and not applied.is_excused(place, name):
                text = f"{_difference(index, name, value)}; {_how(record, name, value)}"
                return Violation(Reason.SETTINGS_NOT_APPLIED, text)
    return None


def not_everywhere(record: Record, spec: BenchmarkSpec) -> Iterator[RaceRemark]:
    """Yield which settings that were asked for could not be read, or are others where the race does not need them."""
    wanted = asked(spec.index)
    if not wanted or record.indices is None or record.outcome.reason:
        return
    if gone := indices_beside.deleted(record):
        text = f"index {some_of(gone, _SHOWN)} was deleted before it could be asked for {some_of(wanted, _SHOWN)}"
        yield RaceRemark(Reason.SETTINGS_PARTLY_VERIFIED, text)
    applied = _Applied(record, wanted)
    for name, value in wanted.items():
        for it in applied.excused(name):
            more = f" (and {it.number - 1} more indices)" if it.number > 1 else ""
            text = f"{_difference(it.first, name, value)}{more}; {it.why}"
            yield RaceRemark(Reason.SETTINGS_PARTLY_VERIFIED, text)


class _Applied:
    """Which indices have each setting that was asked for, in a time that grows with the settings that were read."""

    def __init__(self, record: Record, wanted: Mapping[str, Any]) -> None:
        self._beside = indices_beside.IndicesBeside(record)
        self._groups: dict[str, set[Group]] = {}
        self.having: dict[str, set[int]] = {name: set() for name in wanted}
        """by setting the places of the indices that have it"""
        for place, index in enumerate(record.indices or ()):
            for name in (_typed(index).keys() | index.settings.keys()) & wanted.keys():
                if same(wanted[name], _found(index, name)):
                    self.having[name].add(place)

    def excused(self, name: str) -> Iterator[Excused]:
        """Yield the indices that do not have a setting and need not."""
        return self._beside.excused(self.having[name])

    def is_excused(self, place: int, name: str) -> bool:
        """Tell whether an index that does not have a setting need not have it."""
        if name not in self._groups:
            self._groups[name] = {it.group for it in self.excused(name)}
        return self._beside.groups[place] in self._groups[name]


def _typed(index: IndexRecord) -> dict[str, Any]:
    return {SHARDS: index.shards, REPLICAS: index.replicas, CODEC: index.codec}


def _found(index: IndexRecord, name: str) -> Any:
    return index.settings.get(name, _typed(index).get(name))


def _difference(index: IndexRecord, name: str, value: Any) -> str:
    found = _found(index, name)
    has = "none" if found is None else _text(found)
    return f"index {index.name}: {name} was to be {_text(value)}, Elasticsearch has {has}"


def _how(record: Record, name: str, value: Any) -> str:
    carrier = record.track.passed_as.get(name)
    if name == SOURCE_MODE and value == "synthetic":
        return (
            f"synthetic _source needs an Enterprise or trial licence from 8.17 on, and from 9.0 on the index setting "
            f"{name}: the mapping's _source.mode has no effect there"
        )
    if carrier:
        return (
            f"it was passed as the track parameter {carrier}, which the track overrides or does not use for it: "
            "set it in the index's body or template in the track"
        )
    if carrier == "" and name in NODE_SCOPED and record.target is None:
        return "the track has no parameter for it, so the nodes were given it; the track sets another value itself"
    parameter = name.removeprefix("index.").replace(".", "_")
    return (
        f"the track has no parameter {parameter} and no index_settings to pass it with: set it there, or let the "
        f'track take it, as in "{name}": {{{{ {parameter} | default(...) | tojson }}}}'
    )


def same(wanted: Any, found: Any) -> bool:
    """Return whether two values are one to Elasticsearch, which keeps every setting as a text."""
    if found is None or wanted is None:
        return wanted is found
    if isinstance(wanted, list) or isinstance(found, list):
        ones, others = _items(wanted), _items(found)
        return len(ones) == len(others) and all(same(*pair) for pair in zip(ones, others, strict=True))
    # Names such as a durability are given back in capitals when they are defaults.
    one, other = _text(wanted).strip().lower(), _text(found).strip().lower()
    return one == other or any(
        a is not None and a == b for a, b in ((read(one), read(other)) for read in (_number, _millis, _bytes))
    )


def _items(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return [part.strip() for part in _text(value).split(",") if part.strip()]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(map(_text, value)) if isinstance(value, list) else str(value)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _millis(text: str) -> float | None:
    return _measure(text, _TIME)


def _bytes(text: str) -> float | None:
    return _measure(text, _BYTES)


def _measure(text: str, units: Mapping[str, float]) -> float | None:
    found = _QUANTITY.fullmatch(text)
    return float(found[1]) * units[found[2]] if found and found[2] in units else None
