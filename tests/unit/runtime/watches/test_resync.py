"""What went, or changed, while nobody watched: found out by asking the API server itself."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from fairlap.kube.api_error import ApiError
from fairlap.queue.places import Places
from fairlap.queue.summary import Summary, summarize
from fairlap.runtime.loop.state import Operator
from fairlap.runtime.watches.blind_watches import BlindWatches
from fairlap.runtime.watches.resync import find_gone_clusters, hold_beside_lists
from fairlap.settings import Settings

SINCE = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def hold(
    server: Any,
    places: Places,
    namespaces: Iterable[str],
    watches: BlindWatches | None = None,
    end: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Return the namespaces whose watches are blind."""
    return asyncio.run(hold_beside_lists(server, places, watches or BlindWatches(300), namespaces, end))


class Server:
    """Has some Benchmarks, and makes one while it answers."""

    def __init__(self, places: Places, *uids: str) -> None:
        self.places, self.uids = places, uids

    async def list_versions(self, kind: str, namespaces: Iterable[str]) -> dict[str, str]:
        assert kind in ("Benchmark", "Comparison") and tuple(namespaces) == ("ns",)
        self.places.observe(Summary("new", "ns/new", "2026", "Queued", False, True))
        return {uid: "1" for uid in self.uids if uid.startswith("c") is (kind == "Comparison")}


def test_who_is_gone_loses_its_place_and_who_is_new_stays() -> None:
    woken: list[str] = []
    places = Places(1, woken.append, lambda: woken.append("everyone"))
    places.observe(Summary("a", "ns/a", "2025", "Racing", True, False))
    places.observe(Summary("b", "ns/b", "2025", "Queued", False, True))
    hold(Server(places, "a", "b"), places, ["ns"])
    assert places.holders() == {"a"} and not woken
    hold(Server(places, "b", "new"), places, ["ns"])
    assert {found.uid for found in places.benchmarks()} == {"b", "new"}
    assert places.assume("b") and woken == ["everyone"]


def test_the_work_on_who_is_gone_ends() -> None:
    """No event tells of it: its task would plan from what it last saw, and its writes be answered 404, for ever."""
    places, ended = Places(1, lambda _: None, lambda: None), list[str]()
    for uid, kind in (("a", "Benchmark"), ("b", "Benchmark"), ("c", "Comparison")):
        places.observe(Summary(uid, f"ns/{uid}", "2025", "Racing", False, False, kind=kind))
    hold(Server(places, "a", "b", "c"), places, ["ns"], end=ended.append)
    assert ended == []
    hold(Server(places, "b", "new"), places, ["ns"], end=ended.append)
    assert sorted(ended) == ["a", "c"]


def test_of_who_is_gone_nothing_is_kept_but_that_it_is_gone() -> None:
    """Each that went while a watch was lost stayed for ever, a little in every list."""
    owner = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Comparison", "name": "cmp", "uid": "c", "controller": True}
    meta: Any = {"name": "a", "namespace": "ns", "uid": "a", "resourceVersion": "1", "creationTimestamp": SINCE}
    meta |= {"ownerReferences": [owner], "deletionTimestamp": SINCE, "finalizers": ["foregroundDeletion"]}
    kept = {"phase": "Failed", "completionTime": SINCE, "conditions": [{"type": "ClusterKept", "status": "True"}]}
    body = {"metadata": meta, "spec": {"keepClusterFor": "24h"}, "status": kept}

    async def work() -> None:
        operator = Operator(Settings(race_image="race"))
        operator.places.observe(summarize(body))
        operator.races.observe(body)
        operator.chores.look(body)
        operator.slow_deletions.look("Benchmark", body)
        waker = operator.wakers.waker("a")
        assert operator.races.led_by("c", "ns") and operator.chores.running() and operator.slow_deletions._tasks
        server: Any = Server(operator.places)
        await hold_beside_lists(server, operator.places, operator.watches, ["ns"], operator.end)
        await asyncio.gather(*operator.chores.running(), return_exceptions=True)
        assert not operator.races.led_by("c", "ns") and not operator.slow_deletions._tasks
        assert not operator.chores.running() and operator.wakers.waker("a") is not waker
        assert operator.places.vanished() == {"a"}

    asyncio.run(work())


def test_a_comparison_that_is_there_has_not_vanished() -> None:
    places = Places(1, str, lambda: None)
    places.observe(Summary("c", "ns/c", "2025", "Racing", True, False, kind="Comparison"))
    hold(Server(places, "c", "new"), places, ["ns"])
    assert places.holders() == {"c"}
    hold(Server(places, "new"), places, ["ns"])
    assert not places.holders()


