"""What an Elasticsearch node is given where the manifest names no CPU."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import seen

from fairlap.api.node_resources import node_resources
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus, NodeProcessors
from fairlap.plan.basis.node_processors import MachineCapacity, capacity_of, decide
from fairlap.plan.benchmark import plan

RACE: dict[str, Any] = {"track": {"builtin": "log_ingest"}}
TWO, FOUR = MachineCapacity("two", 1900, {"disk": "ssd"}), MachineCapacity("four", 3920, {})
TAINTED = MachineCapacity("tainted", 8000, {}, ({"key": "team", "value": "search", "effect": "NoSchedule"},))


def spec(elasticsearch: dict[str, Any] | None = None, race: dict[str, Any] | None = None) -> BenchmarkSpec:
    """Return a Benchmark's spec whose load generator asks for half a processor."""
    return BenchmarkSpec.model_validate(
        {"elasticsearch": {"version": "9.0.0", **(elasticsearch or {})}, "race": {**RACE, **(race or {})}}
    )


ACCEPTED, ACCEPTED_SPEC = BenchmarkStatus(phase="Pending", start_time="2026-01-01T00:00:00Z"), spec()
TOLERATED = {"tolerations": [{"key": "team", "value": "search"}]}


@pytest.mark.parametrize(
    ("elasticsearch", "race", "machines", "cpu"),
    [
        pytest.param({}, {}, [TWO], "1", id="one-node-on-two-processors"),
        pytest.param({"resources": {"limits": {"memory": "4Gi"}}}, {}, [TWO], "1", id="memory-alone-is-named"),
        pytest.param({}, {}, [], "1", id="machines-that-cannot-be-read"),
        pytest.param({}, {}, [MachineCapacity("one", 1000, {})], "500m", id="one-processor"),
        pytest.param({}, {}, [MachineCapacity("half", 600, {})], "100m", id="less-than-one"),
        pytest.param(
            {},
            {},
            [MachineCapacity("one", 1000, {}), MachineCapacity("half", 500, {})],
            "1",
            id="the-generator-elsewhere",
        ),
        pytest.param({"nodes": 3}, {}, [TWO], "100m", id="three-nodes-on-two-processors"),
        pytest.param({"nodes": 3}, {}, [TWO, FOUR], "1", id="three-nodes-on-six"),
        pytest.param({"nodes": 5}, {}, [TWO, FOUR], "500m", id="five-nodes-on-six"),
        pytest.param(
            {"scheduling": {"machines": ["half"]}}, {}, [FOUR, MachineCapacity("half", 600, {})], "500m", id="named"
        ),
        pytest.param({"scheduling": {"nodeSelector": {"disk": "hdd"}}}, {}, [TWO, FOUR], "100m", id="no-such-label"),
        pytest.param({"scheduling": {"nodeSelector": {"disk": "ssd"}}}, {}, [TWO, FOUR], "1", id="labelled"),
        pytest.param({}, {}, [TAINTED], "100m", id="kept-off"),
        pytest.param({"scheduling": TOLERATED}, {"scheduling": TOLERATED}, [TAINTED], "1", id="tolerated"),
        pytest.param(
            {}, {"resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}, [TWO], "100m", id="a-large-generator"
        ),
        pytest.param(
            {"resources": {"limits": {"memory": "4Gi"}, "requests": {"memory": "2Gi"}}},
            {},
            [FOUR],
            "500m",
            id="burstable",
        ),
    ],
)
def test_what_a_node_is_given(
    elasticsearch: dict[str, Any], race: dict[str, Any], machines: list[MachineCapacity], cpu: str
) -> None:
    wanted = spec(elasticsearch, race)
    found = decide(wanted, machines)
    assert (found.cpu, found.whole) == (cpu, cpu == "1")
    assert wanted.elasticsearch is not None
    resources = node_resources(wanted.elasticsearch, found)
    assert resources.whole_cores() == (1 if found.whole else None)
    assert resources.requests.cpu == cpu and (resources.limits.cpu is not None) is found.whole
    assert resources.limits.memory == wanted.elasticsearch.resources.limits.memory


def test_why_they_share_is_said() -> None:
    assert decide(spec({"nodes": 3}), [TWO]).message == (
        "elasticsearch.resources names no CPU, and 1 machine of 1.9 processors for pods altogether cannot give a whole "
        "one to each of 3 nodes beside the load generator's 0.5: nodes share them"
    )


ONLY_FOUR = {"scheduling": {"machines": ["four"]}}
HDD = {"scheduling": {"nodeSelector": {"disk": "hdd"}}}
LARGE = {"resources": {"limits": {"cpu": "8", "memory": "1Gi"}, "requests": {"cpu": "8"}}}
EXCLUSIVE = {"scheduling": {"exclusiveNodes": True}}
NONE_MATCHES = "no machine matches {} (machines, nodeSelector and tolerations)"


@pytest.mark.parametrize(
    ("elasticsearch", "race", "machines", "lack"),
    [
        pytest.param(
            {"nodes": 5, **ONLY_FOUR}, {}, [TWO, FOUR, TAINTED],
            "1 machine of 3.92 processors for pods altogether (elasticsearch.scheduling allows no other) cannot give a "
            "whole one to each of 5 nodes",
            id="machines-that-are-not-named",
        ),
        pytest.param(
            {"nodes": 6}, {}, [TWO, FOUR, TAINTED],
            "2 machines of 5.82 processors for pods altogether (elasticsearch.scheduling allows no other) cannot give "
            "a whole one to each of 6 nodes beside the load generator's 0.5",
            id="taints",
        ),
        pytest.param({"nodes": 2, **HDD}, {}, [TWO], NONE_MATCHES.format("elasticsearch.scheduling"), id="no-label"),
        pytest.param({}, {}, [TAINTED], NONE_MATCHES.format("elasticsearch.scheduling"), id="all-tainted"),
        pytest.param({}, HDD, [TWO, FOUR], NONE_MATCHES.format("race.scheduling"), id="no-label-for-the-generator"),
        pytest.param(
            {}, LARGE, [TWO, FOUR],
            "no machine that race.scheduling allows has 8 processors for pods, which the load generator asks for "
            "(race.resources)",
            id="a-generator-that-fits-nowhere",
        ),
        pytest.param(
            {"nodes": 2, "scheduling": {"machines": ["two"]}}, ONLY_FOUR, [TWO, FOUR],
            "1 machine of 1.9 processors for pods altogether (elasticsearch.scheduling allows no other) cannot give a "
            "whole one to each of 2 nodes",
            id="a-generator-with-room-elsewhere",
        ),
        pytest.param(
            {"nodes": 2, **EXCLUSIVE}, {}, [TWO, FOUR],
            "2 machines of 5.82 processors for pods altogether cannot give a whole one to each of 2 nodes "
            "(exclusiveNodes: each alone on a machine) beside the load generator's 0.5",
            id="exclusive",
        ),
    ],
)  # fmt: skip
def test_why_they_share_is_said_of_machines_that_may_be_used_alone(
    elasticsearch: dict[str, Any], race: dict[str, Any], machines: list[MachineCapacity], lack: str
) -> None:
    found = decide(spec(elasticsearch, race), machines)
    assert not found.whole
    assert found.message == f"elasticsearch.resources names no CPU, and {lack}: nodes share them"


def machine(name: str, millicores: int) -> MachineCapacity:
    return MachineCapacity(name, millicores, {})


def loaded(cpu: str, *machines: str) -> dict[str, Any]:
    """Return a race whose load generator asks for `cpu`, on `machines` where there are any."""
    scheduling = {"scheduling": {"machines": [*machines]}} if machines else {}
    return {"resources": {"requests": {"cpu": cpu}, "limits": {"cpu": "8", "memory": "1Gi"}}, **scheduling}


@pytest.mark.parametrize(
    ("nodes", "race", "machines", "words", "cure"),
    [
        pytest.param(
            1, loaded("1500m", "a"), {"a": 2000, "b": 2000},
            "2 machines of 4 processors for pods altogether can give a whole one to each of 1 node, but Kubernetes may "
            "place nodes so that the load generator's 1.5 have no room: nodes share them",
            "name other machines than a in elasticsearch.scheduling.machines, to leave it to the load generator",
            id="the-only-machine-of-the-load-generator",
        ),
        pytest.param(
            2, loaded("1500m"), {"a": 2000, "b": 1999},
            "2 machines of 3.999 processors for pods altogether can give a whole one to each of 2 nodes, but "
            "Kubernetes may place nodes so that the load generator's 1.5 have no room: nodes share them",
            "name other machines than b in elasticsearch.scheduling.machines, to leave it to the load generator",
            id="both-nodes-on-one-machine",
        ),
        pytest.param(
            2, loaded("1500m"), {"a": 3000, "b": 1000},
            "2 machines of 4 processors for pods altogether can give a whole one to each of 2 nodes, but Kubernetes "
            "may place nodes so that the load generator's 1.5 have no room: nodes share them",
            "", id="a-node-must-be-beside-the-load-generator",
        ),
    ],
)  # fmt: skip
def test_where_kubernetes_may_place_nodes_badly_that_is_said_and_what_prevents_it(
    nodes: int, race: dict[str, Any], machines: dict[str, int], words: str, cure: str
) -> None:
    all_of_them = [machine(*each) for each in machines.items()]
    found = decide(spec({"nodes": nodes}, race), all_of_them)
    ending = f"; {cure}" if cure else ""
    assert not found.whole and found.message == f"elasticsearch.resources names no CPU, and {words}{ending}"
    if cure:
        named = [name for name in machines if f"than {name} in" not in cure]
        assert decide(spec({"nodes": nodes, "scheduling": {"machines": named}}, race), all_of_them).whole


def has_room(nodes: int, asked: int, sizes: dict[str, int], its: set[str]) -> bool:
    """Return whether any placement gives each node a whole processor and the load generator what it asks for."""
    for place in its & {name for name, size in sizes.items() if size >= asked}:
        left = {**sizes, place: sizes[place] - asked}
        if sum(size // 1000 for size in left.values()) >= nodes:
            return True
    return False


@given(
    st.integers(1, 4),
    st.integers(1, 3000),
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 4000), min_size=1),
    st.sets(st.sampled_from("abcd")),
)
def test_that_machines_cannot_give_whole_processors_is_said_exactly_where_no_placement_does(
    nodes: int, asked: int, sizes: dict[str, int], named: set[str]
) -> None:
    race = loaded(f"{asked}m", *sorted(named))
    machines = [machine(*each) for each in sizes.items()]
    found = decide(spec({"nodes": nodes}, race), machines)
    possible = has_room(nodes, asked, sizes, (named or {*sizes}) & {*sizes})
    assert possible or not found.whole
    assert (" can give a whole one" in found.message) is (possible and not found.whole)
    *_, cure = found.message.split("; name other machines than ")
    if cure != found.message:
        kept_off = cure.split(" ")[0]
        others = {"scheduling": {"machines": [name for name in sizes if name != kept_off]}}
        assert decide(spec({"nodes": nodes, **others}, race), machines).whole, "what is advised helps"


