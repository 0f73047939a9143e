"""What a decision may look at, and what it may ask for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal, NamedTuple

from fairlap.api.base import Json
from fairlap.api.names import KIND
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus
from fairlap.plan.basis.conditions import Observation
from fairlap.plan.basis.node_processors import MachineCapacity
from fairlap.queue.turn import Turn
from fairlap.settings import Settings
from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.watched_machines.resources import MachineTable


class LogOf(NamedTuple):
    """A container whose log's end is wanted."""

    pod: str
    container: str
    previous: bool


class Checker(NamedTuple):
    """Another Benchmark, whose track check may hold for this one, too."""

    spec: BenchmarkSpec | None = None
    """None when there is no such Benchmark, or it cannot be read"""
    status: BenchmarkStatus = BenchmarkStatus()


class Warned(NamedTuple):
    """A Warning event of Kubernetes: the object that it is about, and its words."""

    kind: str
    name: str
    uid: str
    reason: str
    message: str


class Refusal(NamedTuple):
    """An object that the API server would not take, and its words."""

    what: str
    message: str


@dataclass(frozen=True)
class Subject:
    """The Benchmark in question."""

    kind: ClassVar[str] = KIND
    name: str
    namespace: str
    uid: str
    generation: int
    spec: BenchmarkSpec


@dataclass(frozen=True)
class Children:
    """The current step's objects as the API server has them; None where there is none."""

    elasticsearch: Json | None = None
    job: Json | None = None
    progress: str | None = None
    """what the runner says in the ConfigMap for the progress of the step"""
    pods: Sequence[Json] = ()
    """pods of this step, Elasticsearch's and the load generator's"""
    ready_endpoints: int = 0
    """addresses behind the cluster's http service that take requests"""
    foreign: str = ""
    """what is in the way of an object that we need, as a sentence: one of others that has its name, or a quota"""


@dataclass(frozen=True)
class Seen:
    """Everything that `plan` may look at."""

    subject: Subject
    status: BenchmarkStatus
    settings: Settings
    now: datetime
    turn: Turn
    check_turn: Turn = field(default_factory=lambda: Turn(may_go=False))
    """its turn among the track checks that run before a Benchmark holds a place for races"""
    kept: Mapping[str, str] = field(default_factory=dict)
    """Benchmarks that are over and whose clusters are still there: their names by uid"""
    beside: frozenset[str] = frozenset()
    """the uids of those that the same Comparison keeps: they are raced one at a time, and may share machines"""
    kept_on: tuple[str, ...] = ()
    """machines of the cluster that it races on, where its Comparison keeps that: none of its own pods is there"""
    kept_for_it: bool = False
    """whether its target is a cluster that its Comparison, which is there, keeps for its races"""
    others_race: bool = False
    """whether somebody else holds a place for races, whose pods may have the processors that it finds taken"""
    strangers_race: bool = False
    """whether somebody else but those that race in turn with it does: nothing of these is sent before all have met"""
    lost_place: bool = False
    """whether others have its place, since it was refused everything for so long that nobody waited for it any more"""
    in_block: bool = False
    """whether it races in a Comparison's block while others may race, too: none of them comes to its machines"""
    children: Children = Children()
    track_keys: frozenset[str] | None = None
    """keys of the track's ConfigMap, empty when it does not exist; None when not looked at yet"""
    machines: Sequence[MachineCapacity] | None = None
    """what the machines have for pods, nothing where it could not be read; None when not looked at yet"""
    checker: Checker | None = None
    """the Benchmark that checkedBy names; None when not looked at yet"""
    records: Mapping[str, Record | None] | None = None
    """the records of all steps so far; None when not looked at yet"""
    resources: Mapping[str, MachineTable | None] = field(default_factory=dict)
    """what the machines did in each step so far; looked at together with the records"""
    noise: Mapping[str, Any] | None = None
    """data of the ConfigMap of what the namespace's Comparisons have shown of noise; None when it could not be read;
    looked at together with the records"""
    logs: Mapping[LogOf, str] = field(default_factory=dict)
    evictions: Mapping[str, str] | None = None
    """Kubernetes' words for each evicted Elasticsearch pod of the step, by name; None when not looked at yet"""
    warnings: Sequence[Warned] | None = None
    """Kubernetes' Warning events about the step's objects, the newest first; None when not looked at yet"""
    refusal: Refusal | None = None
    taken_up: datetime | None = None
    """when this process began to look after the Benchmark: before that, nobody may have begun or removed anything"""
    pruned: frozenset[str] | None = None
    """fields of the status that the API server does not store; None when nothing was written yet"""
    confirmed: bool = False
    """whether cluster, Job, pods and endpoints were read from the API server itself: an index may not know of one just
    created, may still show one that was deleted while the watch was lost, and a watch may be blind for a while"""


Create = Literal["elasticsearch", "record", "job", "access"]
Delete = Literal["elasticsearch", "job"]
BenchmarkLook = Literal["track", "checker", "machines", "records", "evictions", "warnings", "children"] | LogOf


@dataclass(frozen=True)
class Plan:
    """What follows: first the status is written, and only when it already stands the acts are carried out."""

    status: BenchmarkStatus
    create: tuple[Create, ...] = ()
    delete: tuple[Delete, ...] = ()
    start_job: bool = False
    """give the Job its permissions and let it run"""
    wake_in: float | None = None
    """seconds until the next look even if nothing happens"""
    look: tuple[BenchmarkLook, ...] = ()
    """what must be read before anything can be decided"""
    observed: tuple[Observation, ...] = ()
    """what a decision has found out; `plan` makes conditions of it, so that it is empty in what `plan` returns"""
