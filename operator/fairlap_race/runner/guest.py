"""A cluster that exists already: what is on it, what may not be touched, what else it does, and cleaning up.

Nothing is changed but what the track itself creates; only `remove` deletes, and only what was not there before.
"""

from __future__ import annotations

import fnmatch
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from fairlap_race.contract.recorded.document_count import count_documents
from fairlap_race.contract.recorded.record import OtherLoad, Pipeline, Record, TargetReport, Totals, Touch
from fairlap_race.contract.request_files.planned_search import PlannedSearch
from fairlap_race.contract.specification.race_spec import TargetSpec
from fairlap_race.elasticsearch.answers import dig
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.elasticsearch.evidence import is_user_index
from fairlap_race.elasticsearch.request_counters import ask_shards
from fairlap_race.track import effects

LOG = logging.getLogger(__name__)
MAX_NAMED = 50
"""Existing indices that are named and counted for one touch."""
MAX_OTHERS = 50
_NAMES = "/_cluster/state/metadata?filter_path=metadata.indices.*.state,metadata.indices.*.aliases"
_LOAD = "/_stats/indexing,search?ignore_unavailable=true&filter_path=indices.*.total"
_PATHS = {
    effects.LEGACY_TEMPLATE: "/_template/",
    effects.INDEX_TEMPLATE: "/_index_template/",
    effects.COMPONENT_TEMPLATE: "/_component_template/",
    effects.PIPELINE: "/_ingest/pipeline/",
    effects.DATA_STREAM: "/_data_stream/",
    effects.INDEX: "/",
}
# A template or pipeline that something uses cannot be deleted, so the users go first.
_REMOVAL_ORDER = (
    *(effects.DATA_STREAM, effects.INDEX, effects.INDEX_TEMPLATE, effects.COMPONENT_TEMPLATE),
    *(effects.LEGACY_TEMPLATE, effects.PIPELINE),
)


@dataclass(frozen=True)
class Names:
    """What the cluster has: each index with its aliases, and the data streams."""

    indices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    streams: tuple[str, ...] = ()


def get_names(client: ElasticsearchClient) -> Names:
    """Return all indices, aliases and data streams, hidden ones too. Raises ElasticsearchError."""
    found = dig(client.get(_NAMES), "metadata", "indices") or {}
    streams = _existing(client, "/_data_stream?expand_wildcards=all")
    return Names(
        indices={name: tuple(dig(index, "aliases") or ()) for name, index in found.items()},
        streams=tuple(stream["name"] for stream in dig(streams, "data_streams") or ()),
    )


def make_report(client: ElasticsearchClient, planned: Iterable[Touch], unforeseen: tuple[str, ...]) -> TargetReport:
    """Return what the track will do to the cluster, and what of it is there now. Raises ElasticsearchError."""
    root, there = client.get("/"), get_names(client)
    return TargetReport(
        cluster_name=dig(root, "cluster_name"),
        cluster_uuid=dig(root, "cluster_uuid"),
        touches=tuple(_seen(client, touch, there) for touch in planned),
        unforeseen=unforeseen,
    )


def _seen(client: ElasticsearchClient, touch: Touch, there: Names) -> Touch:
    if touch.kind not in (effects.INDEX, effects.DATA_STREAM):
        there_too = _existing(client, _PATHS[touch.kind] + quote(touch.name, safe="*"))
        return replace(touch, existing=(touch.name,) if there_too else ())
    found = matching(touch, there)
    counted = [_count(client, name) for name in found[:MAX_NAMED]]
    known = [count for count in counted if count is not None]
    return replace(
        touch, existing=tuple(found[:MAX_NAMED]), documents=sum(known) if len(known) == len(counted) and found else None
    )


