"""Chores against a small API server in memory: another run is made once, whatever fails in between."""

import asyncio
import copy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fairlap.kube.api_error import ApiError
from fairlap.plan.basis.conditions import stamp
from fairlap.plan.lifetimes import rerun
from fairlap.plan.lifetimes.expiry import EXPIRED
from fairlap.plan.lifetimes.keep import kept_until
from fairlap.runtime.beside import chores as chores_module
from fairlap.runtime.beside.chores import Chores
from fairlap.runtime.beside.last_word import INTERNAL_ERRORS
from fairlap.runtime.loop.state import Operator
from fairlap.settings import Settings

Json = dict[str, Any]


OF_COMPARISON = {
    "apiVersion": "fairlap.dev/v1alpha1", "kind": "Comparison", "name": "cmp", "uid": "c", "controller": True
}  # fmt: skip


class Server:
    """Benchmarks by name; fails the n-th request once with what a lost connection is."""

    def __init__(self, fail_at: int = -1, answered: bool = False) -> None:
        self.benchmarks: dict[str, Json] = {}
        self.deleted: list[str] = []
        self.config_maps: list[Json] = []
        self.clusters: list[Json] = []
        self.jobs: list[Json] = []
        self.without_eck = False
        self.forbidden = False
        self.denials = 0
        """how many deletions an admission webhook denies"""
        self.requests, self.fail_at, self.answered = 0, fail_at, answered
        self.uids = 0

    def add(self, name: str, **meta: Any) -> Json:
        self.uids += 1
        meta = {"name": name, "namespace": "ns", "uid": f"u{self.uids}", "resourceVersion": "1", **meta}
        self.benchmarks[name] = {"metadata": meta, "spec": {"race": {}}}
        return self.benchmarks[name]

    def _request(self, *, before: bool) -> None:
        if before:
            self.requests += 1
        if self.requests == self.fail_at and before is not self.answered:
            self.fail_at = -1
            raise ApiError(0, "no answer")

    async def find(self, _: str, __: str, name: str) -> Json | None:
        self._request(before=True)
        return copy.deepcopy(self.benchmarks.get(name))

    async def create(self, manifest: Json) -> Json:
        self._request(before=True)
        name = manifest["metadata"]["name"]
        if name in self.benchmarks:
            raise ApiError(409, "exists")
        self.add(name, **{k: v for k, v in manifest["metadata"].items() if k not in ("name", "namespace")})
        self._request(before=False)
        return copy.deepcopy(self.benchmarks[name])

    async def patch(self, _: str, __: str, name: str, body: Json) -> Json:
        self._request(before=True)
        there = self.benchmarks[name]["metadata"]
        if there["resourceVersion"] != body["metadata"]["resourceVersion"]:
            raise ApiError(409, "changed")
        there.setdefault("annotations", {}).update(body["metadata"]["annotations"])
        there["resourceVersion"] = str(int(there["resourceVersion"]) + 1)
        self._request(before=False)
        return copy.deepcopy(self.benchmarks[name])

    async def list_metadata(self, kind: str, namespaces: Any, query: Json) -> list[Json]:
        self._request(before=True)
        assert (tuple(namespaces), query) == (("ns",), {"labelSelector": "fairlap.dev/uid=u1"})
        if kind == "Elasticsearch" and self.without_eck:
            raise ApiError(404, "the server could not find the requested resource")
        return {"ConfigMap": self.config_maps, "Elasticsearch": self.clusters, "Job": self.jobs}.get(kind, [])

    async def list_objects(self, kind: str, namespace: str, query: Json, keep: Any) -> list[Json]:
        self._request(before=True)
        assert (kind, namespace, query) == ("Benchmark", "ns", {"labelSelector": f"{rerun.OF}=bm"})
        runs = [copy.deepcopy(each) for each in self.benchmarks.values() if each["metadata"].get("labels")]
        return [kept for each in runs if (kept := keep(each)) is not None]

    async def delete(self, _: str, there: Json) -> None:
        if self.forbidden:
            raise ApiError(403, 'configmaps is forbidden: User "x" cannot delete resource "configmaps"')
        if self.denials:
            self.denials -= 1
            raise ApiError(403, 'admission webhook "w" denied the request: not now')
        self.deleted.append(there["metadata"]["name"])


