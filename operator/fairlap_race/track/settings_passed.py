"""Which index settings were asked for, and how a track takes each of them. Pure.

Elastic's tracks name their parameters by convention: one for each common setting (`number_of_shards`,
`codec`, `source_mode` …), and `index_settings`, an object that Rally merges into the body of each index it creates.
A parameter that a track does not expose is never passed, because Rally refuses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairlap_race.contract.index_settings import PREFIX, SOURCE_MODE, by_full_name, flatten, settings_asked
from fairlap_race.contract.specification.race_spec import IndexSpec

INDEX_SETTINGS = "index_settings"


class ContradictionError(ValueError):
    """A track parameter says something else than the index settings of the specification."""


@dataclass(frozen=True)
class TrackSettings:
    """What the track itself puts into the indices it creates, before anything was passed to it."""

    create: Sequence[Mapping[str, Any]] = ()
    """`settings` of each task that creates indices"""
    bodies: Sequence[Mapping[str, Any]] = ()
    """`settings` of each index body"""


NO_SETTINGS = TrackSettings()


def asked(index: IndexSpec) -> dict[str, Any]:
    """Return every setting that was asked for, by its full name."""
    return settings_asked(index.shards, index.replicas, index.codec, index.source_mode, index.settings)


def passed(
    index: IndexSpec, params: Mapping[str, Any], exposed: Iterable[str], track: TrackSettings
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the track's parameters with the settings of `index` in them, and for each setting the parameter that
    carries it; "" when the track has none.

    `params` are the user's. Raises ContradictionError when one of them says something else.
    """
    known, out, carriers = set(exposed), dict(params), {}
    through: dict[str, Any] = {}
    for name, value in asked(index).items():
        own = next((parameter for parameter in _parameters(name) if parameter in known), None)
        if own is not None:
            _set(out, own, value, name)
            carriers[name] = own
        elif name == SOURCE_MODE and "source_enabled" in known and value != "synthetic":
            _set(out, "source_enabled", value != "disabled", name)
            carriers[name] = "source_enabled"
        else:
            carriers[name] = INDEX_SETTINGS if INDEX_SETTINGS in known else ""
            through[name] = value
    if through and INDEX_SETTINGS in known:
        out[INDEX_SETTINGS] = _merged(out.get(INDEX_SETTINGS), through, track)
    return out, carriers


def _parameters(name: str) -> tuple[str, ...]:
    conventional = name.removeprefix(PREFIX).replace(".", "_")
    return ("source_mode", conventional) if name == SOURCE_MODE else (conventional,)


def _set(params: dict[str, Any], parameter: str, value: Any, name: str) -> None:
    given = params.get(parameter, value)
    if _text(given) != _text(value):
        raise ContradictionError(
            f"race.params sets {parameter} to {given}, but the index settings ask for {name}: {value}; write one"
        )
    params[parameter] = value


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _merged(users: Any, wanted: Mapping[str, Any], track: TrackSettings) -> dict[str, Any]:
    if users is not None and not isinstance(users, Mapping):
        raise ContradictionError(f"race.params sets {INDEX_SETTINGS} to {users!r}: it must be an object")
    # Some tracks have settings of their own instead of index_settings: those must not get lost.
    merged: dict[str, Any] = dict(_only(track.create) if users is None else users)
    given = by_full_name(merged)
    for name, value in wanted.items():
        if users is not None and name in given and _text(given[name]) != _text(value):
            raise ContradictionError(
                f"race.params.{INDEX_SETTINGS} sets {name} to {given[name]}, but the index settings ask for {value}; "
                "write one of them"
            )
        _put(merged, name, value, track.bodies)
    return merged


def _put(merged: dict[str, Any], name: str, value: Any, bodies: Sequence[Mapping[str, Any]]) -> None:
    """Put a setting in the spelling that is there: Elasticsearch refuses, or mixes up, two spellings of one setting."""
    short = name.removeprefix(PREFIX)
    if isinstance(merged.get("index"), Mapping):
        merged["index"] = {**flatten(merged["index"]), short: value}
    elif short in merged:
        merged[short] = value
    elif name not in merged and _nested_everywhere(bodies, short):
        # Rally replaces the whole object "index" of the body, so its other settings come along.
        merged["index"] = {**flatten(bodies[0]["index"]), short: value}
    elif name not in merged and any(short in body for body in bodies):
        merged[short] = value
    else:
        merged[name] = value


def _nested_everywhere(bodies: Sequence[Mapping[str, Any]], short: str) -> bool:
    nested = [body.get("index") for body in bodies]
    first = nested[0] if nested else None
    return isinstance(first, Mapping) and short in flatten(first) and all(other == first for other in nested)


def _only(settings: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    different = [one for number, one in enumerate(settings) if one and one not in settings[:number]]
    return different[0] if len(different) == 1 else {}