def matching(touch: Touch, there: Names) -> list[str]:
    """Return the indices and data streams that a touch of an index or data stream reaches, aliases included."""
    pattern = "*" if touch.name == "_all" else touch.name
    found = [s for s in there.streams if fnmatch.fnmatchcase(s, pattern)]
    for name, aliases in there.indices.items():
        if any(fnmatch.fnmatchcase(known, pattern) for known in (name, *aliases)):
            found.append(name)
    # A pattern does not reach what is hidden by a leading dot.
    return sorted(name for name in found if pattern[0] == "." or not name.startswith("."))


def _count(client: ElasticsearchClient, name: str) -> int | None:
    try:
        found = client.get(f"/{quote(name, safe='')}/_count", timeout=120)
    except ElasticsearchError:
        return None
    return int(found["count"]) if "count" in found else None


def _existing(client: ElasticsearchClient, path: str) -> Any:
    """Return the answer to GET `path`, or None when there is no such thing, or no such API in this version."""
    try:
        return client.get(path)
    except ElasticsearchError as error:
        if error.status in (400, 404, 405):
            return None
        raise


def find_objection(found: TargetReport, overwrite: bool, kept: bool = False) -> str:
    """Return why the track may not run on this cluster, as a sentence, or an empty text.

    `kept`: it was built for these races, so that what cannot be foreseen may happen to it.
    """
    if overwrite:
        return ""
    there = [
        f"{touch.kind} {', '.join(touch.existing[:10])}"
        + (f" ({touch.documents} documents)" if touch.documents is not None else "")
        for touch in found.touches
        if touch.existing
    ]
    if there:
        return f"the target has what the track would delete or overwrite: {'; '.join(there)}"
    if found.unforeseen and not kept:
        return f"what the track does to the target cannot be foreseen: {'; '.join(found.unforeseen)}"
    return ""


@dataclass(frozen=True)
class Load:
    """What the cluster had done in each index."""

    counters: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """index -> documents indexed, searches"""


def get_load(client: ElasticsearchClient) -> Load:
    """Return what the cluster has done so far. Raises ElasticsearchError."""
    found = client.get(_LOAD, timeout=60).get("indices") or {}
    return Load({name: _counters(index["total"]) for name, index in found.items()})


def _counters(total: Mapping[str, Any]) -> tuple[int, int]:
    indexed = total.get("indexing") or {}
    return (
        int(indexed.get("index_total", 0)) + int(indexed.get("delete_total", 0)),
        int((total.get("search") or {}).get("query_total", 0)),
    )


def find_others(
    before: Load, after: Load, is_of_the_track: Callable[[str], bool], is_searched: Callable[[str], bool]
) -> tuple[OtherLoad, ...]:
    """Return what the cluster did between the two looks that is not the track's, the busiest index first.

    That is all in indices that are not the track's, but for searches of those that it searches: nobody can tell whose
    these were. Elasticsearch's own indices (a leading dot) are left out: they work a little on any cluster.
    """
    found = []
    for name, (indexed, searched) in after.counters.items():
        if is_of_the_track(name) or name.startswith("."):
            continue
        was = before.counters.get(name, (0, 0))
        # A shard that moved to another node counts from zero there.
        grown = (max(0, indexed - was[0]), 0 if is_searched(name) else max(0, searched - was[1]))
        if any(grown):
            found.append(OtherLoad(name, *grown))
    return tuple(sorted(found, key=lambda it: -(it.indexed + it.searched))[:MAX_OTHERS])


@dataclass(frozen=True)
class Searched:
    """The indices that the track's searches go to, as far as that can be told before they are sent."""

    indices: frozenset[str] = frozenset()
    in_part: bool = False
    """some of its searches may go to others, too"""


