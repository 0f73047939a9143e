"""What the operator answers about a Comparison: the verdict, a row a gate, and what it stands on."""

from typing import Annotated, Literal

from pydantic import Field

from fairlap.api.base import Answer, AtMost, Text
from fairlap.api.names import MAX_BLOCKS, MAX_CUT_BLOCKS, MAX_VARIANTS
from fairlap.api.status import Conditions, Time
from fairlap.api.steering import Steers

ComparisonPhase = Literal["Pending", "Preparing", "Queued", "Racing", "Complete", "Failed"]
Verdict = Literal[
    "Improved", "ImprovedWithinMargin", "NoDifference", "RegressedWithinMargin", "Regressed", "Inconclusive",
    "NotComparable", "Mixed",
]  # fmt: skip
BlockStage = Literal["Starting", "Running", "Recording"]
Short = Annotated[str, Field(max_length=63)]
PREPARATION = 0
"""number of the block in which each variant's track is checked and smoke-tested"""
# Those that count, half as many that were disturbed, those that an upgrade cut, 20 that are void, and a preparation
# before them and after each of these 20.
_MOST_BLOCKS = MAX_BLOCKS + MAX_BLOCKS // 2 + MAX_CUT_BLOCKS + 20 + 21


class VariantStatus(Answer):
    """One variant as it was understood."""

    name: Annotated[Short, Steers()]
    """Its name."""
    letter: Annotated[str, Field(max_length=1), Steers()]
    """What its Benchmarks are called by: NAME-BLOCKLETTER. z is the baseline raced against itself."""
    changed: Annotated[list[Text], AtMost(100)] = []
    """What it declares to be other than the baseline: paths of the spec."""
    lacking_memory: Annotated[Text, Steers()] = ""
    """What of it asks for more memory than the machines had before the preparation, and what to write. It is prepared
    first, and a test race shows whether a machine comes."""


class RaceOfBlock(Answer):
    """One race of a block."""

    variant: Annotated[Short, Steers()]
    """Which variant raced; the baseline's name with a trailing * where it was raced against itself."""
    benchmark: Annotated[Text, Steers()]
    """Name of its Benchmark."""
    uid: Annotated[str, Field(max_length=64), Steers()] = ""
    """The one Benchmark that is this race."""
    valid: Annotated[bool | None, Steers()] = None
    """Whether it counts; absent while it is not over."""
    reason: Annotated[Short, Steers()] = ""
    """Why it does not count, by the reason of its Benchmark or of docs/comparisons.md; MachineDisturbed or
    InstallationChanged where it is valid, but its machine, or the operator, was another one meanwhile."""
    message: Annotated[Text, Steers()] = ""
    """The same in a sentence."""
    seconds: Annotated[float | None, Steers()] = None
    """From the Benchmark's creation to its end."""
    processors_refused: Annotated[bool, Steers()] = False
    """In a preparation: no machine had a whole processor to spare for each of its nodes, and all races after it share
    them. Only where the manifest names no CPU."""


class Block(Answer):
    """Races of all variants, back to back."""

    number: Annotated[int, Steers()]
    """From 1; 0 is the preparation."""
    attempt: Annotated[int, Steers()] = 1
    """A block in which a race did not count, or was disturbed, is raced again, as a whole."""
    order: Annotated[list[Short], AtMost(MAX_VARIANTS + 1), Steers()] = []
    """Which variant raced when; a trailing * is the baseline against itself."""
    races: Annotated[list[RaceOfBlock], AtMost(MAX_VARIANTS + 1)] = []
    """Its races so far, in this order."""
    valid: Annotated[bool | None, Steers()] = None
    """Whether it counts; absent while it is not over."""
    reason: Annotated[Short, Steers()] = ""
    """Why it does not count; MachineDisturbed, InstallationChanged: all its races are valid, and it is raced again for
    its machine, or for an upgrade."""
    record: Annotated[Text, Steers()] = ""
    """ConfigMap with all numbers and facts of its races, compressed: block.json.gz."""


