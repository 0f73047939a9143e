"""What a cluster lacks until it may be raced against, and which of that is its own health."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import cluster, pod

from fairlap.plan.basis.seen import Children
from fairlap.plan.explain import readiness
from fairlap.plan.explain.readiness import Lacking, explain_overdue, find_lacking
from fairlap_race.contract.reasons import Reason


def children(health: str = "green", phase: str = "Ready", ready: bool = True, endpoints: int = 1) -> Children:
    return Children(
        elasticsearch=cluster(phase=phase, health=health), pods=[pod("es-0", ready=ready)], ready_endpoints=endpoints
    )


@pytest.mark.parametrize(
    ("there", "phrase", "reason"),
    [
        (children(health="red"), "health is red", Reason.CLUSTER_NOT_GREEN),
        (children(health="unknown"), "health is unknown", Reason.CLUSTER_NOT_GREEN),
        (children(health="red", ready=False), "0/1 nodes ready", Reason.PROVISIONING_TIMEOUT),
        (children(phase="Unhealthy"), "ECK says Unhealthy", Reason.PROVISIONING_TIMEOUT),
        (children(phase="health"), "ECK says health", Reason.PROVISIONING_TIMEOUT),
        (children(endpoints=0), "0/1 http endpoints ready", Reason.PROVISIONING_TIMEOUT),
        (Children(), "the cluster is being requested", Reason.PROVISIONING_TIMEOUT),
    ],
)
def test_only_the_health_that_eck_tells_makes_a_late_cluster_one_that_is_not_green(
    there: Children, phrase: str, reason: Reason
) -> None:
    found, told = explain_overdue(there, 1)
    assert found is reason and told == f"the cluster was not ready in time: {phrase}"


def test_a_ready_cluster_lacks_nothing() -> None:
    assert find_lacking(children(), 1) is None


@given(st.booleans())
def test_the_reason_follows_from_the_fact_and_not_from_the_phrase(health: bool) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(readiness, "find_lacking", lambda *_: Lacking("" if health else "health", health))
        reason, _ = explain_overdue(children(), 1)
    assert (reason is Reason.CLUSTER_NOT_GREEN) is health


@given(st.sampled_from(["green", "yellow", "red", "unknown"]), st.booleans(), st.integers(0, 1))
def test_of_health_is_spoken_only_where_all_nodes_are_ready(health: str, ready: bool, endpoints: int) -> None:
    found = find_lacking(children(health=health, ready=ready, endpoints=endpoints), 1)
    assert not (found and found.health) or ready
