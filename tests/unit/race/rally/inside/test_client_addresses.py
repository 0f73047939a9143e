"""Rally's clients get the nodes' addresses in one order, in whatever order a name resolves."""

from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.rally.inside.client_addresses import in_order

NODES = ["10.0.0.9", "10.0.0.10", "fd00::1"]


def found(*hosts: str) -> list[dict[str, str]]:
    return [{"host": host} for host in hosts]


@given(st.permutations([*NODES, "10.0.0.2", "10.0.0.1"]))
def test_the_order_of_the_nodes_is_kept_and_strangers_follow(order: list[str]) -> None:
    assert in_order(found(*order), NODES) == found(*NODES, "10.0.0.1", "10.0.0.2")
    assert in_order(found(*order), []) == in_order(found(*reversed(order)), [])


def test_an_address_may_be_written_in_several_ways() -> None:
    assert in_order(found("10.0.0.1", "fd00:0:0:0:0:0:0:1"), ["[fd00::1]"])[0] == {"host": "fd00:0:0:0:0:0:0:1"}
    assert in_order([], NODES) == []
