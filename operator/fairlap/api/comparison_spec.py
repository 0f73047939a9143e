"""What a user writes to have variants compared: the spec of a Comparison."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from fairlap.api.base import ANYTHING, FREE_FORM, Api, Duration, Json, rule, rules, some_time
from fairlap.api.names import MAX_BLOCKS, MAX_VARIANTS
from fairlap.api.spec import BenchmarkSpec, Elasticsearch, Target, TaskName, bounded_duration

VariantName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$", max_length=40)]
Metric = Literal[
    "throughput", "serviceTimeP50", "serviceTimeP90", "serviceTimeP99", "latencyP50", "latencyP90", "latencyP99",
    "storeBytes", "segments", "documents", "cpuSecondsPerOperation", "memoryPeakBytes", "diskWriteBytes", "capacity",
]  # fmt: skip


def _without_bool(value: Any) -> Any:
    if isinstance(value, bool):  # which in Python is an int, 1 or 0
        words = (
            'a matrix takes texts and whole numbers, not {value}: write "{value}" in quotes, which stays a text where '
            "there is no schema, as in race.params and elasticsearch.config, or write variants with patches"
        )
        raise PydanticCustomError("axis_value", words, {"value": str(value).lower()})
    return value


AxisValue = Annotated[
    int | str, BeforeValidator(_without_bool), WithJsonSchema({"x-kubernetes-int-or-string": True, "maxLength": 200})
]
Policy = Literal["requireNonInferior", "failOnRegression", "failOnAnyRegression", "reportOnly"]
LOOKS = (3, 5, 7, 10)
"""after how many blocks a sequential design looks; its error rates were simulated for these alone"""
_WHOLE_RACE = "['storeBytes', 'segments', 'documents', 'memoryPeakBytes', 'diskWriteBytes']"
OF_ELASTICSEARCH = (
    "storeBytes", "segments", "documents", "memoryPeakBytes", "diskWriteBytes", "cpuSecondsPerOperation",
)  # fmt: skip
"""metrics of Elasticsearch itself, of which a server that is asked over HTTP tells nothing"""
_EXCLUSIVE = (
    "has(self.template.elasticsearch) && has(self.template.elasticsearch.scheduling) && "
    "self.template.elasticsearch.scheduling.exclusiveNodes"
)
# To CEL a null that the left side alone has in a patch is equal to anything: docs/decisions/cel-no-webhook.md.
_BOTH_WAYS = {"variants": " && oldSelf.variants == self.variants"}
_AS_IT_IS = "self.variants.filter(v, !has(v.patch) && !has(v.target))"


class Template(BenchmarkSpec):
    """What all variants have in common: the spec of a Benchmark, without what the Comparison decides."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!(has(self.elasticsearch) && has(self.target))",
                "template takes at most one of elasticsearch (a cluster that is built for each race) and target (a "
                "cluster that exists already)",
            ),
            rule(
                "self.repetitions == 1",
                "template.repetitions is the number of blocks here: write design.blocks with design.stop: fixed, or "
                "design.maxBlocks",
            ),
            rule("!self.suspend", "template.suspend belongs to the Comparison: write spec.suspend"),
            rule(
                "self.keepCluster == 'Never'",
                "template.keepCluster would leave a cluster beside the next variant's race: leave it out",
            ),
            rule(
                "!has(self.checkedBy)",
                "template.checkedBy is written by the Comparison itself, which checks each variant once: leave it out",
            ),
            rule(
                "!has(self.inTurn)",
                "template.inTurn is written by the Comparison itself: leave it out, and write design.kind: Duet",
            ),
            rule(
                "!has(self.racedAgain)",
                "template.racedAgain is written by the Comparison itself: leave it out, and write design.tasks",
            ),
        )
    )
    # Absent where each variant brings its own.
    elasticsearch: Elasticsearch | None = None
    """The cluster under test, built for each race; a variant's patch may change any part of it."""


# CEL is to know whether there is one, and none of its parts may take another's place: docs/decisions/cel-no-webhook.md.
_PATCH: Json = {
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
    "properties": {
        field.alias or name: {**ANYTHING, "description": "Merged into the template's; null takes it away."}
        for name, field in Template.model_fields.items()
    },
}


class Variant(Api):
    """One of the things compared: the template with something changed, or a cluster that exists already."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!(has(self.patch) && has(self.target))",
                "a variant takes at most one of patch (of the template) and target (a cluster that exists already); "
                "neither is the template as it is",
            )
        )
    )
    name: VariantName
    """What it is called in the verdict, for example 9.0.0."""
    patch: Annotated[dict[str, Any] | None, Field(max_length=20, json_schema_extra=_PATCH)] = None
    """What is other than in the template: a JSON merge patch (RFC 7386), as elasticsearch: {version: 9.0.0}."""
    target: Target | None = None
    """A cluster that exists already, in place of the template's."""


