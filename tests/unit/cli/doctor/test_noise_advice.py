"""What the advice says of many nodes, and of those of which little is known."""

import pytest

from fairlap.api.names import NODE_OF_THE_LOAD
from fairlap.cli.doctor.noise_advice import Advice, advise
from fairlap.cli.doctor.noise_facts import Facts, Kubelet, KubernetesNode, MachineSeen


def nodes(number: int) -> tuple[KubernetesNode, ...]:
    return tuple(KubernetesNode(f"n{it}", 8, True, Kubelet("none", "none"), (("a/b", 2.0),)) for it in range(number))


def about(facts: Facts, what: str) -> list[Advice]:
    return [it for it in advise(facts) if it.about == what]


@pytest.mark.parametrize(("number", "more"), [(3, ""), (4, "so it is on 1 more"), (12, "so it is on 9 more")])
def test_nodes_with_neighbours_that_are_not_named_are_counted(number: int, more: str) -> None:
    found = about(Facts(nodes=nodes(number)), "neighbours")
    assert len(found) == 3
    assert [it.found for it in found if "so it is on" in it.found] == ([found[-1].found] if more else [])
    assert more in found[-1].found


def test_topology_advice_reaches_as_far_as_nodes_whose_numa_nodes_are_known() -> None:
    seen = (MachineSeen("n1", "elasticsearch", numa_nodes=2), MachineSeen("n2", "elasticsearch", numa_nodes=1))
    (found,) = about(Facts(nodes=nodes(12), machines=seen), "topologyManager")
    assert found.worth == pytest.approx(20)


def test_whole_cores_are_asked_for_by_elasticsearch_and_by_the_load_generator() -> None:
    shares = MachineSeen("n1", NODE_OF_THE_LOAD, exclusive=False, settings={"smtActive": True, "wholeCores": True})
    (found,) = about(Facts(machines=(shares,)), "smt")
    assert "elasticsearch.resources and race.resources" in found.change