def chores(server: Server, told: list[str], clusters: list[Json] | None = None) -> Chores:
    return Chores(
        lambda about, _, reason, __: told.append(f"{about['metadata']['name']}: {reason}"),
        lambda: server,  # type: ignore[arg-type, return-value]
        lambda *_: clusters or [],
        lambda _: set(server.benchmarks) - {"unseen"},
    )


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    real = asyncio.sleep
    monkeypatch.setattr("fairlap.runtime.beside.chores.asyncio.sleep", lambda _: real(0))


async def done(work: Chores) -> None:
    while tasks := work.running():
        await asyncio.gather(*tasks)


def rerun_all(server: Server, name: str = "bm") -> list[str]:
    told: list[str] = []

    async def run() -> None:
        work = chores(server, told)
        work.look(server.benchmarks[name])
        work.look(server.benchmarks[name])  # an event comes again while it works
        await done(work)

    asyncio.run(run())
    return told


@pytest.mark.parametrize("answered", [False, True])
@pytest.mark.parametrize("fail_at", range(-1, 8))
def test_made_once_whatever_request_fails(fail_at: int, answered: bool) -> None:
    server = Server(fail_at, answered)
    server.add("bm", annotations={rerun.ASKED: "v"})
    told = rerun_all(server)
    assert sorted(server.benchmarks) == ["bm", "bm-2"]
    assert server.benchmarks["bm"]["metadata"]["annotations"][rerun.DONE] == "v"
    assert told.count("bm-2: RerunOf") <= 1
    assert rerun_all(server) == [], "the value is dealt with"


def test_a_conflict_while_the_name_is_free_costs_no_name() -> None:
    """A quota that is counted anew answers 409, too: the same name is tried again."""

    class Quota(Server):
        conflicts = 2

        async def create(self, manifest: Json) -> Json:
            if self.conflicts:
                self.conflicts -= 1
                raise ApiError(409, 'Operation cannot be fulfilled on resourcequotas "q": please apply your changes')
            return await super().create(manifest)

    server = Quota()
    server.add("bm", annotations={rerun.ASKED: "v"})
    told = rerun_all(server)
    assert sorted(server.benchmarks) == ["bm", "bm-2"] and told.count("bm-2: RerunOf") == 1


def test_a_name_that_is_taken_unseen() -> None:
    server = Server()
    server.add("bm", annotations={rerun.ASKED: "v", rerun.SAID: rerun.Next("v", "other").to_text()})
    server.add("other")
    rerun_all(server)
    assert sorted(server.benchmarks) == ["bm", "bm-2", "other"]


def test_names_that_no_event_told_of_are_passed_over_one_by_one() -> None:
    """A watch that is blind for Benchmarks: two taken names were asked for in turn, without an end."""

    class Patient(Server):
        def _request(self, *, before: bool) -> None:
            super()._request(before=before)
            assert self.requests < 30, "it goes on for ever"

    server = Patient()
    server.add("bm", annotations={rerun.ASKED: "v"})
    for number in (2, 3, 4):
        server.add(f"bm-{number}")
    told: list[str] = []

    async def run() -> None:
        work = chores(server, told)
        work.names_in = lambda _: set()
        work.look(server.benchmarks["bm"])
        await asyncio.wait_for(done(work), 5)

    asyncio.run(run())
    assert sorted(server.benchmarks) == ["bm", "bm-2", "bm-3", "bm-4", "bm-5"] and "bm-5: RerunOf" in told


@pytest.mark.parametrize("fail_at", range(-1, 3))
def test_a_race_of_a_comparison_is_not_run_again_alone(fail_at: int) -> None:
    """Its copy has no owner: it kept a machine for a month, or took the name of the Comparison's next block."""
    server = Server(fail_at)
    server.add("cmp-0a", annotations={rerun.ASKED: "v"}, ownerReferences=[OF_COMPARISON])
    assert set(rerun_all(server, "cmp-0a")) == {"cmp-0a: RerunRefused"}
    assert [*server.benchmarks] == ["cmp-0a"]
    annotations = server.benchmarks["cmp-0a"]["metadata"]["annotations"]
    assert (annotations[rerun.DONE], rerun.SAID in annotations) == ("v", False)
    assert rerun_all(server, "cmp-0a") == [], "the value is dealt with"