@pytest.mark.parametrize(
    ("nodes", "machines", "cpu"),
    [
        pytest.param(1, {"a": 16000}, "100m", id="none-for-the-generator"),
        pytest.param(1, {"a": 16000, "b": 500}, "1", id="one-and-one"),
        pytest.param(1, {"a": 1000, "b": 16000}, "1", id="the-generator-on-either"),
        pytest.param(2, {"a": 16000, "b": 900}, "100m", id="two-machines"),
        pytest.param(2, {"a": 16000, "b": 900, "c": 500}, "500m", id="a-small-one-takes-no-whole"),
        pytest.param(2, {"a": 16000, "b": 1000, "c": 500}, "1", id="three-machines"),
        pytest.param(2, {"a": 16000, "b": 1000, "c": 400}, "100m", id="too-small-for-the-generator"),
    ],
)
def test_exclusive_nodes_have_a_machine_each_and_the_generator_another(
    nodes: int, machines: dict[str, int], cpu: str
) -> None:
    found = decide(spec({"nodes": nodes, **EXCLUSIVE}), [machine(*each) for each in machines.items()])
    assert (found.cpu, found.whole) == (cpu, cpu == "1")


@given(st.integers(1, 5), st.dictionaries(st.sampled_from("abcdefg"), st.integers(0, 2500)))
def test_exclusive_nodes_are_given_whole_ones_exactly_where_some_placement_has_them(
    nodes: int, sizes: dict[str, int]
) -> None:
    machines = [machine(*each) for each in sizes.items()]
    possible = any(
        sizes[generator] >= 500 and sum(size >= 1000 for name, size in sizes.items() if name != generator) >= nodes
        for generator in sizes
    )
    assert decide(spec({"nodes": nodes, **EXCLUSIVE}), machines).whole is (possible or not machines)


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ({"limits": {"memory": "4Gi"}, "requests": {"memory": "2Gi"}}, "requests less memory than its limit"),
        ({"requests": {"memory": "4Gi"}}, "names no limit of memory"),
        ({}, "names no limit of memory"),
    ],
)
def test_what_keeps_a_node_from_whole_processors_is_named(resources: dict[str, Any], words: str) -> None:
    found = decide(spec({"resources": resources}), [FOUR])
    assert not found.whole and words in found.message


