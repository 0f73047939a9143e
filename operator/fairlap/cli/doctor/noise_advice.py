"""What to change in a cluster so that its numbers have less noise, the most valuable first. Pure.

A piece of advice is worth its weight times how far it reaches: the share of tasks, races or nodes that it is about.
The weights are an order, not a measurement: what was seen in races comes before what could disturb them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fairlap.cli.doctor.noise_facts import (
    IN_TURN,
    OVER_HTTP,
    TRACK,
    WHOLE_CORES,
    Facts,
    KubernetesNode,
    MachineSeen,
    RaceSeen,
    TaskSeen,
)
from fairlap.results.disturbance import STEAL_SHARE, DisturbanceKind
from fairlap.wording.numerals import number
from fairlap_race.contract.as_percent import as_percent
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.some_of import some_clauses, some_of
from fairlap_race.contract.watched_machines.canary_margins import DISTURBED_WORDS
from fairlap_race.contract.watched_machines.machine_settings import STEADY_GOVERNORS

NEIGHBOURS_SHARE: Final = 0.05
"""Of a machine's processors: what pods of others may ask for without being told of."""
_SHOWN = 3


@dataclass(frozen=True)
class Advice:
    """One thing to change."""

    about: str
    """in a word, for programs"""
    worth: float
    """weight times reach, 0 to 100; only the order means anything"""
    found: str
    """what is there, as a sentence"""
    change: str
    """what to do, as a sentence"""


def advise(facts: Facts) -> list[Advice]:
    """Return what to change, the most valuable first; nothing where nothing is known to be wrong."""
    found = [each for rule in _RULES for each in rule(facts)]
    return sorted(found, key=lambda each: (-each.worth, each.about))


def _unsettled(facts: Facts) -> Iterator[Advice]:
    judged = [task for task in facts.tasks if task.settled is not None]
    changing = sorted((task for task in judged if not task.settled), key=lambda task: -task.unsettled_seconds)
    bad, behind = ([task for task in changing if task.behind is each] for each in (False, True))
    if bad:
        worst = bad[0]
        yield Advice(
            "settled",
            100 * len(bad) / len(judged),
            f"{len(bad)} of {len(judged)} measured tasks had not settled, {worst.task} of {worst.benchmark} not for "
            f"{number(worst.unsettled_seconds, 1)} s",
            f"{_of_each_kind(bad, _LONGER_WARMUP)}; each needs twice 12 s or more measured after it",
        )
    if behind:  # where requests come faster than they are answered, a longer warm-up leaves a longer queue
        yield Advice(
            "rate",
            100 * len(behind) / len(judged),
            f"{len(behind)} of {len(judged)} measured tasks had not settled at a rate that they did not keep "
            f"({_listed([f'{it.task} of {it.benchmark}' for it in behind])}): requests may wait longer and longer",
            _of_each_kind(behind, _LOWER_RATE),
        )


_IN_THE_TRACK: Final = "give the tasks more iterations or a longer time-period in the track, after a warm-up"
_LONGER_WARMUP: Final = {
    TRACK: "let race.steady make the warm-up of all but bulks as long as it takes (maxWarmup: 5m), or give these "
    "tasks a longer one in the track",
    IN_TURN: "give these tasks a longer warm-up in the track",
    OVER_HTTP: "raise race.load.warmup",
}
_LOWER_RATE: Final = {
    TRACK: "ask for a lower target-throughput or take more clients in the track, or let race.capacity find the highest "
    "rate that keeps an objective",
    OVER_HTTP: "lower race.load.targetThroughput or raise race.load.clients, or let race.capacity find the highest "
    "rate that keeps an objective",
}
_LONGER_MEASUREMENT: Final = {
    TRACK: _IN_THE_TRACK,
    IN_TURN: _IN_THE_TRACK,
    OVER_HTTP: "raise race.load.duration, after a race.load.warmup",
}


def _of_each_kind(bad: Sequence[RaceSeen] | Sequence[TaskSeen], words: Mapping[str, str]) -> str:
    """Return what to do about races or tasks, of each way to send a load that there is among them."""
    several = len({each.kind for each in bad}) > 1
    kinds = [kind for kind in words if any(each.kind == kind for each in bad)]
    shown = (f"{words[kind]}{f' ({kind})' if several and kind != TRACK else ''}" for kind in kinds)
    return "; ".join(dict.fromkeys(shown))


def _steal(facts: Facts) -> Iterator[Advice]:
    known = [race for race in facts.races if race.steal is not None]
    bad = [race for race in known if (race.steal or 0.0) > STEAL_SHARE]
    if bad:
        most = max(race.steal or 0.0 for race in bad)
        yield Advice(
            "steal",
            95 * len(bad) / len(known),
            f"in {len(bad)} of {len(known)} races the hypervisor took more than {as_percent(STEAL_SHARE, decimals=2)} "
            f"of {_whose_time(bad)}, up to {as_percent(most, STEAL_SHARE, decimals=2)} ({_named(bad)})",
            "take machines whose processors are not shared with other virtual machines: dedicated hosts or bare metal",
        )


