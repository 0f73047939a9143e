"""JSON merge patches of a Benchmark's spec. Pure.

RFC 7386, but for fields of which a spec has one alone: what the patch writes there takes the place of the template's
other choice, which may be a default that nobody wrote. And but for settings of Elasticsearch, which reads them by their
dotted names: a.b and b within a are one.
"""

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from fairlap.api.base import Json
from fairlap.api.names import MOST_LEVELS
from fairlap.comparison.terms.equal_values import comparable
from fairlap_race.contract.index_settings import flatten


class OneOf(NamedTuple):
    """Fields of which there is one alone, each with those that belong to it."""

    path: tuple[str, ...]
    choices: Mapping[str, tuple[str, ...]]


ONE_OF: Final = (
    OneOf((), {"elasticsearch": (), "target": ()}),
    OneOf(("elasticsearch", "storage"), {"size": ("className",), "ephemeral": ()}),
    OneOf(
        ("race", "track"),
        {"builtin": (), "configMap": (), "name": ("revision", "repository"), "git": (), "volume": ()},
    ),
    OneOf(("race", "requests"), {"configMap": (), "volume": (), "git": ()}),
    OneOf(("race", "sweep", "objective"), {"p50": (), "p90": (), "p99": ()}),
    OneOf(("race", "capacity", "objective"), {"p50": (), "p90": (), "p99": ()}),
)

_SETTINGS: Final[tuple[tuple[str, ...], ...]] = (
    ("elasticsearch", "config"), ("elasticsearch", "index", "settings"), ("target", "index", "settings"),
)  # fmt: skip
_SETTINGS_PATHS: Final = frozenset(map(".".join, _SETTINGS))
_RESOURCES: Final = ("elasticsearch.resources", "race.resources")
_SAYING_NOTHING_BY_THEMSELVES: Final = (
    "elasticsearch.index", "target.index", "elasticsearch.scheduling", "race.scheduling",
)  # fmt: skip
"""Parts that may be missing, and mean the same when nothing in them is written."""
_MOST_CHARACTERS: Final = 64 << 10
"""of settings by their dotted names: no Benchmark is accepted with more, and a long name above many takes gigabytes"""


def merge(template: Json, patch: Mapping[str, Any]) -> Json:
    """Return the template with the patch applied; the patch is at most MOST_LEVELS deep.

    Settings that the patch writes to have their dotted names then, unless they are too many to be accepted anyway.
    """
    found = copy.deepcopy(template)
    for group in ONE_OF:
        there, written = part_at(found, group.path), part_at(patch, group.path)
        chosen = [choice for choice in group.choices if written.get(choice) is not None]
        for choice in group.choices.keys() - chosen if chosen else ():
            for key in (choice, *group.choices[choice]):
                there.pop(key, None)
    merged: Json = _merged(found, patch)
    for path in _SETTINGS:
        if written := part_at(patch, path):
            part_at(merged, path[:-1])[path[-1]] = _merged_settings(part_at(found, path), written)
    return merged


def depth_exceeds(value: Any, most: int = MOST_LEVELS) -> bool:
    """Return whether a JSON value is nested more than `most` levels deep; goes through it without recursion."""
    level = [value]
    for _ in range(most + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def set_at(patch: Json, path: str, value: Any, like: Mapping[str, Any]) -> None:
    """Write a value into a patch at a dotted path; a key of `like` that has dots itself is taken as one key."""
    keys, there = path.split("."), like
    while len(keys) > 1 and ".".join(keys) not in there:
        patch = patch.setdefault(keys[0], {})
        there, keys = part_at(there, (keys[0],)), keys[1:]
    patch[".".join(keys)] = value


def part_at(value: Mapping[str, Any], path: tuple[str, ...]) -> Json:
    """Return the object at a path, itself and no copy; an empty one where there is none."""
    found: Any = value
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def changed_paths(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the dotted paths at which two specs differ, sorted: the highest one of what only one of them has.

    Quantities and heaps differ when they mean another size, however they are written.
    """
    return sorted(_differing(one, other, ""))


def meaning(spec: Mapping[str, Any]) -> str:
    """Return a text that two specs share when, and only when, `changed_paths` finds nothing between them."""
    return json.dumps(_as_compared(spec, ""), sort_keys=True)


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    found = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = _merged(found.get(key), value)
    return found


def _merged_settings(template: Json, patch: Json) -> Json:
    """Return settings with a patch applied by their dotted names; null takes away all that is below, too."""
    merged: Json = _merged(template, patch)
    if not (_is_bounded(merged) and _is_bounded(patch)):
        return merged
    written = flatten(patch)
    kept = _without(flatten(merged), [name for name, value in written.items() if value is None])
    return kept | {name: value for name, value in written.items() if value is not None}


def _is_bounded(settings: Mapping[str, Any]) -> bool:
    return not depth_exceeds(settings) and _characters(settings, 0) <= _MOST_CHARACTERS


def _characters(settings: Mapping[str, Any], above: int) -> int:
    """Return how long the dotted names of settings are together, each with `above` characters before it."""
    return sum(
        _characters(value, above + len(key) + 1) if isinstance(value, Mapping) else above + len(key)
        for key, value in settings.items()
    )


def _without(settings: Json, gone: Iterable[str]) -> Json:
    """Return settings without those of some names and all below them."""
    kept: Json = {}
    below: tuple[str, ...] = ()
    # In order, all that is below a name follows it: thousands of each are gone through once.
    paths = [*((f"{name}.", False) for name in gone), *((f"{name}.", True) for name in settings)]
    for path, is_setting in sorted(paths):
        if path.startswith(below):
            continue
        if is_setting:
            kept[path[:-1]] = settings[path[:-1]]
        else:
            below = (path,)
    return kept


def _differing(one: Mapping[str, Any], other: Mapping[str, Any], above: str) -> Iterator[str]:
    for key in one.keys() | other.keys():
        path = f"{above}{key}"
        mine, theirs = _compared(path, one.get(key)), _compared(path, other.get(key))
        if json.dumps(mine, sort_keys=True) == json.dumps(theirs, sort_keys=True):  # in Python true is 1
            continue
        if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            yield from _differing(mine, theirs, f"{path}.")
        else:
            yield path


def _as_compared(spec: Mapping[str, Any], above: str) -> Json:
    compared = ((key, _compared(f"{above}{key}", value)) for key, value in spec.items())
    return {
        key: _as_compared(value, f"{above}{key}.") if isinstance(value, Mapping) else value
        for key, value in compared
        if value is not None
    }


def _compared(path: str, value: Any) -> Any:
    """Return what stands at a path of a spec as it is compared."""
    if not isinstance(value, Mapping):
        return comparable(path, value)
    if path in _SETTINGS_PATHS:
        return flatten(value) if _is_bounded(value) else value
    if path in _SAYING_NOTHING_BY_THEMSELVES and all(it in (None, {}, []) or it is False for it in value.values()):
        return None
    return _without_usual_requests(path, value) if path in _RESOURCES else value


def _without_usual_requests(path: str, resources: Mapping[str, Any]) -> Json:
    """Return resources without the requests that are the limits, as they are where nobody writes them."""
    asked, limits = part_at(resources, ("requests",)), part_at(resources, ("limits",))
    own = {
        key: value
        for key, value in asked.items()
        if _compared(f"{path}.requests.{key}", value) != _compared(f"{path}.limits.{key}", limits.get(key))
    }
    return {**resources, "requests": own}


def _inside(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return [each for each in inner if isinstance(each, Mapping | list)]