@pytest.mark.parametrize("fail_at", range(-1, 4))
def test_a_value_is_not_run_again_where_a_replace_has_removed_the_notes(fail_at: int) -> None:
    """`kubectl replace`, or a sync that replaces, leaves of the annotations what the manifest has."""
    server = Server(fail_at)
    bm = server.add("bm", annotations={rerun.ASKED: "v"})
    rerun_all(server)
    for value, runs in (("v", ["bm", "bm-2"]), ("w", ["bm", "bm-2", "bm-3"]), ("v", ["bm", "bm-2", "bm-3"])):
        bm["metadata"]["annotations"] = {rerun.ASKED: value}
        rerun_all(server)
        assert sorted(server.benchmarks) == runs and bm["metadata"]["annotations"][rerun.DONE] == value


def kept_for_a_second(server: Server) -> Json:
    over = server.add("bm")
    over["spec"]["keepClusterFor"] = "1s"
    over["status"] = {
        "phase": "Failed",
        "completionTime": "2026-01-01T00:00:00Z",
        "conditions": [{"type": "ClusterKept", "status": "True"}],
    }
    return over


def test_a_kept_cluster_is_removed_when_its_time_is_over() -> None:
    server, told = Server(), list[str]()
    over = kept_for_a_second(server)
    there = [{"metadata": {"name": "bm-race-1"}}, {"metadata": {"name": "going", "deletionTimestamp": "x"}}]

    async def run() -> None:
        work = chores(server, told, there)
        work.look(over)
        await done(work)

    asyncio.run(run())
    assert server.deleted == ["bm-race-1"] and told == ["bm: ClusterRemoved"]


def owned(name: str, uid: str, **meta: Any) -> Json:
    owner = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Benchmark", "name": "bm", "uid": uid, "controller": True}
    return {"metadata": {"name": name, "ownerReferences": [owner], **meta}}


@pytest.mark.parametrize("without_eck", [False, True])
@pytest.mark.parametrize("fail_at", [-1, 1])
def test_a_kept_cluster_that_no_event_told_of_is_removed(fail_at: int, without_eck: bool) -> None:
    """A watch that is blind for clusters: it stayed for ever, and kept races off its machine."""
    server, told = Server(fail_at), list[str]()
    server.without_eck = without_eck
    server.clusters = [owned("bm-race-1", "u1"), owned("going", "u1", deletionTimestamp="x"), owned("other", "u2")]
    over = kept_for_a_second(server)

    async def run() -> None:
        work = chores(server, told)
        work._began = datetime(2026, 1, 1, tzinfo=UTC)
        work.look(over)
        await done(work)

    asyncio.run(run())
    assert server.deleted == ([] if without_eck else ["bm-race-1"])
    assert told == ([] if without_eck else ["bm: ClusterRemoved"])


def test_a_cluster_whose_time_was_over_before_the_operator_began_costs_no_request() -> None:
    """Of thousands that were kept once each would be asked for at every start; the first lists have what is left."""
    server = Server()
    over = kept_for_a_second(server)

    async def run() -> None:
        work = chores(server, [])
        work.look(over)
        await done(work)

    asyncio.run(run())
    assert server.requests == 0


def test_a_cluster_that_a_comparison_keeps_goes_with_its_end() -> None:
    server = Server()
    server.clusters = [owned("cmp-0a-race-1", "u1")]
    over = server.add("cmp-0a")
    over["spec"]["keepClusterFor"] = "720h"
    over["metadata"]["ownerReferences"] = [OF_COMPARISON]
    over["status"] = {
        "phase": "Succeeded",
        "completionTime": stamp(datetime.now(UTC)),
        "conditions": [{"type": "ClusterKept", "status": "True"}],
    }
    left = ["Racing", "Racing", "Complete"]

    async def find(kind: str, namespace: str, name: str) -> Json | None:
        assert (kind, name) == ("Comparison", "cmp") and not server.deleted
        return {"metadata": {"name": name, "uid": "c"}, "status": {"phase": left.pop(0)}}

    server.find = find  # type: ignore[method-assign]

    async def run() -> None:
        work = chores(server, [])
        work.look(over)
        await done(work)

    asyncio.run(run())
    assert server.deleted == ["cmp-0a-race-1"] and not left


def left_over(server: Server, conditions: list[Json]) -> Json:
    over = server.add("bm")
    over["status"] = {"phase": "Failed", "completionTime": "2026-01-01T00:00:00Z", "conditions": conditions}
    server.clusters = [owned("bm-race-1", "u1"), owned("going", "u1", deletionTimestamp="x"), owned("other", "u2")]
    return over


