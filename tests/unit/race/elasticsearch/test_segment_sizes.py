"""How large an index is: by its segments, not by statistics that may be ten seconds old."""

import pytest
from tests.unit.race.elasticsearch.test_evidence import Answering

from fairlap_race.contract.record import IndexRecord, Shard, Totals
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


def answer(shards, failed=0):
    return {"_shards": {"failed": failed}, "indices": {"logs": {"shards": shards}}}


TWO_COPIES = answer({
    "0": [copy("n1", True, segments(100, 20, merged_away=90)), copy("n2", False, segments(110))],
    "1": [copy("n2", True, segments(7)), copy("n1", False)],
})  # fmt: skip


def test_an_index_is_as_large_as_what_searches_see_in_all_its_copies():
    sizes = read_sizes(TWO_COPIES, MEMBERS, ["logs"])
    found = sizes.of_index(IndexRecord("logs", primary_bytes=5, store_bytes=9))
    assert (found.primary_bytes, found.store_bytes) == (127, 237)
    assert sizes.of_totals(Totals(store_bytes=9, dataset_bytes=14), [found]) == Totals(
        store_bytes=237, dataset_bytes=242
    )
    shards = sizes.of_shards([Shard("logs", 0, True, node="es-0", store_bytes=1), Shard("logs", 1, node="es-0")])
    assert [it.store_bytes for it in shards] == [120, 0]


@pytest.mark.parametrize(
    "told",
    [
        None,
        {},
        [],
        {"indices": {"logs": {"shards": []}}},
        answer({"0": [copy("n1", True)]}),
        answer({"0": {}}),
        answer({"0": [copy("n1", True, segments(100))]}, failed=1),
        {"indices": {"other": {"shards": {"0": [copy("n1", True, segments(1))]}}}},
    ],
    ids=["none", "empty", "list", "no shards", "no segment", "no copies", "shards failed", "another index"],
)
def test_what_segments_do_not_tell_is_left_as_statistics_have_it(told):
    sizes = read_sizes(told, MEMBERS, ["logs"])
    index, shard = IndexRecord("logs", primary_bytes=5, store_bytes=9), Shard("logs", 0, True, node="es-0")
    assert sizes.of_index(index) == index and sizes.of_shards([shard]) == (shard,)
    assert sizes.of_totals(Totals(store_bytes=9), [index]) == Totals(store_bytes=9)


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
        (ElasticsearchError("no answer in time"), 60),
    ],
)
def test_a_race_reads_the_segments_and_never_fails_for_them(told, size):
    cluster = Stale(told)
    found = evidence.after(cluster, evidence.before(Answering()))
    assert found.totals.store_bytes == size
    assert [(it.primary_bytes, it.store_bytes) for it in found.indices] == [(size, size)]
