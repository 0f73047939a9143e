"""Where shards are, memory against data, and what a codec is."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.results.lucene_codec import algorithm
from fairlap.results.shards import copies_per_node, memory_of, node_data, placement_words, remarks
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import EnvironmentRecord, Node, Record, Shard

GIB = 2**30
TWO = (
    Node("es-0", heap_bytes=GIB, memory_bytes=8 * GIB, memory_limit_bytes=2 * GIB),
    Node("es-1", heap_bytes=GIB, memory_bytes=2 * GIB),
)


def record(*shards: Shard, nodes: tuple[Node, ...] = TWO) -> Record:
    return Record(environment=EnvironmentRecord(nodes=nodes), shards=shards)


def shard(number: int, node: str | None, *, primary: bool = True, **more: Any) -> Shard:
    return Shard("logs", number, primary, more.pop("state", "STARTED" if node else "UNASSIGNED"), node, **more)


SPREAD = (shard(0, "es-0", store_bytes=3 * GIB), shard(0, "es-1", primary=False, store_bytes=3 * GIB),
          shard(1, "es-1", store_bytes=GIB))  # fmt: skip


def test_the_short_form_names_each_copy_and_its_node() -> None:
    moving = shard(2, "es-0", state="RELOCATING")
    shards = (*SPREAD, moving, shard(2, None, primary=False), Shard("other", 0, True, "STARTED", "es-0"))
    assert placement_words(shards, "logs") == "0p es-0, 0r es-1, 1p es-1, 2p es-0 RELOCATING, 2r UNASSIGNED"


def spread(*shards: Shard) -> list[tuple[int, int, int]]:
    return [(it.nodes, it.primaries, it.replicas) for it in copies_per_node(shards)]


def test_copies_are_counted_node_by_node_and_nodes_that_had_as_many_together() -> None:
    assert spread(*SPREAD) == [(1, 1, 1), (1, 1, 0)]
    assert spread(*(shard(number, f"es-{number % 3}") for number in range(120))) == [(3, 40, 0)]
    assert spread(*(shard(number, f"es-{number}", primary=number < 11) for number in range(12))) == [
        (11, 1, 0),
        (1, 0, 1),
    ]


def test_a_copy_counts_where_it_is_whatever_its_state_and_nowhere_when_it_is_on_no_node() -> None:
    assert spread(shard(0, "es-0"), shard(1, "es-0", state="RELOCATING")) == [(1, 2, 0)]
    assert spread(shard(0, "es-0"), shard(0, "es-1", primary=False, state="INITIALIZING")) == [(1, 1, 0), (1, 0, 1)]
    assert spread(shard(0, "es-0"), shard(0, None, primary=False)) == [(1, 1, 0)]
    assert spread() == spread(shard(0, None)) == []


@given(st.lists(st.builds(Shard, primary=st.booleans(), node=st.sampled_from([None, "a", "b", "c d", "e, f"]))))
def test_the_names_of_nodes_and_the_order_of_copies_change_no_count(shards: list[Shard]) -> None:
    found, placed = spread(*shards), [it for it in shards if it.node]
    other = [replace(it, node=f"{it.node} RELOCATING") for it in reversed(placed)]
    assert found == spread(*other) == sorted(found, key=lambda it: it[1:], reverse=True)
    assert sum(nodes for nodes, _, _ in found) == len({it.node for it in placed})
    assert sum(nodes * primaries for nodes, primaries, _ in found) == sum(it.primary for it in placed)
    assert sum(nodes * replicas for nodes, _, replicas in found) == sum(not it.primary for it in placed)


def test_copies_that_are_spread_need_no_remark() -> None:
    assert list(remarks(record(*SPREAD))) == []
    assert list(remarks(record(shard(0, "es-0"), shard(1, "es-0"), nodes=TWO[:1]))) == []
    assert list(remarks(Record())) == []


@pytest.mark.parametrize(
    ("shards", "words"),
    [
        ((shard(0, "es-0"), shard(1, "es-0")), "index logs: all 2 primary shards are on es-0, one of 2 nodes"),
        ((shard(0, "es-0"),), "index logs: its only primary shard is on es-0, one of 2 nodes"),
    ],
)
def test_primaries_on_one_of_several_nodes_are_said(shards: tuple[Shard, ...], words: str) -> None:
    (found,) = remarks(record(*shards))
    assert found.reason == Reason.PRIMARIES_ON_ONE_NODE and found.text.startswith(words)


def test_an_unassigned_replica_is_said() -> None:
    (found,) = remarks(record(*SPREAD, shard(1, None, primary=False, why="NODE_LEFT")))
    assert found == (Reason.SHARDS_UNASSIGNED, "index logs: 1 replica(s) unassigned at the end (NODE_LEFT)")


def test_memory_against_data_is_what_page_cache_there_can_be() -> None:
    first, second = node_data(record(*SPREAD), most=50)
    assert (first.memory_bytes, first.heap_bytes, first.data_bytes) == (2 * GIB, GIB, 3 * GIB)
    assert first.memory_to_data == 0.3333
    assert (second.primaries, second.replicas, second.memory_to_data) == (1, 1, 0.25)


def test_no_data_or_no_evidence_is_no_ratio() -> None:
    assert [it.memory_to_data for it in node_data(record(), most=50)] == [None, None]
    (unknown,) = node_data(Record(environment=EnvironmentRecord(nodes=(Node("es-0"),))), most=50)
    assert (unknown.data_bytes, unknown.memory_to_data) == (None, None)


def test_a_limit_above_the_machine_is_no_memory() -> None:
    assert memory_of(Node(memory_bytes=GIB, memory_limit_bytes=4 * GIB)) == GIB
    assert memory_of(Node()) is None


@pytest.mark.parametrize(
    ("codec", "version", "expected"),
    [
        ("default", "7.17.29", "LZ4"),
        ("default", "8.15.3", "LZ4"),
        ("default", "9.0.0", "LZ4"),
        ("best_compression", "7.17.29", "DEFLATE"),
        ("best_compression", "8.11.0", "DEFLATE"),
        ("best_compression", "8.14.0", "DEFLATE"),
        ("best_compression", "8.15.5", "DEFLATE"),
        ("best_compression", "8.16.0", "ZSTD"),
        ("best_compression", "8.17.2", "ZSTD"),
        ("best_compression", "9.0.0", "ZSTD"),
        ("best_compression", "9.2.1", "ZSTD"),
        ("legacy_best_compression", "9.0.0", "DEFLATE"),
        ("lucene_default", "6.8.23", "LZ4"),
        ("Lucene99", "9.0.0", ""),
        (None, "9.0.0", ""),
        ("default", None, ""),
    ],
)
def test_a_codecs_algorithm(codec: str | None, version: str | None, expected: str) -> None:
    assert algorithm(codec, version) == expected


def test_a_node_that_holds_no_data_could_have_had_no_primary() -> None:
    alone = (TWO[0], Node("master-0", holds_data=False), Node("coordinating-0", holds_data=False))
    assert list(remarks(record(shard(0, "es-0"), shard(1, "es-0"), nodes=alone))) == []
