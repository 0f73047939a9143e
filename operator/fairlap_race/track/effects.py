"""What a track does to the cluster it races on: everything it creates, writes to or deletes. Pure.

On a cluster that exists already this is said before the race, compared with what is there, and used to tell the
track's own indices from those of others.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fairlap_race.contract.recorded.record import Touch

INDEX = "index"
DATA_STREAM = "data stream"
LEGACY_TEMPLATE = "legacy template"
INDEX_TEMPLATE = "index template"
COMPONENT_TEMPLATE = "component template"
PIPELINE = "ingest pipeline"

READING = frozenset(
    {
        *("search", "scroll-search", "paginated-search", "composite-agg", "sql", "esql", "esql-profile", "field-caps"),
        *("index-stats", "node-stats", "cluster-health", "refresh", "sleep", "wait-for-recovery", "transform-stats"),
        *("wait-for-snapshot-create", "wait-for-current-snapshots-create", "wait-for-transform"),
        *("submit-async-search", "get-async-search", "delete-async-search"),
        *("open-point-in-time", "close-point-in-time"),
    }
)
"""Operation types of Rally (esrally/track/track.py) that leave indices and settings as they are."""

RESOLVED = frozenset(
    {
        *("create-index", "delete-index", "create-data-stream", "delete-data-stream", "shrink-index", "force-merge"),
        *("create-index-template", "delete-index-template", "create-composable-template"),
        *("delete-composable-template", "create-component-template", "delete-component-template"),
        *("put-pipeline", "delete-pipeline", "raw-request", "composite"),
    }
)
"""Operation types whose parameters say what they change."""


@dataclass(frozen=True)
class Action:
    """One task of the schedule, as far as Rally can tell it before it runs."""

    task: str
    kind: str
    """Rally's operation type"""
    params: Mapping[str, Any] | None = None
    """its parameters; None when only the track's own code knows them"""
    bulk: tuple[tuple[str, str], ...] | None = None
    """kind and name of everything that a bulk writes to; None when it cannot be told"""


def touches(actions: Iterable[Action]) -> tuple[tuple[Touch, ...], tuple[str, ...]]:
    """Return what the actions create, write to and delete, and in words those whose effects cannot be told."""
    found: dict[tuple[str, str], Touch] = {}
    unforeseen: list[str] = []
    for action in actions:
        for item in _effects_of(action):
            if isinstance(item, str):
                unforeseen.append(f"task {action.task}: {item}")
                continue
            old = found.get((item.kind, item.name), item)
            found[item.kind, item.name] = replace(
                old, creates=old.creates or item.creates, deletes=old.deletes or item.deletes
            )
    return tuple(found.values()), tuple(dict.fromkeys(unforeseen))


_DATA = (INDEX, DATA_STREAM)
_SURE = {"bulk": "documents", "force-merge": "segments"}
"""Operation types that change a cluster even where it cannot be told which of its indices, and what they change."""


def changes_of_what_is_left(actions: Iterable[Action], again: Collection[str]) -> dict[str, str]:
    """Return by task of those that run `again` what it changes, in words, of what all actions in their order leave.

    What cannot be foreseen is not among it.
    """
    found: dict[str, list[Touch | str]] = {}
    kinds: dict[str, str] = {}
    everything: list[Touch | str] = []
    for action in actions:
        kinds[action.task] = action.kind
        items = list(_effects_of(action))
        everything += items
        if action.task in again:
            found.setdefault(action.task, []).extend(items)
    left = _left_by(everything)
    words: dict[str, str] = {}
    for task, items in found.items():
        there = [it for item in items if isinstance(item, Touch) for it in left if _reaches(item, it)]
        named = ", ".join(f"{kind} {name}" for kind, name in dict.fromkeys(there))
        unnamed = _SURE.get(kinds[task], "") if any(isinstance(item, str) for item in items) else ""
        if named or unnamed:
            words[task] = f"({kinds[task]}) changes {named or unnamed}"
    return words


def deleted_at_last(actions: Iterable[Action]) -> tuple[str, ...]:
    """Return the data that the actions in their order create or write to and delete again.

    None where some is left, or where it cannot be told of each action what it leaves.
    """
    items = [item for action in actions for item in _effects_of(action)]
    if any(isinstance(item, str) for item in items) or any(kind in _DATA for kind, _ in _left_by(items)):
        return ()
    made = (item for item in items if isinstance(item, Touch) and item.creates and item.kind in _DATA)
    return tuple(dict.fromkeys(f"{item.kind} {item.name}" for item in made))