class Axis(Api):
    """One thing that a matrix varies."""

    path: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$", max_length=200)]
    """Where in the template, for example elasticsearch.version."""
    values: Annotated[list[AxisValue], Field(min_length=1, max_length=MAX_VARIANTS)]
    """What stands there: texts or whole numbers."""


class Cell(Api):
    """Some variants of a matrix, by the values of their axes."""

    at: Annotated[dict[str, Any], Field(max_length=6, json_schema_extra=FREE_FORM)]
    """A value for each path that matters, for example {elasticsearch.version: 8.11.0, elasticsearch.java: 21}."""


class Matrix(Api):
    """A variant for each combination of values."""

    axes: Annotated[list[Axis], Field(min_length=1, max_length=6)]
    """What is varied."""
    include: Annotated[list[Cell], Field(max_length=MAX_VARIANTS)] = []
    """Further combinations; a path that is not named keeps the template's value."""
    exclude: Annotated[list[Cell], Field(max_length=50)] = []
    """Combinations that are left out."""
    max_variants: Annotated[int, Field(ge=2, le=MAX_VARIANTS)] = 6
    """The most variants there may be: a matrix grows faster than one thinks."""


class Design(Api):
    """How many blocks are raced and in which order."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "self.stop == 'fixed' || !has(self.blocks)",
                "design.blocks is for design.stop: fixed; with sequential write design.maxBlocks",
            ),
            rule(
                "self.stop == 'sequential' || !(has(self.minBlocks) || has(self.maxBlocks))",
                "design.minBlocks and design.maxBlocks are for design.stop: sequential; with fixed write design.blocks",
            ),
            rule(
                "self.stop == 'sequential' || has(self.blocks)",
                "design.stop: fixed needs design.blocks, for example 5",
            ),
            rule(
                "(!has(self.minBlocks) || self.minBlocks in [3, 5, 7, 10]) && "
                "(!has(self.maxBlocks) || self.maxBlocks in [3, 5, 7, 10])",
                "design.minBlocks and design.maxBlocks are 3, 5, 7 or 10: looking at other times would make more "
                "false alarms than are promised",
            ),
            rule(
                "(has(self.minBlocks) ? self.minBlocks : 3) <= (has(self.maxBlocks) ? self.maxBlocks : 10)",
                "design.minBlocks is above design.maxBlocks",
            ),
            rule(
                "self.state == 'Kept' || self.tasks.size() == 0",
                "design.tasks is for design.state: Kept; with fresh clusters write template.race.includeTasks",
            ),
            rule(
                "self.state == 'Fresh' || self.tasks.size() > 0",
                "design.state: Kept needs design.tasks: the tasks that are raced in each block, searches for example",
            ),
        )
    )
    kind: Literal["Races", "Duet"] = "Races"
    """Races: the variants of a block are raced one after the other. Duet: their clusters stand side by side and are
    raced in turn, one request of each, so that a machine's moments meet all of them alike: smaller differences are seen
    in fewer blocks. There is no throughput of a variant then; its service times tell."""
    stop: Literal["sequential", "fixed"] = "sequential"
    """sequential: looks after 3, 5, 7 and 10 blocks and ends when all is decided; fixed: looks once, after `blocks`."""
    blocks: Annotated[int | None, Field(ge=2, le=MAX_BLOCKS)] = None
    """How many blocks, with stop: fixed."""
    min_blocks: Annotated[int | None, Field(ge=3, le=10)] = None
    """The first look, with stop: sequential; absent means 3."""
    max_blocks: Annotated[int | None, Field(ge=3, le=10)] = None
    """The last look, with stop: sequential; absent means 10."""
    seed: Annotated[int | None, Field(ge=0, le=2**31 - 1)] = None
    """What the order of races is drawn from; absent means that it is drawn from the Comparison's uid and told."""
    order: Literal["balanced"] = "balanced"
    """Each variant is as often first, second … as any other."""
    state: Literal["Fresh", "Kept"] = "Fresh"
    """Fresh: each race has a cluster of its own. Kept: each variant's cluster is built and filled once, all of them
    stay side by side, and in the blocks `tasks` alone are raced on them."""
    tasks: Annotated[list[TaskName], Field(max_length=50)] = []
    """With state: Kept, the tasks of the challenge that are raced in each block."""
    retries: Annotated[int, Field(ge=0, le=20)] = 3
    """How many blocks may be raced again, as a whole, because a race in them did not count."""
    disturbed: Literal["Repeat", "Count"] | None = None
    """Repeat: a block in which a race is remarked on as MachineDisturbed is raced again, as a whole; as many are as
    half of the blocks there may be, at least one, and what is disturbed after that counts. Count: it counts always, for
    machines that are shared anyway. Absent means Repeat, and Count with kind: Duet, where what disturbs the machine
    meets the requests of all variants alike."""

    @property
    def in_turn(self) -> bool:
        """Whether the variants of a block are raced at the same time, one request of each in turn."""
        return self.kind == "Duet"

    @property
    def keeps_clusters(self) -> bool:
        """Whether each variant has one cluster for all blocks."""
        return self.state == "Kept"

    @property
    def repeats_disturbed(self) -> bool:
        """Whether blocks in which the machine was disturbed are raced again."""
        return (self.disturbed or ("Count" if self.in_turn else "Repeat")) == "Repeat"


