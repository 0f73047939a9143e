"""What the indexes keep of an object: what decisions read, and nothing that is large."""

from typing import Any

import pytest

from fairlap.runtime.project import drop_record, project_child

LABELS = {"fairlap.dev/uid": "u", "fairlap.dev/step": "race-1", "kubernetes.io/service-name": "bm-race-1-es-http"}
OWNER = {"apiVersion": "v1", "kind": "Service", "name": "s", "uid": "2", "controller": True}
META = {"name": "x", "namespace": "ns", "uid": "1", "labels": LABELS, "ownerReferences": [OWNER]}
BODY = {
    "metadata": {
        **META,
        "ownerReferences": [{"uid": "3"}, OWNER],
        "managedFields": ["large"],
        "annotations": {"a": "large"},
    }
}


@pytest.mark.parametrize(
    ("plural", "more", "kept"),
    [
        ("configmaps", {"data": {"progress": "{}", "record": "large"}}, {"progress": "{}"}),
        ("jobs", {"spec": {"suspend": True, "template": {}}}, {"spec": {"suspend": True}, "status": {}}),
        (
            "pods",
            {"spec": {"nodeName": "n", "containers": []}, "status": {"phase": "Running", "podIPs": []}},
            {"spec": {"nodeName": "n"}, "status": {"phase": "Running"}},
        ),
        (
            "endpointslices",
            {"endpoints": [{"addresses": ["1", "2"]}, {"addresses": ["3"], "conditions": {"ready": False}}]},
            {"ready": 2, "service": "bm-race-1-es-http"},
        ),
        ("elasticsearches", {"spec": {}, "status": {"phase": "Ready"}}, {"status": {"phase": "Ready"}}),
    ],
)
def test_what_is_kept_of_a_child(plural: str, more: dict[str, Any], kept: dict[str, Any]) -> None:
    assert project_child(plural, {**BODY, **more}) == {"metadata": META, **kept}


def test_of_a_benchmark_that_is_over_only_its_phase_is_kept() -> None:
    benchmark = {"metadata": {"uid": "u", "managedFields": []}, "spec": {}, "status": {"phase": "Failed", "races": []}}
    drop_record(benchmark)
    assert benchmark == {"metadata": {"uid": "u"}, "status": {"phase": "Failed"}}