def remove_leftovers(server: Server, over: Json, seen: list[Json]) -> list[str]:
    told: list[str] = []

    async def run() -> None:
        work = chores(server, told)
        work.left_of = lambda namespace, uid: seen if (namespace, uid) == ("ns", "u1") else []
        work.look(over)
        work.look(over)
        await done(work)

    asyncio.run(run())
    return told


@pytest.mark.parametrize("denials", [0, 3])
def test_what_could_not_be_deleted_in_time_is_deleted_later(denials: int) -> None:
    """A webhook failed for eleven minutes: the cluster stayed, and its machine was closed to all others, for good."""
    server = Server()
    server.denials = denials
    over = left_over(server, [{"type": "ClusterReady", "status": "False"}])
    assert remove_leftovers(server, over, [server.clusters[0]]) == ["bm: LeftoverRemoved"]
    assert server.deleted == ["bm-race-1"]


def test_of_a_blind_view_nothing_is_told() -> None:
    server = Server()
    over = left_over(server, [])
    seen, server.clusters = [server.clusters[0]], []
    assert remove_leftovers(server, over, seen) == [] == server.deleted


def test_what_somebody_else_has_deleted_meanwhile_is_not_told() -> None:
    """A view that is a little late: what was on its way out already was told as removed."""
    server = Server()
    over = left_over(server, [])
    seen, server.clusters = [server.clusters[0]], [owned("bm-race-1", "u1", deletionTimestamp="x")]
    assert remove_leftovers(server, over, seen) == [] == server.deleted


def test_of_one_that_keeps_its_cluster_the_jobs_alone_are_deleted() -> None:
    server, told = Server(), list[str]()
    over = left_over(server, [{"type": "ClusterKept", "status": "True"}])
    over["spec"]["keepClusterFor"] = "8760h"
    over["status"]["completionTime"] = stamp(datetime.now(UTC))
    server.jobs = [owned("bm-race-1-job", "u1"), owned("of-another", "u2")]

    async def run() -> None:
        work = chores(server, told, server.clusters[:1])
        work.left_of = lambda *_: [server.clusters[0], server.jobs[0]]
        work.look(over)
        await asyncio.gather(*(each for each in work.running() if each.get_name().startswith("leftover")))
        await work.stop()

    asyncio.run(run())
    assert server.deleted == ["bm-race-1-job"] and told == ["bm: LeftoverRemoved"]


@pytest.mark.parametrize("phase", ["Failed", "Racing"])
def test_what_is_kept_or_raced_on_is_no_leftover(phase: str) -> None:
    server = Server()
    over = left_over(server, [{"type": "ClusterKept", "status": "True"}] if phase == "Failed" else [])
    over["spec"]["keepClusterFor"] = "8760h"
    over["status"] |= {"phase": phase, "completionTime": stamp(datetime.now(UTC))}

    async def run() -> None:
        work = chores(server, [], server.clusters[:1])
        work.left_of = lambda *_: [server.clusters[0]]
        work.look(over)
        assert not [each for each in work.running() if each.get_name().startswith("leftover")]
        await work.stop()

    asyncio.run(run())
    assert server.deleted == []


def test_clusters_and_jobs_that_nobody_has_deleted_are_left() -> None:
    async def work() -> None:
        operator = Operator(Settings(race_image="race"))
        going = owned("going", "u1", namespace="ns", deletionTimestamp="x")
        there: Any = {"u1": [owned("there", "u1", namespace="ns"), going]}
        operator.elasticsearches, operator.jobs = {"": there, "other": there}, {"ns": there}
        left = operator.chores.left_of("ns", "u1")
        assert [each["metadata"]["name"] for each in left] == ["there", "there"]
        assert operator.chores.left_of("ns", "u2") == [] == operator.chores.left_of("other", "u1")

    asyncio.run(work())


def finished(server: Server, **ttl: Any) -> Json:
    over = server.add("bm")
    over["spec"]["ttlAfterFinished"] = {"succeeded": "1s", **ttl}
    over["status"] = {"phase": "Succeeded", "completionTime": "2026-01-01T00:00:00Z"}
    owner = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Benchmark", "name": "bm", "controller": True}
    owners = [{**owner, "uid": over["metadata"]["uid"]}]
    server.config_maps = [
        {"metadata": {"name": "bm-race-1", "ownerReferences": owners}},
        {"metadata": {"name": "labelled-by-somebody", "ownerReferences": [{**owner, "uid": "other"}]}},
    ]
    return over


