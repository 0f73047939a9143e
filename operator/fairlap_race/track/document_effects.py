"""How many documents the tasks of a schedule leave behind, as far as that can be told before they run. Pure."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fairlap_race.contract.index_settings import NO_PIPELINE
from fairlap_race.contract.specification.document_plan import DocumentPlan, UncountedTask, WhyUncounted
from fairlap_race.track.effects import READING

_KEEPING = READING | {
    *("put-pipeline", "delete-pipeline", "create-index", "create-data-stream", "force-merge", "put-settings"),
    *("create-index-template", "create-composable-template", "create-component-template", "create-ilm-policy"),
    *("delete-index-template", "delete-composable-template", "delete-component-template", "delete-ilm-policy"),
    *("create-snapshot", "create-snapshot-repository", "delete-snapshot-repository"),
}
"""Operation types that leave the documents that are there; deleting a template may delete indices, see `_deleted`."""
TEMPLATE_DELETIONS = ("delete-index-template", "delete-composable-template")
WHOLE_DELETIONS = {"delete-index": "indices", "delete-data-stream": "data-streams"}
"""Operation types that delete indices or data streams, and the parameter in which Rally lists them."""
_QUERIES = frozenset(
    {
        *("_search", "_msearch", "_count", "_explain", "_validate", "_async_search", "_field_caps", "_termvectors"),
        *("_mtermvectors", "_mget", "_sql", "_query", "_eql", "_rank_eval", "_knn_search", "_analyze", "_pit"),
    }
)
_UPKEEP = frozenset(
    {
        *("_refresh", "_flush", "_forcemerge", "_cache", "_settings", "_mapping", "_mappings", "_cluster", "_nodes"),
        *("_ingest", "_template", "_index_template", "_component_template", "_aliases", "_alias", "_ilm", "_slm"),
        *("_scripts", "_security", "_license", "_enrich", "_synonyms", "_query_rules", "_open", "_close", "_snapshot"),
        *("_stats", "_block", "_inference", "_ml", "_watcher", "_autoscaling", "_lifecycle", "_tasks"),
    }
)
"""Parts of paths that say what a request is for: with none of these does it change documents."""
_COPYING = frozenset({"_restore", "_mount"})


@dataclass(frozen=True)
class BulkFacts:
    """What a bulk task sends, as far as Rally can tell it before it runs."""

    documents: tuple[tuple[str, int], ...] = ()
    """index or data stream, and documents for it; "" for one that only the documents name"""
    why: WhyUncounted | None = None
    """what keeps the number from being exact"""
    pipeline: str | None = None
    """the parameter of that name"""
    streams: frozenset[str] = frozenset()
    """those of the targets that are data streams"""


@dataclass(frozen=True)
class Act:
    """One task of the schedule."""

    task: str
    kind: str
    """Rally's operation type"""
    params: Mapping[str, Any] = field(default_factory=dict)
    bulk: BulkFacts | None = None


def foresee(acts: Iterable[Act]) -> tuple[dict[str, int], DocumentPlan]:
    """Return the documents of each index after the acts, and what these numbers do not hold for."""
    counts: dict[str, int] = {}
    uncounted: list[UncountedTask] = []
    early: list[UncountedTask] = []
    streams: set[str] = set()
    plan = DocumentPlan()
    for act in acts:
        if act.bulk is not None:
            streams |= act.bulk.streams
            uncounted += _indexed(act.task, act.bulk, counts)
            if act.bulk.pipeline in NO_PIPELINE:
                plan = replace(plan, without_pipeline=(*plan.without_pipeline, act.task))
            continue
        # The pattern of a template deletes indices: no data stream, and nothing behind one.
        kept = streams if act.kind in TEMPLATE_DELETIONS else set()
        uncounted = [*_deleted(act, counts, uncounted, kept)]
        plan = _noted(act, plan, bool(counts or uncounted))
        if not keeps_documents(act.kind, act.params):
            why = WhyUncounted.RAW_BULK if _sends_bulk(act.kind, act.params) else WhyUncounted.OTHER_WRITES
            (uncounted if counts or uncounted else early).append(UncountedTask(act.task, why=why))
    # Before any document it can only add to what the bulks bring, unless nothing else says how many there are.
    if not (counts or uncounted):
        return counts, replace(plan, uncounted=tuple(early))
    return counts, replace(plan, uncounted=tuple(uncounted), writes_before=tuple(it.task for it in early))


def _indexed(task: str, bulk: BulkFacts, counts: dict[str, int]) -> Iterator[UncountedTask]:
    for target, documents in bulk.documents:
        if bulk.why is None:
            counts[target] = counts.get(target, 0) + documents
        else:
            bound = None if bulk.why in (WhyUncounted.BEGINS_AGAIN, WhyUncounted.OWN_CODE) else documents
            yield UncountedTask(task, target, bulk.why, bound)
    if not bulk.documents:
        yield UncountedTask(task, "", bulk.why or WhyUncounted.OWN_CODE)


def _deleted(
    act: Act, counts: dict[str, int], uncounted: list[UncountedTask], kept: set[str]
) -> Iterator[UncountedTask]:
    """Yield what is not counted after an act, without what it deletes, and what it deletes; nothing of `kept`."""
    patterns, deleted = _deletes(act), WhyUncounted.DELETED

    def goes(target: str) -> bool:
        return bool(target) and target not in kept and _matches(target, patterns)

    yield from (it for it in uncounted if it.why is deleted or not goes(it.target))
    gone = {target: count for target, count in counts.items() if goes(target)}
    for target, count in gone.items():
        counts.pop(target)
        yield UncountedTask(act.task, target, deleted, count)
    inexact = {it.target for it in uncounted if it.why is not deleted and goes(it.target)}
    yield from (UncountedTask(act.task, target, deleted) for target in sorted(inexact - set(gone)))