def test_of_a_namespace_that_cannot_be_read_nothing_new_is_known() -> None:
    """Neither those that are there vanish, nor does one come back that had vanished."""

    class Lost:
        trouble = False

        async def list_versions(self, kind: str, namespaces: Iterable[str]) -> dict[str, str]:
            (namespace,) = namespaces
            if namespace == "lost" and self.trouble:
                raise ApiError(403, "forbidden")
            return {"there": "1"} if namespace == "lost" else {}

    places, server = Places(1, lambda _: None, lambda: None), Lost()
    for uid, name in (("there", "lost/a"), ("gone", "lost/b"), ("other", "ns/c")):
        places.observe(Summary(uid, name, "2025", "Queued", False, True))
    hold(server, places, ["lost"])
    assert places.vanished() == {"gone"}
    server.trouble = True
    hold(server, places, ["lost", "ns"])
    assert places.vanished() == {"gone", "other"}


def test_a_namespace_where_a_watch_is_blind_is_named() -> None:
    places, watches = Places(1, lambda _: None, lambda: None), BlindWatches(0)
    for uid in ("a", "c"):
        watches.show(uid, "1")
    assert hold(Server(places, "a", "c"), places, ["ns"], watches) == []
    watches.show("a", "0")
    assert hold(Server(places, "a", "c"), places, ["ns"], watches) == ["ns"]


def test_what_is_gone_is_not_waited_for() -> None:
    places, watches = Places(1, lambda _: None, lambda: None), BlindWatches(0)
    places.observe(Summary("a", "ns/a", "2025", "Queued", False, True))
    watches.show("a", "1")
    hold(Server(places), places, ["ns"], watches)
    assert hold(Server(places, "a"), places, ["ns"], watches) == ["ns"], "one that is listed again was never shown"


def cluster(uid: str, namespace: str = "ns") -> Any:
    return {"metadata": {"name": uid, "namespace": namespace, "uid": uid}}


class Clusters:
    """Lists the clusters that are there, unless it may not; one is made while it answers."""

    def __init__(self, index: Any, *uids: str) -> None:
        self.index, self.uids = index, uids
        self.error: ApiError | None = None
        self.asked: list[list[str]] = []

    async def list_metadata(self, kind: str, namespaces: list[str], _: Any) -> list[Any]:
        assert kind == "Elasticsearch"
        self.asked.append(namespaces)
        self.index["new"] = [cluster("made meanwhile")]
        if self.error:
            raise self.error
        return [cluster(uid) for uid in self.uids]


def gone_clusters(server: Any, before: set[str]) -> set[str]:
    return asyncio.run(find_gone_clusters(server, {"ns": server.index}, ["ns", "other"], before))


def test_a_cluster_whose_end_no_event_told_is_found_gone() -> None:
    index: Any = {"a": [cluster("es-1"), cluster("es-2")], "b": [cluster("es-3")]}
    server = Clusters(index, "es-2")
    assert gone_clusters(server, set()) == {"es-1", "es-3"}
    assert server.asked == [["ns"]], "where none is known none is asked for"
    index.pop("b")
    assert gone_clusters(Clusters(index, "es-1", "es-2", "made meanwhile"), {"es-1", "es-3"}) == set()


@pytest.mark.parametrize(("status", "found"), [(403, {"es-1"}), (0, {"es-1"}), (404, {"es-1", "es-2"})])
def test_of_clusters_that_cannot_be_listed_nothing_new_is_known(status: int, found: set[str]) -> None:
    """Without ECK there is none."""
    server = Clusters({"a": [cluster("es-1"), cluster("es-2")]})
    server.error = ApiError(status, "no")
    assert gone_clusters(server, {"es-1", "long ago"}) == found


def test_a_cluster_that_is_gone_is_not_kept_any_more() -> None:
    """No race would share a machine with it, in any namespace, until the operator is started again."""
    meta = {"name": "a", "namespace": "ns", "uid": "a", "resourceVersion": "1", "creationTimestamp": SINCE}

    async def work() -> None:
        operator = Operator(Settings(race_image="race"))
        operator.places.observe(summarize({"metadata": meta, "spec": {}, "status": {"phase": "Failed"}}))
        index: Any = {"a": [cluster("es-1")]}
        operator.elasticsearches = {"ns": index}
        assert operator.kept() == {"a": "ns/a"}
        server: Any = Clusters(index)
        operator.gone_clusters = await find_gone_clusters(server, operator.elasticsearches, ["ns"], set())
        assert operator.kept() == {}
        index["a"].append(cluster("es-2"))
        assert operator.kept() == {"a": "ns/a"}, "one that is newer than the look"

    asyncio.run(work())