class CurrentBlock(Block):
    """The block that is being raced."""

    stage: Annotated[BlockStage, Steers()] = "Starting"
    """Starting (the next race's Benchmark may be created), Running (its uid is known), Recording."""
    since: Annotated[Time, Steers()]
    """When the stage began."""
    elasticsearch_on: Annotated[list[Text], AtMost(50), Steers()] = []
    """Machines that the block's first race ran on: the others are bound to them."""
    load_generator_on: Annotated[Text, Steers()] = ""
    """Machine of the load generator of the block's first race."""
    meets_at: Annotated[str, Field(max_length=60), Steers()] = ""
    """With kind: Duet, where its races meet: the address that the first one has said."""


class AllBlocksStatus(Answer):
    """What all blocks say of a gate that fewer had settled: its size, better known."""

    blocks: int
    """How many they are."""
    change: float
    """Estimated change in per cent of the baseline: below 0 is less."""
    low: float
    """Lower end of its interval, in per cent."""
    high: float
    """Upper end of its interval, in per cent."""
    confidence: float
    """Of that interval, in per cent: simultaneous over all gates and looks."""


class GateStatus(Answer):
    """What one gate says of one contender."""

    task: Text = ""
    """Task; empty for the geometric mean over all measured tasks, or for the whole race."""
    metric: Short
    """What was measured."""
    tasks: Annotated[list[Text], AtMost(200)] = []
    """The tasks in a geometric mean."""
    margin: float = 0
    """From which change on a difference matters, in per cent; 0 where any change is real (documents, segments)."""
    policy: Short
    """What it decides."""
    verdict: Verdict
    """What is known."""
    change: float | None = None
    """Estimated change in per cent of the baseline: below 0 is less."""
    low: float | None = None
    """Lower end of its interval, in per cent."""
    high: float | None = None
    """Upper end of its interval, in per cent."""
    confidence: float | None = None
    """Of that interval, in per cent: simultaneous over all gates, but with NoDifference of this gate's two one-sided
    tests alone."""
    baseline: float | None = None
    """Median over the races of the baseline."""
    contender: float | None = None
    """Median over the races of the contender."""
    unit: Short = ""
    """Unit of both."""
    blocks: int = 0
    """With how many blocks it was decided."""
    all_blocks: AllBlocksStatus | None = None
    """Present where more blocks were raced than it was decided with, since others were open. It decides nothing."""
    noise: float | None = None
    """Standard deviation of the baseline against itself from block to block, in per cent; absent when not raced."""
    spread: float | None = None
    """Standard deviation of the change from block to block, in per cent."""
    more_blocks: int = 0
    """About how many more blocks would settle it."""
    passed: bool | None = None
    """What it means for GatePassed; absent for reportOnly."""
    sentence: Text = ""
    """All of it in words."""


class ContenderStatus(Answer):
    """What is known of one variant against the baseline."""

    name: Short
    """The variant."""
    verdict: Verdict
    """All gates together."""
    sentence: Text = ""
    """In words."""
    gates: Annotated[list[GateStatus], AtMost(8)] = []
    """What decided."""


class DifferenceStatus(Answer):
    """Something that was not the same in all variants."""

    what: Text
    """What differs, for example java."""
    rule: Literal["Declared", "MustMatch", "MayFollow", "FollowsRelease", "RecordOnly"]
    """Declared (it is what is compared), MustMatch (unfair), MayFollow (it followed what is compared, and could have
    been held), FollowsRelease (a default of the releases themselves), RecordOnly."""
    fair: bool
    """Whether the comparison may stand beside it."""
    values: Annotated[dict[str, Text], AtMost(MAX_VARIANTS)] = {}
    """By variant."""
    message: Text = ""
    """What to write where so that it no longer differs."""