class GateSpec(Api):
    """A number that decides."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                f"self.metric in {_WHOLE_RACE} ? !has(self.task) : true",
                "gates[].task is not for storeBytes, segments, documents, memoryPeakBytes and diskWriteBytes: they "
                "are of the whole race",
            ),
            rule(
                "self.metric in ['segments', 'documents'] || has(self.margin)",
                "gates[].margin says from which change on a difference matters: write it, for example 5 (per cent)",
            ),
            rule(
                "!has(self.margin) || self.margin > 0.0",
                "gates[].margin 0 can never be shown to be kept: write the smallest change that matters, for example 2 "
                "(per cent)",
            ),
            rule(
                "!(self.metric in ['segments', 'documents'] && has(self.margin))",
                "gates[].margin is not for segments and documents: they have no noise, any change is real",
            ),
        )
    )
    task: TaskName | None = None
    """Task of the challenge; absent means the geometric mean over all measured tasks (for throughput without those at
    a rate that was asked for), or the whole race."""
    metric: Metric
    """What is measured. More is better for throughput and capacity (of template.race.capacity), worse for all others;
    any change of documents is for the worse."""
    margin: Annotated[float | None, Field(ge=0, le=100)] = None
    """From which change on a difference matters, in per cent. It is a factor, so 50 is -33 % to +50 %."""
    policy: Policy = "requireNonInferior"
    """requireNonInferior passes only when a worsening of the margin or more is ruled out; failOnRegression fails on one
    that is shown to be as large as the margin, failOnAnyRegression on any that is shown; reportOnly decides nothing."""


class ComparisonSpec(Api):
    """What to compare. Immutable but for suspend: another question is another Comparison."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            *(
                rule(
                    f"has(self.{field}) == has(oldSelf.{field})"
                    f" && (!has(self.{field}) || self.{field} == oldSelf.{field}{_BOTH_WAYS.get(field, '')})",
                    f"spec.{field} is immutable: create another Comparison instead",
                )
                for field in (
                    "template", "variants", "matrix", "baseline", "design", "gates", "onInconclusive", "calibrate",
                    "calibrateEvery", "deadline",
                )
            ),
            rule(
                "has(self.variants) != has(self.matrix)",
                "spec takes exactly one of variants (each with its patch) and matrix (all combinations of values)",
            ),
            rule(
                "!has(self.variants) || self.variants.exists(v, v.name == self.baseline)",
                "'spec.baseline %s is none of the variants: write one of %s'"
                ".format([self.baseline, self.variants.map(v, v.name)])",
                computed=True,
            ),
            rule(
                f"!has(self.variants) || {_AS_IT_IS}.size() < 2",
                "'spec.variants %s are the same, each the template as it is: give all but one a patch or a target'"
                f".format([{_AS_IT_IS}.map(v, v.name)])",
                computed=True,
            ),
            rule(
                "self.design.state == 'Fresh' || !(has(self.template.target) || "
                "(has(self.variants) && self.variants.exists(v, has(v.target))))",
                "design.state: Kept is for clusters that are built: a target stays by itself, so leave state out and "
                "write template.race.includeTasks",
            ),
            rule(
                "self.design.state == 'Fresh' || self.gates.all(g, !has(g.task) || g.task in self.design.tasks || "
                "(has(self.template.race.sweep) && g.task.startsWith(self.template.race.sweep.task + '@')))",
                "gates[].task must be one of design.tasks, since with design.state: Kept no other one is raced in the "
                "blocks; of the task of template.race.sweep write a step, for example search@8",
            ),
            rule(
                "self.design.kind == 'Races' || self.design.state == 'Fresh' || !self.calibrate",
                "spec.calibrate must be false with design.kind: Duet and design.state: Kept: the baseline's one "
                "cluster cannot be searched against itself at the same time",
            ),
            rule(
                "self.design.kind == 'Races' || has(self.template.race.track)",
                "design.kind: Duet is for races on a track: with targets of kind http write design.kind: Races",
            ),
            rule(
                f"(self.design.kind == 'Races' && self.design.state == 'Fresh') || !({_EXCLUSIVE})",
                "template.elasticsearch.scheduling.exclusiveNodes contradicts design.kind: Duet and design.state: "
                "Kept, where the clusters of all variants are on the same machines: leave it out",
            ),
            rule(
                "self.design.kind == 'Races' || !self.gates.exists(g, g.metric == 'throughput' || "
                "g.metric.startsWith('latency'))",
                "gates[].metric takes no throughput and no latency with design.kind: Duet, where requests wait for "
                "those of others: write serviceTimeP50",
            ),
            rule(
                "self.design.kind == 'Races' || !(has(self.template.race.steady) || has(self.template.race.sweep) || "
                "has(self.template.race.capacity))",
                "template.race takes no steady, sweep or capacity with design.kind: Duet: all variants must send as "
                "many requests",
            ),
            rule(
                "has(self.template.race.capacity) || !self.gates.exists(g, g.metric == 'capacity')",
                "gates[].metric capacity needs template.race.capacity: write what is looked for there, or gate on "
                "throughput",
            ),
            rule(
                "!has(self.template.race.capacity) || self.gates.all(g, g.metric != 'capacity' || !has(g.task) || "
                "g.task == self.template.race.capacity.task)",
                "gates[].task is not the task of template.race.capacity, the only one whose capacity is looked for: "
                "leave it out",
            ),
            rule(
                "!has(self.template.race.capacity) || self.gates.all(g, g.metric == 'capacity' || !has(g.task) || "
                "g.task != self.template.race.capacity.task)",
                "gates[].task is the task of template.race.capacity, in whose place probes are raced: write metric: "
                "capacity, without a task",
            ),
            rule(
                "!has(self.template.race.sweep) || self.gates.all(g, !has(g.task) || "
                "g.task != self.template.race.sweep.task)",
                "gates[].task is the task of template.race.sweep, whose steps take its place: write one of them, for "
                "example search@8 for 8 clients of the task search",
            ),
            rule(
                "!has(self.template.target) || self.template.target.kind != 'http' || !self.gates.exists(g, g.metric "
                f"in {list(OF_ELASTICSEARCH)})",
                "gates[].metric takes throughput, capacity, service times and latencies with a target of kind http, "
                "of which nothing else is known",
            ),
            rule(
                "self.design.state == 'Fresh' || !has(self.template.race.capacity) || "
                "self.template.race.capacity.task in self.design.tasks",
                "template.race.capacity.task must be one of design.tasks: with design.state: Kept no other one is "
                "raced in the blocks",
            ),
            rule(
                "self.design.state == 'Fresh' || !has(self.template.race.sweep) || "
                "self.template.race.sweep.task in self.design.tasks",
                "template.race.sweep.task must be one of design.tasks: with design.state: Kept no other one is raced "
                "in the blocks",
            ),
            rule(
                "!has(self.calibrateEvery) || self.calibrate",
                "spec.calibrateEvery is for spec.calibrate: true",
            ),
            bounded_duration("deadline", "spec.deadline", "2160h", "a Comparison holds the queue block by block"),
            some_time("deadline", "spec.deadline", "168h"),
        )
    )  # fmt: skip
    template: Template
    """What all variants have in common."""
    variants: Annotated[
        list[Variant] | None,
        Field(
            min_length=2,
            max_length=MAX_VARIANTS,
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        ),
    ] = None
    """What is compared, two or more."""
    matrix: Matrix | None = None
    """What is compared, as all combinations of values; a variant is named by its values, joined by "-"."""
    baseline: VariantName
    """The variant that all others are compared with."""
    design: Design = Design()
    """How many blocks are raced and in which order."""
    gates: Annotated[list[GateSpec], Field(max_length=8)] = []
    """What decides. None: geometric means over the measured tasks of throughput (without those at a rate that was
    asked for), p50 and p99 of service time, and the store's size, with margins of 5, 5, 10 and 2 %; with
    template.race.capacity the capacity alone, with 10 %. With design.kind: Duet all of these but the throughput."""
    on_inconclusive: Literal["fail", "pass", "extend"] = "fail"
    """What becomes of GatePassed when it cannot be told. extend: more blocks up to design.maxBlocks, then fail."""
    calibrate: bool = True
    """Whether the baseline is raced against itself in the same blocks, so that the noise stands beside the answer."""
    calibrate_every: Annotated[int | None, Field(ge=1, le=10)] = None
    """In which blocks: 1 all, 3 every third; absent means all, or every third where a race takes over 15 minutes."""
    deadline: Duration = "168h"
    """After which no block begins; the verdict is then what the blocks so far say. At most 2160h."""
    suspend: bool = False
    """While true no further block starts; one that is under way runs to its end."""
