"""What is asked between the steps of a schedule, from a cluster that only counts."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairlap_race.contract.codec import encode
from fairlap_race.contract.recorded.cluster_course import TaskCaches
from fairlap_race.contract.recorded.request_evidence import RequestEvidence
from fairlap_race.contract.request_files.planned_search import PlannedSearch
from fairlap_race.elasticsearch.client import ElasticsearchError
from fairlap_race.rally.inside.launch import BetweenSteps
from fairlap_race.rally.inside.step_looks import FOUND, PATIENCE, PLAN, LookPlan, StepLooks, read_found


class Cluster:
    """One index t of one shard; each search of it is counted."""

    def __init__(self) -> None:
        self.queries, self.rejected, self.waiting = 0, 0, 0
        self.indices = {"t"}
        self.sent: list[str] = []
        self.down = False

    def get(self, path: str, _: float = 0) -> Any:
        if self.down:
            raise ElasticsearchError("down")
        if path.startswith("/_stats"):
            total = {
                "search": {"query_total": self.queries},
                "segments": {"index_writer_memory_in_bytes": self.waiting},
            }
            return {"indices": {name: {"total": total} for name in self.indices}}
        if path.startswith("/_nodes/stats/indices"):
            counted = {"request_cache": {"hit_count": self.queries, "miss_count": 2, "evictions": 0}}
            return {"nodes": {"n": {"name": "es-0", "indices": counted}}}
        if path.startswith("/_nodes"):
            return {"nodes": {"n": {"thread_pool": {"write": {"rejected": self.rejected}, "search": {"rejected": 0}}}}}
        return {"shards": [[{"index": "t"}]] if path.startswith("/t/") and "t" in self.indices else []}

    def send(self, method: str, path: str, body: Any, headers: Any, timeout: float) -> Any:
        self.sent.append(path)
        self.queries += 1
        if self.down:
            raise ElasticsearchError("down")
        shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
        return {"timed_out": False, "_shards": shards, "hits": {"total": {"value": 3, "relation": "eq"}, "hits": []}}


def plan(*searches: PlannedSearch, before: bool = False) -> LookPlan:
    return LookPlan(searches=searches, search_tasks=("find", "lost"), bulk_tasks=("bulk",), before=before)


FIND = PlannedSearch("find", "GET", "/t/_search", "{}", index="t")
LOST = PlannedSearch("lost", "GET", "/nope-*/_search", "{}", index="nope-*")


def found(path: Path, planned: LookPlan) -> RequestEvidence:
    return read_found(path.read_text().splitlines(), planned) if path.exists() else RequestEvidence()


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def looks(cluster: Cluster, planned: LookPlan, path: Path, **more: Any) -> StepLooks:
    return StepLooks(planned, cluster, path, **more)  # type: ignore[arg-type]


def test_the_searches_of_a_step_are_counted_without_our_own(cluster: Cluster, tmp_path: Path) -> None:
    planned = plan(FIND, LOST)
    look = looks(cluster, planned, tmp_path / "f")
    look.look(0, [], ["find"])
    cluster.queries += 40
    look.look(1, ["find"], ["lost"])
    look.look(2, ["lost"], ["bulk"])
    cluster.rejected += 7
    look.look(3, ["bulk"], [])
    evidence = found(tmp_path / "f", planned)
    first, second, third = evidence.steps
    assert (first.searches, first.shards, first.queries) == (("find",), {"find": 1}, 40)
    assert (second.searches, second.shards, second.queries) == (("lost",), {"lost": 0}, 0)
    assert (third.bulks, third.queries, third.writes_rejected) == (("bulk",), None, 7)
    assert [(it.task, it.when, it.hits) for it in evidence.answers] == [("find", "after", 3), ("lost", "after", 3)]


def test_what_the_caches_did_belongs_to_the_task_that_ran_alone(cluster: Cluster, tmp_path: Path) -> None:
    raw = PlannedSearch("replay", "GET", "/t/_search", "{}", index="t")
    planned = plan(FIND, raw)
    look = looks(cluster, planned, tmp_path / "f")
    look.look(0, [], ["sleep"])
    cluster.queries += 9
    look.look(1, ["sleep"], ["replay"])
    cluster.queries += 30
    look.look(2, ["replay"], ["find", "bulk"])
    cluster.queries += 5
    look.look(3, ["find", "bulk"], [])
    evidence = found(tmp_path / "f", planned)
    assert evidence.caches == (
        TaskCaches("replay", whole=True, request_hits=30, request_misses=0, request_evictions=0),
    )
    # A raw request is no search of Rally's: how many of them there must be is not judged.
    assert [(it.step, it.searches, it.others, it.queries, it.anywhere) for it in evidence.steps] == [
        (2, (), ("replay",), None, 30),
        (3, ("find",), (), 5, 5),
    ]


def test_each_of_several_searches_of_a_task_is_sent(cluster: Cluster, tmp_path: Path) -> None:
    raw = [PlannedSearch("replay", "GET", f"/{name}/_search", "{}", index=name) for name in ("t", "nope-*")]
    planned = plan(*raw)
    look = looks(cluster, planned, tmp_path / "f")
    look.look(0, [], ["replay"])
    look.look(1, ["replay"], [])
    evidence = found(tmp_path / "f", planned)
    assert [it.index for it in evidence.answers] == ["t", "nope-*"]
    assert evidence.steps[0].shards == {"replay": 1} and evidence.steps[0].anywhere == 0


def test_before_a_step_only_when_planned(cluster: Cluster, tmp_path: Path) -> None:
    planned = plan(FIND, before=True)
    look = looks(cluster, planned, tmp_path / "f")
    look.look(0, [], ["find"])
    cluster.queries += 4
    look.look(1, ["find"], [])
    evidence = found(tmp_path / "f", planned)
    assert [it.when for it in evidence.answers] == ["before", "after"] and evidence.steps[0].queries == 4


def test_what_was_not_refreshed_settles_nothing(cluster: Cluster, tmp_path: Path) -> None:
    planned = plan(FIND)
    for waiting, settled in ((0, True), (9, False)):
        cluster.waiting = waiting
        looks(cluster, planned, tmp_path / str(waiting)).look(1, ["find"], [])
        assert found(tmp_path / str(waiting), planned).answers[0].settled is settled


def test_an_index_that_its_step_deleted_leaves_its_count_unknown(cluster: Cluster, tmp_path: Path) -> None:
    planned = plan(FIND)
    look = looks(cluster, planned, tmp_path / "f")
    look.look(0, [], ["find"])
    cluster.indices = set()
    look.look(1, ["find"], [])
    (step,) = found(tmp_path / "f", planned).steps
    assert step.queries is None and step.shards == {"find": 1}, "there was one before"


def test_what_is_on_another_cluster_is_not_counted(cluster: Cluster, tmp_path: Path) -> None:
    planned = plan(PlannedSearch("find", "GET", "/far:t/_search", "{}", index="far:t"))
    look = looks(cluster, planned, tmp_path / "f")
    look.look(0, [], ["find"])
    look.look(1, ["find"], [])
    (step,) = found(tmp_path / "f", planned).steps
    assert step.queries is None and step.shards == {}


def test_a_cluster_that_does_not_answer_ends_nothing(cluster: Cluster, tmp_path: Path) -> None:
    planned = plan(FIND)
    look = looks(cluster, planned, tmp_path / "f")
    cluster.down = True
    look.look(0, [], ["find"])
    look.look(1, ["find"], [])
    evidence = found(tmp_path / "f", planned)
    assert evidence.steps[0].queries is None and evidence.answers[0].trouble == "down"
    assert evidence.steps[0].trouble == "down"


def test_counters_that_could_not_be_had_say_why(cluster: Cluster, tmp_path: Path) -> None:
    planned = plan(FIND)
    cluster.rejected = 5
    look = looks(cluster, planned, tmp_path / "f")
    look.look(0, [], ["find"])
    look.look(1, ["find"], ["bulk"])
    cluster.rejected = 2
    look.look(2, ["bulk"], ["find"])
    look.look(3, ["find"], [])
    fresh = looks(cluster, planned, tmp_path / "f")
    fresh.look(4, ["bulk"], [])
    troubles = [it.trouble for it in found(tmp_path / "f", planned).steps]
    assert troubles == ["", "a node came, went or began anew", "", "they were not read before it"]


def test_searches_that_take_too_long_are_left_out(cluster: Cluster, tmp_path: Path) -> None:
    planned = plan(FIND, LOST)
    times = iter((0.0, 1.0, PATIENCE + 1))
    looks(cluster, planned, tmp_path / "f", clock=lambda: next(times)).look(1, ["find", "lost"], [])
    first, second = found(tmp_path / "f", planned).answers
    assert not first.trouble and "took longer than" in second.trouble and len(cluster.sent) == 1


def test_steps_that_ask_nothing_are_not_looked_at(cluster: Cluster, tmp_path: Path) -> None:
    cluster.get = pytest.fail  # type: ignore[method-assign,assignment]
    looks(cluster, plan(FIND), tmp_path / "f").look(1, ["create"], ["refresh"])
    assert not (tmp_path / "f").exists()


def test_half_a_line_is_not_read() -> None:
    lines = [json.dumps({"counters": {"step": 1}}), '{"answer": {"task": "x"']
    evidence = read_found(lines, LookPlan(not_looked_at={"a": "because"}))
    assert len(evidence.steps) == 1 and not evidence.answers and evidence.not_looked_at == {"a": "because"}


def driver(step: int) -> Any:
    names = [["create"], ["find"]]
    return SimpleNamespace(
        current_step=step, tasks_per_join_point=[[SimpleNamespace(name=name) for name in it] for it in names]
    )


def test_rallys_driver_is_followed_and_never_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = LookPlan(hosts=("localhost:1",), search_tasks=("find",))
    (tmp_path / PLAN).write_text(json.dumps(encode(planned)))
    seen: list[Any] = []
    monkeypatch.setattr(StepLooks, "look", lambda _, *what: seen.append(what))
    between = BetweenSteps(tmp_path)
    between.look(driver(-1), finished=False)
    for step in (-1, 0, 1):
        between.look(driver(step), finished=True)
    assert seen == [(0, [], ["create"]), (1, ["create"], ["find"]), (2, ["find"], [])]

    def broken(*_: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(StepLooks, "look", broken)
    between.look(driver(0), finished=True)
    between.look(driver(1), finished=True)
    assert not (tmp_path / FOUND).exists()


def test_without_a_plan_nothing_is_asked(tmp_path: Path) -> None:
    BetweenSteps(tmp_path).look(driver(0), finished=True)
    assert StepLooks.planned(tmp_path) is None
    (tmp_path / PLAN).write_text("half a plan {")
    assert StepLooks.planned(tmp_path) is None
