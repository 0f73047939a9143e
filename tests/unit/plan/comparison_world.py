"""Small builders of what decisions about a Comparison look at, and judges whose answers a test chooses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from world import SETTINGS, START

from fairlap.api.block_record import BlockRecord, RaceRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import ComparisonStatus, ContenderStatus, DifferenceStatus, Expected, Verdict
from fairlap.api.status import RemarkStatus
from fairlap.comparison.judging.foresight import Foreseen
from fairlap.comparison.variants.variants import ResolvedVariant
from fairlap.plan.basis.conditions import stamp
from fairlap.plan.comparison.comparison_plan import plan_comparison
from fairlap.plan.comparison.comparison_seen import ComparisonPlan, ComparisonSeen, ComparisonSubject, SeenRace
from fairlap.plan.comparison.judges import Judges
from fairlap.queue.turn import Turn
from fairlap.statistics.gates import Look
from fairlap.statistics.moderation import Prior


def comparison(**changes: Any) -> ComparisonSpec:
    body = {
        "template": {"elasticsearch": {"version": "8.11.0"}, "race": {"track": {"builtin": "log_ingest"}}},
        "variants": [{"name": "8.11.0"}, {"name": "9.0.0", "patch": {"elasticsearch": {"version": "9.0.0"}}}],
        "baseline": "8.11.0",
        **changes,
    }
    return ComparisonSpec.model_validate(body)


FIXED_2 = {"stop": "fixed", "blocks": 2, "seed": 1}


@dataclass
class Said:
    """What the numbers say."""

    verdict: Verdict = "NoDifference"
    settled: bool = False
    futile: bool = False
    gate_passed: bool | None = True
    sentence: str = "no difference that matters"
    contenders: list[ContenderStatus] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    scope: list[str] = field(default_factory=lambda: ["these machines"])


@dataclass
class SaidOfFairness:
    fair: bool = True
    differences: list[DifferenceStatus] = field(default_factory=list)
    sentence: str = "only the version differs"
    not_comparable: dict[str, str] = field(default_factory=dict)


@dataclass
class Court:
    """Judges that give the answers they are told to, and remember what they were asked."""

    said: Said = field(default_factory=Said)
    fairness: SaidOfFairness = field(default_factory=SaidOfFairness)
    foreseen: Foreseen = field(default_factory=lambda: Foreseen([], ""))
    judged: list[str] = field(default_factory=list)
    asked: list[tuple[int, tuple[int, ...], bool]] = field(default_factory=list)
    """blocks, looks, whether it was the last"""
    priors: list[dict[str, Prior]] = field(default_factory=list)
    """what was known of the noise at each look"""

    def judge(
        self,
        spec: ComparisonSpec,
        variants: Sequence[ResolvedVariant],
        blocks: Sequence[BlockRecord],
        looks: Sequence[Look],
        priors: Mapping[str, Prior],
        last: bool,
    ) -> Said:
        self.judged = [variant.name for variant in variants]
        self.asked.append((len(blocks), tuple(look.blocks for look in looks), last))
        self.priors.append(dict(priors))
        return self.said

    def diff(
        self, spec: ComparisonSpec, variants: Sequence[ResolvedVariant], blocks: Sequence[BlockRecord]
    ) -> SaidOfFairness:
        return self.fairness

    def expect(
        self,
        spec: ComparisonSpec,
        variants: Sequence[ResolvedVariant],
        seconds_of_a_race: float | None,
        noise: Mapping[str, Prior] | None,
    ) -> Expected:
        return Expected(races=12, minutes=seconds_of_a_race and seconds_of_a_race / 60)

    def foresee(
        self, spec: ComparisonSpec, variants: Sequence[ResolvedVariant], blocks: Sequence[BlockRecord]
    ) -> Foreseen:
        return self.foreseen

    @property
    def judges(self) -> Judges:
        return Judges(self.judge, self.diff, self.expect, self.foresee)


SUBJECTS: dict[str, ComparisonSubject] = {}
"""by what was written in their spec: one expands its variants once, and a film looks at it hundreds of times"""


def subject_of(spec: ComparisonSpec) -> ComparisonSubject:
    written = spec.model_dump_json(exclude_unset=True)
    if written not in SUBJECTS:
        SUBJECTS[written] = ComparisonSubject(name="upgrade", namespace="ns", uid="u-1", generation=1, spec=spec)
    return SUBJECTS[written]


def seen(of: ComparisonSpec | None = None, status: ComparisonStatus | None = None, **changes: Any) -> ComparisonSeen:
    base = ComparisonSeen(
        subject=subject_of(of or comparison()), status=status or ComparisonStatus(), settings=SETTINGS, now=START,
        turn=Turn(may_go=True),
    )  # fmt: skip
    return replace(base, **{"confirmed": True, "machines": (), **changes})


def accepted(look: ComparisonSeen, court: Court) -> ComparisonSeen:
    """What is seen after the first status was written."""
    variants = [variant.name for variant in look.subject.variants]
    asked = replace(look, dry_runs=dict.fromkeys(variants, ""), priors={})
    return replace(look, status=plan_comparison(asked, court.judges).status)


LATE = RemarkStatus(reason="NotSettled", message="MachineDisturbed: late")
DISTURBED_REMARK = RemarkStatus(
    reason="MachineDisturbed", message="the load generator's machine was disturbed: the hypervisor took 9 % of it"
)


def record_of(
    status: ComparisonStatus, disturbed: Callable[[str], bool] = lambda benchmark: False, **invalid: str
) -> BlockRecord:
    """The record of the current block; `disturbed`: by the name of a Benchmark; `invalid`: reasons by variant."""
    block = status.block
    assert block
    races = [
        RaceRecord(
            variant=race.variant, benchmark=race.benchmark, valid=race.valid is True and race.variant not in invalid,
            reason=invalid.get(race.variant, race.reason),
            remarks=[LATE, *([DISTURBED_REMARK] if disturbed(race.benchmark) else [])],
        )
        for race in block.races
    ]  # fmt: skip
    return BlockRecord(number=block.number, attempt=block.attempt, races=races)


def said(plan: ComparisonPlan) -> dict[str, tuple[str, str]]:
    """Truth and reason of each condition."""
    return {each.type: (each.status, each.reason) for each in plan.status.conditions}


@dataclass
class Film:
    """A Comparison that is driven without any mishap but those that a test asks for."""

    spec: ComparisonSpec = field(default_factory=lambda: comparison(design=FIXED_2))
    court: Court = field(default_factory=Court)
    records: dict[int, BlockRecord] = field(default_factory=dict)
    minutes: int = 1
    turn: Turn = field(default_factory=lambda: Turn(may_go=True))
    disturbed: Callable[[str], bool] = lambda benchmark: False
    """whether the machine of a race, by its Benchmark's name, was disturbed"""

    def __post_init__(self) -> None:
        self.now = START
        self.status = accepted(seen(self.spec), self.court).status
        self.races: dict[str, SeenRace] = {}
        self.created: list[Any] = []
        self.progress = [self.status.progress]

    def look(self, **changes: Any) -> ComparisonSeen:
        found = seen(self.spec, self.status, races=self.races, records=self.records, priors={}, now=self.now)
        return replace(found, **{"turn": self.turn, **changes})

    def step(self, **changes: Any) -> ComparisonPlan:
        """One look: the status is written, or what it says is done."""
        todo = plan_comparison(self.look(**changes), self.court.judges)
        if todo.status != self.status:
            self.status = todo.status
            self.progress.append(todo.status.progress)
        elif todo.create:
            self.created.append(todo.create)
            name = todo.create.name
            self.races[name] = SeenRace(name, f"uid-{name}", phase="Racing", created=stamp(self.now),
                                        elasticsearch_on=(f"m-{name}",), load_generator_on="lg")  # fmt: skip
        elif todo.record and self.status.block:
            self.records[self.status.block.number] = record_of(self.status, self.disturbed)
        return todo

    def until(self, stage: str, block: int, race: int = 1) -> "Film":
        for _ in range(200):
            there = self.status.block
            if there and (there.stage, there.number, len(there.races)) == (stage, block, race):
                return self
            self.finish()
            self.step()
        raise AssertionError(f"never: {self.progress}")

    def finish(self, phase: str = "Succeeded", **changes: Any) -> None:
        block = self.status.block
        if block and block.stage == "Running" and block.races[-1].benchmark in self.races:
            self.now += timedelta(minutes=self.minutes)
            name = block.races[-1].benchmark
            self.races[name] = replace(self.races[name], phase=phase, ended=stamp(self.now), **changes)

    def run(self) -> "Film":
        for _ in range(300):
            if self.status.completion_time:
                return self
            self.finish()
            self.step()
        raise AssertionError(f"never ended: {self.progress}")