def expire(server: Server, over: Json) -> list[str]:
    told: list[str] = []

    async def run() -> None:
        work = chores(server, told)
        work.look(over)
        await done(work)

    asyncio.run(run())
    return told


@pytest.mark.parametrize("fail_at", range(-1, 5))
def test_records_go_when_their_time_is_over_whatever_request_fails(fail_at: int) -> None:
    server = Server(fail_at)
    over = finished(server)
    before = copy.deepcopy(over["status"])
    told = expire(server, over)
    assert set(server.deleted) == {"bm-race-1"} and told == ["bm: Expired"]
    assert over["metadata"]["annotations"][EXPIRED] == "2026-01-01T00:00:01Z" and over["status"] == before
    assert expire(server, over) == [], "once"


def test_the_benchmark_goes_when_it_was_asked_for() -> None:
    server = Server()
    expire(server, finished(server, benchmark=True))
    assert server.deleted == ["bm"]


@pytest.mark.parametrize(("uid", "phases"), [("c", ["Racing", "Racing", "Complete"]), ("another", ["Racing"])])
def test_records_stay_until_the_comparison_that_races_them_has_ended(uid: str, phases: list[str]) -> None:
    server = Server()
    over = finished(server)
    over["metadata"]["ownerReferences"] = [OF_COMPARISON]
    found, left = server.find, list(phases)

    async def find(kind: str, namespace: str, name: str) -> Json | None:
        if kind != "Comparison":
            return await found(kind, namespace, name)
        assert not server.deleted and name == "cmp"
        return {"metadata": {"name": name, "uid": uid}, "status": {"phase": left.pop(0)}}

    server.find = find  # type: ignore[method-assign]
    assert expire(server, over) == ["bm: Expired"] and server.deleted == ["bm-race-1"] and not left


def test_who_may_not_delete_says_so() -> None:
    server = Server()
    server.forbidden = True
    assert expire(server, finished(server)) == ["bm: ExpiryForbidden"]


def run_three_times(server: Server) -> list[Json]:
    for minute in (1, 2, 3):
        over = server.add(f"bm-{minute + 1}", labels={rerun.OF: "bm"})
        over["spec"]["rerunHistoryLimit"] = 1
        over["status"] = {"phase": "Succeeded", "completionTime": f"2026-01-01T00:0{minute}:00Z", "conditions": []}
    server.add("bm")
    return [each for each in server.benchmarks.values() if "status" in each]


@pytest.mark.parametrize(
    ("fail_at", "forbidden", "gone", "said"),
    [
        (-1, False, ["bm-2", "bm-3"], ["bm-2: HistoryLimited"] * 2),
        (1, False, ["bm-2", "bm-3"], ["bm-2: HistoryLimited"] * 2),
        (-1, True, [], ["bm-2: HistoryLimitForbidden"]),
    ],
)
def test_old_reruns_go_and_one_look_serves_all_that_are_seen_at_once(
    fail_at: int, forbidden: bool, gone: list[str], said: list[str]
) -> None:
    server, told = Server(fail_at), list[str]()
    server.forbidden = forbidden

    async def run() -> None:
        work = chores(server, told)
        for each in run_three_times(server):
            work.look(each)
        assert len(work.running()) == 1
        await done(work)

    asyncio.run(run())
    assert server.deleted == gone and told == said


def test_reruns_of_one_that_had_the_name_before_stay() -> None:
    server, told = Server(), list[str]()
    for minute, run in enumerate(run_three_times(server)):
        run["metadata"]["annotations"] = {rerun.OF_UID: "u", rerun.FIRST_UID: "new" if minute else "old"}

    async def run_history() -> None:
        work = chores(server, told)
        work.look(server.benchmarks["bm-4"])
        await done(work)

    asyncio.run(run_history())
    assert server.deleted == ["bm-3"] and told == ["bm-4: HistoryLimited"]