class Expected(Answer):
    """What it was expected to take before it began, and what it can show."""

    blocks: Annotated[list[int], AtMost(10)] = []
    """After how many blocks it looks."""
    races: int = 0
    """Races of all blocks at most, without those that are raced again."""
    minutes: float | None = None
    """How long these take, preparation not included: before block 1 by the races of finished Comparisons of the same
    work in the namespace (absent without any), then by the median of its own."""
    smallest_change: float | None = None
    """The smallest change in per cent that the last look finds four times in five, in the gate with the most noise;
    absent while that of any declared gate is not known, or of all default ones."""


class NoiseOfKind(Answer):
    """What earlier Comparisons showed of the noise of one kind of numbers, for example all p99s of service time."""

    kind: Short
    """Kind of numbers."""
    variance: float
    """Variance of a log ratio from block to block."""
    weight: float
    """Degrees of freedom that it is worth."""


class KnownNoise(Answer):
    """What earlier Comparisons showed of the noise."""

    at: Time
    """When it was read: at the first look."""
    kinds: Annotated[list[NoiseOfKind], AtMost(50)] = []
    """By kind of number; empty where nothing was known."""


class ComparisonStatus(Answer):
    """Progress, verdict and what it stands on."""

    phase: Annotated[ComparisonPhase | None, Steers()] = None
    """Where it is."""
    progress: Text = ""
    """How far it is, for people; in the end the verdict as a sentence."""
    verdict: Verdict | None = None
    """What all contenders and gates together say."""
    reason: Short = ""
    """Why it failed."""
    message: Text = ""
    """Why it failed, as a sentence."""
    observed_generation: int | None = None
    """Generation of the spec that this status speaks of."""
    start_time: Annotated[Time | None, Steers()] = None
    """From when on its deadline counts: later by each time in which it was suspended between two blocks; absent while
    it is suspended before it began."""
    suspended_time: Annotated[Time | None, Steers()] = None
    """Since when it is suspended."""
    admitted_time: Annotated[Time | None, Steers()] = None
    """Since when it holds its place in the queue, for one block."""
    queued_time: Annotated[Time | None, Steers()] = None
    """Since when it waits for its next place."""
    completion_time: Time | None = None
    """When it ended."""
    conditions: Conditions = []
    """Accepted, Fair, Compared, GatePassed, CRDOutdated, Complete, Failed."""
    seed: Annotated[int | None, Steers()] = None
    """What the order was drawn from."""
    calibrate_every: Annotated[int, Steers()] = 0
    """In which blocks the baseline is raced against itself; 0 none."""
    variants: Annotated[list[VariantStatus], AtMost(MAX_VARIANTS)] = []
    """What is raced; the baseline first."""
    expected: Expected | None = None
    """What it was expected to take."""
    block: CurrentBlock | None = None
    """The block that is being raced."""
    blocks: Annotated[list[Block], AtMost(_MOST_BLOCKS)] = []
    """Blocks that are over, those that do not count included."""
    blocks_done: Text = ""
    """Blocks that count, of those there may be."""
    contenders: Annotated[list[ContenderStatus], AtMost(MAX_VARIANTS)] = []
    """What is known of each variant against the baseline."""
    differences: Annotated[list[DifferenceStatus], AtMost(100)] = []
    """What was not the same; unfair ones first."""
    known_noise: Annotated[KnownNoise | None, Steers()] = None
    """What earlier Comparisons had shown of the noise at the first look. Every look is judged with it, so that a gate
    that is settled stays so."""
    findings: Annotated[list[Text], AtMost(20)] = []
    """What else a reader must know, for example that one variant lost more races than another."""
    scope: Annotated[list[Text], AtMost(10)] = []
    """How far the verdict reaches: these machines, this data against this memory, this load."""
    cost_races: int = 0
    """Races of the blocks so far, those that do not count included."""
    cost_preparations: int = 0
    """Preparations so far: a variant's track checked and smoke-tested, or its cluster built and filled to be kept."""
    cost_seconds: float = 0
    """Seconds of both so far."""
