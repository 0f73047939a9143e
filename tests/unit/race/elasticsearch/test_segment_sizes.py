"""How large an index is: by its segments, not by statistics that may be ten seconds old."""

import pytest
from tests.unit.race.elasticsearch.test_evidence import Answering

from fairlap_race.contract.recorded.record import IndexRecord, Shard, Totals
from fairlap_race.elasticsearch import evidence
from fairlap_race.elasticsearch.client import ElasticsearchError
from fairlap_race.elasticsearch.segment_sizes import SegmentSizes, read_sizes

MEMBERS = {"nodes": {"n1": {"name": "es-0", "ephemeral_id": "e1"}, "n2": {"name": "es-1", "ephemeral_id": "e2"}}}


def segments(*sizes, merged_away=0):
    found = {f"_{n}": {"size_in_bytes": size, "search": True} for n, size in enumerate(sizes)}
    return found | ({"_old": {"size_in_bytes": merged_away, "search": False}} if merged_away else {})


def copy(node, primary, found=None):
    routing = {"routing": {"state": "STARTED", "primary": primary, "node": node}}
    return routing | ({"segments": found} if found else {})


def answer(shards):
    return {"indices": {"logs": {"shards": shards}}}


ONE = (Shard("logs", 0, True, "STARTED", "es-0", store_bytes=9),)


TWO_COPIES = answer({
    "0": [copy("n1", True, segments(100, 20, merged_away=90)), copy("n2", False, segments(110))],
    "1": [copy("n2", True, segments(7)), copy("n1", False)],
})  # fmt: skip


def test_an_index_is_as_large_as_what_searches_see_in_all_its_copies():
    there = [
        Shard("logs", number, number == node, "STARTED", f"es-{node}", store_bytes=1)
        for number in (0, 1) for node in (0, 1)
    ]  # fmt: skip
    sizes = read_sizes(TWO_COPIES, MEMBERS, there)
    found = sizes.of_index(IndexRecord("logs", primary_bytes=5, store_bytes=9))
    assert (found.primary_bytes, found.store_bytes) == (127, 237)
    assert sizes.of_totals(Totals(store_bytes=9, dataset_bytes=14), [found]) == Totals(
        store_bytes=237, dataset_bytes=242
    )
    assert [it.store_bytes for it in sizes.of_shards(there)] == [120, 110, 0, 7]


@pytest.mark.parametrize(
    "told",
    [
        None,
        {},
        [],
        {"indices": {"logs": {"shards": []}}},
        answer({"0": [copy("n1", True)]}),
        answer({"0": {}}),
        answer({"0": [copy("n1", True, segments(100)), copy("n2", False, segments(100))]}),
        {"indices": {"other": {"shards": {"0": [copy("n1", True, segments(1))]}}}},
    ],
    ids=["none", "empty", "list", "no shards", "no segment", "no copies", "a copy too many", "another index"],
)
def test_what_segments_do_not_tell_is_left_as_statistics_have_it(told):
    sizes, index = read_sizes(told, MEMBERS, ONE), IndexRecord("logs", primary_bytes=5, store_bytes=9)
    assert sizes.of_index(index) == index and sizes.of_shards(ONE) == ONE
    assert sizes.of_totals(Totals(store_bytes=9), [index]) == Totals(store_bytes=9)


def test_of_an_index_with_a_copy_that_did_not_tell_nothing_is_known_and_of_others_all():
    one = {"0": [copy("n1", True, segments(100))]}
    told = {"indices": {"logs": {"shards": one}, "more": {"shards": one}}}
    shards = [*ONE, Shard("more", 0, True, "STARTED", "es-0"), Shard("more", 0, False, "STARTED", "es-1")]
    assert set(read_sizes(told, MEMBERS, shards).copies) == {"logs"}
    shards[-1] = Shard("more", 0, False, "UNASSIGNED")
    assert set(read_sizes(told, MEMBERS, shards).copies) == {"logs", "more"}


def test_nothing_is_known_of_nothing():
    assert SegmentSizes().of_totals(Totals(), []) == Totals()


class Stale(Answering):
    """Statistics that are older than the last merge, and segments or a refusal."""

    def __init__(self, told):
        super().__init__()
        self.told = told

    def get(self, path, timeout=None):
        if path.startswith("/_stats/docs"):
            store = {"store": {"size_in_bytes": 60}}
            return {"indices": {"logs": {"primaries": store, "total": store}}}
        if path.startswith("/_all/_settings"):
            return {"logs": {"settings": {}}}
        if path.startswith("/_cat/shards"):
            row = {"index": "logs", "shard": "0", "prirep": "p", "state": "STARTED", "node": "es-0", "store": "60"}
            return [row]
        if path.startswith("/_segments"):
            if isinstance(self.told, Exception):
                raise self.told
            return self.told
        return super().get(path, timeout)


@pytest.mark.parametrize(
    ("told", "size"),
    [
        (answer({"0": [copy("n1", True, segments(120))]}), 120),
        (ElasticsearchError("not allowed", status=403), 60),
    ],
)
def test_a_race_reads_the_segments_and_is_not_failed_by_a_refusal(told, size):
    cluster = Stale(told)
    found = evidence.after(cluster, evidence.before(Answering()))
    assert found.totals.store_bytes == size
    assert [(it.primary_bytes, it.store_bytes) for it in found.indices] == [(size, size)]


def test_segments_that_may_be_had_later_are_not_done_without():
    """Two sizes of two kinds must not be compared: as with all else that is read here, the race is none without."""
    with pytest.raises(ElasticsearchError, match="no answer"):
        evidence.after(Stale(ElasticsearchError("no answer in time")), evidence.before(Answering()))
