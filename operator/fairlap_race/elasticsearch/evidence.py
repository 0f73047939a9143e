"""What Elasticsearch itself says before and after a race, from version 6.0 to 9: read only what every version answers.

The functions that read are pure; `before` and `after` ask. Hidden and system indices (a leading dot)
are not the user's, except the backing indices of the user's data streams.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from fairlap_race.contract.index_settings import CODEC, REPLICAS, SHARDS, stream_of
from fairlap_race.contract.recorded.record import EnvironmentRecord, Fresh, IndexRecord, Node, Pipeline, Shard, Totals
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.secret_flags import without_secret
from fairlap_race.elasticsearch import behind_names, effective, ingest, segment_sizes
from fairlap_race.elasticsearch import indices as index_evidence
from fairlap_race.elasticsearch.answers import dig, whole_number
from fairlap_race.elasticsearch.behind_names import NOTHING_BEHIND, BehindNames
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.linux.cgroup import known_limit

_SYSTEM_STREAM = re.compile(r"^(\.|ilm-history|slm-history)")
_VERSION = re.compile(r"\d+\.\d+\.\d+[\w.+-]{0,40}")
_STATS = "/_stats/docs,store,segments,merge,refresh,flush,indexing?ignore_unavailable=true"
"""With a closed index Elasticsearch refuses statistics of all, unless it may leave that one out."""
_WITH_EXPLICIT, _WITH_DEFAULTS = 50, 5
"""Of how many indices the settings that somebody set, and those that nobody set, are kept one by one."""
_HEALTH = "/_cluster/health?level=indices&expand_wildcards=all"
_STATES = "/_cluster/state/metadata?filter_path=metadata.indices.*.state&expand_wildcards=all"


def is_user_index(name: str) -> bool:
    """Tell whether an index is a user's, by its name."""
    return not _SYSTEM_STREAM.match(stream_of(name) or name)


def owned_by(track: TrackRecord) -> Callable[[str], bool]:
    """Return what tells whether an index is a user's, by its name or because the race names it despite its dot."""
    plan = track.documents
    named = {*(track.expected_documents or {}), *(it.target for it in plan.uncounted), *plan.stated.documents}

    def is_of_the_race(name: str) -> bool:
        return is_user_index(name) or name in named or stream_of(name) in named

    return is_of_the_race


@dataclass(frozen=True)
class Before:
    """What was there before the race."""

    environment: EnvironmentRecord
    fresh: Fresh
    ephemeral_ids: Mapping[str, str]
    """node name -> id that is new at each start of the node"""
    node_stats: Mapping[str, Any]


@dataclass(frozen=True)
class After:
    """What was there after the race."""

    indices: tuple[IndexRecord, ...]
    shards: tuple[Shard, ...]
    pipelines: tuple[Pipeline, ...]
    nodes_restarted: tuple[str, ...]
    totals: Totals
    failure_stores: Mapping[str, int] = field(default_factory=dict)
    """data stream -> documents in its failure store"""


def find_other_product(root: Any) -> str:
    """Return in one sentence why what answers GET / with `root` is not Elasticsearch; "" when it may be."""
    number = dig(root, "version", "number")
    if not isinstance(number, str) or not _VERSION.fullmatch(number):
        return "what answers is not Elasticsearch: its answer to GET / has no version.number"
    if dig(root, "version", "distribution") is not None:
        return "what answers is not Elasticsearch: its answer to GET / has a version.distribution, as OpenSearch's"
    return ""


def before(client: ElasticsearchClient) -> Before:
    """Ask for versions, nodes and leftovers. Raises ElasticsearchError."""
    root = client.get("/")
    nodes = client.get("/_nodes/jvm,os,process,plugins")
    members = client.get("/_cluster/state/nodes")
    stats = client.get("/_nodes/stats/ingest,jvm,os")
    indexing = _get(client, "/_stats/indexing?ignore_unavailable=true&expand_wildcards=all")
    found = dig(_get(client, _STATES), "metadata", "indices") or {}
    cluster, started_with = (
        _allowed(client, f"/{path}/settings?flat_settings=true") for path in ("_cluster", "_nodes")
    )
    return Before(
        environment=replace(
            read_environment(root, nodes, stats, members),
            cluster_settings=None if cluster is None else effective.cluster_settings(cluster),
            node_settings=None if started_with is None else effective.node_settings(started_with),
        ),
        fresh=Fresh(
            user_indices=tuple(sorted(name for name in found if is_user_index(name))),
            indexing_millis=read_indexing(indexing),
        ),
        ephemeral_ids=ephemeral_ids(members),
        node_stats=stats,
    )


