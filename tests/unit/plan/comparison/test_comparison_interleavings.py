"""Crashes, stale views, deleted and failing races are just more inputs of a pure function."""

import random
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from comparison_world import Court, Said, comparison, record_of, seen
from world import START

from fairlap.api.block_record import BlockRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import Block, ComparisonStatus
from fairlap.api.phases import OVER
from fairlap.plan.basis.conditions import stamp
from fairlap.plan.comparison.comparison_plan import plan_comparison
from fairlap.plan.comparison.comparison_seen import ComparisonPlan, ComparisonSeen, SeenRace
from fairlap.queue.turn import Turn

DESIGN = {"stop": "fixed", "blocks": 4, "seed": 3, "retries": 20}


class World:
    """A Comparison's objects, moved on at random; whatever begins to race is counted."""

    def __init__(self, seed: int, spec: ComparisonSpec) -> None:
        self.random = random.Random(seed)
        self.spec, self.court, self.now = spec, Court(), START
        self.status = ComparisonStatus()
        self.races: dict[str, SeenRace] = {}
        self.records: dict[str, BlockRecord] = {}
        self.began: list[str] = []
        """names of the Benchmarks that began to race, each time that one did"""
        self.made: list[tuple[int, str, str]] = []
        """block, variant and name of each Benchmark that was really created"""
        self.uids = 0
        self.holds = False
        self.history: list[tuple[ComparisonStatus, dict[str, SeenRace], bool]] = []
        self.crash = self.delete = self.fail = self.lose_record = self.stale = self.disturb = 0.0

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def turn(self, status: ComparisonStatus) -> Turn:
        return Turn(may_go=bool(status.admitted_time) or self.free, ahead=0 if self.free else 1, behind="ns/other")

    free = True

    def look(self) -> tuple[ComparisonStatus, ComparisonSeen]:
        status, races = self.status, dict(self.races)
        if self.history and self.chance(self.stale):  # a view of some moments ago
            status, races, _ = self.random.choice(self.history[-6:])
        found = seen(self.spec, status, races=races, now=self.now, confirmed=False)
        return status, replace(found, turn=self.turn(status))

    def answered(self, found: ComparisonSeen, todo: ComparisonPlan) -> ComparisonSeen:
        for what in todo.look:
            match what:
                case "races":
                    found = replace(found, races=dict(self.races), confirmed=True)
                case "dry_runs":
                    found = replace(found, dry_runs={"8.11.0": "", "9.0.0": ""})
                case "priors":
                    found = replace(found, priors={})
                case "records":
                    found = replace(found, records=self.stored(found.status))
        return found

    def stored(self, status: ComparisonStatus) -> dict[int, BlockRecord | None]:
        blocks = [block for block in status.blocks if block.valid and block.number]
        found = {block.number: self.records.get(block.record) for block in blocks}
        if status.block and status.block.number:
            again = f"-{status.block.attempt}" if status.block.attempt > 1 else ""
            found[status.block.number] = self.records.get(f"upgrade-block-{status.block.number}{again}")
        return found

    def once(self) -> None:
        """One look, and what follows from it; a crash may come before or after each write and act."""
        status, found = self.look()
        todo = plan_comparison(found, self.court.judges)
        for _ in range(6):
            if not todo.look:
                break
            found = self.answered(found, todo)
            todo = plan_comparison(found, self.court.judges)
        assert not todo.look
        if self.chance(self.crash):
            return
        if todo.status != status:
            if status == self.status:  # the precondition of the write
                assert self.status.phase not in OVER
                self.status = todo.status
            return
        self.act(found, todo)

    def act(self, found: ComparisonSeen, todo: ComparisonPlan) -> None:
        if todo.create and todo.create.name not in self.races:
            self.uids += 1
            name = todo.create.name
            self.races[name] = SeenRace(name, f"u{self.uids}", created=stamp(self.now))
            self.made.append((todo.create.block, todo.create.variant, name))
        if todo.record and todo.record not in self.records and found.status.block:
            self.records[todo.record] = record_of(found.status, lambda benchmark: self.chance(self.disturb))

    def move(self) -> None:
        """Races begin when the Comparison's status names them and it holds its place, and end; things get lost."""
        self.free = self.chance(0.7)
        block = self.status.block
        for name, race in list(self.races.items()):
            named = block and block.stage == "Running" and block.races[-1].uid == race.uid
            if not race.phase and named and self.chance(0.6):
                assert self.status.admitted_time, "a race began while the place was not held"
                self.began.append(name)
                self.races[name] = replace(race, phase="Racing")
            elif race.phase == "Racing" and self.chance(0.5):
                ended = "Failed" if self.chance(self.fail) else "Succeeded"
                self.races[name] = replace(race, phase=ended, reason="OutOfMemory", ended=stamp(self.now))
            if self.chance(self.delete):
                del self.races[name]
        for name in list(self.records):
            if self.chance(self.lose_record):
                del self.records[name]
        self.history.append((self.status, dict(self.races), self.free))

    def drive(self) -> ComparisonStatus:
        for _ in range(4000):
            self.now += timedelta(seconds=self.random.choice((0, 1, 5)))
            before = self.status
            self.once()
            if before.phase in OVER:
                assert self.status == before
                return self.status
            self.move()
        raise AssertionError(f"it never ended: {self.status.progress}")


