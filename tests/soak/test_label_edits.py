"""Somebody edits labels and owners of a Benchmark's children in the middle of the race: it ends, and others race on."""

import itertools
from collections.abc import Callable
from typing import Any

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


def test_the_race_ends_whatever_is_edited(stage: Stage, namespace: str, install: Callable[..., Operator]) -> None:
    cases = {f"{edit}-{number}": (plural, EDITS[edit]) for edit in EDITS for number, plural in enumerate(CHILDREN)}
    operator = install(namespace, maxActive=len(cases))
    operator.wait_ready()
    stage.behave(namespace, run=(20.0, 25.0))
    short = {"provisioning": "60s", "race": "90s"}
    stage.apply(*(benchmark(namespace, name, smokeTest=False, timeouts=short) for name in cases))
    for name in cases:
        stage.reaches(namespace, name, "Racing", seconds=120)
    edited = [edit(stage, namespace, name, *case) for name, case in cases.items()]
    assert len(list(itertools.chain(*edited))) >= len(cases) - 2, "most of it was there to be edited"
    ends = {name: stage.ends(namespace, name, seconds=240) for name in cases}
    told = {name: (cases[name][0], status.get("reason"), status.get("message")) for name, status in ends.items()}
    print(*told.items(), sep="\n")
    assert not [name for name, (_, reason, _) in told.items() if reason == "InternalError"], told
    # Whose labels were taken off counts as nobody's: only there may something be left, for its owner to collect.
    for name in cases:
        stage.delete("benchmarks", namespace, name)
    stage.behave(namespace, "after")
    stage.apply(benchmark(namespace, "after", smokeTest=False))
    assert stage.ends(namespace, "after", seconds=60)["phase"] == "Succeeded"
    stage.delete("benchmarks", namespace, "after")
    for plural, name in itertools.chain(*edited):
        stage.delete(plural, namespace, name)
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