def after(
    client: ElasticsearchClient,
    start: Before,
    asked_for: Collection[str] = (),
    is_of_the_race: Callable[[str], bool] = is_user_index,
) -> After:
    """Refresh, then ask for indices with the settings `asked_for` (full names), shards, pipelines and totals.

    Only of the race's own indices. Raises ElasticsearchError.
    """
    settings = _get(client, "/_all/_settings?flat_settings=true&expand_wildcards=all")
    aliases, streams = _allowed(client, behind_names.ALIASES), _allowed(client, behind_names.STREAMS)
    names = behind_names.read_names(aliases, streams, settings)
    failures = {
        name: stream for name, stream in names.failures.items() if is_of_the_race(stream) or is_of_the_race(name)
    }
    user = sorted(name for name in settings if is_of_the_race(name) and name not in failures)
    red, closed = _red(client), _closed(client)
    unsearchable = red | closed
    _refresh(client, (name for name in (*user, *failures) if name not in unsearchable))
    members = client.get("/_cluster/state/nodes")
    node_settings = client.get("/_nodes/settings?flat_settings=true")
    health = _get(client, _HEALTH)
    stats = _get(client, f"{_STATS}&expand_wildcards=all")
    node_stats = client.get("/_nodes/stats/ingest,jvm")
    definitions = _allowed(client, "/_ingest/pipeline")

    def index(name: str) -> IndexRecord:
        documents = None if name in unsearchable else count(client, name)
        found = read_index(name, settings, node_settings, health, stats, documents, names)
        answer, mapping = index_evidence.ask_settings(client, name)
        version = start.environment.version
        found = index_evidence.with_settings(found, asked_for, answer, mapping, node_settings, version)
        return replace(found, closed=name in closed)

    shards = index_evidence.shards(client, user)
    sizes = segment_sizes.read_sizes(_allowed(client, segment_sizes.PATH), members, shards)
    indices = tuple(sizes.of_index(_shortened(index(name), place)) for place, name in enumerate(user))
    return After(
        indices=indices,
        shards=sizes.of_shards(shards),
        pipelines=ingest.read_pipelines(start.node_stats, node_stats, definitions),
        failure_stores=_failed_documents(client, {it: failures[it] for it in failures if it not in unsearchable}),
        nodes_restarted=restarted(start.ephemeral_ids, ephemeral_ids(members)),
        totals=sizes.of_totals(read_totals(user, stats, start.node_stats, node_stats), indices),
    )


def _refresh(client: ElasticsearchClient, names: Iterable[str]) -> None:
    """Make documents searchable, before which they do not count; nothing is measured any more.

    Not for a red index, which takes a minute to refuse.
    """
    for name in names:
        client.post(f"/{quote(name, safe='')}/_refresh", timeout=300)


def _shortened(index: IndexRecord, place: int) -> IndexRecord:
    """Return one of the user's indices, by its place among them, with as many settings as are kept one by one there."""
    return replace(
        index,
        explicit=index.explicit if place < _WITH_EXPLICIT else {},
        defaults=index.defaults if place < _WITH_DEFAULTS else {},
    )


def _failed_documents(client: ElasticsearchClient, failures: Mapping[str, str]) -> dict[str, int]:
    """Return data stream -> documents in its failure store; what may not be counted is left out."""
    found: dict[str, int] = {}
    for name, stream in failures.items():
        if (documents := count(client, name)) is not None:
            found[stream] = found.get(stream, 0) + documents
    return found


def _red(client: ElasticsearchClient) -> set[str]:
    """Return the indices that have a primary without a place."""
    health = _get(client, _HEALTH)
    return {name for name, it in (dig(health, "indices") or {}).items() if dig(it, "status") == "red"}


def _closed(client: ElasticsearchClient) -> set[str]:
    """Return the indices that are closed: nothing in them can be refreshed or counted."""
    states = dig(_get(client, _STATES), "metadata", "indices") or {}
    return {name for name, it in states.items() if dig(it, "state") == "close"}


