"""What really ran, from the record of a race and the pods of its step."""

import importlib.metadata
import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from fairlap.api.base import Json
from fairlap.api.names import RACE_CONTAINER
from fairlap.api.status import MOST_HTTP_HOSTS, MOST_INDICES, Environment, IndexEvidence
from fairlap.results import lucene_codec, shards
from fairlap.results.remarks import first_that_fit
from fairlap_race.contract.index_settings import CODEC, REPLICAS, SHARDS
from fairlap_race.contract.recorded.http_record import HttpHost
from fairlap_race.contract.recorded.record import IndexRecord, Record, Shard

_TYPED = (SHARDS, REPLICAS, CODEC)


def environment(record: Record, elasticsearch_pods: Sequence[Json], load_generators: Sequence[Json]) -> Environment:
    """Return the evidence of one race; parts that could not be had stay empty."""
    found, node = record.environment, next(iter(record.environment.nodes), None)
    copies = shards.by_index(record)
    return Environment(
        version=found.version or "",
        build_hash=found.build_hash or "",
        lucene_version=found.lucene_version or "",
        java=", ".join(sorted({f"{n.java_version} ({n.java_vendor})" for n in found.nodes if n.java_version})),
        jvm=sorted({n.jvm for n in found.nodes if n.jvm})[:10],
        jvm_flags=first_that_fit(
            (flag for flag in (node.jvm_arguments if node else ()) if flag.startswith("-X")), 20_000
        ),
        heap_bytes=node.heap_bytes if node else None,
        gc=list(node.gc) if node else [],
        nodes=len(found.nodes),
        plugins=first_that_fit(found.plugins or (), 5_000)[:50],
        images=_images(elasticsearch_pods, "elasticsearch"),
        qos_class=", ".join(sorted({pod["status"].get("qosClass") or "" for pod in elasticsearch_pods} - {""})),
        rally_version=record.rally.version or "",
        rally_image=", ".join(_images(load_generators, RACE_CONTAINER)),
        operator=_own_version(),
        k6_version=(record.http.k6_version if record.http else None) or "",
        http_hosts=first_that_fit(map(_host, record.http.hosts if record.http else ()), 20_000)[:MOST_HTTP_HOSTS],
        rally_poll_intervals={name[:100]: wait for name, wait in record.rally.poll_intervals.items()},
        track_digest=record.track.digest or "",
        track_repository=record.track.repository or "",
        track_revision=record.track.revision or "",
        corpora=first_that_fit((it.line for it in record.track.corpora[:100]), 50_000),
        track_params=json.dumps(dict(record.track.params), sort_keys=True) if record.track.params else "",
        indices=first_that_fit(
            (_index(it, record, copies.get(it.name, ())) for it in (record.indices or ())[:MOST_INDICES]), 150_000
        ),
        node_data=first_that_fit(shards.node_data(record, most=50), 30_000),
    )


def _host(of: HttpHost) -> str:
    return f"{of.host} ({of.server})" if of.server else of.host


def _index(index: IndexRecord, record: Record, copies: Sequence[Shard]) -> IndexEvidence:
    return IndexEvidence(
        name=index.name,
        shards=index.shards,
        replicas=index.replicas,
        codec=index.codec or "",
        algorithm=lucene_codec.algorithm(index.codec, record.environment.version),
        settings={name: _shown(value) for name, value in index.settings.items() if name not in _TYPED},
        health=index.health or "",
        placement=shards.placement_words(copies, index.name),
        copies_per_node=shards.copies_per_node(copies),
        documents=index.documents,
        primary_bytes=index.primary_bytes,
        store_bytes=index.store_bytes,
    )


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _images(pods: Iterable[Json], container: str) -> list[str]:
    return sorted(
        {
            f"{status.get('image', '')} {status['imageID']}".strip()
            for pod in pods
            for status in pod.get("status", {}).get("containerStatuses", ())
            if status.get("name") == container and status.get("imageID")
        }
    )


@cache
def _own_version() -> str:
    """Return the operator's version; "" where it runs from a checkout that nobody installed."""
    try:
        return importlib.metadata.version("fairlap")
    except importlib.metadata.PackageNotFoundError:
        return ""
