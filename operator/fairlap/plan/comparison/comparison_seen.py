"""What a decision about a Comparison may look at, and what it may ask for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import ClassVar, Literal

from fairlap.api.base import Json
from fairlap.api.block_record import BlockRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import ComparisonStatus
from fairlap.api.names import COMPARISON_KIND
from fairlap.api.status import PlannedTask
from fairlap.comparison.variants.variants import ResolvedVariant, expand
from fairlap.plan.basis.conditions import Observation
from fairlap.plan.basis.node_processors import MachineCapacity
from fairlap.queue.turn import Turn
from fairlap.settings import Settings
from fairlap.statistics.moderation import Prior


@dataclass(frozen=True)
class ComparisonSubject:
    """The Comparison in question."""

    kind: ClassVar[str] = COMPARISON_KIND
    name: str
    namespace: str
    uid: str
    generation: int
    spec: ComparisonSpec
    accepted: bool = False
    """it was before, maybe by an operator that asked for less: what is under way is raced to its end"""

    @cached_property
    def variants(self) -> list[ResolvedVariant]:
        """Its variants, the baseline first; raises VariantsRefusedError."""
        return expand(self.spec, accepted=self.accepted)


@dataclass(frozen=True)
class SeenRace:
    """A Benchmark that is controlled by the Comparison, by owner reference and namespace."""

    name: str
    uid: str
    phase: str = ""
    progress: str = ""
    reason: str = ""
    message: str = ""
    field: str = ""
    """what of its spec the reason is about, as requireTasks; empty where that is not known"""
    suspended: bool = False
    """somebody lets it wait: it holds nothing, and goes on only when spec.suspend is taken off"""
    created: str = ""
    """creationTimestamp"""
    ended: str = ""
    """completionTime"""
    deleted: str = ""
    """deletionTimestamp, where its children are removed before it and nobody drives it any more"""
    elasticsearch_on: tuple[str, ...] = ()
    """machines of its (last) race"""
    load_generator_on: str = ""
    meets_at: str = ""
    """where those that are raced in turn with it meet, when it keeps the table"""
    tasks: tuple[PlannedTask, ...] = ()
    """what it runs, once its track's check is over"""
    gave_way: bool = False
    """no machine had room for it, and it has given the place up to others"""
    processors_refused: bool = False
    """no machine had a whole processor to spare for each of its nodes: they share"""


@dataclass(frozen=True)
class ComparisonSeen:
    """Everything that `plan_comparison` may look at."""

    subject: ComparisonSubject
    status: ComparisonStatus
    settings: Settings
    now: datetime
    turn: Turn
    races: Mapping[str, SeenRace] = field(default_factory=dict)
    """its Benchmarks by name"""
    aside: frozenset[str] = frozenset()
    """the uids of those that could not go on for so long that the place is not held for them any more"""
    foreign: str = ""
    """an object that has a name we need but is not ours, as a sentence"""
    refusal: str = ""
    """the API server's words about an object that it would not take"""
    hindrance: str = ""
    """why the API server takes no object now, as a sentence, where that may pass by itself, as a quota does"""
    dry_runs: Mapping[str, str] | None = None
    """for each variant what the API server says of its Benchmark, "" when it would take it; None: not asked yet"""
    records: Mapping[int, BlockRecord | None] | None = None
    """the records of the blocks that count, by number, that of the current block included; None: not looked at yet"""
    priors: Mapping[str, Prior] | None = None
    """noise of each family of numbers on these machines; None: not looked at yet"""
    race_seconds: float | None = None
    """how long a race took in Comparisons that are over, its cluster included; None: not looked at yet, or not known"""
    machines: Sequence[MachineCapacity] | None = None
    """what the machines have for pods, nothing where it could not be read; None: not looked at yet"""
    taken_up: datetime | None = None
    """when this process began to look after the Comparison: before that, nobody may have tried anything"""
    pruned: frozenset[str] | None = None
    """fields of the status that the API server does not store; None when nothing was written yet"""
    confirmed: bool = False
    """whether its Benchmarks were read from the API server itself"""


ComparisonLook = Literal["dry_runs", "races", "records", "priors", "machines"]


@dataclass(frozen=True)
class RaceToCreate:
    """A Benchmark to create: its fixed name and its whole spec."""

    name: str
    variant: str
    """a trailing * is the baseline against itself"""
    block: int
    spec: Json


@dataclass(frozen=True)
class ComparisonPlan:
    """What follows: first the status is written, and only when it already stands the acts are carried out."""

    status: ComparisonStatus
    create: RaceToCreate | None = None
    record: str = ""
    """name of the ConfigMap to make of the current block's Benchmarks"""
    learn: bool = False
    """keep the noise that this Comparison has shown for those to come"""
    wake_in: float | None = None
    """seconds until the next look even if nothing happens"""
    look: tuple[ComparisonLook, ...] = ()
    """what must be read before anything can be decided"""
    observed: tuple[Observation, ...] = ()
    """what a decision has found out; `plan_comparison` makes conditions of it"""