def _whose_time(races: Sequence[RaceSeen]) -> str:
    whole = "the processor time of the whole race, whose tasks are all short"
    if all(race.steal_of_race for race in races):
        return whole
    of_task = "a task's processor time"
    return f"{of_task}, or of {whole}" if any(race.steal_of_race for race in races) else of_task


def _canary(facts: Facts) -> Iterator[Advice]:
    known = [race for race in facts.races if race.canary is not None]
    bad = [race for race in known if race.canary]
    if bad:
        yield Advice(
            "canary",
            90 * len(bad) / len(known),
            f"in {len(bad)} of {len(known)} races the same fixed work took another time after the race than before it "
            f"({_named(bad)}): {'; '.join((bad[0].canary or ())[:_SHOWN])}",
            "find what else uses these machines, or a clock or disk that slows down with time; race on others "
            "(elasticsearch.scheduling, race.scheduling), or in turn (a Comparison's design.kind: Duet), where what "
            "slows the machine meets all variants alike",
        )


def _disturbed(facts: Facts) -> Iterator[Advice]:
    bad = [(race, words) for race in facts.races if (words := _otherwise_disturbed(race))]
    if bad:
        yield Advice(
            "disturbed",
            85 * len(bad) / len(facts.races),
            f"{len(bad)} of {len(facts.races)} races were on a machine that was disturbed "
            f"({_named([race for race, _ in bad])}): {bad[0][1]}",
            "move what else runs there away (a taint on the nodes that are raced on, and tolerations in "
            "elasticsearch.scheduling and race.scheduling), or race when it does not run",
        )


def _otherwise_disturbed(race: RaceSeen) -> str:
    """Return what disturbed a race's machine beside steal and canary, which have advice of their own; "" for nothing.

    Where its record was not read, that is all that its remark says.
    """
    if race.disturbances is None:
        return race.remarks.get(Reason.MACHINE_DISTURBED, "")
    left = [it.sentence for it in race.disturbances if it.kind not in (DisturbanceKind.CANARY, DisturbanceKind.STEAL)]
    return f"{DISTURBED_WORDS}{some_clauses(left, _SHOWN)}" if left else ""


def _cpu_manager(facts: Facts) -> Iterator[Advice]:
    known = [node for node in facts.raced_on() if node.kubelet and node.kubelet.cpu_manager]
    bad = [node for node in known if node.kubelet and node.kubelet.cpu_manager != "static"]
    if bad:
        policy = bad[0].kubelet.cpu_manager if bad[0].kubelet else ""
        yield Advice(
            "cpuManager",
            80 * len(bad) / len(known),
            f"the kubelet's CPU manager policy is {policy} on {_nodes(bad)}: no pod has a processor of its own",
            "set cpuManagerPolicy: static with a reserve (systemReserved or reservedSystemCPUs) in the kubelet's "
            "configuration, delete its cpu_manager_state file and start it again",
        )


def _shared(facts: Facts) -> Iterator[Advice]:
    """Yield that whole processors could be had and were not: a Benchmark asks for them, and not a machine."""
    static = {node.name: node for node in facts.nodes if node.kubelet and node.kubelet.cpu_manager == "static"}
    judged = [it for it in facts.machines if it.role == "elasticsearch" and it.exclusive is not None]
    shared = [it for it in judged if it.exclusive is False and not it.withheld and it.machine in static]
    bad = [it for it in shared if static[it.machine].can_give(it.needed or facts.cores_asked + 1)]
    if bad:
        some, all_of_them = (len({it.benchmark for it in found}) for found in (bad, judged))
        yield Advice(
            "sharedProcessors",
            75 * some / all_of_them,
            f"in {some} of {all_of_them} Benchmarks Elasticsearch shared its processors on {_machines(bad)}, whose "
            "kubelets can give whole ones",
            "let elasticsearch.resources have limits that are its requests, with a whole number of CPUs",
        )


