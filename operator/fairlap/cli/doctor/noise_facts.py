"""What `fairlap doctor noise` knows of a cluster, read from objects as the API server gives them; pure.

Others write these objects: what has not the shape it should have is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fairlap.api.names import NODE_OF_THE_LOAD, is_race
from fairlap.api.raw import as_list, as_mapping, is_over_http
from fairlap.api.spec import Resources
from fairlap.cli.doctor.neighbours import cores_of
from fairlap.results.disturbance import Disturbance, DisturbanceKind, disturbances, judged_spans, stolen_share
from fairlap_race.contract.recorded.record import SCHEDULE_KEPT
from fairlap_race.contract.recorded.schedule_record import CLIENT_KEPT
from fairlap_race.contract.watched_machines.cpu_list import count_of
from fairlap_race.contract.watched_machines.machine_watch import MachineWatch

Body = Mapping[str, Any]


TRACK, IN_TURN, OVER_HTTP = "track", "in turn", "over HTTP"
"""How a Benchmark sends its load: what makes its measurement longer has another name in each."""
WHOLE_CORES = "wholeCores"
"""The setting that is a container's and not its machine's."""


@dataclass(frozen=True)
class Kubelet:
    """How a kubelet gives processors to pods; "" for what it does not tell."""

    cpu_manager: str = ""
    topology_manager: str = ""


@dataclass(frozen=True)
class KubernetesNode:
    """A machine of the cluster."""

    name: str
    cores: int | None = None
    """all of its processors"""
    usable: bool = True
    """ready, and open for pods without a toleration"""
    kubelet: Kubelet | None = None
    """None where nobody may ask it"""
    neighbours: tuple[tuple[str, float], ...] | None = None
    """pods of others on it and the processors they ask for, the largest first; None where pods may not be listed"""
    for_pods: float | None = None
    """processors that its kubelet gives to pods altogether (status.allocatable); None where it tells none"""

    def can_give(self, needed: int) -> bool:
        """Return whether it has as many processors, and gives its pods all but the one that is for all else."""
        return (self.cores or 0) >= needed and (self.for_pods is None or self.for_pods >= needed - 1)


@dataclass(frozen=True)
class TaskSeen:
    """A measured task of a Benchmark."""

    benchmark: str
    task: str
    settled: bool | None = None
    unsettled_seconds: float = 0.0
    kind: str = TRACK
    behind: bool = False
    """its clients did not send what was planned when it was planned, so that what waits may grow all the time"""


@dataclass(frozen=True)
class RaceSeen:
    """A race that is over."""

    benchmark: str
    race: str
    machines: frozenset[str] = frozenset()
    """that Elasticsearch and the load generator ran on"""
    elasticsearch_on: frozenset[str] = frozenset()
    kind: str = TRACK
    remarks: Mapping[str, str] = field(default_factory=dict)
    """the first message of each reason"""
    steal: float | None = None
    """largest share of the processor time that a task wanted (0 to 1) which the hypervisor took; None where unknown"""
    steal_of_race: bool = False
    """that share is the whole race's, of which no task is long enough to be judged"""
    canary: tuple[str, ...] | None = None
    """in what the fixed work after the race differed from that before it; None where unknown"""
    load_generator_on: str = ""
    record: str = ""
    """name of the ConfigMap that tells more; "" where there is none"""
    disturbances: tuple[Disturbance, ...] | None = None
    """what disturbed the machine; None where nothing but the remark tells"""

    @property
    def tells_nothing(self) -> bool:
        """Whether neither steal nor canary is known."""
        return self.steal is None and self.canary is None


@dataclass(frozen=True)
class MachineSeen:
    """A machine as the status of a Benchmark describes it."""

    machine: str
    role: str
    """elasticsearch or load generator"""
    exclusive: bool | None = None
    needed: int | None = None
    """processors that it takes for all of its Benchmark's nodes there to have their own; None where unknown"""
    withheld: bool = False
    """whole ones had no room, so that its Benchmark's nodes were not given any"""
    numa_nodes: int | None = None
    cpu_numa_nodes: int | None = None
    """that the processors which the container may use are of"""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """how it was set up: governors, turbo, smtActive, hugePages; empty where the status does not tell"""
    benchmark: str = ""


