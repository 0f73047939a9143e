"""What the indexes keep of an object: what decisions read, and nothing that is large."""

import copy
from datetime import UTC, datetime
from typing import Any

import kopf
import pytest

from fairlap.api.small_metadata import LONGEST_VALUE
from fairlap.plan.lifetimes.expiry import expires_at
from fairlap.plan.lifetimes.rerun import OF, requested_value
from fairlap.plan.lifetimes.rerun_history import limited_history
from fairlap.runtime.objects.project import drop_comparison, drop_numbers, drop_record, drop_unread, project_child

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LABELS = {"fairlap.dev/uid": "u", "fairlap.dev/step": "race-1"}
OTHERS = {"kubernetes.io/service-name": "bm-race-1-es-http"}
OWNER = {"apiVersion": "v1", "kind": "Service", "name": "s", "uid": "2", "controller": True}
META = {"name": "x", "namespace": "ns", "uid": "1", "labels": LABELS, "ownerReferences": [OWNER]}
BODY = {
    "metadata": {
        **META,
        "labels": LABELS | OTHERS,
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
            {"ready": 2},
        ),
        ("elasticsearches", {"spec": {}, "status": {"phase": "Ready"}}, {"status": {"phase": "Ready"}}),
        (
            "jobs",
            {"spec": {}, "status": {"startTime": "2026-01-01T00:00:00Z", "active": 1}},
            {"spec": {"suspend": False}, "status": {"startTime": "2026-01-01T00:00:00Z"}},
        ),
    ],
)
def test_what_is_kept_of_a_child(plural: str, more: dict[str, Any], kept: dict[str, Any]) -> None:
    assert project_child(plural, {**BODY, **more}) == {"metadata": META, **kept}


def test_of_a_job_what_was_noted_of_the_page_cache_is_kept() -> None:
    noted = {"fairlap.dev/page-cache": "a sentence", "fairlap.dev/page-cache-outcome": "kept"}
    body: dict[str, Any] = {"metadata": {**BODY["metadata"], "annotations": {"a": "large", **noted}}, "spec": {}}
    assert project_child("jobs", body)["metadata"]["annotations"] == noted
    body["metadata"]["annotations"] = dict.fromkeys(noted, "x" * 260_000 + "\U0001f600")
    assert project_child("jobs", body)["metadata"]["annotations"] == dict.fromkeys(noted, "x" * LONGEST_VALUE)


def test_what_the_first_list_holds_of_a_benchmark_that_is_over() -> None:
    """kopf keeps these dicts until all kinds are listed; what decides when something goes must be the same after."""
    raw: dict[str, Any] = {
        "metadata": {
            "name": "bm-2", "namespace": "ns", "uid": "u", "managedFields": ["large"], "labels": {OF: "bm"},
            "annotations": {
                "fairlap.dev/rerun": "1", "kubectl.kubernetes.io/last-applied-configuration": "large", "mine": "large",
            },
        },
        "spec": {"race": {"large": 1}, "ttlAfterFinished": {"failed": "1h"}, "keepClusterFor": "2h",
                 "rerunHistoryLimit": 3},
        "status": {
            "phase": "Failed", "completionTime": "2026-01-01T00:00:00Z", "results": {"large": 1}, "races": ["large"],
            "conditions": [{"type": "ClusterKept", "status": "True"}, {"type": "Failed", "message": "large"}],
        },
    }  # fmt: skip
    body = kopf.Body(raw)  # type: ignore[arg-type]
    before = expires_at(body, NOW), requested_value(body), limited_history(body)
    drop_numbers(body)
    assert "large" not in str(raw) and (expires_at(body, NOW), requested_value(body), limited_history(body)) == before
    assert before[2] == 3
    assert before[0] == datetime(2026, 1, 1, 2, tzinfo=UTC)
    racing = {"metadata": {}, "spec": {"race": {}}, "status": {"phase": "Racing", "races": []}}
    drop_numbers(racing)
    assert racing == {"metadata": {}, "spec": {"race": {}}, "status": {"phase": "Racing", "races": []}}


def test_of_a_benchmark_that_is_over_only_its_phase_is_kept() -> None:
    benchmark = {"metadata": {"uid": "u", "managedFields": []}, "spec": {}, "status": {"phase": "Failed", "races": []}}
    drop_record(benchmark)
    assert benchmark == {"metadata": {"uid": "u"}, "status": {"phase": "Failed"}}


@pytest.mark.parametrize(
    ("plural", "more"),
    [
        ("configmaps", {"data": {"progress": "{}", "other": "large"}, "binaryData": {"x": "large"}}),
        ("jobs", {"spec": {"suspend": True, "template": {"large": 1}}, "status": {"active": 1}}),
        ("pods", {"spec": {"nodeName": "n"}, "status": {"phase": "Running", "containerStatuses": [{"ready": True}]}}),
        ("endpointslices", {"endpoints": [{"addresses": ["1", "2"]}]}),
        ("elasticsearches", {"spec": {"nodeSets": []}, "status": {"phase": "Ready", "health": "green"}}),
    ],
)
def test_of_a_child_kopf_holds_no_more_than_whose_it_is(plural: str, more: dict[str, Any]) -> None:
    """What the index keeps is whole all the same, and whose it is can be told as before."""
    raw: dict[str, Any] = {"metadata": copy.deepcopy(BODY["metadata"]), **copy.deepcopy(more)}
    before = project_child(plural, kopf.Body(copy.deepcopy(raw)))
    kept = project_child(plural, kopf.Body(raw))
    drop_unread(kopf.Body(raw))
    assert kept == before
    assert raw == {"metadata": META, **{part: type(held)() for part, held in more.items()}}
    assert project_child(plural, kopf.Body(raw))["metadata"] == before["metadata"]


def test_of_an_active_benchmark_only_what_nobody_reads_of_its_metadata_goes() -> None:
    meta = {**META, "managedFields": ["large"], "labels": LABELS | OTHERS, "annotations": {"mine": "large"}}
    benchmark = {"metadata": meta, "spec": {"a": 1}, "status": {"phase": "Racing"}}
    drop_numbers(kopf.Body(benchmark))
    assert benchmark == {"metadata": META, "spec": {"a": 1}, "status": {"phase": "Racing"}}


def test_a_comparison_has_nothing_large_whether_it_is_over_or_not() -> None:
    meta = {**META, "managedFields": ["large"], "labels": LABELS | OTHERS, "annotations": {"mine": "large"}}
    racing = {"metadata": dict(meta), "spec": {"a": 1}, "status": {"phase": "Racing"}}
    drop_comparison(kopf.Body(racing))
    assert racing == {"metadata": META, "spec": {"a": 1}, "status": {"phase": "Racing"}}
    kept = {"phase": "Complete", "verdict": "Mixed", "observedGeneration": 2}
    over = {"metadata": dict(meta), "spec": {"a": 1}, "status": {**kept, "blocks": []}}
    drop_comparison(kopf.Body(over))
    assert over == {"metadata": META, "spec": {}, "status": kept}