def find_searched(
    client: ElasticsearchClient, searches: Iterable[PlannedSearch], made: Collection[str], in_part: bool
) -> Searched:
    """Return the indices that searches go to now; `made`: names of what the track makes itself. Never raises.

    `in_part`: it has other searches, of which nothing is known.
    """
    searches, found = tuple(searches), set[str]()
    in_part = in_part or any(it.drawn for it in searches)
    for index, path in dict.fromkeys((it.index, it.path) for it in searches):
        try:
            # A colon stands before what is on another cluster.
            if index is None or ":" in index:
                in_part = True
            else:
                found.update(ask_shards(client, index, path))
        except ElasticsearchError as error:
            in_part = in_part or error.status != 404 or not set((index or "").split(",")).issubset(made)
            if error.status is None:  # a cluster that does not answer is not asked hundreds of times
                break
    return Searched(frozenset(found), in_part)


def owner_of(planned: Iterable[Touch]) -> Callable[[str], bool]:
    """Return whether an index is one that the track creates or writes to; backing indices of its data streams too.

    Also by another name: what there was behind an alias is the track's where it may write to it.
    """
    touched = [touch for touch in planned if touch.creates]
    indices = {name for it in touched if it.kind == effects.INDEX for name in (it.name, *it.existing)}
    streams = {name for it in touched if it.kind == effects.DATA_STREAM for name in (it.name, *it.existing)}

    def is_of_the_track(name: str) -> bool:
        # What Elasticsearch makes for a data stream is .ds-STREAM-yyyy.MM.dd-000001, and .fs- for what failed.
        stream = name[4:].rsplit("-", 2)[0] if name.startswith((".ds-", ".fs-")) else None
        return name in indices or stream in streams

    return is_of_the_track


def remove(client: ElasticsearchClient, found: TargetReport) -> TargetReport:
    """Delete what the race created and was not there before; returns the report with what was removed and is left."""
    removed, left = [], []
    for touch in _made(client, found):
        try:
            client.delete(_PATHS[touch.kind] + quote(touch.name, safe=""), timeout=60)
            removed.append(f"{touch.kind} {touch.name}")
        except ElasticsearchError as error:
            LOG.warning("%s %s stays on the target: %s", touch.kind, touch.name, error)
            left.append(f"{touch.kind} {touch.name} ({error})"[:300])
    return replace(found, removed=tuple(removed), left=tuple(left))


def keep(client: ElasticsearchClient, found: TargetReport) -> TargetReport:
    """Return the report with what the race created and stays there."""
    return replace(found, left=tuple(f"{touch.kind} {touch.name}" for touch in _made(client, found)))


def _made(client: ElasticsearchClient, found: TargetReport) -> Iterator[Touch]:
    try:
        there = get_names(client)
    except ElasticsearchError as error:
        LOG.warning("the target could not be asked what is on it: %s", error)
        there = None
    created = [touch for touch in found.touches if touch.creates and not touch.existing]
    for touch in sorted(created, key=lambda it: _REMOVAL_ORDER.index(it.kind)):
        if there is None or _is_there(client, touch, there):
            yield touch


def _is_there(client: ElasticsearchClient, touch: Touch, there: Names) -> bool:
    if touch.kind == effects.INDEX:
        return touch.name in there.indices
    if touch.kind == effects.DATA_STREAM:
        return touch.name in there.streams
    try:
        return bool(_existing(client, _PATHS[touch.kind] + quote(touch.name, safe="")))
    except ElasticsearchError:
        return True


def too_many_hosts(hosts: Sequence[str], nodes: int) -> str:
    """Return in one sentence why Rally would wait in vain, or an empty text.

    It begins only when the cluster has as many nodes as it is given addresses (`wait_for_rest_layer` in esrally's
    client/factory.py), and gives up after twenty minutes.
    """
    if len(hosts) <= max(nodes, 1):
        return ""
    return (
        f"target.hosts has {len(hosts)} addresses, but the cluster has {nodes} node(s), and Rally waits until there "
        "are as many nodes as addresses: write one address for each node, or one that stands for all"
    )