@dataclass(frozen=True)
class Facts:
    """All that is known."""

    nodes: tuple[KubernetesNode, ...] = ()
    races: tuple[RaceSeen, ...] = ()
    tasks: tuple[TaskSeen, ...] = ()
    machines: tuple[MachineSeen, ...] = ()
    """of the newest Benchmark first"""
    cores_asked: int = 1
    """whole processors that one Elasticsearch node is to have"""
    unknown: tuple[str, ...] = ()
    """what could not be found out, and which right it needs"""

    def needed_on(self, machine: str) -> int:
        """Return how many processors it takes on a machine for Elasticsearch to have its own; one is for all else.

        Where no status tells which nodes were there, one is assumed.
        """
        told = [it.needed for it in self.machines if it.machine == machine and it.needed is not None]
        return max(told, default=self.cores_asked + 1)

    def too_small(self) -> dict[str, int]:
        """Return the machines that are known to have fewer processors than it takes, and how many it takes, by name."""
        known = [(node, self.needed_on(node.name)) for node in self.nodes if node.cores is not None]
        return {node.name: needed for node, needed in known if not node.can_give(needed)}

    def last_told(self, tells: Callable[[MachineSeen], bool]) -> tuple[MachineSeen, ...]:
        """Return what the newest Benchmark that tells it says of each machine in each role, of one node or several.

        What older ones say may have been mended since.
        """
        told, newest = [it for it in self.machines if tells(it)], dict[tuple[str, str], str]()
        for it in told:
            newest.setdefault((it.machine, it.role), it.benchmark)
        return tuple(it for it in told if newest[it.machine, it.role] == it.benchmark)

    def set_up(self) -> tuple[MachineSeen, ...]:
        """Return the machines with the settings that were told last; in whichever role, but for a container's cores."""
        newest: dict[str, Mapping[str, Any]] = {"": {}}  # of machines without a name nobody knows which are the same
        for it in self.machines:
            if it.settings:
                newest.setdefault(it.machine, {key: it.settings[key] for key in it.settings if key != WHOLE_CORES})
        last = self.last_told(lambda it: bool(it.settings))
        return tuple(replace(it, settings={**it.settings, **newest[it.machine]}) for it in last)

    def raced_on(self) -> tuple[KubernetesNode, ...]:
        """Return the nodes that were raced on; where that is not known, those that would be."""
        names = {name for race in self.races for name in race.machines}
        return tuple(node for node in self.nodes if node.name in names) or tuple(n for n in self.nodes if n.usable)

    def for_elasticsearch(self) -> tuple[KubernetesNode, ...]:
        """Return the nodes that Elasticsearch ran on; where nobody knows of a race where it was, all usable ones."""
        if not any(race.machines for race in self.races):
            return self.raced_on()
        names = {name for race in self.races for name in race.elasticsearch_on}
        return tuple(node for node in self.nodes if node.name in names)


def node_of(found: Body) -> KubernetesNode:
    """Return a Node object of Kubernetes without what its kubelet and its pods tell."""
    spec, status = as_mapping(found.get("spec")), as_mapping(found.get("status"))
    taints = [as_mapping(each).get("effect") for each in as_list(spec.get("taints"))]
    ready = [each for each in map(as_mapping, as_list(status.get("conditions"))) if each.get("type") == "Ready"]
    closed = bool(spec.get("unschedulable")) or "NoSchedule" in taints or "NoExecute" in taints
    cores, for_pods = (cores_of(as_mapping(status.get(key)).get("cpu")) for key in ("capacity", "allocatable"))
    return KubernetesNode(
        name=str(as_mapping(found.get("metadata")).get("name") or ""),
        cores=int(cores) if cores else None,
        for_pods=for_pods,
        usable=not closed and all(each.get("status") == "True" for each in ready),
    )


def kubelet_of(answer: Body) -> Kubelet:
    """Return what a kubelet's `configz` says; what a kubelet leaves out has Kubernetes' default, none."""
    config = as_mapping(answer.get("kubeletconfig"))
    if not config:
        return Kubelet()
    policies = (str(config.get(key) or "none") for key in ("cpuManagerPolicy", "topologyManagerPolicy"))
    return Kubelet(*policies)


def races_of(benchmark: Body) -> Iterator[RaceSeen]:
    """Yield the races of a Benchmark, as its status tells of them."""
    for race in map(as_mapping, as_list(as_mapping(benchmark.get("status")).get("races"))):
        if is_race(str(race.get("name"))):
            remarks: dict[str, str] = {}
            for remark in map(as_mapping, as_list(race.get("remarks"))):
                remarks.setdefault(str(remark.get("reason")), str(remark.get("message")))
            elasticsearch = frozenset(map(str, as_list(race.get("elasticsearchOn")))) - {""}
            load_generator = str(race.get("loadGeneratorOn") or "")
            yield RaceSeen(
                _name(benchmark), str(race["name"]), elasticsearch | {load_generator} - {""}, elasticsearch,
                _kind(benchmark), remarks, load_generator_on=load_generator, record=str(race.get("record") or ""),
            )  # fmt: skip


