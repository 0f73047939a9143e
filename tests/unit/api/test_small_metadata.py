"""Whoever may create an object may write a megabyte into its metadata: what is held of that is small."""

import json
from typing import Any

import pytest

from fairlap.api.small_metadata import shrink_metadata

LARGE = 200_000
OWNER = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Benchmark", "name": "bm", "uid": "u", "controller": True}
OURS = {"app.kubernetes.io/managed-by": "fairlap", "fairlap.dev/uid": "u", "fairlap.dev/rerun-of": "bm"}


@pytest.mark.parametrize(
    "large",
    [
        {"labels": {f"fairlap.dev/l{number}": "x" * 63 for number in range(LARGE // 80)}},
        {"annotations": {"fairlap.dev/other": "x" * LARGE, "read": "x" * LARGE}},
        {"finalizers": [f"example.com/f{number}" for number in range(LARGE // 20)]},
        {"ownerReferences": [{**OWNER, "controller": False, "uid": str(number)} for number in range(LARGE // 100)]},
        {"ownerReferences": [{**OWNER, "uid": "u" * LARGE, "name": "n" * LARGE, "kind": "k" * LARGE}]},
        {"managedFields": ["x" * LARGE]},
    ],
    ids=lambda large: next(iter(large)),
)
def test_of_a_megabyte_little_is_held(large: dict[str, Any]) -> None:
    meta = {"name": "x", "namespace": "ns", "uid": "1", "labels": OURS, **large}
    shrink_metadata(meta, ("read",))
    assert len(json.dumps(meta)) < 5000
    assert {key: meta[key] for key in ("name", "namespace", "uid")} == {"name": "x", "namespace": "ns", "uid": "1"}


def test_what_is_read_stays() -> None:
    other = {"apiVersion": "v1", "kind": "Service", "name": "s", "uid": "2"}
    meta = {
        "labels": {**OURS, "a": "b"}, "annotations": {"read": "1", "other": "2"}, "finalizers": ["a", "b"],
        "ownerReferences": [other, {**OWNER, "blockOwnerDeletion": True}], "resourceVersion": "7",
    }  # fmt: skip
    shrink_metadata(meta, ("read",))
    assert meta == {
        "labels": OURS, "annotations": {"read": "1"}, "finalizers": ["a", "b"], "ownerReferences": [OWNER],
        "resourceVersion": "7",
    }  # fmt: skip
    ownerless: dict[str, Any] = {"ownerReferences": [other], "labels": None, "annotations": {"other": "2"}}
    shrink_metadata(ownerless)
    assert ownerless == {"ownerReferences": [other]}, "somebody owns it"


def test_of_many_finalizers_those_that_count_stay_and_ours_is_not_shown_among_a_part() -> None:
    """kopf writes the whole list without ours: from a part of it the others would be gone."""
    many = [f"example.com/f{number}" for number in range(100)]
    meta: dict[str, Any] = {"finalizers": [*many, "foregroundDeletion", "fairlap.dev/operator"]}
    shrink_metadata(meta)
    assert "foregroundDeletion" in meta["finalizers"] and "fairlap.dev/operator" not in meta["finalizers"]
    few = {"finalizers": ["fairlap.dev/operator", "example.com/f"]}
    shrink_metadata(few)
    assert few == {"finalizers": ["fairlap.dev/operator", "example.com/f"]}


def test_annotations_that_begin_alike_stay_two() -> None:
    def held(text: str) -> str:
        meta: dict[str, Any] = {"annotations": {"read": text}}
        shrink_metadata(meta, ("read",))
        return str(meta["annotations"]["read"])

    assert held("x" * LARGE + "1") != held("x" * LARGE + "2") and held("x" * 200) == "x" * 200
