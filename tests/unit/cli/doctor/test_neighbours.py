"""Which pods on a node are no part of a race, and what they ask for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.cli.doctor.neighbours import cores_asked_by, neighbours_of, target_hosts

Json = dict[str, Any]
CLUSTER = "elasticsearch.k8s.elastic.co/cluster-name"


def asking(cpu: str | None, **more: Any) -> Json:
    return {"resources": {"requests": {"cpu": cpu}} if cpu else {}, **more}


def pod(name: str, cpu: str | None, phase: str = "Running", namespace: str = "a", **labels: str) -> Json:
    return {
        "metadata": {"namespace": namespace, "name": name, "labels": labels},
        "spec": {"nodeName": "n1", "containers": [asking(cpu), {}]},
        "status": {"phase": phase},
    }


def test_pods_of_races_and_pods_that_are_over_are_no_neighbours() -> None:
    pods = [
        pod("small", "100m"), pod("web", "2"), pod("free", None), pod("done", "9", "Succeeded"),
        pod("race", "1", **{"fairlap.dev/uid": "u"}), {"spec": {}},
    ]  # fmt: skip
    assert neighbours_of(pods) == {"n1": (("a/web", 2.0), ("a/small", 0.1), ("a/free", 0.0))}


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "cores"),
    [
        ({"containers": [asking("1"), asking("500m")]}, 1.5),
        ({"containers": [asking("1")], "initContainers": [asking("3"), asking("2")]}, 3.0),
        ({"containers": [asking("1")], "initContainers": [asking("500m")]}, 1.0),
        ({"containers": [asking("1")], "initContainers": [asking("2", **SIDECAR)]}, 3.0),
        ({"containers": [asking("1")], "initContainers": [asking("2", **SIDECAR), asking("4")]}, 6.0),
        ({"containers": [asking("1")], "initContainers": [asking("4"), asking("2", **SIDECAR)]}, 4.0),
        ({"containers": [asking("1")], "initContainers": [asking("1", **SIDECAR), asking("1", **SIDECAR)]}, 3.0),
        ({"containers": [asking("1"), {}], **asking("4")}, 4.0),
        ({"containers": [asking("1")], "resources": {"requests": {"memory": "1Gi"}}}, 1.0),
        ({"containers": [asking("1")], "overhead": {"cpu": "250m", "memory": "120Mi"}}, 1.25),
        ({"containers": [asking("1")], **asking("2"), "overhead": {"cpu": "250m"}}, 2.25),
        ({"containers": [asking("many")], "initContainers": 7, "resources": [], "overhead": "1"}, 0.0),
        ({}, 0.0),
    ],
)
def test_a_pod_asks_for_what_the_scheduler_counts(spec: Json, cores: float) -> None:
    assert cores_asked_by(spec) == pytest.approx(cores)


def benchmark(*hosts: Any, namespace: str = "bench") -> Json:
    return {"metadata": {"namespace": namespace, "name": "b"}, "spec": {"target": {"hosts": list(hosts)}}}


@pytest.mark.parametrize(
    ("host", "namespace", "names"),
    [
        ("https://logs-es-http.search.svc:9200", "bench", []),
        ("https://LOGS-es-http.search.svc.cluster.local:9200", "bench", []),
        ("logs-es-default.search:9200", "bench", []),
        ("https://logs-es-default-0.logs-es-default.search.svc:9200", "bench", []),
        ("https://logs-es-http:9200", "search", []),
        ("https://logs-es-http:9200", "bench", ["search/logs-es-0"]),
        ("https://logs-es-http.other.svc:9200", "bench", ["search/logs-es-0"]),
        ("https://my-logs-es-http.search.svc:9200", "bench", ["search/logs-es-0"]),
        ("https://logs.example.com:443", "bench", ["search/logs-es-0 (may be the target)"]),
        ("http://10.0.0.7:9200", "bench", ["search/logs-es-0 (may be the target)"]),
        ("http://[fd00::1]:9200", "bench", ["search/logs-es-0 (may be the target)"]),
    ],
)
def test_the_cluster_of_a_target_is_none_of_others(host: str, namespace: str, names: list[str]) -> None:
    pods = [pod("logs-es-0", "2", namespace="search", **{CLUSTER: "logs"}), pod("web", "1", namespace="search")]
    found = neighbours_of(pods, target_hosts([benchmark(host, namespace=namespace)]))
    assert [name for name, _ in found["n1"]] == [*names, "search/web"]


def test_without_a_target_each_cluster_is_somebody_else_s() -> None:
    found = neighbours_of([pod("logs-es-0", "2", **{CLUSTER: "logs"})], target_hosts([{"spec": {}}]))
    assert found == {"n1": (("a/logs-es-0", 2.0),)}


KEYS = ["metadata", "spec", "status", "containers", "initContainers", "resources", "requests", "overhead", "target"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*KEYS, "hosts", "nodeName", "labels", "cpu"]), inner, max_size=4)
        ),
    ).filter(lambda value: isinstance(value, dict))
)
def test_an_object_of_any_shape_is_read(thing: Any) -> None:
    assert cores_asked_by(thing) >= 0
    neighbours_of([thing], target_hosts([thing]))