@pytest.mark.parametrize("resources", [{"limits": {"cpu": "2", "memory": "2Gi"}}, {"requests": {"cpu": "200m"}}])
def test_a_named_cpu_stays(resources: dict[str, Any]) -> None:
    wanted = spec({"resources": resources})
    assert wanted.elasticsearch is not None
    found = node_resources(wanted.elasticsearch, NodeProcessors(cpu="1", whole=True))
    assert found == wanted.elasticsearch.resources
    with pytest.raises(ValueError, match="name no CPU"):
        decide(wanted, [FOUR])


def test_a_machine_as_kubernetes_tells_it() -> None:
    node = {
        "metadata": {"name": "a", "labels": {"disk": "ssd"}},
        "spec": {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}, {"key": "own"}]},
        "status": {"allocatable": {"cpu": "1900m", "memory": "4000Ki"}},
    }
    assert capacity_of(node) == MachineCapacity("a", 1900, {"disk": "ssd"}, ({"key": "own"},), 4_096_000)
    for odd in ({"cpu": "1900m"}, {"cpu": "1900m", "memory": "1e9"}):
        found = capacity_of({**node, "status": {"allocatable": odd}})
        assert found and found.memory is None, "its memory is not known"
    assert capacity_of({**node, "spec": {"unschedulable": True}}) is None
    assert capacity_of({"metadata": {"name": "b"}}) is None, "it tells nothing"
    many = capacity_of({**node, "status": {"allocatable": {"cpu": "2500000u", "memory": "1Ei"}}})
    assert many and (many.millicores, many.memory) == (2500, 2**60)


