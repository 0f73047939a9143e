"""Whatever field of its status is not stored: a Comparison's life is the same without it, or it waits for the CRD."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from comparison_world import FIXED_2, Court, Said, comparison, record_of, seen
from world import START

from fairlap.api.block_record import BlockRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import ComparisonStatus
from fairlap.api.phases import OVER
from fairlap.plan.basis.conditions import stamp
from fairlap.plan.basis.node_processors import MachineCapacity
from fairlap.plan.comparison.comparison_plan import plan_comparison
from fairlap.plan.comparison.comparison_seen import ComparisonPlan, ComparisonSeen, SeenRace
from fairlap.plan.outdated_crd import COMPARISON_STEERING, field_paths, lost_fields, say_outdated, steers, without
from fairlap.queue.summary import summarize_comparison
from fairlap.queue.turn import Turn
from fairlap.runtime.objects.writes import status_json
from fairlap.statistics.moderation import Prior

Json = dict[str, Any]


@dataclass
class Life:
    """One Comparison and its world, from the first look to its end; nothing in it is random."""

    spec: ComparisonSpec
    happens: Callable[["Life"], None] = lambda life: life.finish(list(life.races))
    """what befalls it before a look"""
    minutes: int = 1
    """from one look to the next"""
    fails: dict[str, Json] = field(default_factory=dict)
    """by the name of a Benchmark that fails, what it says of it"""
    disturbed: frozenset[str] = frozenset()
    """the Benchmarks around which the machine was disturbed"""
    machines: tuple[MachineCapacity, ...] = ()
    pruned: frozenset[str] = frozenset()
    heeds: bool = True
    """whether it waits where a field that steers is not stored"""

    def __post_init__(self) -> None:
        self.now, self.turn, self.court = START, Turn(may_go=True), Court(Said(settled=False))
        self.status, self.waits = ComparisonStatus(), False
        self.races: dict[str, SeenRace] = {}
        self.records: dict[int, BlockRecord] = {}
        self.done: list[Any] = []
        """what was made, what its judges were asked, and how it ended"""
        self.written: set[str] = set()
        """all fields that its statuses ever had"""

    def live(self) -> "Life":
        for _ in range(400):
            self.now += timedelta(minutes=self.minutes)
            self.happens(self)
            todo, stored = plan_comparison(self._look(), self.court.judges), status_json(self.status)
            upcoming = status_json(todo.status)
            if without(upcoming, self.pruned) == without(stored, self.pruned):
                self._act(todo)
                continue
            self.written |= field_paths(upcoming)
            kept = without(upcoming, self.pruned)
            lost = lost_fields(upcoming, kept)
            if self.heeds and steers(lost, COMPARISON_STEERING):
                self.waits, self.status = True, say_outdated(todo.status, lost, self.now)
                return self
            self.status = ComparisonStatus.model_validate(kept)
            if self.status.phase in OVER:
                self.done.append((todo.status.phase, todo.status.reason, todo.status.verdict, stamp(self.now)))
                self.done.append((self.court.asked, self.court.priors))
                return self
        self.done.append("never ends")
        return self

    def _look(self) -> ComparisonSeen:
        noise = {"service time p99": Prior(1e-4 * (1 + (self.now - START) / timedelta(hours=1)), 10.0)}
        asked = dict.fromkeys((each["name"] for each in self.spec.to_json()["variants"]), "")
        body = {"metadata": {"uid": "u-1", "namespace": "ns", "name": "upgrade", "creationTimestamp": stamp(START)},
                "status": status_json(self.status)}  # fmt: skip
        line = summarize_comparison(body)
        turn = self.turn if line.lines_up or line.admitted else Turn(may_go=False)
        there = [self.status.block] if self.status.block else []
        read = {block.number for block in self.status.blocks if block.record} | {block.number for block in there}
        records = {number: record for number, record in self.records.items() if number in read}
        return seen(self.spec, self.status, dry_runs=asked, priors=noise, machines=self.machines, races=self.races,
                    records=records, now=self.now, turn=turn)  # fmt: skip

    def _act(self, todo: ComparisonPlan) -> None:
        if todo.create:
            name, variant = todo.create.name, todo.create.variant
            self.done.append((name, variant, todo.create.spec))
            self.races[name] = SeenRace(name, f"uid-{name}", phase="Racing", created=stamp(self.now),
                                        elasticsearch_on=(f"m-{name}",), load_generator_on="lg")  # fmt: skip
        elif todo.record and (block := self.status.block):
            self.done.append((todo.record, [race.valid for race in block.races]))
            self.records[block.number] = record_of(self.status, self.disturbed.__contains__)

    def finish(self, names: list[str]) -> None:
        for name in names:
            there = self.races[name]
            if there.phase == "Racing":
                ends = {"phase": "Failed", **self.fails[name]} if name in self.fails else {"phase": "Succeeded"}
                self.races[name] = replace(there, **{"ended": stamp(self.now), **ends})


def in_turn(life: Life) -> None:
    """All of a block end together, and the first says where they meet for a moment only."""
    blocks: dict[str, list[str]] = {}
    for name in life.races:
        blocks.setdefault(name.removeprefix("upgrade-").partition("-")[0][:1], []).append(name)
    for number, names in blocks.items():
        if number == "0" or len(names) == 3:
            life.finish(names)
        first = life.races[names[0]]
        life.races[names[0]] = replace(first, meets_at="10.0.0.1:99" if len(names) == 1 else "")


def suspended_for_a_week(life: Life) -> None:
    life.finish(list(life.races))
    if not life.spec.suspend and "upgrade-1a" in life.races and life.now < START + timedelta(days=7):
        life.spec = life.spec.model_copy(update={"suspend": True})
    elif life.spec.suspend and life.now > START + timedelta(hours=1):
        life.now += timedelta(days=7)
        life.spec = life.spec.model_copy(update={"suspend": False})


KEPT = {**FIXED_2, "state": "Kept", "tasks": ["search"], "retries": 2}
LARGE = {"name": "large", "patch": {"elasticsearch": {"resources": {"limits": {"memory": "200Gi"}}}}}
UNTESTED = {**comparison().to_json()["template"], "smokeTest": False}
GONE = {"reason": "RaceAborted", "message": "a node was drained"}
NO_TASK = {"reason": "UnknownTask", "message": "requireTasks: there are: a", "field": "requireTasks"}
CHANGES = {"reason": "InvalidSpec", "message": "racedAgain: task bulk changes index a", "field": "racedAgain"}
LIVES: dict[str, Callable[[], Life]] = {
    "good": lambda: Life(comparison(design=FIXED_2)),
    "long races": lambda: Life(comparison(design={**FIXED_2, "blocks": 4}), minutes=16),
    "looks": lambda: Life(comparison(design={"seed": 1, "maxBlocks": 5}, calibrate=False)),
    "a week between": lambda: Life(comparison(design={**FIXED_2, "blocks": 3}), suspended_for_a_week),
    "in turn": lambda: Life(comparison(design={**FIXED_2, "kind": "Duet", "blocks": 3}), in_turn),
    "kept": lambda: Life(comparison(design=KEPT), fails={"upgrade-1a": GONE}),
    "failed": lambda: Life(comparison(design=FIXED_2), fails={"upgrade-1b": GONE}),
    "disturbed": lambda: Life(
        comparison(design={**FIXED_2, "blocks": 4, "retries": 0}), disturbed=frozenset({"upgrade-3b"})
    ),
    "no task": lambda: Life(comparison(design=KEPT), fails={"upgrade-0b": NO_TASK}),
    "changes": lambda: Life(comparison(design=KEPT), fails={"upgrade-0b": CHANGES}),
    "no memory": lambda: Life(
        comparison(design=FIXED_2, variants=[{"name": "8.11.0"}, LARGE], template=UNTESTED),
        machines=(MachineCapacity("n", 4000, {}, memory=32 << 30),),
    ),
}
ENDS = {
    "good": ("Complete", ""), "long races": ("Complete", ""), "looks": ("Complete", ""),
    "a week between": ("Complete", ""), "in turn": ("Complete", ""), "kept": ("Complete", ""),
    "failed": ("Complete", ""), "disturbed": ("Complete", ""), "no task": ("Failed", "UnknownTask"),
    "changes": ("Failed", "InvalidSpec"), "no memory": ("Complete", ""),
}  # fmt: skip


def life(name: str, *pruned: str, heeds: bool = True) -> Life:
    found = LIVES[name]()
    found.pruned, found.heeds = frozenset(pruned), heeds
    return found.live()


@cache
def whole(name: str) -> Life:
    return life(name)


@pytest.mark.parametrize("name", LIVES)
def test_a_life_is_the_same_without_what_does_not_steer(name: str) -> None:
    found = whole(name)
    end, _ = found.done[-2:]
    assert end[:2] == ENDS[name] and not found.waits
    rest = sorted(path for path in found.written if not steers({path}, COMPARISON_STEERING))
    assert len(rest) > 5
    if life(name, *rest).done != found.done:
        alone = [path for path in rest if life(name, path).done != found.done]
        pytest.fail(f"without {alone or rest} another life is led: mark what decisions stand on with Steers()")


@pytest.mark.parametrize("name", LIVES)
def test_a_life_without_what_steers_waits_and_says_so(name: str) -> None:
    for path in sorted(path for path in whole(name).written if steers({path}, COMPARISON_STEERING)):
        found = life(name, path)
        assert found.waits, path
        assert found.status.progress.startswith("CRDOutdated: the CustomResourceDefinition in the cluster")


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("suspendedTime", "a week between"), ("knownNoise", "looks"), ("block.meetsAt", "in turn"),
        ("blocks.reason", "disturbed"), ("block.races.reason", "no task"),
        ("block.races.seconds", "long races"), ("blocks.record", "good"), ("variants.lackingMemory", "no memory"),
    ],
)  # fmt: skip
def test_whoever_went_on_without_it_would_lead_another_life(field: str, name: str) -> None:
    """As a Comparison that was suspended for a week ended at its deadline of a day, an hour after it went on."""
    assert field in whole(name).written
    assert life(name, field, heeds=False).done != whole(name).done
