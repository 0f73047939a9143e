"""A cluster that exists already: what is in the way, what others do, and what is removed."""

import re
from dataclasses import replace

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded import record as rec
from fairlap_race.contract.recorded.record import Touch
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.request_files.planned_search import PlannedSearch
from fairlap_race.contract.specification.race_spec import TargetSpec
from fairlap_race.elasticsearch.client import ElasticsearchError
from fairlap_race.runner import guest


class Cluster:
    """Answers as Elasticsearch does; indices with their aliases and (documents, searches), the rest by path."""

    def __init__(self, indices=None, things=(), streams=(), old=False):
        self.indices = {name: list(value) for name, value in (indices or {}).items()}
        self.things, self.streams, self.old, self.deleted = set(things), list(streams), old, []
        self.refuse = set()
        self.searched: dict[str, tuple[str, ...]] = {}

    def get(self, path, timeout=30):
        if path == "/":
            return {"cluster_name": "c", "cluster_uuid": "u"}
        if path.startswith("/_cluster/state"):
            found = {n: {"state": "open", "aliases": v[0]} for n, v in self.indices.items()}
            return {"metadata": {"indices": found}} if found else {}
        if path.startswith("/_data_stream"):
            if self.old:
                raise ElasticsearchError("no such index [_data_stream]", 404)
            return {"data_streams": [{"name": name} for name in self.streams]}
        if path.startswith("/_stats"):
            found = {
                n: {"total": {"indexing": {"index_total": v[1]}, "search": {"query_total": v[2]}}}
                for n, v in self.indices.items()
            }
            return {"indices": found} if found else {}
        if found := re.fullmatch(r"/([^/]+)/_search_shards\?.*", path):
            if found[1] not in self.searched:
                raise ElasticsearchError("no such index", 404)
            return {"shards": [[{"index": name, "shard": 0}] for name in self.searched[found[1]]]}
        if found := re.fullmatch(r"/([^/]+)/_count", path):
            return {"count": self.indices.get(found[1], ([], 3))[1], "_shards": {"failed": 0}}
        if path in self.things:
            return {"x": {}}
        raise ElasticsearchError("not found", 404)

    def delete(self, path, timeout=30):
        if path in self.refuse:
            raise ElasticsearchError("HTTP 403: no", 403)
        self.deleted.append(path)
        self.things.discard(path)
        self.indices.pop(path[1:], None)


OWN = (
    Touch("index", "logs", creates=True, deletes=True),
    Touch("legacy template", "logs", creates=True),
    Touch("ingest pipeline", "clean", creates=True),
)


def test_an_empty_cluster_is_free() -> None:
    found = guest.make_report(Cluster(), OWN, ())
    assert (found.cluster_name, found.cluster_uuid) == ("c", "u")
    assert not any(touch.existing for touch in found.touches)
    assert guest.find_objection(found, overwrite=False) == ""


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        (Cluster({"logs": ([], 5, 0)}), "index logs (5 documents)"),
        (Cluster({"other": (["logs"], 7, 0)}), "index other (7 documents)"),
        (Cluster({"logs": ([], 0, 0)}, old=True), "index logs (0 documents)"),
        (Cluster(streams=["logs"]), "index logs (3 documents)"),
        (Cluster(things={"/_template/logs"}), "legacy template logs"),
        (Cluster(things={"/_ingest/pipeline/clean"}), "ingest pipeline clean"),
    ],
)
def test_what_is_there_is_in_the_way(cluster: Cluster, words: str) -> None:
    found = guest.make_report(cluster, OWN, ())
    sentence = guest.find_objection(found, overwrite=False)
    assert words in sentence
    assert guest.find_objection(found, overwrite=True) == ""


def test_a_pattern_reaches_what_it_matches_but_nothing_hidden() -> None:
    there = guest.Names({"logs-1": (), "logs-2": (), ".logs-3": (), "x": ("logs-a",)})
    assert guest.matching(Touch("index", "logs-*", deletes=True), there) == ["logs-1", "logs-2", "x"]
    assert guest.matching(Touch("index", "_all", deletes=True), there) == ["logs-1", "logs-2", "x"]


def test_tasks_that_cannot_be_foreseen_are_an_objection() -> None:
    found = guest.make_report(Cluster(), (), ("task x: the operation put-settings",))
    assert "put-settings" in guest.find_objection(found, overwrite=False)
    assert guest.find_objection(found, overwrite=True) == ""