def too_many_replicas(replicas: int | None, nodes: int) -> str:
    """Return in one sentence why the index can never be green, or an empty text: each copy needs a node of its own."""
    if not replicas or replicas < max(nodes, 1):
        return ""
    return (
        f"target.index.replicas {replicas} cannot be placed on {nodes} node(s) with data, for each copy needs a node "
        f"of its own: write {max(nodes, 1) - 1} or less"
    )


@dataclass
class Site:
    """The cluster that a race is a guest on, from before the race to after it."""

    client: ElasticsearchClient
    about: TargetSpec
    report: TargetReport
    before: Load
    searched: Searched = Searched()

    @staticmethod
    def look(
        client: ElasticsearchClient, about: TargetSpec, planned: Iterable[Touch], unforeseen: tuple[str, ...]
    ) -> Site:
        """Return the site with what the track will do to it. Raises ElasticsearchError."""
        return Site(client, about, make_report(client, planned, unforeseen), get_load(client))

    @property
    def occupied(self) -> tuple[str, ...]:
        """What is there already of what the track touches."""
        return tuple(sorted({name for touch in self.report.touches for name in touch.existing}))

    @property
    def objection(self) -> str:
        """Why the track may not run here; empty when it may."""
        return find_objection(self.report, self.about.overwrite, self.about.kept)

    def is_of_the_track(self, name: str) -> bool:
        """Tell whether an index is the track's."""
        return owner_of(self.report.touches)(name)

    def look_for_searched(self, searches: Iterable[PlannedSearch], in_part: bool) -> None:
        """Note which indices the searches of the track go to; `in_part`: there are others, of which it is not known."""
        made = {touch.name for touch in self.report.touches if touch.creates}
        self.searched = find_searched(self.client, searches, made, in_part)

    def is_searched(self, name: str) -> bool:
        """Tell whether the track searches an index; a kept cluster is there for nobody else."""
        return is_user_index(name) if self.about.kept else name in self.searched.indices

    def is_of_the_race(self, name: str) -> bool:
        """Tell whether it matters to the race what becomes of an index: it is the track's, or searched by it."""
        return self.is_of_the_track(name) or self.is_searched(name)

    def of_the_race(self, pipelines: tuple[Pipeline, ...], used: tuple[str, ...]) -> tuple[Pipeline, ...]:
        """Return the pipelines that the track uses or creates; others work for others."""
        own = {*used, *(touch.name for touch in self.report.touches if touch.kind == effects.PIPELINE)}
        return tuple(pipeline for pipeline in pipelines if pipeline.name in own)

    def counted(self, totals: Totals) -> Totals:
        """Return the totals without the counters that contain more than the race, of indices that it did not make."""
        if not any(
            t.creates and t.existing and not t.deletes and t.kind != effects.PIPELINE for t in self.report.touches
        ):
            return totals
        return replace(totals, merge_millis=None, refresh_millis=None, flush_millis=None, indexing_millis=None)

    def leave(self, record: Record) -> TargetReport:
        """Say what others did meanwhile, and remove what the race created if that was asked for. Never raises."""
        try:
            others = find_others(self.before, get_load(self.client), self.is_of_the_track, self.is_searched)
            unknown = self.searched.in_part and not self.about.kept
            self.report = replace(self.report, others=others, searches_unknown=unknown)
        except ElasticsearchError as error:
            LOG.warning("the target could not be asked what else it did: %s", error)
        stays = self.about.remove == "never" or (self.about.remove == "onSuccess" and went_wrong(record))
        self.report = keep(self.client, self.report) if stays else remove(self.client, self.report)
        return self.report


def went_wrong(record: Record) -> bool:
    """Tell whether the race failed, as far as the runner can see: Rally, a request, or the number of documents."""
    short = bool(count_documents(record).mismatch) or (record.indices is None and bool(record.track.expected_documents))
    failed = any(task.errors.warmup or task.errors.normal for task in record.tasks)
    return record.outcome.reason is not None or failed or short
