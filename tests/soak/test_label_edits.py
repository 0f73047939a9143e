"""Somebody edits labels and owners of a Benchmark's children in the middle of the race: it ends, and others race on."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.api.every_spec import loud
from tests.api.manifests import benchmark
from tests.api.operator_process import Operator
from tests.api.stage import Stage

Json = dict[str, Any]
CHILDREN = ("jobs", "pods", "configmaps", "elasticsearches", "serviceaccounts", "roles", "rolebindings")
OURS = ("fairlap.dev/uid", "fairlap.dev/step", "fairlap.dev/benchmark", "app.kubernetes.io/managed-by")
STRANGER = "00000000-0000-0000-0000-000000000000"
EDITS: dict[str, Json] = {
    "unlabelled": {"labels": dict.fromkeys(OURS)},
    "another-uid": {"labels": {"fairlap.dev/uid": STRANGER}},
    "another-step": {"labels": {"fairlap.dev/step": "race-7"}},
    "ownerless": {"ownerReferences": None},
}


@pytest.mark.parametrize("how", sorted(EDITS))
def test_the_race_ends_whatever_is_edited(
    stage: Stage, namespace: str, install: Callable[..., Operator], how: str
) -> None:
    names = {f"of-{plural}": plural for plural in CHILDREN}
    operator = install(namespace, maxActive=len(names))
    operator.wait_ready()
    stage.behave(namespace, run=(20.0, 25.0))
    short = {"provisioning": "60s", "race": "90s"}
    stage.apply(*(benchmark(namespace, name, smokeTest=False, timeouts=short) for name in names))
    edited: list[tuple[str, str]] = []
    for name, plural in names.items():
        stage.reaches(namespace, name, "Racing", "Succeeded", "Failed", seconds=120)
        found = edit(stage, namespace, name, plural, EDITS[how])
        assert found, f"{plural} were there to be edited"
        edited += found
    ends = {name: stage.ends(namespace, name, seconds=240) for name in names}
    told = {name: (status["phase"], status.get("reason"), status.get("message")) for name, status in ends.items()}
    print(how, *told.items(), sep="\n")
    assert not [name for name, (_, reason, _) in told.items() if reason == "InternalError"], told
    for name in names:
        stage.delete("benchmarks", namespace, name)
    stage.behave(namespace, "after")
    stage.apply(benchmark(namespace, "after", smokeTest=False))
    assert stage.ends(namespace, "after", seconds=60)["phase"] == "Succeeded"
    stage.delete("benchmarks", namespace, "after")
    # What carries no label or owner of ours any more is nobody's: it may be left, for whoever took them off.
    for plural, child in edited:
        stage.delete(plural, namespace, child)
    stage.is_clean(namespace, 120)
    assert not loud(operator.log)


def edit(stage: Stage, namespace: str, name: str, plural: str, change: Json) -> list[tuple[str, str]]:
    """Edit a Benchmark's children of a kind and return which."""
    prefix = f"{name}-race-1"
    found = [thing["metadata"]["name"] for thing in stage.all(plural, namespace)]
    mine = [child for child in found if child.startswith(prefix)]
    for child in mine:
        stage.patch(plural, namespace, child, {"metadata": change})
    return [(plural, child) for child in mine]