def _matches(target: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(target, pattern) for pattern in patterns)


def _deletes(act: Act) -> tuple[str, ...]:
    """Return names and patterns of the indices and data streams that an act deletes."""
    kind, params = act.kind, act.params
    if kind in WHOLE_DELETIONS:
        # Rally makes the list: of the track's own where the task names none.
        names = params.get(WHOLE_DELETIONS[kind]) or params.get(kind.removeprefix("delete-"))
        if not names:
            return ("*",)  # only the track's own code knows
        listed = names if isinstance(names, list | tuple) else [names]
        return tuple("*" if name == "_all" else name for each in listed for name in str(each).split(","))
    if kind in TEMPLATE_DELETIONS:
        own = ("", params.get("delete-matching-indices"), params.get("index-pattern"))
        # Of each template Rally makes its name, whether to delete what matches, and the pattern.
        found = [it[2] for it in params.get("templates", [own]) if it[1] and it[2]]
        return tuple(name for pattern in found for name in str(pattern).split(","))
    if kind == "raw-request" and str(params.get("method", "GET")).upper() == "DELETE":
        path = str(params.get("path")).split("?")[0].strip("/")
        streams = path.removeprefix("_data_stream/")
        return tuple(streams.split(",")) if "/" not in streams and not streams.startswith("_") else ()
    if kind == "raw-request" and _path(params) == ["_aliases"]:
        return tuple(_removed_with_aliases(params.get("body")))
    if kind == "composite":
        return tuple(name for inner in _inner(params) for name in _deletes(inner))
    return ()


def _removed_with_aliases(body: Any) -> Iterator[str]:
    actions = body.get("actions") if isinstance(body, Mapping) else None
    for action in actions if isinstance(actions, list) else ():
        removed = action.get("remove_index") if isinstance(action, Mapping) else None
        if isinstance(removed, Mapping):
            names = removed.get("indices", removed.get("index"))
            yield from map(str, names if isinstance(names, list) else str(names or "").split(","))


def keeps_documents(kind: str, params: Mapping[str, Any]) -> bool:
    """Tell whether an operation neither writes nor removes documents, but for the indices that it deletes whole."""
    if kind in WHOLE_DELETIONS:
        return True
    if (kind == "composite" and "requests" not in params) or (kind == "raw-request" and "path" not in params):
        return False  # only its parameter source knows
    if kind == "composite":
        return all(keeps_documents(inner.kind, inner.params) for inner in _inner(params))
    if kind != "raw-request":
        return kind in _KEEPING or "-ml-" in kind
    method, parts = str(params.get("method", "GET")).upper(), _path(params)
    if method in ("GET", "HEAD") or (method == "DELETE" and _deletes(Act("", kind, params))):
        return True
    # PUT /NAME makes an index.
    made = method == "PUT" and len(parts) == 1 and not parts[0].startswith("_")
    stream = method == "PUT" and len(parts) == 2 and parts[0] == "_data_stream"
    # PUT /NAME/_doc/_search has an id that looks like something else.
    about = next((part for part in parts if part.startswith("_") and part != "_all"), "")
    return made or stream or (about in _QUERIES | _UPKEEP and not _COPYING & set(parts))


def _sends_bulk(kind: str, params: Mapping[str, Any]) -> bool:
    if kind == "composite":
        return any(_sends_bulk(inner.kind, inner.params) for inner in _inner(params))
    return kind == "raw-request" and _path(params)[-1:] == ["_bulk"]


def _path(params: Mapping[str, Any]) -> list[str]:
    return [part for part in str(params.get("path")).split("?")[0].split("/") if part]


def _inner(params: Mapping[str, Any]) -> Iterator[Act]:
    requests = params.get("requests", params.get("stream"))
    for request in requests if isinstance(requests, list | tuple) else ():
        if not isinstance(request, Mapping):
            continue
        if "stream" in request:
            yield from _inner({"stream": request["stream"]})
        elif request.get("operation-type"):
            yield Act("", str(request["operation-type"]), request)


def _noted(act: Act, plan: DocumentPlan, later: bool) -> DocumentPlan:
    """Return the plan with what an act does to pipelines and, with documents there (`later`), to indices, settings."""
    if later and _deletes(act):
        plan = replace(plan, deletes_indices=(*plan.deletes_indices, act.task))
    if act.kind == "create-transform" and (made := _written_by_transform(act.params)):
        plan = replace(plan, of_transforms=(*plan.of_transforms, made))
    for each in (act, *(_inner(act.params) if act.kind == "composite" else ())):
        if each.kind == "delete-pipeline":
            plan = replace(plan, deletes_pipelines=(*plan.deletes_pipelines, str(each.params.get("id"))))
        parts = _path(each.params) if each.kind == "raw-request" else []
        if parts[:2] == ["_ingest", "pipeline"] and str(each.params.get("method")).upper() == "DELETE":
            plan = replace(plan, deletes_pipelines=(*plan.deletes_pipelines, *parts[2:3]))
        if later and "_settings" in parts and str(each.params.get("method")).upper() in ("PUT", "POST"):
            plan = replace(plan, changes_settings=(*plan.changes_settings, act.task))
    return plan


def _written_by_transform(params: Mapping[str, Any]) -> str:
    """Return the index that a transform writes to; "" where its parameters do not tell."""
    body = params.get("body")
    dest = body.get("dest") if isinstance(body, Mapping) else None
    index = dest.get("index") if isinstance(dest, Mapping) else None
    return index if isinstance(index, str) else ""
