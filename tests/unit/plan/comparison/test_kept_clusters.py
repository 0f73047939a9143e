"""Clusters that a Comparison keeps: what is known of a race on one, and how long it stays."""

from typing import Any

import pytest
from comparison_world import FIXED_2, Film, comparison, record_of

from fairlap.plan.comparison.kept_clusters import (
    built_once,
    changed_meanwhile,
    facts_on_kept_cluster,
    still_needs_cluster,
)

BLOCKS = [
    {"number": 0, "valid": False, "races": [{"benchmark": "cmp-0a"}, {"benchmark": "cmp-0b"}]},
    {"number": 0, "valid": True, "races": [{"benchmark": "cmp-0a-2"}]},
    {"number": 1, "valid": False, "races": [{"benchmark": "cmp-1a"}]},
]


@pytest.mark.parametrize(
    ("status", "benchmark", "needed"),
    [
        (None, "cmp-0a", True),
        ({"phase": "Preparing"}, "cmp-0a", True),
        ({"phase": "Racing", "blocks": BLOCKS}, "cmp-0a", False),
        ({"phase": "Racing", "blocks": BLOCKS}, "cmp-0a-2", True),
        ({"phase": "Complete", "blocks": BLOCKS}, "cmp-0a-2", False),
        ({"phase": "Failed"}, "cmp-0a", False),
    ],
)
def test_a_cluster_stays_as_long_as_it_is_raced_on(status: Any, benchmark: str, needed: bool) -> None:
    assert still_needs_cluster({"status": status}, benchmark) is needed


def test_how_a_race_on_a_kept_cluster_ran_is_how_that_was_built_and_what_the_race_saw() -> None:
    built = {
        "spec.elasticsearch.version": "9.0.0",
        "ran: image": "x",
        "ran: task search: hits": "5",
        "ran: kernel": "6",
    }
    raced = {"spec.target.hosts[0]": "https://a", "ran: target clusterName": "a", "ran: task search: hits": "7"}
    assert facts_on_kept_cluster(built, raced) == {**built, "ran: task search: hits": "7"}


@pytest.mark.parametrize(
    ("built", "raced", "changed"),
    [
        (["a", "b"], ["b", "a"], False),
        (["a"], ["b"], True),
        (["a", "b"], ["a"], True),
        (["a"], [None], False),
        ([None], ["a"], False),
    ],
)
def test_a_node_that_was_started_again_is_seen(built: list[Any], raced: list[Any], changed: bool) -> None:
    assert bool(changed_meanwhile(built, raced)) is changed


def test_no_cluster_is_kept_longer_than_a_benchmark_may() -> None:
    assert built_once({"race": {}})["keepClusterFor"] == "720h"


@pytest.mark.parametrize(
    ("resources", "becomes"),
    [
        ({"limits": {"memory": "2Gi"}}, {"requests": {"cpu": "100m"}, "limits": {"memory": "2Gi"}}),
        ({"limits": {"cpu": "2", "memory": "2Gi"}}, {"limits": {"cpu": "2", "memory": "2Gi"}}),
        ({"requests": {"cpu": "1"}}, {"requests": {"cpu": "1"}}),
    ],
)
def test_clusters_share_processors_unless_a_cpu_is_named(resources: dict[str, Any], becomes: dict[str, Any]) -> None:
    spec = {"elasticsearch": {"version": "9.0.0", "resources": resources}, "race": {}}
    assert built_once(spec)["elasticsearch"] == {"version": "9.0.0", "resources": becomes}
    assert spec["elasticsearch"]["resources"] == resources, "the variant's own spec stays"


def test_a_race_that_failed_since_its_clusters_builder_was_deleted_is_nobodys_loss() -> None:
    film = Film(comparison(design={**FIXED_2, "state": "Kept", "tasks": ["search"]})).until("Running", 1)
    film.finish("Failed", reason="ClusterUnreachable")
    film.step()
    assert film.status.block and film.status.block.stage == "Recording"
    film.records[1] = record_of(film.status, **{film.status.block.races[0].variant: "ClusterRestarted"})
    film.step()
    first = next(block for block in film.status.blocks if block.number == 1)
    assert (first.valid, first.reason, first.races[0].reason) == (False, "ClusterRestarted", "ClusterRestarted")
    assert not film.status.findings