def _get(client: ElasticsearchClient, path: str) -> Any:
    """GET `path`; a version that does not know hidden indices refuses expand_wildcards=all, and needs it not."""
    try:
        return client.get(path)
    except ElasticsearchError as error:
        if error.status != 400 or "expand_wildcards" not in error.answer:
            raise
        return client.get(re.sub(r"[?&]expand_wildcards=all", "", path))


def _allowed(client: ElasticsearchClient, path: str) -> Any:
    """GET `path`; None when the user may not: that alone ends no race."""
    try:
        return _get(client, path)
    except ElasticsearchError as error:
        if error.status not in (400, 401, 403, 404, 405):
            raise
        return None


def count(client: ElasticsearchClient, index: str) -> int | None:
    """Return the number of documents in one index, nested ones not counted; None when that is refused.

    Raises ElasticsearchError where it may be had later: without an answer, or with one of some shards only.
    """
    path = f"/{quote(index, safe='')}/_count"
    try:
        answer = client.get(path, timeout=120)
    except ElasticsearchError as error:
        if error.status is None or error.status == 429 or not 400 <= error.status < 500:
            raise
        return None
    if dig(answer, "_shards", "failed"):
        raise ElasticsearchError(f"GET {path}: shards of it did not count")
    return whole_number(dig(answer, "count"))


def read_indexing(stats: Any) -> int | None:
    """Return how long the cluster has indexed, from an answer to `_stats/indexing`, which is empty without indices."""
    primaries = dig(stats, "_all", "primaries")
    if primaries == {}:
        return 0
    return dig(primaries, "indexing", "index_time_in_millis")  # type: ignore[no-any-return]


def read_environment(root: Any, nodes: Any, stats: Any, members: Any) -> EnvironmentRecord:
    """Return the environment from the answers to `/`, `_nodes`, `_nodes/stats/os` and `_cluster/state/nodes`."""
    listed = dig(nodes, "nodes") or {}
    found = [_node(n, dig(stats, "nodes", key), dig(members, "nodes", key)) for key, n in listed.items()]
    first: Any = next(iter(listed.values()), None)
    return EnvironmentRecord(
        version=dig(root, "version", "number") or dig(first, "version"),
        build_hash=dig(root, "version", "build_hash") or dig(first, "build_hash"),
        build_flavor=dig(root, "version", "build_flavor") or dig(first, "build_flavor"),
        lucene_version=dig(root, "version", "lucene_version"),
        plugins=effective.plugins(nodes),
        plugin_versions=effective.plugin_versions(nodes),
        modules=effective.modules(nodes),
        nodes=tuple(sorted(found, key=lambda node: node.name)),
    )


def _node(node: Any, stats: Any, member: Any) -> Node:
    return Node(
        name=str(dig(node, "name") or ""),
        ephemeral_id=dig(member, "ephemeral_id"),
        version=dig(node, "version"),
        java_version=dig(node, "jvm", "version"),
        java_vendor=dig(node, "jvm", "vm_vendor"),
        jvm=" ".join(filter(None, (dig(node, "jvm", "vm_name"), dig(node, "jvm", "vm_version")))) or None,
        gc=tuple(dig(node, "jvm", "gc_collectors") or ()),
        heap_bytes=dig(node, "jvm", "mem", "heap_max_in_bytes"),
        jvm_arguments=tuple(without_secret(str(it)) for it in dig(node, "jvm", "input_arguments") or ()),
        processors=dig(node, "os", "allocated_processors"),
        memory_bytes=dig(stats, "os", "mem", "total_in_bytes"),
        memory_limit_bytes=_limit(dig(stats, "os", "cgroup", "memory", "limit_in_bytes")),
        machine_processors=dig(node, "os", "available_processors"),
        kernel=dig(node, "os", "version"),
        holds_data=_holds_data(dig(node, "roles")),
    )


def _holds_data(roles: Any) -> bool:
    """Return whether a new index can have copies on a node of these roles; a coordinating node has an empty list."""
    if not isinstance(roles, list):
        return True
    # The frozen tier takes parts of snapshots alone.
    return any(role == "data" or (str(role).startswith("data_") and role != "data_frozen") for role in roles)