def test_on_a_kept_cluster_they_are_none_but_what_is_there_is() -> None:
    found = guest.make_report(Cluster(), (), ("task x: the operation my-search",))
    assert guest.find_objection(found, overwrite=False, kept=True) == ""
    there = guest.make_report(Cluster({"logs": ([], 5, 0)}), OWN, ())
    assert "index logs (5 documents)" in guest.find_objection(there, overwrite=False, kept=True)
    site = guest.Site(Cluster(), TargetSpec(kept=True), found, guest.Load())
    assert site.objection == ""


def test_only_what_the_race_made_is_removed_and_users_first() -> None:
    cluster = Cluster({"other": ([], 1, 0)}, things={"/_ingest/pipeline/clean"})
    before = guest.make_report(cluster, OWN, ())
    cluster.indices["logs"] = ([], 10, 0)
    cluster.things.add("/_template/logs")
    found = guest.remove(cluster, before)
    assert cluster.deleted == ["/logs", "/_template/logs"]
    assert found.removed == ("index logs", "legacy template logs")
    assert found.left == ()
    assert "other" in cluster.indices


def test_what_cannot_be_removed_is_said() -> None:
    cluster = Cluster()
    before = guest.make_report(cluster, OWN, ())
    cluster.indices["logs"] = ([], 10, 0)
    cluster.refuse = {"/logs"}
    found = guest.remove(cluster, before)
    assert found.removed == ()
    assert "index logs" in found.left[0]
    assert "403" in found.left[0]


def test_the_load_of_others_is_told_without_the_track_and_without_elasticsearch_itself() -> None:
    cluster = Cluster({"logs": ([], 0, 0), "shop": ([], 10, 5), "idle": ([], 3, 3), ".system": ([], 1, 1)})
    site = guest.Site.look(cluster, TargetSpec(), OWN, ())
    cluster.indices |= {"logs": ([], 99, 9), "shop": ([], 30, 6), ".system": ([], 5, 5), "new": ([], 2, 0)}
    found = site.leave(rec.Record())
    assert found.others == (rec.OtherLoad("shop", 20, 1), rec.OtherLoad("new", 2, 0))


@pytest.mark.parametrize(
    ("remove", "failed", "stays"),
    [
        ("always", False, False), ("always", True, False), ("onSuccess", False, False),
        ("onSuccess", True, True), ("never", False, True),
    ],
)  # fmt: skip
def test_what_stays(remove: str, failed: bool, stays: bool) -> None:
    cluster = Cluster()
    site = guest.Site.look(cluster, TargetSpec(remove=remove), OWN, ())
    cluster.indices["logs"] = ([], 1, 0)
    record = rec.Record(outcome=rec.Outcome(Reason.RALLY_FAILED if failed else None))
    found = site.leave(record)
    assert ("logs" in cluster.indices) is stays
    assert found.left == (("index logs",) if stays else ())


def test_a_race_with_failed_requests_or_missing_documents_went_wrong() -> None:
    good = rec.Record(
        track=TrackRecord(expected_documents={"logs": 5}),
        indices=(rec.IndexRecord("logs", documents=5),),
        tasks=(rec.Task(),),
    )
    assert not guest.went_wrong(good)
    assert guest.went_wrong(replace(good, indices=(rec.IndexRecord("logs", documents=4),)))
    assert guest.went_wrong(replace(good, tasks=(rec.Task(errors=rec.Counts(1, 0)),)))


def test_counters_of_an_index_that_was_there_are_left_out() -> None:
    totals = rec.Totals(store_bytes=5, merge_millis=7)
    cluster = Cluster({"logs": ([], 1, 0)})
    written = guest.Site.look(cluster, TargetSpec(), (Touch("index", "logs", creates=True),), ())
    assert written.counted(totals) == rec.Totals(store_bytes=5)
    made_anew = guest.Site.look(cluster, TargetSpec(), (Touch("index", "logs", creates=True, deletes=True),), ())
    assert made_anew.counted(totals) == totals