@pytest.mark.parametrize("cores", ["1e3", "-1", "two", "9" * 400, "∞"])
def test_a_node_that_tells_what_nobody_can_read_ends_no_benchmark(cores: str) -> None:
    """All of them read all Nodes: one odd Node must not be an error of each."""
    node = {"metadata": {"name": "odd"}, "status": {"allocatable": {"cpu": cores, "memory": "1Gi"}}}
    assert capacity_of(node) is None


@given(
    st.integers(min_value=1, max_value=50),
    st.lists(st.integers(min_value=0, max_value=64_000), max_size=8),
    st.integers(min_value=1, max_value=64_000),
    st.booleans(),
)
def test_one_more_machine_never_takes_anything_away(nodes: int, cores: list[int], more: int, exclusive: bool) -> None:
    machines = [MachineCapacity(f"m{index}", each, {}) for index, each in enumerate([*cores, more])]
    wanted = spec({"nodes": nodes, "scheduling": {"exclusiveNodes": exclusive}})
    if len(machines) > 1:
        order = ["100m", "500m", "1"]
        less, all_of_them = decide(wanted, machines[:-1]), decide(wanted, machines)
        assert order.index(less.cpu) <= order.index(all_of_them.cpu)


def test_what_a_node_is_given_is_said_before_the_first_cluster_and_stays() -> None:
    asked = plan(seen(of=ACCEPTED_SPEC, status=ACCEPTED, machines=None))
    assert asked.look == ("machines",) and not asked.status.step
    said = plan(seen(of=ACCEPTED_SPEC, status=ACCEPTED, machines=(TWO,)))
    assert said.status.node_processors and said.status.node_processors.whole and said.status.step
    later = said.status.model_copy(update={"step": None, "finished_step": "smoke"})
    again = plan(seen(of=ACCEPTED_SPEC, status=later, machines=None))
    assert not again.look and again.status.node_processors == said.status.node_processors, "machines come and go"
    named = spec({"resources": {"requests": {"cpu": "200m"}, "limits": {"memory": "2Gi"}}})
    assert plan(seen(of=named, status=ACCEPTED)).status.node_processors is None