def _limit(value: Any) -> int | None:
    # A text: "max" in version 2 of control groups, a number of pages as large as can be in version 1.
    return known_limit(whole_number(value))


def ephemeral_ids(members: Any) -> dict[str, str]:
    """Return node name -> ephemeral id from an answer to `_cluster/state/nodes`."""
    return {str(node.get("name")): str(node.get("ephemeral_id")) for node in (dig(members, "nodes") or {}).values()}


def restarted(earlier: Mapping[str, str], later: Mapping[str, str]) -> tuple[str, ...]:
    """Return the nodes of `earlier` that are gone or have started anew since."""
    return tuple(sorted(name for name, identity in earlier.items() if later.get(name) != identity))


def effective_codec(name: str, settings: Any, node_settings: Any) -> str | None:
    """Return the codec of an index: its own, else that of every node, else Elasticsearch's default.

    `_settings` does not show a codec that comes from elasticsearch.yml; only the nodes' settings do. None when the
    nodes differ.
    """
    own = dig(settings, name, "settings", CODEC)
    found = index_evidence.of_nodes(CODEC, node_settings, "default") if own is None else own
    return None if found is None else str(found)


def read_index(
    name: str,
    settings: Any,
    node_settings: Any,
    health: Any,
    stats: Any,
    documents: int | None,
    names: BehindNames = NOTHING_BEHIND,
) -> IndexRecord:
    """Return one index with the settings in effect, and the names that it stands behind."""
    own = dig(settings, name, "settings")
    return IndexRecord(
        name=name,
        data_stream=names.streams.get(name) or stream_of(name),
        shards=whole_number(dig(settings, name, "settings", SHARDS)),
        replicas=whole_number(dig(settings, name, "settings", REPLICAS)),
        codec=effective_codec(name, settings, node_settings),
        health=dig(health, "indices", name, "status"),
        documents=documents,
        primary_bytes=dig(stats, "indices", name, "primaries", "store", "size_in_bytes"),
        store_bytes=dig(stats, "indices", name, "total", "store", "size_in_bytes"),
        aliases=names.aliases.get(name, ()),
        default_pipeline=behind_names.pipeline_named(dig(own, "index.default_pipeline")),
        final_pipeline=behind_names.pipeline_named(dig(own, "index.final_pipeline")),
        indexed=whole_number(dig(stats, "indices", name, "primaries", "indexing", "index_total")),
    )


def read_totals(user: list[str], stats: Any, earlier: Any, later: Any) -> Totals:
    """Return sums over the user's indices, and garbage collection between two answers to `_nodes/stats/jvm`."""

    def total(*path: str) -> int | None:
        values = [dig(stats, "indices", name, *path) for name in user]
        known = [value for value in values if isinstance(value, int)]
        return sum(known) if known and len(known) == len(values) else None

    young, old = _gc(earlier, later, "young"), _gc(earlier, later, "old")
    return Totals(
        store_bytes=total("total", "store", "size_in_bytes"),
        dataset_bytes=total("total", "store", "total_data_set_size_in_bytes"),
        segments=total("primaries", "segments", "count"),
        young_gc_count=young[0],
        young_gc_millis=young[1],
        old_gc_count=old[0],
        old_gc_millis=old[1],
        merge_millis=total("primaries", "merges", "total_time_in_millis"),
        refresh_millis=total("primaries", "refresh", "total_time_in_millis"),
        flush_millis=total("primaries", "flush", "total_time_in_millis"),
        indexing_millis=total("primaries", "indexing", "index_time_in_millis"),
    )


def _gc(earlier: Any, later: Any, collector: str) -> tuple[int | None, int | None]:
    found: list[int] = []
    for key, node in (dig(later, "nodes") or {}).items():
        # A node that restarted has a new history; its difference would be wrong.
        if dig(earlier, "nodes", key) is None:
            return None, None
        for value in ("collection_count", "collection_time_in_millis"):
            path = ("jvm", "gc", "collectors", collector, value)
            start, end = dig(earlier, "nodes", key, *path), dig(node, *path)
            if not isinstance(start, int) or not isinstance(end, int) or end < start:
                return None, None
            found.append(end - start)
    return (sum(found[::2]), sum(found[1::2])) if found else (None, None)
