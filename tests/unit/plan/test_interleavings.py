"""Crashes, stale reads and lost events are just more inputs of a pure function."""

import copy
import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from world import START, cluster, good_record, pod, progress, seen, spec

from fairlap.api.phases import OVER
from fairlap.api.status import BenchmarkStatus
from fairlap.plan.basis.seen import Checker, Children, Plan, Seen
from fairlap.plan.benchmark import plan
from fairlap.queue.turn import Turn

STEPS = ("check", "smoke", *(f"race-{number}" for number in range(1, 9)))


class World:
    """One Benchmark's objects, moved on at random; every Job that ever ran is counted."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.children: dict[str, dict[str, Any]] = {}
        self.runs: list[str] = []
        self.recorded: set[str] = set()
        self.uids = 0
        self.now = START
        self.history: list[dict[str, dict[str, Any]]] = []

    def of(self, step: str) -> dict[str, Any]:
        return self.children.setdefault(step, {"es": None, "job": None, "progress": None, "pods": []})

    def view(self, status: BenchmarkStatus, *, asked: bool = False) -> Children:
        """The children as the indexes have them, or as the API server itself when it is asked."""
        if status.step is None:
            return Children()
        now = self.of(status.step.name)
        ready = len(now["pods"])
        if not asked:
            if self.behind and (steps := [old for old in self.history[-5:] if status.step.name in old]):
                now = self.random.choice(steps)[status.step.name]
            now = {kind: None if kind in self.blind else thing for kind, thing in now.items()}
            ready = 0 if "endpoints" in self.blind else ready
        return Children(now["es"], now["job"], now["progress"], tuple(now["pods"] or ()), ready)

    def act(self, step: str, todo: Plan) -> None:
        mine = self.of(step)
        for what in todo.create:
            self.uids += 1
            if what == "elasticsearch" and mine["es"] is None:
                mine["es"] = cluster(phase="ApplyingChanges")
            if what == "job" and mine["job"] is None:
                mine["job"] = {"metadata": {"uid": f"j{self.uids}"}, "spec": {"suspend": True}, "status": {}}
        if todo.start_job and mine["job"] and mine["job"]["spec"]["suspend"]:
            mine["job"]["spec"]["suspend"] = False
            self.runs.append(step)
        if "elasticsearch" in todo.delete:
            mine["es"] = None
        if "job" in todo.delete:
            mine["job"] = None

    def move(self) -> None:
        for name, mine in self.children.items():
            if self.random.random() < 0.5:
                continue
            if mine["es"] is None:
                mine["pods"] = []
            elif not mine["pods"]:
                mine["pods"] = [pod("es-0")]
            else:
                mine["es"] = cluster()
            if mine["job"] and not mine["job"]["spec"]["suspend"]:
                mine["progress"] = self.random.choice([progress("racing", "bulk", 3), progress("done")])
                self.recorded |= {name} if mine["progress"] == progress("done") else set()
            if mine["job"] and self.random.random() < self.lose:
                mine["job"] = None

        self.history.append(copy.deepcopy(self.children))

    lose = 0.0
    blind: tuple[str, ...] = ()
    """kinds whose watch tells nothing"""
    behind = False
    """whether each look at the indexes shows one of the last moments"""


def drive(world: World, look: Seen) -> BenchmarkStatus:
    status, stale = BenchmarkStatus(), (BenchmarkStatus(), Children())
    for _ in range(600):
        world.now += timedelta(seconds=world.random.choice((0, 1)))
        current = (status, world.view(status))
        view = stale if world.random.random() < 0.3 else current  # a cache that lags
        now_seen = replace(look, status=view[0], children=view[1], now=world.now, confirmed=False)
        if world.blind and world.random.random() < 0.2 and view[0].step:  # as a look that no event caused does
            now_seen = replace(now_seen, children=world.view(view[0], asked=True), confirmed=True)
        todo = plan(now_seen)
        while todo.look:  # what the index says is confirmed by the API server
            if todo.look == ("warnings",):
                now_seen = replace(now_seen, warnings=())
            elif todo.look == ("records",):
                records = {name: good_record(name) if name in world.recorded else None for name in STEPS}
                now_seen = replace(now_seen, records=records)
            elif todo.look == ("checker",):
                now_seen = replace(now_seen, checker=look.checker or Checker())
            elif todo.look == ("track",):
                now_seen = replace(now_seen, track_keys=frozenset({"track.json"}))
            else:
                assert todo.look == ("children",)
                now_seen = replace(now_seen, children=world.view(view[0], asked=True), confirmed=True)
            todo = plan(now_seen)
        stale = current
        if todo.status != view[0]:
            if view[0] == status and world.random.random() < 0.8:  # the precondition holds, and no crash before it
                status = todo.status
        elif view[0] == status and status.step and world.random.random() < 0.8:
            world.act(status.step.name, todo)
        world.move()
        if status.phase in OVER:
            break
    return status


@pytest.mark.parametrize("seed", range(120))
def test_every_interleaving_ends_and_no_race_runs_twice(seed: int) -> None:
    world = World(seed)
    status = drive(world, seen(of=spec(repetitions=3, race={"params": {"bulk_size": 100}}), turn=Turn(may_go=True)))
    assert status.phase == "Succeeded", status.progress
    assert world.runs == ["check", "smoke", "race-1", "race-2", "race-3"]
    assert all(mine["es"] is None and mine["job"] is None for mine in world.children.values())
    assert status.races_done == "3/3" and status.results and status.results.tasks[0].throughput


@pytest.mark.parametrize("seed", range(20))
def test_a_check_that_another_has_made_runs_no_job(seed: int) -> None:
    world, race = World(seed), {"params": {"bulk_size": 100}}
    other = drive(World(seed), seen(of=spec(repetitions=0, smokeTest=False, race=race)))
    asks = spec(race=race, checkedBy="first", smokeTest=False)
    status = drive(world, seen(of=asks, checker=Checker(spec(race=race), other)))
    assert status.phase == "Succeeded", status.progress
    assert world.runs == ["race-1"] and status.expected_documents == other.expected_documents


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("blind", ["job", "pods", "es", "endpoints", ""], ids=["job", "pods", "es", "slices", "behind"])
def test_a_blind_or_lagging_watch_loses_nothing(blind: str, seed: int) -> None:
    world = World(seed)
    world.blind, world.behind = (blind,) if blind else (), not blind
    status = drive(world, seen(of=spec(repetitions=2, smokeTest=False), turn=Turn(may_go=True)))
    assert status.phase == "Succeeded", (status.reason, status.message)
    assert world.runs == ["race-1", "race-2"]


@pytest.mark.parametrize("seed", range(80))
def test_lost_jobs_end_it_and_never_run_again(seed: int) -> None:
    world = World(seed)
    world.lose = 0.1
    status = drive(world, seen(of=spec(repetitions=3, race={"params": {"bulk_size": 100}}), turn=Turn(may_go=True)))
    assert status.phase in OVER
    assert len(world.runs) == len(set(world.runs))
    assert all(mine["es"] is None and mine["job"] is None for mine in world.children.values())
