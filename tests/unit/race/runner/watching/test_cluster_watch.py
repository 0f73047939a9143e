"""What is seen of a cluster while a race runs, look by look, and what is made of it in the end."""

import threading
import time
from typing import Any

from fairlap_race.contract.recorded.cluster_course import ClusterCourse, MissingCopies, TaskCaches
from fairlap_race.contract.recorded.record import Task, timestamp
from fairlap_race.elasticsearch.client import ElasticsearchError
from fairlap_race.runner.watching import cluster_watch
from fairlap_race.runner.watching.cluster_watch import ClusterWatch

AT = 1_800_000_000.0
HEALTHY = {"number_of_nodes": 2, "relocating_shards": 0, "initializing_shards": 0, "unassigned_shards": 0}
UNASSIGNED = [{"index": "t", "prirep": "r", "state": "UNASSIGNED", "unassigned.reason": "INDEX_CREATED"}]


class Cluster:
    """Answers by the beginning of a path; an exception is raised."""

    def __init__(self, **answers: Any) -> None:
        self.answers: dict[str, Any] = {"health": HEALTHY, "shards": UNASSIGNED, **answers}
        self.asked: list[str] = []

    def get(self, path: str, timeout: float | None = None) -> Any:
        kinds = {
            "/_cluster/health": "health", "/_cat/shards": "shards", "/_nodes/stats/indices": "caches",
            "/_nodes/stats/http": "nodes", "/_cluster/state": "state", "/_recovery": "recovery", "/_stats": "merges",
            "/_nodes/http": "addresses",
        }  # fmt: skip
        (kind,) = [found for start, found in kinds.items() if path.startswith(start)]
        self.asked.append(kind)
        found = self.answers.get(kind, {})
        if isinstance(found, Exception):
            raise found
        return found.pop(0) if kind == "merges" and isinstance(found, list) else found


def watch(cluster: Cluster) -> ClusterWatch:
    return ClusterWatch(cluster)  # type: ignore[arg-type]


def caches(hits: int) -> Any:
    return {"nodes": {"a": {"name": "es-0", "indices": {"request_cache": {"hit_count": hits, "miss_count": 1}}}}}


def everything(_: str) -> bool:
    return True


def test_copies_that_are_missing_look_by_look() -> None:
    cluster = Cluster()
    found = watch(cluster)
    for second, missing in enumerate((0, 1, 1, 0, 1)):
        cluster.answers["health"] = {**HEALTHY, "unassigned_shards": missing, "number_of_nodes": 2 - missing}
        found.look(AT + second)
    course = found.end(everything, ())
    of_t = ("t", False, 1, "INDEX_CREATED")
    assert course.missing == (
        MissingCopies(*of_t, timestamp(AT + 1), timestamp(AT + 2)),
        MissingCopies(*of_t, timestamp(AT + 4), timestamp(AT + 4)),
    )
    assert (course.looks, course.fewest_nodes, course.most_relocating) == (5, 1, 0)
    assert cluster.asked.count("shards") == 3, "only when something is missing"
    assert found.end(lambda name: name != "t", ()).missing == ()


def test_how_many_copies_an_index_has_is_told_of_what_is_missing() -> None:
    rows = [{"index": "t", "prirep": kind, "state": "STARTED"} for kind in "pprr"]
    cluster = Cluster(health={**HEALTHY, "unassigned_shards": 2}, shards=[*rows, *UNASSIGNED, *UNASSIGNED])
    found = watch(cluster)
    found.look(AT)
    (missing,) = found.end(everything, ()).missing
    assert (missing.copies, missing.shards, missing.replicas) == (2, 2, 2)


def test_a_cluster_of_too_many_shards_is_not_listed() -> None:
    cluster = Cluster(health={**HEALTHY, "active_shards": 2001, "unassigned_shards": 1})
    found = watch(cluster)
    found.look(AT)
    cluster.answers |= {"health": {**HEALTHY, "unassigned_shards": 1}, "shards": ElasticsearchError("it may not")}
    found.look(AT + 4)
    course = found.end(everything, ())
    assert (course.looks, course.unlisted, course.missing) == (2, 2, ())
    assert cluster.asked.count("shards") == 1


def test_what_the_caches_did_in_a_task_and_in_all() -> None:
    cluster = Cluster()
    found = watch(cluster)
    for second in range(0, 41, 4):
        cluster.answers["caches"] = caches(10 * max(0, second - 20))
        found.look(AT + second)
    tasks = [Task(name, started_at=timestamp(AT + begin), ended_at=timestamp(AT + end))
             for name, begin, end in (("cold", 4, 20), ("cached", 20, 40), ("after", 400, 420))]  # fmt: skip
    of_all = found.caches(tasks[:2])
    assert of_all == (
        TaskCaches("", request_hits=200, request_misses=0), TaskCaches("cold", request_hits=0, request_misses=0),
        TaskCaches("cached", request_hits=200, request_misses=0),
    )  # fmt: skip
    known = [TaskCaches("cached", whole=True, request_hits=300), TaskCaches("more", whole=True, request_hits=1)]
    better = found.end(everything, tasks[:2], known).caches
    assert (*better[1:],) == (of_all[1], *known), "what was read before and after the task stands before the rest"
    assert better[0].request_hits == max(of_all[0].request_hits or 0, 301), "the race has all that its tasks have"
    twice = found.end(everything, tasks[:2], [known[0], known[0]]).caches
    assert [it.whole for it in twice] == [False] * 3, "a task that stands twice in the schedule"
    assert found.caches(tasks[2:]) == () and watch(Cluster()).caches(tasks) == ()


def test_a_cluster_that_does_not_answer_leaves_everything_unknown() -> None:
    gone = ElasticsearchError("no answer")
    kinds = ("health", "shards", "caches", "nodes", "state", "recovery", "merges", "addresses")
    found = watch(Cluster(**dict.fromkeys(kinds, gone)))
    found.begin()
    found.look(AT)
    found.await_merges(everything, time.monotonic() + 10, threading.Event())
    assert found.addresses() == ()
    assert found.end(everything, ()) == ClusterCourse(looks=0)


def merging(count: int) -> Any:
    return {"indices": {"t": {"total": {"merges": {"current": count}}}}}


def test_merges_are_waited_for_but_not_for_ever(monkeypatch: Any) -> None:
    monkeypatch.setattr(cluster_watch, "MERGE_LOOK", 0.01)
    ending = watch(Cluster(merges=[merging(2), merging(1), merging(0)]))
    ending.await_merges(everything, time.monotonic() + 60, threading.Event())
    assert ending.merging == 0
    endless = watch(Cluster(merges=merging(2)))
    began = time.monotonic()
    endless.await_merges(everything, began + 0.1, threading.Event())
    assert endless.merging == 2 and time.monotonic() - began < 5
    stopped, told = threading.Event(), watch(Cluster(merges=merging(2)))
    stopped.set()
    told.await_merges(everything, time.monotonic() + 60, stopped)
    assert told.merging == 2