def _shared_unasked(facts: Facts) -> Iterator[Advice]:
    """Yield that races shared processors that they had asked for, where no kubelet may be asked why."""
    # Where a machine has too few, whatever its kubelet says gives no whole ones.
    known = {node.name for node in facts.nodes if node.kubelet and node.kubelet.cpu_manager} | {*facts.too_small()}
    bad = [
        race
        for race in facts.races
        if Reason.PROCESSORS_SHARED in race.remarks and not (race.elasticsearch_on or race.machines) & known
    ]
    if bad:
        yield Advice(
            "sharedProcessors",
            75 * len(bad) / len(facts.races),
            f"in {len(bad)} of {len(facts.races)} races Elasticsearch had no processors of its own ({_named(bad)}): "
            f"{bad[0].remarks[Reason.PROCESSORS_SHARED]}",
            "see what the kubelets of these nodes say (cpuManagerPolicy: static and a reserve are what it takes), and "
            "that elasticsearch.resources has limits that are its requests, with a whole number of CPUs; where "
            "machines have too few, take larger ones, fewer elasticsearch.nodes, or less CPU for the load generator",
        )


def _too_few(facts: Facts) -> Iterator[Advice]:
    known, small = [node for node in facts.for_elasticsearch() if node.cores is not None], facts.too_small()
    for needed in sorted({small[node.name] for node in known if node.name in small}, reverse=True):
        without = [node for node in known if small.get(node.name) == needed]
        if bad := [node for node in without if (node.cores or 0) < needed]:
            yield Advice(
                "cores",
                70 * len(bad) / len(known),
                f"{_nodes(bad)} {'has' if len(bad) == 1 else 'have'} fewer than the {needed} processors that it takes: "
                f"{needed - 1} for Elasticsearch alone, one for all else",
                "race on machines with more processors or on more of them, ask for fewer in elasticsearch.resources, "
                "or take fewer elasticsearch.nodes",
            )
        if kept := [node for node in without if (node.cores or 0) >= needed]:
            least = min(kept, key=lambda node: node.for_pods or 0.0)
            yield Advice(
                "cores",
                70 * len(kept) / len(known),
                f"{_nodes(kept)} {'gives' if len(kept) == 1 else 'give'} pods fewer than the {needed - 1} whole "
                f"processors that Elasticsearch alone takes ({least.for_pods or 0.0:g} of {least.cores})",
                "let their kubelets reserve less (systemReserved, kubeReserved or reservedSystemCPUs), race on "
                "machines with more processors or on more of them, ask for fewer in elasticsearch.resources, or take "
                "fewer elasticsearch.nodes",
            )


def _short(facts: Facts) -> Iterator[Advice]:
    reasons = (Reason.SHORT_MEASUREMENT, Reason.FEW_SAMPLES, Reason.NO_WARMUP)
    bad = [race for race in facts.races if any(reason in race.remarks for reason in reasons)]
    if bad:
        first = next(bad[0].remarks[reason] for reason in reasons if reason in bad[0].remarks)
        yield Advice(
            "short",
            65 * len(bad) / len(facts.races),
            f"{len(bad)} of {len(facts.races)} races measured too little or too cold ({_named(bad)}): {first}",
            _of_each_kind(bad, _LONGER_MEASUREMENT),
        )


def _one_machine(facts: Facts) -> Iterator[Advice]:
    bad = [race for race in facts.races if Reason.LOAD_GENERATOR_SHARED in race.remarks]
    if bad:
        more = sum(node.usable for node in facts.nodes) > 1
        yield Advice(
            "loadGenerator",
            60 * len(bad) / len(facts.races),
            f"in {len(bad)} of {len(facts.races)} races the load generator was on a machine of Elasticsearch's "
            f"({_named(bad)})",
            "make room for it on a machine of its own (race.scheduling)" if more else "add a machine for it",
        )


def _neighbours(facts: Facts) -> Iterator[Advice]:
    nodes = [node for node in facts.raced_on() if node.cores and node.neighbours is not None]
    shares = {node.name: sum(cores for _, cores in node.neighbours or ()) / (node.cores or 1) for node in nodes}
    bad = sorted((node for node in nodes if shares[node.name] > NEIGHBOURS_SHARE), key=lambda node: -shares[node.name])
    for place, node in enumerate(bad[:_SHOWN], 1):
        more = f"; so it is on {len(bad) - _SHOWN} more" if place == _SHOWN < len(bad) else ""
        pods = node.neighbours or ()
        named = some_of((f"{name} {cores:.2g}" for name, cores in pods if cores), _SHOWN)
        yield Advice(
            "neighbours",
            50 * min(1.0, shares[node.name]),
            f"pods of others on {node.name} ask for {sum(cores for _, cores in pods):.2g} of its {node.cores} "
            f"processors ({named}){more}",
            "keep them off the nodes that are raced on with a taint, or race on other nodes",
        )


