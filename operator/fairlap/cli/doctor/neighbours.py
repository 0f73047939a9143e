"""Which pods on the nodes of a cluster are no part of a race, and how many processors each asks for; pure.

Others write these objects: what has not the shape it should have asks for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fairlap.api.kinds import ELASTICSEARCH
from fairlap.api.names import UID_LABEL
from fairlap.api.quantity import parse_quantity
from fairlap.api.raw import as_list, as_mapping

Body = Mapping[str, Any]
_CLUSTER_LABEL = f"{ELASTICSEARCH.group}/cluster-name"
"""that ECK gives the pods of a cluster; its services are named CLUSTER-es-http, CLUSTER-es-NODESET …"""
_OF_A_CLUSTER = "-es-"
_HOST = re.compile(r"(?:https?://)?([A-Za-z0-9][-A-Za-z0-9._]*)(?::[0-9]+)?")


class TargetHost(NamedTuple):
    """An address at which Benchmarks find a cluster that was there before."""

    service: str
    """the first part of its name; "" where it is no name"""
    within: tuple[str, ...]
    """the other parts, the namespace among them"""


def target_hosts(benchmarks: Sequence[Body]) -> frozenset[TargetHost]:
    """Return the addresses that the Benchmarks' targets have."""
    return frozenset(host for benchmark in benchmarks for host in _hosts(benchmark))


def _hosts(benchmark: Body) -> Iterator[TargetHost]:
    namespace = str(as_mapping(benchmark.get("metadata")).get("namespace") or "")
    for host in as_list(as_mapping(as_mapping(benchmark.get("spec")).get("target")).get("hosts")):
        found = _HOST.fullmatch(str(host))
        first, *rest = found[1].lower().split(".") if found else ("",)
        # A name without dots is that of a Service beside the race.
        yield TargetHost(first, tuple(rest) or (namespace,))


def neighbours_of(
    pods: Sequence[Body], targets: Collection[TargetHost] = ()
) -> dict[str, tuple[tuple[str, float], ...]]:
    """Return for each node the pods of others and how many processors each asks for, the largest first.

    Pods of races are none of these, nor are those of clusters of ECK that `targets` name. Where a target's address
    names no cluster, the pods of every cluster may be it, which their names say.
    """
    unnamed = any(_OF_A_CLUSTER not in target.service for target in targets)
    found: dict[str, list[tuple[str, float]]] = {}
    for pod in pods:
        meta, spec = as_mapping(pod.get("metadata")), as_mapping(pod.get("spec"))
        labels, namespace = as_mapping(meta.get("labels")), str(meta.get("namespace"))
        cluster = str(labels.get(_CLUSTER_LABEL) or "")
        over = as_mapping(pod.get("status")).get("phase") in ("Succeeded", "Failed")
        if over or UID_LABEL in labels or not spec.get("nodeName") or _is_target(cluster, namespace, targets):
            continue
        maybe = " (may be the target)" if cluster and unnamed else ""
        name = f"{namespace}/{meta.get('name')}{maybe}"
        found.setdefault(str(spec["nodeName"]), []).append((name, cores_asked_by(spec)))
    return {node: tuple(sorted(there, key=lambda pod: (-pod[1], pod[0]))) for node, there in found.items()}


def _is_target(cluster: str, namespace: str, targets: Collection[TargetHost]) -> bool:
    begins = f"{cluster}{_OF_A_CLUSTER}"
    return bool(cluster) and any(it.service.startswith(begins) and namespace in it.within for it in targets)


def cores_asked_by(spec: Body) -> float:
    """Return how many processors a pod asks for, as Kubernetes' scheduler counts them.

    That is what its containers and sidecars need together, or an init container and the sidecars before it if that is
    more; or what is written for the pod as a whole; and the overhead (`PodRequests` in k8s.io/component-helpers).
    """
    sidecars = most = 0.0
    for each in map(as_mapping, as_list(spec.get("initContainers"))):
        cores = _requested(each) or 0.0
        is_sidecar = each.get("restartPolicy") == "Always"
        most = max(most, sidecars + cores)
        sidecars += cores if is_sidecar else 0.0
    own = sum(_requested(as_mapping(each)) or 0.0 for each in as_list(spec.get("containers")))
    whole = _requested(spec)
    asked = max(own + sidecars, most) if whole is None else whole
    return asked + (cores_of(as_mapping(spec.get("overhead")).get("cpu")) or 0.0)


def _requested(part: Body) -> float | None:
    return cores_of(as_mapping(as_mapping(part.get("resources")).get("requests")).get("cpu"))


def cores_of(quantity: Any) -> float | None:
    """Return the number that a quantity of processors stands for; None where it is none."""
    try:
        return parse_quantity(str(quantity)) if quantity is not None else None
    except ValueError:
        return None