def check(world: World, status: ComparisonStatus) -> None:
    assert status.phase in OVER and status.completion_time and status.block is None
    assert len(world.began) == len(set(world.began)), "no name raced twice"
    attempts = [(block.number, block.attempt) for block in status.blocks]
    assert len(attempts) == len(set(attempts))
    assert len({len(block.order) == len(block.races) for block in status.blocks if block.valid}) <= 1
    assert {each.type: each.status for each in status.conditions}[str(status.phase)] == "True"
    by_name: dict[str, set[Any]] = {}
    for block, variant, name in world.made:
        by_name.setdefault(name, set()).add((block, variant))
    assert all(len(of) == 1 for of in by_name.values())


@pytest.mark.parametrize("seed", range(40))
def test_crashes_and_stale_views_lose_nothing_and_double_nothing(seed: int) -> None:
    world = World(seed, comparison(design=DESIGN))
    world.crash, world.stale = 0.3, 0.3
    status = world.drive()
    check(world, status)
    assert (status.phase, status.verdict, status.blocks_done) == ("Complete", "NoDifference", "4/4")
    assert [block.valid for block in status.blocks] == [True] * 5, "nothing was lost"
    assert len(world.made) == len({name for _, _, name in world.made}) == 2 + 4 * 3
    assert world.began == [race.benchmark for block in status.blocks for race in block.races], "in the drawn order"
    assert status.cost_races + status.cost_preparations == len(world.began)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_gets_lost_it_ends_and_no_race_runs_twice(seed: int) -> None:
    world = World(seed, comparison(design=DESIGN))
    world.crash, world.stale, world.delete, world.fail, world.lose_record = 0.2, 0.2, 0.01, 0.1, 0.003
    status = world.drive()
    check(world, status)
    assert sum(not block.valid for block in status.blocks) <= 21
    if status.phase == "Complete":
        assert status.blocks_done == "4/4" or sum(not block.valid for block in status.blocks) > 20
    else:
        assert status.reason in ("RacesInvalid", "PreparationFailed")


def aside(status: ComparisonStatus) -> list[Block]:
    return [block for block in status.blocks if not block.valid and block.reason == "MachineDisturbed"]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("share", "kept"), [(1.0, False), (0.3, False), (1.0, True)])
def test_disturbed_blocks_are_raced_again_within_their_bound(seed: int, share: float, kept: bool) -> None:
    state = {"state": "Kept", "tasks": ["search"]} if kept else {}
    world = World(seed, comparison(design={**DESIGN, **state, "retries": 0}))
    world.crash, world.stale, world.disturb = 0.3, 0.3, share
    status = world.drive()
    check(world, status)
    assert (status.phase, status.verdict, status.blocks_done) == ("Complete", "NoDifference", "4/4")
    void = [block for block in status.blocks if not block.valid]
    assert void == aside(status) and len(void) <= 2 and (share < 1 or len(void) == 2)
    assert all(len(block.races) == len(block.order) for block in void), "as a whole"
    assert len(world.made) == 2 + 3 * (4 + len(void)) and sum(block.number == 0 for block in status.blocks) == 1
    assert world.court.asked[-1] == (4, (4,), True), "what was set aside is in no look"


@pytest.mark.parametrize("seed", range(40))
def test_whatever_gets_lost_disturbances_stay_within_their_bound(seed: int) -> None:
    world = World(seed, comparison(design=DESIGN))
    world.crash, world.stale, world.delete, world.fail, world.lose_record = 0.2, 0.2, 0.01, 0.1, 0.003
    world.disturb = 0.5
    status = world.drive()
    check(world, status)
    assert len(aside(status)) <= 2 and sum(not block.valid for block in status.blocks) <= 21 + 2
    assert status.phase == "Complete" or status.reason in ("RacesInvalid", "PreparationFailed")


@pytest.mark.parametrize("seed", range(20))
def test_at_a_deadline_no_disturbance_has_taken_a_block_away(seed: int) -> None:
    world = World(seed, comparison(design={**DESIGN, "blocks": 9}, deadline="2m"))
    world.crash, world.disturb = 0.2, 1.0
    status = world.drive()
    check(world, status)
    raced = [block for block in status.blocks if block.number]
    counted = [block.number for block in raced if block.valid]
    assert sorted(counted) == sorted({block.number for block in raced}), "each once"


@pytest.mark.parametrize("seed", range(12))
def test_when_all_races_fail_it_ends_within_its_bounds(seed: int) -> None:
    world = World(seed, comparison(design={**DESIGN, "retries": 2}))
    while not any(block.number == 0 for block in world.status.blocks):
        world.once()
        world.move()
    world.fail = 1.0
    status = world.drive()
    check(world, status)
    assert status.reason == "RacesInvalid" and sum(not block.valid for block in status.blocks) == 3


@pytest.mark.parametrize("seed", range(12))
def test_a_deadline_ends_whatever_waits(seed: int) -> None:
    world = World(seed, comparison(design={"seed": 1}, deadline="2m"))
    world.crash = 0.2
    world.court.said = Said("Inconclusive", gate_passed=False)
    status = world.drive()
    check(world, status)
    assert status.verdict in ("Inconclusive", None)


def test_the_order_over_blocks_is_balanced_and_that_of_its_seed() -> None:
    def orders(seed: int) -> list[list[str]]:
        world = World(seed, comparison(design={**DESIGN, "blocks": 6}))
        return [block.order for block in world.drive().blocks if block.number]

    assert orders(1) == orders(2), "chance is in the seed of the design alone"
    for place in zip(*orders(1), strict=True):
        assert set(Counter(place).values()) == {2}