def _left_by(items: Iterable[Touch | str]) -> list[tuple[str, str]]:
    """Return kind and name of all that is there when what is known of some actions was done in this order."""
    left: dict[tuple[str, str], None] = {}
    for item in items:
        if isinstance(item, Touch) and item.deletes:
            left = {it: None for it in left if not _reaches(item, it)}
        if isinstance(item, Touch) and item.creates:
            left[item.kind, item.name] = None
    return list(left)


def _reaches(touch: Touch, there: tuple[str, str]) -> bool:
    pattern = "*" if touch.name == "_all" else touch.name
    return touch.kind == there[0] and fnmatch.fnmatchcase(there[1], pattern)


def _effects_of(action: Action) -> Iterator[Touch | str]:
    kind, params = action.kind, action.params
    if kind in READING:
        return
    if kind == "bulk":
        if action.bulk is None:
            yield "the documents themselves say which index they go to"
        for target in action.bulk or ():
            yield Touch(*target, creates=True)
    elif kind not in RESOLVED:
        yield f"the operation {kind}"
    elif params is None:
        yield f"the operation {kind} gets its parameters from the track's own code"
    elif kind == "composite":
        yield from _composite(params.get("requests"))
    else:
        yield from _plain(kind, params)


def _plain(kind: str, params: Mapping[str, Any]) -> Iterator[Touch | str]:
    if kind == "create-index":
        yield from (Touch(INDEX, name, creates=True) for name, _ in params["indices"])
    elif kind == "delete-index":
        yield from (Touch(INDEX, name, deletes=True) for name in params["indices"])
    elif kind in ("create-data-stream", "delete-data-stream"):
        makes = kind.startswith("create")
        yield from (Touch(DATA_STREAM, name, creates=makes, deletes=not makes) for name in params["data-streams"])
    elif kind.endswith("-template"):
        yield from _templates(kind, params["templates"])
    elif kind in ("put-pipeline", "delete-pipeline"):
        yield Touch(PIPELINE, str(params.get("id")), creates=kind[0] == "p", deletes=kind[0] == "d")
    elif kind == "shrink-index":
        for key in ("source-index", "target-index"):
            yield Touch(INDEX, str(params.get(key)), creates=True)
    elif kind == "force-merge":
        yield from _force_merge(str(params.get("index") or "_all"))
    elif kind == "raw-request":
        yield from _raw_request(params)


_TEMPLATES = {"index": LEGACY_TEMPLATE, "composable": INDEX_TEMPLATE, "component": COMPONENT_TEMPLATE}


def _templates(kind: str, templates: Iterable[Any]) -> Iterator[Touch]:
    verb, what, _ = kind.split("-")
    for template in templates:
        # Rally gives (name, body), (name, delete matching indices, pattern) or, for component templates, the name.
        name, *more = (template,) if isinstance(template, str) else template
        yield Touch(_TEMPLATES[what], name, creates=verb == "create", deletes=verb == "delete")
        if verb == "delete" and len(more) == 2 and more[0] and more[1]:
            yield Touch(INDEX, str(more[1]), deletes=True)


def _force_merge(names: str) -> Iterator[Touch | str]:
    for name in names.split(","):
        if "*" in name or name == "_all":
            yield f"merges the segments of {name}, which is not the track's alone"
        else:
            yield Touch(INDEX, name, creates=True)


def _raw_request(params: Mapping[str, Any]) -> Iterator[str]:
    method, path = str(params.get("method", "GET")).upper(), str(params.get("path"))
    reads = method in ("GET", "HEAD") or (method == "POST" and path.split("?", maxsplit=1)[0].endswith(_QUERIES))
    if not reads:
        yield f"sends {method} {path}"


_QUERIES = ("/_search", "/_msearch", "/_count", "/_refresh", "/_validate/query", "/_explain", "/_async_search")


def _composite(requests: Any) -> Iterator[Touch | str]:
    for request in requests if isinstance(requests, list) else ():
        kind = str(request.get("operation-type", ""))
        if "stream" in request:
            yield from _composite(request["stream"])
        elif kind == "raw-request":
            yield from _raw_request(request)
        elif kind and kind not in READING:
            yield f"the operation {kind}"