@pytest.mark.parametrize(
    ("over", "gone"),
    [
        (kept_for_a_second, ["bm-race-1"]),
        (finished, ["bm-race-1"]),
        (lambda server: run_three_times(server)[0], ["bm-2", "bm-3"]),
    ],
    ids=["kept cluster", "records", "history"],
)
def test_what_was_refused_is_tried_again_later_and_said_once(
    over: Any, gone: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A webhook's denial was the last word until a restart, while the races of others kept off the cluster."""
    server, real, slept = Server(), asyncio.sleep, list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await real(0)

    monkeypatch.setattr("fairlap.runtime.beside.chores.asyncio.sleep", sleep)
    server.denials = 3

    async def run() -> None:
        work = chores(server, [], [{"metadata": {"name": "bm-race-1"}}])
        work.look(over(server))
        await done(work)

    asyncio.run(run())
    assert server.deleted == gone
    pauses = [seconds for seconds in slept if seconds > 2]
    assert len(pauses) == 3 and all(200 < seconds < 400 for seconds in pauses)
    assert caplog.text.count("not now") == 1


def test_a_rerun_that_was_refused_is_not_made_anew() -> None:
    """The run that it made may have been deleted meanwhile."""

    class Policy(Server):
        tries = 0

        async def patch(self, _: str, __: str, name: str, body: Json) -> Json:
            self.tries += 1
            raise ApiError(403, 'admission webhook "w" denied the request')

    server = Policy()
    server.add("bm", annotations={rerun.ASKED: "v"})
    assert rerun_all(server) == [] and server.tries == 1


def test_nothing_is_begun_for_others() -> None:
    async def run() -> None:
        work = chores(Server(), [])
        work.look({"metadata": {"name": "bm", "uid": "u"}, "spec": {}, "status": {"phase": "Racing"}})
        assert not work.running()
        work.forget("u")
        await work.stop()

    asyncio.run(run())


def test_one_that_makes_no_sense_is_counted_and_left_alone() -> None:
    """Whoever looks for chores has other Benchmarks to look at."""
    begun: list[str] = []
    chores = Chores(lambda *_: None, lambda: None, lambda _: [], lambda _: set())  # type: ignore[arg-type, return-value]
    chores._begin = lambda _, kind, __: begun.append(kind)  # type: ignore[method-assign]
    before = INTERNAL_ERRORS.labels("keep")._value.get()
    meta = {"name": "bm", "namespace": "ns", "uid": "u", "annotations": {rerun.ASKED: "1"}}
    for conditions in ([{}], [None], 7, [{"type": "ClusterKept", "status": "True"}]):
        status = {"phase": "Failed", "completionTime": "whenever", "conditions": conditions}
        chores.look({"metadata": meta, "spec": {}, "status": status})
    assert begun == ["rerun"] * 4
    assert INTERNAL_ERRORS.labels("keep")._value.get() == before + 4


def test_a_cluster_is_not_kept_for_longer_than_a_year_whatever_is_asked_for() -> None:
    kept = {"type": "ClusterKept", "status": "True"}
    status = {"phase": "Failed", "completionTime": "2026-01-01T00:00:00Z", "conditions": [kept]}
    due = kept_until({"spec": {"keepClusterFor": "99999999h"}, "status": status}, datetime(2026, 1, 1, tzinfo=UTC))
    assert due is not None and due.year == 2027


def test_an_announcement_that_is_too_deep_is_none() -> None:
    meta = {"annotations": {rerun.SAID: "[" * 100_000}}
    assert rerun.announced({"metadata": meta}, "1") is None


@pytest.mark.parametrize(
    ("began", "mended", "gone"),
    [("10T12:00", "10T12:00", "11T11:00"), ("09T06:00", "10T12:00", "11T11:00"), ("08T06:00", "08T06:00", "09T06:00")],
    ids=["right", "behind at the start", "the one that wrote it was ahead"],
)
def test_a_time_is_over_by_a_clock_that_was_mended_meanwhile(
    monkeypatch: pytest.MonkeyPatch, began: str, mended: str, gone: str
) -> None:
    now = [datetime.fromisoformat(f"2026-01-{began}:00Z")]

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return now[0]

    async def sleep(seconds: float) -> None:
        now[0] = max(now[0] + timedelta(seconds=seconds), datetime.fromisoformat(f"2026-01-{mended}:00Z"))

    monkeypatch.setattr(chores_module, "datetime", Clock)
    monkeypatch.setattr(chores_module.asyncio, "sleep", sleep)
    kept = [{"type": "ClusterKept", "status": "True"}]
    status = {"phase": "Failed", "completionTime": "2026-01-10T11:00:00Z", "conditions": kept}
    benchmark = {"spec": {"keepClusterFor": "24h"}, "status": status}
    due = asyncio.run(chores_module._wait_for(benchmark, kept_until))
    assert due == now[0] == datetime.fromisoformat(f"2026-01-{gone}:00Z")