def test_backing_indices_of_its_data_streams_are_the_tracks() -> None:
    behind = guest.owner_of([Touch("index", "alias", creates=True, existing=("t-1", "t-2"))])
    assert behind("t-1") and behind("t-2") and behind("alias") and not behind("t-3")
    mine = guest.owner_of([Touch("data stream", "logs-app", creates=True), Touch("index", "gone", deletes=True)])
    assert mine(".ds-logs-app-2026.01.01-000001")
    assert mine(".fs-logs-app-2026.01.01-000001")
    assert not mine(".ds-logs-app2-2026.01.01-000001")
    assert not mine("gone")


@pytest.mark.parametrize(
    ("hosts", "nodes", "refused"), [(1, 1, False), (1, 3, False), (3, 3, False), (2, 1, True), (1, 0, False)]
)
def test_rally_would_wait_for_nodes_that_are_not_there(hosts: int, nodes: int, refused: bool) -> None:
    found = guest.too_many_hosts([f"es-{n}:9200" for n in range(hosts)], nodes)
    assert bool(found) == refused
    if refused:
        assert "target.hosts has 2 addresses, but the cluster has 1 node(s)" in found


@pytest.mark.parametrize(
    ("replicas", "nodes", "most"), [(None, 1, ""), (0, 1, ""), (1, 2, ""), (1, 1, "0"), (3, 2, "1")]
)
def test_a_replica_without_a_node_of_its_own_is_refused(replicas: int | None, nodes: int, most: str) -> None:
    found = guest.too_many_replicas(replicas, nodes)
    assert bool(found) == bool(most)
    assert not most or found.endswith(f"write {most} or less")


def searching(cluster: Cluster, *searches: PlannedSearch, in_part: bool = False, **about: bool) -> guest.Site:
    """Return the site of a track that only sends these searches."""
    site = guest.Site.look(cluster, TargetSpec(**about), (), ())
    site.look_for_searched(searches, in_part=in_part)
    return site


def search_of(index: str | None, **changes: bool) -> PlannedSearch:
    return PlannedSearch("find", "GET", f"/{index}/_search", index=index, **changes)


def test_a_races_own_searches_are_nobody_elses() -> None:
    cluster = Cluster({"logs-1": (["logs"], 5, 0), "shop": ([], 5, 0)})
    cluster.searched = {"logs": ("logs-1",)}
    site = searching(cluster, search_of("logs"), search_of("logs"))
    cluster.indices |= {"logs-1": (["logs"], 5, 9)}
    assert site.leave(rec.Record()).others == ()
    assert site.is_of_the_race("logs-1") and not site.is_of_the_race("shop")
    assert not site.is_of_the_track("logs-1"), "it is neither removed nor counted"
    cluster.indices |= {"logs-1": (["logs"], 7, 9), "shop": ([], 5, 2)}
    found = site.leave(rec.Record())
    assert found.others == (rec.OtherLoad("logs-1", 2, 0), rec.OtherLoad("shop", 0, 2)) and not found.searches_unknown


def test_on_a_kept_cluster_all_searches_are_the_races() -> None:
    cluster = Cluster({"logs": ([], 5, 0), ".system": ([], 1, 1)})
    site = searching(cluster, in_part=True, kept=True)
    cluster.indices |= {"logs": ([], 5, 9), ".system": ([], 5, 5)}
    found = site.leave(rec.Record())
    assert found.others == () and not found.searches_unknown
    assert site.is_of_the_race("logs") and not site.is_of_the_race(".system")


@pytest.mark.parametrize(
    ("searches", "in_part", "unknown"),
    [
        ((search_of("logs"),), False, False),
        ((search_of("own,also"),), False, False),  # the track itself makes them
        ((search_of("own,shop"),), False, True),
        ((search_of("logs"),), True, True),
        ((search_of("logs", drawn=True),), False, True),
        ((search_of(None),), False, True),  # of a multi-search
        ((search_of("far:logs"),), False, True),
        ((), False, False),
    ],
)
def test_where_not_all_searches_are_known_it_is_said(
    searches: tuple[PlannedSearch, ...], in_part: bool, unknown: bool
) -> None:
    cluster = Cluster({"logs": ([], 5, 0)})
    cluster.searched = {"logs": ("logs",)}
    found = guest.find_searched(cluster, searches, ("own", "also"), in_part)
    assert found == guest.Searched(frozenset({"logs"} & {it.index for it in searches}), unknown)