def _topology(facts: Facts) -> Iterator[Advice]:
    told = facts.last_told(lambda it: it.numa_nodes is not None)
    numa, seen = {it.machine for it in told if (it.numa_nodes or 1) > 1}, {it.machine for it in told}
    known = [it for it in facts.raced_on() if it.name in seen and it.kubelet and it.kubelet.topology_manager]
    bad = [
        node for node in known if node.name in numa and node.kubelet and node.kubelet.topology_manager in ("none", "")
    ]
    if bad:
        yield Advice(
            "topologyManager",
            40 * len(bad) / len(known),
            f"{_nodes(bad)} {'has' if len(bad) == 1 else 'have'} several NUMA nodes and no topology manager policy: a "
            "pod's processors and memory may be on different ones",
            "set topologyManagerPolicy: single-numa-node (or restricted) in the kubelet's configuration",
        )


def _topology_unknown(facts: Facts) -> Iterator[Advice]:
    """Yield that processors were of several NUMA nodes where no kubelet may be asked for its policy."""
    told = {node.name for node in facts.nodes if node.kubelet and node.kubelet.topology_manager}
    known = facts.last_told(lambda it: it.cpu_numa_nodes is not None)
    bad = [it for it in known if (it.cpu_numa_nodes or 0) > 1 and it.machine not in told]
    if bad:
        yield Advice(
            "topologyManager",
            40 * _share_of_machines(bad, known),
            f"the processors that a pod may use are of several NUMA nodes on {_machines(bad)}, and the topology "
            "manager's policy is not known here: its memory may be on another node",
            "see what the kubelets of these nodes say (topologyManagerPolicy: single-numa-node or restricted, with "
            "cpuManagerPolicy: static, keeps a pod on one), and ask for no more processors than one NUMA node has",
        )


def _clock_by_demand(it: MachineSeen) -> bool:
    governors = it.settings.get("governors")
    return isinstance(governors, list) and any(each not in STEADY_GOVERNORS for each in governors)


def _turbo(it: MachineSeen) -> bool:
    return it.settings.get("turbo") is True


def _huge_pages_waited_for(it: MachineSeen) -> bool:
    return (it.settings.get("hugePages"), it.settings.get("hugePagesDefrag")) == ("always", "always")


def _half_cores(it: MachineSeen) -> bool:
    # Who may use all processors has all threads of their cores, and shares them with everybody.
    return it.settings.get("smtActive") is True and (it.exclusive is False or it.settings.get(WHOLE_CORES) is False)


_SETTINGS: Final[Sequence[tuple[str, float, Callable[[MachineSeen], bool], str, str]]] = (
    (
        "governor", 45.0, _clock_by_demand, "the clock of the processors is set by demand",
        "set the performance governor (cpupower frequency-set -g performance)",
    ),
    (
        "turbo", 35.0, _turbo, "processors run faster than their nominal clock while they are cool",
        "turn turbo off (intel_pstate/no_turbo or cpufreq/boost)",
    ),
    (
        "smt", 30.0, _half_cores, "cores run two threads at a time, and a neighbour's thread may be on the same core",
        "turn SMT off, or give pods whole cores (CPU manager option full-pcpus-only) and write as many CPUs in "
        "elasticsearch.resources and race.resources as whole cores have threads, mostly a multiple of 2: such kubelets "
        "refuse others",
    ),
    (
        "hugePages", 25.0, _huge_pages_waited_for, "who touches memory may wait until a huge page is compacted",
        "set the defrag of transparent huge pages to madvise, the kernel's default",
    ),
)  # fmt: skip
"""Of machines: about, weight, whether it harms, what is found, what to change."""


def _settings(facts: Facts) -> Iterator[Advice]:
    """Yield what the machines' own settings harm, where the statuses tell them."""
    told = facts.set_up()
    for about, weight, harms, found, change in _SETTINGS:
        bad = [it for it in told if harms(it)]
        if bad:
            yield Advice(about, weight * _share_of_machines(bad, told), f"{found} on {_machines(bad)}", change)


def _named(races: Sequence[RaceSeen]) -> str:
    return _listed([f"{race.race} of {race.benchmark}" for race in races])


def _nodes(nodes: Sequence[KubernetesNode]) -> str:
    return _listed([node.name for node in nodes])


def _machines(machines: Sequence[MachineSeen]) -> str:
    return _listed([it.machine or "a machine without a name" for it in machines])


def _share_of_machines(some: Sequence[MachineSeen], of: Sequence[MachineSeen]) -> float:
    """Return how many of the machines are among some, whatever runs on each."""
    return len({it.machine for it in some}) / len({it.machine for it in of})


def _listed(names: Sequence[str]) -> str:
    return some_of(dict.fromkeys(names), _SHOWN)


_RULES: Final[Sequence[Callable[[Facts], Iterator[Advice]]]] = (
    _unsettled, _steal, _canary, _disturbed, _cpu_manager, _shared, _shared_unasked, _too_few, _short, _one_machine,
    _neighbours, _topology, _topology_unknown, _settings,
)  # fmt: skip