def watched(
    race: RaceSeen, watch: MachineWatch | None, unread: Collection[str] = (), reading: Collection[str] = ()
) -> RaceSeen:
    """Return the race with what its record says of the machine while it ran; as it is without.

    `unread`: tasks whose numbers nobody reads; `reading`: those in which Elasticsearch only reads.
    """
    if watch is None:
        return race
    shares = {it.task: stolen_share(it) for it in judged_spans(watch, unread)}
    steal = {task: share for task, share in shares.items() if share is not None}
    found = disturbances(
        watch, race.elasticsearch_on, race.load_generator_on, reading, unread,
        over_http=race.kind == OVER_HTTP, in_turn=race.kind == IN_TURN,
    )  # fmt: skip
    canary = tuple(it.sentence for it in found if it.kind is DisturbanceKind.CANARY)
    return replace(
        race, steal=max(steal.values(), default=None), steal_of_race="" in steal,
        canary=canary if watch.before and watch.after else None, disturbances=tuple(found),
    )  # fmt: skip


def tasks_of(benchmark: Body) -> Iterator[TaskSeen]:
    """Yield the measured tasks of a Benchmark."""
    results = as_mapping(as_mapping(benchmark.get("status")).get("results"))
    for task in map(as_mapping, as_list(results.get("tasks"))):
        name, settled, seconds = str(task.get("task")), task.get("settled"), task.get("unsettledSeconds")
        # In turn the service time alone is judged, which does not grow with what waits.
        behind = _kind(benchmark) != IN_TURN and _is_behind(task)
        beyond = behind and _is_swept(benchmark, name)  # where its rates are too high is what a sweep looks for
        yield TaskSeen(
            _name(benchmark), name, settled if isinstance(settled, bool) and not beyond else None,
            float(seconds) if isinstance(seconds, int | float) else 0.0, _kind(benchmark), behind,
        )  # fmt: skip


def _is_behind(task: Body) -> bool:
    """Return whether all clients together or the slowest one sent too little of what was planned."""
    kept = ((task.get("scheduleShare"), SCHEDULE_KEPT), (task.get("slowestClientShare"), CLIENT_KEPT))
    return any(isinstance(share, int | float) and share < least for share, least in kept)


def _is_swept(benchmark: Body, task: str) -> bool:
    sweep = as_mapping(as_mapping(as_mapping(benchmark.get("spec")).get("race")).get("sweep"))
    return bool(sweep) and task.startswith(f"{sweep.get('task')}@")


def machines_of(benchmark: Body) -> Iterator[MachineSeen]:
    """Yield the machines that a Benchmark ran on, as its status describes them."""
    environment = as_mapping(as_mapping(benchmark.get("status")).get("environment"))
    # Clusters side by side share processors, and should: whole ones would be one's alone while another is raced.
    side_by_side = any(as_mapping(benchmark.get("spec")).get(field) for field in ("inTurn", "racedAgain"))
    told = [as_mapping(each) for each in as_list(environment.get("machines"))]
    nodes = Counter(str(each.get("machine") or "") for each in told if each.get("node") != NODE_OF_THE_LOAD)
    cores, withheld = _whole_cores(benchmark) or 1, _is_withheld(benchmark)
    for each in told:
        machine, own = str(each.get("machine") or ""), each.get("node") != NODE_OF_THE_LOAD
        exclusive, numa = each.get("exclusiveCpus"), each.get("numaNodes")
        yield MachineSeen(
            machine=machine,
            role="elasticsearch" if own else NODE_OF_THE_LOAD,
            exclusive=exclusive if isinstance(exclusive, bool) and not side_by_side else None,
            needed=nodes[machine] * cores + 1 if own and machine else None,
            withheld=own and withheld,
            numa_nodes=numa if isinstance(numa, int) else None,
            cpu_numa_nodes=count_of(str(each.get("cpuNumaNodes") or "")),
            settings=as_mapping(each.get("settings")),
            benchmark=_name(benchmark),
        )


def cores_asked(benchmarks: Sequence[Body]) -> int:
    """Return the most whole processors that an Elasticsearch node of any Benchmark asks for, 1 where none does."""
    return max((_whole_cores(benchmark) or 1 for benchmark in benchmarks), default=1)


def _whole_cores(benchmark: Body, cpu: str = "") -> int | None:
    """Return how many whole processors an Elasticsearch node asks for, or would with a `cpu`; None for a share."""
    built = as_mapping(as_mapping(benchmark.get("spec")).get("elasticsearch"))
    try:
        resources = Resources.model_validate(built.get("resources") or {})
        return (resources.with_cpu(cpu, whole=True) if cpu else resources).whole_cores()
    except ValueError:  # what cannot be read asks for nothing
        return None


def _is_withheld(benchmark: Body) -> bool:
    """Return whether nodes whose manifest names no CPU share processors for want of room, not for their memory."""
    given = as_mapping(as_mapping(benchmark.get("status")).get("nodeProcessors"))
    return bool(given) and not given.get("whole") and _whole_cores(benchmark, "1") is not None


def _kind(benchmark: Body) -> str:
    spec = as_mapping(benchmark.get("spec"))
    if is_over_http(spec):
        return OVER_HTTP
    return IN_TURN if spec.get("inTurn") else TRACK


def _name(benchmark: Body) -> str:
    return str(as_mapping(benchmark.get("metadata")).get("name") or "")
