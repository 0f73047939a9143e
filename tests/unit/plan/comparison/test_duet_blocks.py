"""Blocks whose races are raced in turn: the next joins when the first can be met, and all are over together."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from comparison_world import Film, comparison
from test_comparison_interleavings import World, check

from fairlap.api.comparison_status import CurrentBlock
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import PlannedTask
from fairlap.plan.basis.conditions import stamp
from fairlap.plan.basis.steps import needs_check

AT = "10.0.0.7:9330"
DUET: dict[str, Any] = {
    "stop": "fixed", "blocks": 2, "seed": 1, "state": "Kept", "tasks": ["search"], "kind": "Duet", "retries": 3,
}  # fmt: skip


def duet(**changes: Any) -> Any:
    return comparison(design={**DUET, **changes}, calibrate=False)


@dataclass
class Duet(Film):
    """Its races go on until a test ends them."""

    def begin(self) -> CurrentBlock:
        """Go on until block 1 is under way with both of its races, and return it."""
        self.until("Running", 1, 1)
        self.meet()
        self.until("Running", 1, 2)
        assert self.status.block
        return self.status.block

    def finish(self, phase: str = "Succeeded", **changes: Any) -> None:
        if self.status.block and self.status.block.number == 0:
            super().finish(phase, **changes)

    def meet(self) -> None:
        block = self.status.block
        assert block
        name = block.races[0].benchmark
        self.races[name] = replace(self.races[name], meets_at=AT)

    def end(self, number: int, phase: str = "Succeeded", **changes: Any) -> None:
        block = self.status.block
        assert block
        self.now += timedelta(minutes=1)
        name = block.races[number].benchmark
        self.races[name] = replace(self.races[name], phase=phase, ended=stamp(self.now), **changes)


def test_the_races_of_a_block_are_raced_together() -> None:
    film = Duet(duet())
    film.until("Running", 1, 1)
    for _ in range(3):
        film.step()
    assert len(film.created) == 3, "nobody can join before the first says where"
    assert film.status.progress.endswith(" (1 of 2 in turn) · racing")
    film.meet()
    film.until("Running", 1, 2)
    first, second = film.created[2:]
    block = film.status.block
    assert block and block.meets_at == AT and [race.valid for race in block.races] == [None, None]
    for number, race in enumerate((first, second)):
        asked = {"block": "u-1-1-1", "races": 2, "number": number, **({"at": AT} if number else {})}
        assert race.spec["inTurn"] == asked
        assert BenchmarkSpec.model_validate(race.spec).in_turn
        where = {"machines": ["lg"]} if number else None
        assert race.spec["race"].get("scheduling") == where, "each is where the first one is"
    assert "inTurn" not in film.created[0].spec, "clusters are filled one after the other"
    before = film.status.cost_races, film.status.cost_seconds
    film.end(0)
    film.step()
    assert film.status.block and film.status.block.stage == "Running", "the other one still races"
    film.end(1)
    for _ in range(4):
        film.step()
    done = film.status.blocks[-1]
    assert (done.number, done.valid, [race.valid for race in done.races]) == (1, True, [True, True])
    assert film.status.cost_races == before[0] + 2
    assert film.status.cost_seconds == before[1] + 120, "the time in which both raced counts once"


def test_the_baseline_has_a_second_cluster_against_itself() -> None:
    film = Duet(comparison(design={"stop": "fixed", "blocks": 2, "seed": 1, "kind": "Duet"}))
    film.until("Running", 1, 1)
    film.meet()
    film.until("Running", 1, 3)
    races = film.created[2:]
    assert {race.variant for race in races} == {"8.11.0", "8.11.0*", "9.0.0"}
    assert [race.spec["inTurn"]["number"] for race in races] == [0, 1, 2]
    for race in races:
        spec = BenchmarkSpec.model_validate(race.spec)
        assert spec.elasticsearch and spec.elasticsearch.resources.requests.cpu == "100m", "they share the processors"
    assert races[1].spec["elasticsearch"]["scheduling"]["machines"] == [f"m-{races[0].name}"]


@pytest.mark.parametrize(
    ("reasons", "blamed", "told"),
    [
        (("OutOfMemory", "RaceAborted"), "OutOfMemory", ["OutOfMemory", "OthersLeft"]),
        (("RaceAborted", "OutOfMemory"), "OutOfMemory", ["OthersLeft", "OutOfMemory"]),
        (("RaceAborted", "RaceAborted"), "RaceAborted", ["RaceAborted", "RaceAborted"]),
        (("NotInTurn", ""), "NotInTurn", ["NotInTurn", ""]),
    ],
)
def test_one_that_fails_ends_the_others_and_they_are_not_to_blame(
    reasons: tuple[str, str], blamed: str, told: list[str]
) -> None:
    film = Duet(duet())
    film.begin()
    for number, reason in enumerate(reasons):
        film.end(number, *(("Failed",) if reason else ()), **({"reason": reason} if reason else {}))
        film.step(confirmed=True)
        assert film.status.block and film.status.block.stage == ("Running" if number == 0 else "Recording")
    for _ in range(3):
        film.step()
    void = next(block for block in film.status.blocks if block.number == 1)
    assert (void.valid, void.reason, [race.reason for race in void.races]) == (False, blamed, told)


def test_one_that_fails_before_the_others_joined_voids_its_block() -> None:
    film = Duet(duet())
    film.until("Running", 1, 1)
    film.end(0, "Failed", reason="ClusterUnreachable", message="no answer")
    for _ in range(4):
        film.step(confirmed=True)
    void = next(block for block in film.status.blocks if block.number == 1)
    assert (void.valid, void.reason, len(void.races)) == (False, "ClusterUnreachable", 1)


def test_one_that_is_refused_waits_for_the_one_that_races() -> None:
    film = Duet(duet())
    film.until("Running", 1, 1)
    film.meet()
    film.until("Starting", 1, 2)
    for _ in range(2):
        film.step(refusal="spec: too odd")
    block = film.status.block
    assert block and block.stage == "Running" and [race.valid for race in block.races] == [None, False]
    film.end(0, "Failed", reason="RaceAborted")
    for _ in range(4):
        film.step(confirmed=True)
    void = next(block for block in film.status.blocks if block.number == 1)
    assert [race.reason for race in void.races] == ["OthersLeft", "RaceRefused"] and void.reason == "RaceRefused"


def test_what_an_index_does_not_show_is_read_before_it_is_believed() -> None:
    film = Duet(duet())
    block = film.begin()
    gone = film.races.pop(block.races[0].benchmark)
    assert film.step(confirmed=False).look == ("races",)
    film.races[block.races[0].benchmark] = gone
    film.step(confirmed=True)
    assert film.status.block and film.status.block.stage == "Running"


class DuetWorld(World):
    """Races of a block begin together, and end when all have begun or one has failed."""

    def move(self) -> None:
        block = self.status.block
        if block is None or block.number == 0:
            super().move()
            return
        self.free = self.chance(0.7)
        names = [race.benchmark for race in block.races]
        for race in block.races:
            there = self.races.get(race.benchmark)
            if there is None or not race.uid or there.uid != race.uid or race.valid is not None:
                continue
            if not there.phase and block.stage in ("Starting", "Running") and self.chance(0.6):
                assert self.status.admitted_time, "a race began while the place was not held"
                self.began.append(there.name)
                keeps = names.index(there.name) == 0
                self.races[there.name] = replace(there, phase="Racing", meets_at=AT if keeps else "")
            elif there.phase == "Racing":
                self._end(block, there.name)
            if self.chance(self.delete):
                self.races.pop(there.name, None)
        for name in list(self.records):
            if self.chance(self.lose_record):
                del self.records[name]
        self.history.append((self.status, dict(self.races), self.free))

    def _end(self, block: CurrentBlock, name: str) -> None:
        there, others = self.races[name], [self.races.get(race.benchmark) for race in block.races]
        all_met = len(others) == len(block.order) and all(it and it.phase for it in others)
        gone = any(race.uid and it is None for race, it in zip(block.races, others, strict=True))
        one_left = gone or any(it is not None and it.phase == "Failed" for it in others)
        if self.chance(self.fail):
            self.races[name] = replace(there, phase="Failed", reason="OutOfMemory", ended=stamp(self.now))
        elif one_left and self.chance(0.5):
            self.races[name] = replace(there, phase="Failed", reason="RaceAborted", ended=stamp(self.now))
        elif all_met and not one_left and self.chance(0.5):
            self.races[name] = replace(there, phase="Succeeded", ended=stamp(self.now))


@pytest.mark.parametrize("seed", range(40))
def test_crashes_and_stale_views_lose_nothing_and_double_nothing(seed: int) -> None:
    world = DuetWorld(seed, duet(blocks=4))
    world.crash, world.stale = 0.3, 0.3
    status = world.drive()
    check(world, status)
    assert (status.phase, status.verdict, status.blocks_done) == ("Complete", "NoDifference", "4/4")
    assert [block.valid for block in status.blocks] == [True] * 5, "nothing was lost"
    assert len(world.made) == len({name for _, _, name in world.made}) == 2 + 4 * 2
    assert status.cost_races + status.cost_preparations == len(world.began)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_gets_lost_it_ends_and_no_race_runs_twice(seed: int) -> None:
    world = DuetWorld(seed, duet(blocks=4, retries=20))
    world.crash, world.stale, world.delete, world.fail, world.lose_record = 0.2, 0.2, 0.01, 0.05, 0.003
    status = world.drive()
    check(world, status)
    if status.phase != "Complete":
        assert status.reason in ("RacesInvalid", "PreparationFailed")


@pytest.mark.parametrize("first", ["8.11.0", "9.0.0"])
@pytest.mark.parametrize("state", ["Kept", "Fresh"])
def test_variants_that_run_other_tasks_are_refused_before_a_block(state: str, first: str) -> None:
    """Each client would wait at a task for one that never comes; what may find no machine is prepared first."""
    film = Duet(duet(**({} if state == "Kept" else {"state": "Fresh", "tasks": []})))
    lacking = [
        it.model_copy(update={"lacking_memory": "" if it.name != first else "64Gi"}) for it in film.status.variants
    ]
    film.status = film.status.model_copy(update={"variants": lacking})
    film.until("Running", 0, 2)
    assert film.status.block and film.status.block.races[0].variant == first
    for race in film.status.block.races:
        clients = 4 if race.variant == "8.11.0" else 2
        tasks = (PlannedTask(name="index", clients=8), PlannedTask(name="search", clients=clients))
        film.races[race.benchmark] = replace(film.races[race.benchmark], tasks=tasks)
    film.run()
    assert (film.status.phase, film.status.reason) == ("Failed", "InvalidVariant")
    assert film.status.message == (
        "variant 9.0.0: its task search has 2 clients, the baseline's 4: with design.kind: Duet one request of each is "
        "sent in turn, so let all variants run the same tasks with as many clients, or write design.kind: Races"
    )


@pytest.mark.parametrize(
    ("kind", "task", "clients"),
    [("Races", "search", (4, 2)), ("Duet", "index", (4, 2)), ("Duet", "search", (0, 2)), ("Duet", "search", (2, 0))],
)
def test_other_clients_are_of_no_matter_where_nobody_waits_for_them(
    kind: str, task: str, clients: tuple[int, int]
) -> None:
    """One after the other, at tasks that blocks do not race, and where an older operator did not tell."""
    film = Duet(duet(kind=kind))
    film.until("Running", 0, 2)
    assert film.status.block
    for race, count in zip(film.status.block.races, clients, strict=True):
        tasks = (PlannedTask(name=task, clients=count),) if count else ()
        film.races[race.benchmark] = replace(film.races[race.benchmark], tasks=tasks)
    film.until("Running", 1, 1)


def test_the_tasks_of_both_are_known_before_they_take_turns() -> None:
    """A builtin track as it is needs no check, so the baseline's tasks were not known, and others let it wait."""
    variants = [{"name": "a"}, {"name": "b", "patch": {"race": {"params": {"search_clients": 8}}}}]
    film = Duet(comparison(design={"kind": "Duet", "stop": "fixed", "blocks": 2}, variants=variants, baseline="a"))
    film.until("Running", 0, 1)
    film.until("Running", 0, 2)
    assert [needs_check(BenchmarkSpec.model_validate(race.spec)) for race in film.created] == [True, True]
    alike = Duet(comparison(design={"kind": "Duet", "stop": "fixed", "blocks": 2})).until("Running", 0, 1)
    assert alike.created[0].spec["smokeTest"] is True, "both run the same"
