"""`fairlap doctor noise`: what is read, in which order it is told, and what is said of a missing right."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statuses import benchmark, succeeded
from tests.unit.cli.edge.test_connection import BENCHMARKS, Fake, api, refusal  # noqa: F401

from fairlap.api.machine_status import SettingsEvidence
from fairlap.api.status import MachineEvidence, RaceStatus, RemarkStatus
from fairlap.cli.doctor import noise_facts as read
from fairlap.cli.doctor.noise_advice import advise
from fairlap.cli.doctor.noise_facts import OVER_HTTP, Facts, Kubelet, KubernetesNode, MachineSeen, RaceSeen, TaskSeen
from fairlap.cli.main import main
from fairlap.plan.comparison.kept_clusters import built_once, on_kept_cluster
from fairlap.results.disturbance import Disturbance, DisturbanceKind
from fairlap.results.unsteady_settings import remarks
from fairlap_race.contract.config_maps import packed
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import KEY_RECORD, Record, Task
from fairlap_race.contract.watched_machines.machine_watch import Canary, MachineWatch, WatchedSpan
from fairlap_race.contract.watched_machines.resources import KEY_RESOURCES, MachineTable

STATIC = Kubelet("static", "single-numa-node")
GOOD = KubernetesNode("n1", cores=8, kubelet=STATIC, neighbours=(("kube-system/dns", 0.1),))
RACE = RaceSeen("es", "race-1", frozenset({"n1"}), frozenset({"n1"}), steal=0.0, canary=())
SETTLED, COLD = TaskSeen("es", "search", settled=True), TaskSeen("es", "bulk", settled=False, unsettled_seconds=12.5)
WELL = Facts(nodes=(GOOD,), races=(RACE,), tasks=(SETTLED,))


def said(facts: Facts) -> list[str]:
    return [each.about for each in advise(facts)]


def on(**settings: Any) -> MachineSeen:
    return MachineSeen("n1", "elasticsearch", settings=settings)


def remarked(reason: Reason) -> RaceSeen:
    return replace(RACE, remarks={str(reason): "why"})


def test_of_what_is_well_or_unknown_nothing_is_said() -> None:
    assert said(WELL) == [] and said(Facts()) == []
    assert (
        said(Facts(nodes=(KubernetesNode("n1"),), races=(RaceSeen("es", "race-1"),), tasks=(TaskSeen("es", "t"),)))
        == []
    )


@pytest.mark.parametrize(
    ("about", "facts"),
    [
        ("settled", replace(WELL, tasks=(SETTLED, COLD))),
        ("rate", replace(WELL, tasks=(SETTLED, replace(COLD, behind=True)))),
        ("steal", replace(WELL, races=(replace(RACE, steal=0.2),))),
        ("canary", replace(WELL, races=(replace(RACE, canary=("the same work, hashing, took longer",)),))),
        ("disturbed", replace(WELL, races=(remarked(Reason.MACHINE_DISTURBED),))),
        ("cpuManager", replace(WELL, nodes=(replace(GOOD, kubelet=Kubelet("none", "none")),))),
        ("sharedProcessors", replace(WELL, machines=(MachineSeen("n1", "elasticsearch", exclusive=False),))),
        ("cores", replace(WELL, nodes=(replace(GOOD, cores=2),), cores_asked=2)),
        ("short", replace(WELL, races=(remarked(Reason.SHORT_MEASUREMENT),))),
        ("loadGenerator", replace(WELL, races=(remarked(Reason.LOAD_GENERATOR_SHARED),))),
        ("neighbours", replace(WELL, nodes=(replace(GOOD, neighbours=(("a/web", 2.0), ("a/b", 0.0))),))),
        (
            "topologyManager",
            replace(
                WELL,
                nodes=(replace(GOOD, kubelet=Kubelet("static", "none")),),
                machines=(MachineSeen("n1", "elasticsearch", numa_nodes=2),),
            ),
        ),
        (
            "topologyManager",
            replace(
                WELL,
                nodes=(replace(GOOD, kubelet=None),),
                machines=(MachineSeen("n1", "elasticsearch", cpu_numa_nodes=2),),
            ),
        ),
        ("governor", replace(WELL, machines=(on(governors=["powersave"]),))),
        ("turbo", replace(WELL, machines=(on(turbo=True),))),
        ("smt", replace(WELL, machines=(on(smtActive=True, wholeCores=False),))),
        ("hugePages", replace(WELL, machines=(on(hugePages="always", hugePagesDefrag="always"),))),
        (
            "sharedProcessors",
            replace(  # nobody may ask the kubelets, and the statuses tell nevertheless
                WELL, nodes=(replace(GOOD, kubelet=None),), races=(remarked(Reason.PROCESSORS_SHARED),)
            ),
        ),
        # Who shares all processors of a machine has all threads of each core, and none to itself.
        ("smt", replace(WELL, machines=(replace(on(smtActive=True, wholeCores=True), machine="m", exclusive=False),))),
    ],
)
def test_each_thing_that_harms_is_told_alone(about: str, facts: Facts) -> None:
    assert said(facts) == [about]
    only = advise(facts)[0]
    assert 0 < only.worth <= 100 and only.found and only.change


@pytest.mark.parametrize(
    ("settings", "exclusive"),
    [
        ({"governors": ["performance"]}, True),
        ({"governors": ["userspace"]}, True),
        ({"hugePages": "always", "hugePagesDefrag": "madvise"}, True),
        ({"smtActive": True, "wholeCores": True}, True),
        ({"smtActive": True}, None),
        ({"smtActive": False, "wholeCores": False}, False),
    ],
)
def test_doctor_and_the_remark_on_a_race_call_the_same_settings_well(
    settings: dict[str, Any], exclusive: bool | None
) -> None:
    known = SettingsEvidence.model_validate(settings)
    assert list(remarks([MachineEvidence(node="es", settings=known, exclusive_cpus=exclusive)])) == []
    assert said(replace(WELL, machines=(replace(on(**settings), machine="m", exclusive=exclusive),))) == []


def test_steal_outside_of_the_tasks_is_none_of_theirs() -> None:
    """Warm-ups and gaps are in the race's figure; the remark on the race says nothing of them either."""
    watch = MachineWatch(
        race=WatchedSpan("", 120.0, steal_share=0.12), tasks=(WatchedSpan("search", 30.0, steal_share=0.01),)
    )
    assert read.watched(RACE, watch).steal == 0.01
    assert read.watched(RACE, watch, unread=["search"]).steal is None
    found = read.watched(RACE, replace(watch, tasks=()))
    assert found.steal == 0.12
    whole, task = "the processor time of the whole race, whose tasks are all short", "a task's processor time"
    beside = replace(RACE, steal=0.3)
    for races, words in (((found,), whole), ((beside,), task), ((found, beside), f"{task}, or of {whole}")):
        (steal,) = advise(replace(WELL, races=races))
        assert f"the hypervisor took more than 5.00 % of {words}, up to" in steal.found


WELL_SET, BADLY_SET = (
    {"governors": ["performance"], "turbo": False, "smtActive": False, "hugePages": "madvise"},
    {
        "governors": ["powersave"], "turbo": True, "smtActive": True, "wholeCores": False, "hugePages": "always",
        "hugePagesDefrag": "always",
    },
)  # fmt: skip
ALL_SETTINGS = ["governor", "turbo", "smt", "hugePages"]


def raced_on(name: str, day: int, *machines: dict[str, Any]) -> dict[str, Any]:
    """Return a finished Benchmark of a day whose status tells of these machines."""
    told = [{"node": "es-0", "machine": "n1", "exclusiveCpus": True, **each} for each in machines]
    status = {"phase": "Succeeded", "completionTime": f"2026-11-{day:02}T00:00:00Z", "environment": {"machines": told}}
    return {"metadata": {"name": name}, "spec": {}, "status": status}


def seen_in(*benchmarks: dict[str, Any]) -> Facts:
    """Return what is known of Benchmarks, the newest first as they are read."""
    return replace(WELL, machines=tuple(machine for each in benchmarks for machine in read.machines_of(each)))


LOAD = "load generator"


@pytest.mark.parametrize(
    ("newest", "older", "told"),
    [
        pytest.param([{"settings": WELL_SET}], [{"settings": BADLY_SET}], [], id="mended"),
        pytest.param([{"settings": BADLY_SET}], [{"settings": WELL_SET}], ALL_SETTINGS, id="worsened"),
        pytest.param([{}], [{"settings": BADLY_SET}], ALL_SETTINGS, id="the-newest-tells-nothing"),
        pytest.param(
            [{"settings": WELL_SET, "machine": "n2"}], [{"settings": BADLY_SET}], ALL_SETTINGS, id="another-machine"
        ),
        pytest.param(
            [{"settings": WELL_SET, "node": LOAD}], [{"settings": BADLY_SET}], [], id="seen-in-another-role"
        ),
        pytest.param(
            [{"settings": {"smtActive": True, "wholeCores": True}, "node": LOAD}],
            [{"settings": {"smtActive": True, "wholeCores": False}}], ["smt"], id="cores-of-another-container",
        ),
        pytest.param(
            [{"settings": {"smtActive": True, "wholeCores": whole}} for whole in (True, False)],
            [], ["smt"], id="one-of-two-nodes-on-it",
        ),
        pytest.param(
            [{"settings": WELL_SET, "machine": ""}, {"settings": BADLY_SET, "machine": ""}], [], ALL_SETTINGS,
            id="nobody-knows-whether-these-are-one-machine",
        ),
    ],
)  # fmt: skip
def test_a_machines_settings_are_those_of_the_newest_benchmark_that_tells_them(
    newest: list[dict[str, Any]], older: list[dict[str, Any]], told: list[str]
) -> None:
    assert said(seen_in(raced_on("new", 28, *newest), raced_on("old", 1, *older))) == told


def test_the_share_of_a_setting_counts_machines_and_not_benchmarks() -> None:
    other = raced_on("other", 3, {"machine": "n2", "settings": BADLY_SET})
    found = [raced_on(f"es-{day}", day, *[{"settings": WELL_SET}] * 3) for day in range(28, 4, -1)]
    worth = {each.about: each.worth for each in advise(seen_in(*found, other))}
    assert worth == {"governor": 22.5, "turbo": 17.5, "smt": 15.0, "hugePages": 12.5}, "of one machine of two"
    both = raced_on("es", 1, {"settings": BADLY_SET}, {"settings": BADLY_SET, "node": LOAD})
    assert [each.worth for each in advise(seen_in(both))] == [45.0, 35.0, 30.0, 25.0]


def test_numa_nodes_are_those_of_the_newest_benchmark_that_tells_them() -> None:
    two: dict[str, Any] = {"numaNodes": 2, "cpuNumaNodes": "0-1"}
    one: dict[str, Any] = {"numaNodes": 1, "cpuNumaNodes": "0"}
    unknown: dict[str, Any] = {}
    bad = ["topologyManager"]
    for kubelet in (None, Kubelet("static", "none")):
        nodes = (replace(GOOD, kubelet=kubelet),)
        for newest, older, told in ((one, two, []), (two, one, bad), (unknown, two, bad)):
            facts = seen_in(raced_on("new", 28, newest), raced_on("old", 1, older))
            assert said(replace(facts, nodes=nodes)) == told
    often = [raced_on(f"es-{day}", day, one) for day in range(28, 4, -1)]
    spread = seen_in(*often, raced_on("other", 2, {"machine": "n2", **two}))
    (found,) = advise(replace(spread, nodes=()))
    assert found.worth == 20.0, "one machine of two"


def test_whole_processors_that_could_have_been_had_are_told_by_benchmarks() -> None:
    shared, own = {"exclusiveCpus": False}, {"exclusiveCpus": True}
    facts = seen_in(raced_on("new", 28, own), raced_on("old", 3, shared, shared), raced_on("older", 2, shared))
    (found,) = advise(facts)
    assert (found.about, found.worth) == ("sharedProcessors", 50.0)
    assert found.found == (
        "in 2 of 3 Benchmarks Elasticsearch shared its processors on n1, whose kubelets can give whole ones"
    )


def test_the_command_judges_a_machine_by_what_was_seen_last(api: Fake, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    serve(api)
    both = [raced_on("old", 1, {"settings": BADLY_SET}), raced_on("new", 28, {"settings": WELL_SET})]
    api.connect()
    for items, told in ((both, False), (both[:1], True)):
        api.on("GET", BENCHMARKS, {"kind": "BenchmarkList", "items": items, "metadata": {}})
        assert main(["doctor", "noise"]) == 0
        assert ("clock of the processors" in capsys.readouterr().out) is told


def test_where_a_kubelet_tells_its_policy_the_status_is_not_asked() -> None:
    machines = (MachineSeen("n1", "elasticsearch", cpu_numa_nodes=2),)
    assert said(replace(WELL, machines=machines)) == []
    (found,) = advise(replace(WELL, nodes=(), machines=machines))
    assert "the topology manager's policy is not known here" in found.found


def test_numa_nodes_are_counted_as_the_kernel_lists_them() -> None:
    listed = [{"cpuNumaNodes": each} for each in ("0-1", "1", "", "?", 7)]
    found = read.machines_of({"status": {"environment": {"machines": listed}}})
    assert [it.cpu_numa_nodes for it in found] == [2, 1, None, None, 1]


def test_what_was_seen_in_races_comes_before_what_could_disturb_them() -> None:
    facts = replace(
        WELL,
        tasks=(COLD,),
        races=(replace(RACE, steal=0.2),),
        nodes=(replace(GOOD, kubelet=Kubelet("none", "none"), neighbours=(("a/web", 4.0),)),),
        machines=(on(turbo=True),),
    )
    assert said(facts) == ["settled", "steal", "cpuManager", "turbo", "neighbours"]
    assert advise(facts)[0].found == "1 of 1 measured tasks had not settled, bulk of es not for 12.5 s"


def test_one_bad_race_of_many_is_worth_less_than_what_harms_all() -> None:
    races = (replace(RACE, steal=0.2), *[RACE] * 19)
    assert said(replace(WELL, races=races, nodes=(replace(GOOD, kubelet=Kubelet("none")),))) == ["cpuManager", "steal"]


@given(st.lists(st.booleans(), min_size=1, max_size=9))
def test_more_of_the_same_harm_is_never_worth_less(bad: list[bool]) -> None:
    def worth(flags: list[bool]) -> float:
        facts = replace(WELL, tasks=tuple(COLD if each else SETTLED for each in flags))
        return sum(each.worth for each in advise(facts))

    assert all(worth([*bad[:at], True, *bad[at + 1 :]]) >= worth(bad) for at in range(len(bad)))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["metadata", "spec", "status", "races", "results", "tasks", "taints", "name", "cpu"]),
                inner,
                max_size=4,
            )
        ),
    ).filter(lambda value: isinstance(value, dict))
)
def test_an_object_of_any_shape_is_read(thing: Any) -> None:
    read.node_of(thing)
    read.kubelet_of(thing)
    read.cores_asked([thing])
    for reading in (read.races_of, read.tasks_of, read.machines_of):
        list(reading(thing))


@pytest.mark.parametrize(
    ("spec", "conditions", "usable"),
    [
        ({}, [{"type": "Ready", "status": "True"}], True),
        ({"unschedulable": True}, [], False),
        ({"taints": [{"effect": "NoSchedule"}]}, [], False),
        ({"taints": [{"effect": "PreferNoSchedule"}]}, [], True),
        ({}, [{"type": "Ready", "status": "Unknown"}], False),
    ],
)
def test_a_node_is_usable_when_it_is_ready_and_open(spec: Any, conditions: Any, usable: bool) -> None:
    found = read.node_of(
        {"metadata": {"name": "n"}, "spec": spec, "status": {"capacity": {"cpu": "4"}, "conditions": conditions}}
    )
    assert (found.usable, found.cores) == (usable, 4)


def test_a_record_tells_steal_and_canary() -> None:
    spans = (WatchedSpan("a", 9.0, 0.01), WatchedSpan("b", 9.0, 0.3))
    watch = MachineWatch(Canary(cpu_seconds=0.1), Canary(cpu_seconds=0.2), tasks=spans)
    found = read.watched(RaceSeen("es", "race-1"), watch)
    short = replace(watch, tasks=(*spans, WatchedSpan("c", 4.9, 0.9)))
    assert read.watched(RaceSeen("es", "race-1"), short).steal == 0.3, "one look at a short task says nothing"
    assert found.steal == 0.3 and found.canary and "hashing" in found.canary[0]
    assert read.watched(RACE, None) == RACE


def finished() -> dict[str, Any]:
    """Return a Benchmark as the API server gives it, made with the API's own models."""
    remark = RemarkStatus(reason="LoadGeneratorShared", message="shared a machine")
    race = RaceStatus(
        name="race-1", id="i", valid=True, elasticsearch_on=["n1"], load_generator_on="n1", record="es-race-1",
        remarks=[remark],
    )  # fmt: skip
    status = succeeded("9.0.0", 100.0)
    assert status.environment
    machines = [MachineEvidence(node="es-0", machine="n1", exclusive_cpus=False)]
    environment = status.environment.model_copy(update={"machines": machines})
    return dict(benchmark("es", status.model_copy(update={"races": [race], "environment": environment})))


def serve(server: Fake) -> None:
    table = MachineTable(watch=MachineWatch(Canary(), Canary(), tasks=(WatchedSpan("search", 9.0, 0.2),)))
    data = packed({KEY_RESOURCES: table.to_json()})
    node = {"metadata": {"name": "n1"}, "spec": {}, "status": {"capacity": {"cpu": "2"}}}
    server.on("GET", BENCHMARKS, {"kind": "BenchmarkList", "items": [finished()], "metadata": {}})
    server.on("GET", "/api/v1/namespaces/n/configmaps/es-race-1", {"kind": "ConfigMap", "binaryData": data})
    server.on("GET", "/api/v1/nodes", {"kind": "NodeList", "items": [node]})
    server.on("GET", "/api/v1/pods", {"kind": "PodList", "items": []})
    config = {"cpuManagerPolicy": "none", "topologyManagerPolicy": "none"}
    server.on("GET", "/api/v1/nodes/n1/proxy/configz", {"kubeletconfig": config})


def test_the_command_looks_at_all_of_it(api: Fake, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    serve(api)
    api.connect()
    assert main(["doctor", "noise"]) == 0
    out = capsys.readouterr().out
    assert "the kubelet's CPU manager policy is none on n1" in out.replace("The kubelet", "the kubelet")
    assert "the hypervisor took more than 5.00 % of a task's processor time, up to 20.00 %" in out
    assert out.rstrip().endswith("Looked at: 1 of 1 nodes (n1); 1 races of 1 Benchmarks in namespace n.")
    assert any("fieldSelector=spec.nodeName%3Dn1" in each for each in api.asked)
    assert all(each.startswith("GET ") for each in api.asked), "it changes nothing"


def test_of_a_race_the_tasks_that_nobody_reads_are_left_out(api: Fake, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    serve(api)
    table = MachineTable(watch=MachineWatch(Canary(), Canary(), tasks=(WatchedSpan("pause", 9.0, 0.2),)))
    record = Record(tasks=(Task(task="pause", type="sleep"),))
    data = packed({KEY_RESOURCES: table.to_json(), KEY_RECORD: record.to_json()})
    api.on("GET", "/api/v1/namespaces/n/configmaps/es-race-1", {"kind": "ConfigMap", "binaryData": data})
    api.connect()
    assert main(["doctor", "noise"]) == 0
    assert "hypervisor" not in capsys.readouterr().out


def test_as_json(api: Fake, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    serve(api)
    api.connect()
    assert main(["doctor", "noise", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    worths = [each["worth"] for each in found["advice"]]
    assert worths == sorted(worths, reverse=True) and found["races"] == 1 and found["unknown"] == []
    assert found["nodes"][0]["kubelet"] == {"cpu_manager": "none", "topology_manager": "none"}


SILENT = "* unknown: steal and canary of 2 of 2 races: their records are gone or do not tell"


@pytest.mark.parametrize("record", ["gone", "without a watch", "unnamed", "of a watch that looked at nothing"])
def test_races_whose_records_tell_nothing_are_counted_once(
    record: str,
    api: Fake,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    serve(api)
    twice = finished()
    (first,) = twice["status"]["races"]
    races = [{**first, "remarks": []}, {**first, "name": "race-2", "remarks": []}]
    if record == "unnamed":
        races = [{key: value for key, value in each.items() if key != "record"} for each in races]
    twice["status"]["races"] = races
    api.on("GET", BENCHMARKS, {"kind": "BenchmarkList", "items": [twice], "metadata": {}})
    path = "/api/v1/namespaces/n/configmaps/es-race-1"
    if record == "gone":
        api.on("GET", path, refusal(404, 'configmaps "es-race-1" not found'), 404)
    else:
        table = MachineTable(watch=None if record == "without a watch" else MachineWatch())
        api.on("GET", path, {"kind": "ConfigMap", "binaryData": packed({KEY_RESOURCES: table.to_json()})})
    api.connect()
    assert main(["doctor", "noise"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("* unknown: ")]
    assert lines == [SILENT]


def test_of_many_races_the_records_of_the_last_ones_are_read(api: Fake) -> None:  # noqa: F811
    serve(api)
    many = finished()
    (first,) = many["status"]["races"]
    many["status"]["races"] = [
        {**first, "name": f"race-{number}", "record": f"es-race-{number}"} for number in range(1, 26)
    ]
    api.on("GET", BENCHMARKS, {"kind": "BenchmarkList", "items": [many], "metadata": {}})
    api.connect()
    assert main(["doctor", "noise"]) == 0
    read_ones = [each.rpartition("es-race-")[2] for each in api.asked if "/configmaps/es-race-" in each]
    assert read_ones == [str(number) for number in range(25, 5, -1)]


def test_a_missing_right_is_a_line_that_names_it(api: Fake, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    serve(api)
    for path in ("/api/v1/pods", "/api/v1/nodes/n1/proxy/configz", "/api/v1/namespaces/n/configmaps/es-race-1"):
        api.on("GET", path, refusal(403, "forbidden: User cannot"), 403)
    api.connect()
    assert main(["doctor", "noise"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("* unknown: ")]
    assert lines == [
        "* unknown: steal and canary of races: needs the right to get configmaps",
        "* unknown: CPU and topology manager policies: needs the right to get nodes/proxy",
        "* unknown: pods beside races: needs the right to list pods in all namespaces",
    ]


def test_without_any_right_it_says_so_and_ends_well(api: Fake, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    for path in (BENCHMARKS, "/api/v1/nodes"):
        api.on("GET", path, refusal(403, "forbidden"), 403)
    api.connect()
    assert main(["doctor", "noise"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Nothing is known to be wrong here.")
    assert "* unknown: races: needs the right to list benchmarks.fairlap.dev" in out
    assert "* unknown: nodes: needs the right to list nodes" in out


def test_a_kubelet_that_answers_nonsense_is_unknown(api: Fake, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    serve(api)
    api.on("GET", "/api/v1/nodes/n1/proxy/configz", "<html>")
    api.connect()
    assert main(["doctor", "noise"]) == 0
    assert "* unknown: CPU and topology manager policies of node n1: " in capsys.readouterr().out
    api.on("GET", "/api/v1/nodes/n1/proxy/configz", {"kubeletconfig": ["static"]})
    assert main(["doctor", "noise"]) == 0
    words = "* unknown: CPU and topology manager policies of node n1: its kubelet tells no configuration"
    assert words in capsys.readouterr().out.splitlines()


def test_of_many_nodes_a_missing_right_is_told_once(api: Fake, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    serve(api)
    names = [f"n{number}" for number in range(80)]
    nodes = [{"metadata": {"name": name}, "spec": {}, "status": {"capacity": {"cpu": "2"}}} for name in names]
    api.on("GET", "/api/v1/nodes", {"kind": "NodeList", "items": nodes})
    api.on("GET", BENCHMARKS, {"kind": "BenchmarkList", "items": [], "metadata": {}})
    for name in names:
        api.on("GET", f"/api/v1/nodes/{name}/proxy/configz", refusal(403, "forbidden"), 403)
    api.connect()
    assert main(["doctor", "noise"]) == 0
    out = capsys.readouterr().out
    assert "* unknown: policies and pods of 30 nodes: the first 50 by name are asked" in out.splitlines()
    assert out.count("* unknown: ") == 3 and "Looked at: 80 of 80 nodes (n0, n1, n10, n11, n12); 0 races" in out
    assert sum("/proxy/configz" in each for each in api.asked) == 50, "of the first ones by name"


def test_whom_the_api_server_does_not_know_it_tells_nothing(
    api: Fake,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    api.on("GET", BENCHMARKS, refusal(401, "Unauthorized"), 401)
    api.connect()
    assert main(["doctor", "noise"]) == 1
    assert capsys.readouterr().err == "fairlap: Unauthorized\n"


def test_without_a_race_it_is_said_what_only_races_tell(api: Fake, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    serve(api)
    api.on("GET", BENCHMARKS, {"kind": "BenchmarkList", "items": [], "metadata": {}})
    api.connect()
    assert main(["doctor", "noise"]) == 0
    told = "* unknown: steal, canary, clocks and threads of the machines: races tell them, and none is over here"
    assert told in capsys.readouterr().out.splitlines()


def disturbed(*found: tuple[DisturbanceKind, str]) -> RaceSeen:
    """Return a race whose record tells what disturbed its machine."""
    canary = tuple(words for kind, words in found if kind is DisturbanceKind.CANARY)
    stolen = 0.2 if any(kind is DisturbanceKind.STEAL for kind, _ in found) else 0.0
    told = tuple(Disturbance(*each) for each in found)
    return replace(RACE, steal=stolen, canary=canary, disturbances=told)


def test_a_neighbour_is_told_beside_a_canary_that_differs() -> None:
    hashing = (DisturbanceKind.CANARY, "the same work, hashing, took longer")
    burned = (DisturbanceKind.OTHERS, "beside Rally something else used 1.2 cores of it in task search")
    found = {each.about: each.found for each in advise(replace(WELL, races=(disturbed(hashing, burned),)))}
    assert found.keys() == {"canary", "disturbed"}
    assert burned[1] in found["disturbed"] and "hashing" not in found["disturbed"]
    assert said(replace(WELL, races=(disturbed(hashing),))) == ["canary"]
    stolen = (DisturbanceKind.STEAL, "the hypervisor took 20 % of its processors' time in task search")
    assert said(replace(WELL, races=(disturbed(*[stolen] * 9),))) == ["steal"]


@pytest.mark.parametrize(
    ("stolen", "name"),
    [(1, "search"), (9, "search"), (1, "index; then query"), (2, "the same work, as ever; and 1 more")],
)
def test_what_else_ran_is_told_whatever_else_was_found_and_however_tasks_are_named(stolen: int, name: str) -> None:
    spans = [WatchedSpan(f"{name} {number}", 60.0, steal_share=0.2) for number in range(stolen)]
    busy = {"processors": 8.0, "busy_cores": 7.0, "own_cores": 1.0, "elasticsearch_cores": 1.0}
    quiet, slow = Canary(cpu_seconds=0.1), Canary(cpu_seconds=0.2, memory_seconds=0.2, disk_seconds=0.05)
    watch = MachineWatch(quiet, slow, tasks=(*spans, WatchedSpan(name, 60.0, steal_share=0.0, **busy)))
    race = read.watched(replace(RACE, load_generator_on="n1"), watch)
    found = {each.about: each.found for each in advise(replace(WELL, races=(race,)))}
    assert found.keys() == {"steal", "canary", "disturbed"}
    words = f"beside Rally and Elasticsearch something else used 5.0 cores of it in task {name}"
    assert found["disturbed"].endswith(f"disturbed: {words}")


def test_of_a_race_whose_record_was_not_read_the_whole_remark_is_told() -> None:
    words = "the load generator's machine was disturbed: a; and 3 more"
    race = replace(RACE, steal=None, canary=None, remarks={"MachineDisturbed": words})
    (found,) = advise(replace(WELL, races=(race,)))
    assert found.about == "disturbed" and found.found.endswith(words)


def test_what_elasticsearch_needs_the_load_generators_machine_need_not_have() -> None:
    small, large = replace(GOOD, name="lg", cores=4), replace(GOOD, name="es", cores=16)
    apart = replace(RACE, machines=frozenset({"lg", "es"}), elasticsearch_on=frozenset({"es"}))
    facts = replace(WELL, nodes=(small, large), races=(apart,), cores_asked=8)
    assert said(facts) == []
    assert said(replace(facts, races=(replace(apart, elasticsearch_on=frozenset({"lg"})),))) == ["cores"]
    assert said(replace(facts, races=(replace(apart, elasticsearch_on=frozenset(), kind=OVER_HTTP),))) == []
    assert said(replace(facts, races=())) == ["cores"], "where nothing was raced yet, all usable ones"


@pytest.mark.parametrize(
    ("spec", "warmup", "longer"),
    [
        ({"race": {"track": {"builtin": "log_ingest"}}}, "let race.steady make the warm-up", "in the track"),
        ({"inTurn": {"with": ["b"]}}, "give these tasks a longer warm-up in the track; each", "in the track"),
        ({"target": {"kind": "http"}}, "raise race.load.warmup; each", "raise race.load.duration, after"),
    ],
    ids=["a track", "in turn", "over HTTP"],
)
def test_advice_names_fields_that_such_a_benchmark_has(spec: Any, warmup: str, longer: str) -> None:
    task = {"task": "search", "settled": False, "unsettledSeconds": 9}
    race = {"name": "race-1", "remarks": [{"reason": "ShortMeasurement", "message": "short"}]}
    benchmark = {"metadata": {"name": "b"}, "spec": spec, "status": {"races": [race], "results": {"tasks": [task]}}}
    facts = Facts(races=tuple(read.races_of(benchmark)), tasks=tuple(read.tasks_of(benchmark)))
    found = {each.about: each.change for each in advise(facts)}
    assert found["settled"].startswith(warmup) and longer in found["short"]
    both = replace(facts, tasks=(*facts.tasks, COLD))
    assert "let race.steady make" in next(iter(advise(both))).change


LOADED: dict[str, Any] = {"race": {"track": {"builtin": "log_ingest"}}}
SWEPT: dict[str, Any] = {"race": {"sweep": {"task": "search", "targetThroughput": [10, 20]}}}


@pytest.mark.parametrize(
    ("spec", "task", "told"),
    [
        pytest.param(LOADED, {}, ["settled"], id="as-fast-as-it-can"),
        pytest.param(LOADED, {"scheduleShare": 1.0}, ["settled"], id="kept"),
        pytest.param(LOADED, {"scheduleShare": 0.98}, ["settled"], id="kept-just-so"),
        pytest.param(LOADED, {"scheduleShare": 0.75}, ["rate"], id="fifteen-of-twenty-a-second"),
        pytest.param(LOADED, {"scheduleShare": 0.0}, ["rate"], id="none-was-sent"),
        pytest.param(LOADED, {"scheduleShare": 0.99, "slowestClientShare": 0.5}, ["rate"], id="a-slow-client"),
        pytest.param(LOADED, {"scheduleShare": "0.5"}, ["settled"], id="what-is-no-number-is-unknown"),
        pytest.param(LOADED, {"scheduleShare": 0.75, "settled": True}, [], id="settled"),
        pytest.param(LOADED, {"scheduleShare": 0.75, "settled": None}, [], id="not-judged"),
        pytest.param({"target": {"kind": "http"}}, {"scheduleShare": 0.75}, ["rate"], id="over-http"),
        pytest.param({"inTurn": {"block": "b"}}, {"scheduleShare": 0.75}, ["settled"], id="in-turn-by-service-time"),
        pytest.param(SWEPT, {"task": "search@20/s", "scheduleShare": 0.75}, [], id="a-step-beyond-the-capacity"),
        pytest.param(SWEPT, {"task": "search@10/s", "scheduleShare": 1.0}, ["settled"], id="a-step-that-was-kept"),
        pytest.param(SWEPT, {"task": "searches", "scheduleShare": 0.75}, ["rate"], id="not-the-task-that-is-swept"),
    ],
)
def test_no_longer_warmup_is_advised_where_requests_came_faster_than_they_were_answered(
    spec: dict[str, Any], task: dict[str, Any], told: list[str]
) -> None:
    result = {"task": "search", "settled": False, "unsettledSeconds": 30, **task}
    benchmark = {"metadata": {"name": "es"}, "spec": spec, "status": {"results": {"tasks": [result]}}}
    found = advise(replace(WELL, tasks=tuple(read.tasks_of(benchmark))))
    assert [each.about for each in found] == told
    assert all("warm-up" not in each.change for each in found if each.about == "rate")


def test_a_rate_that_was_not_kept_is_told_with_its_fields() -> None:
    tasks = (replace(COLD, behind=True), replace(COLD, task="search", behind=True, kind=OVER_HTTP), COLD, SETTLED)
    cold, rate = sorted(advise(replace(WELL, tasks=tasks)), key=lambda each: each.about == "rate")
    assert (cold.worth, rate.worth) == (25, 50)
    assert rate.found == (
        "2 of 4 measured tasks had not settled at a rate that they did not keep (bulk of es, search of es): requests "
        "may wait longer and longer"
    )
    assert "target-throughput" in rate.change and "race.load.targetThroughput" in rate.change


def test_who_shares_on_purpose_or_for_want_of_processors_is_not_told_to_take_whole_ones() -> None:
    def shared(facts: Facts) -> bool:
        return "sharedProcessors" in said(facts)

    seen = MachineSeen("n1", "elasticsearch", exclusive=False)
    assert shared(replace(WELL, machines=(seen,)))
    assert not shared(replace(WELL, nodes=(replace(GOOD, cores=2),), cores_asked=2, machines=(seen,)))
    assert not shared(replace(WELL, machines=(replace(seen, withheld=True),)))
    raced = finished()
    assert [it.exclusive for it in read.machines_of(raced)] == [False]
    for field, value in (("inTurn", {"block": "b", "races": 2, "number": 0}), ("racedAgain", ["search"])):
        side_by_side = {**raced, "spec": {**raced["spec"], field: value}}
        assert [it.exclusive for it in read.machines_of(side_by_side)] == [None]


def on_localkube(nodes: int, cores: int, resources: dict[str, Any] | None = None, **status: Any) -> Facts:
    """Return what is known of a Benchmark whose nodes are all on one machine and share its processors."""
    machines = [{"node": f"es-{number}", "machine": "n1", "exclusiveCpus": False} for number in range(nodes)]
    load = {"node": "load generator", "machine": "n1", "exclusiveCpus": False}
    spec = {"elasticsearch": {"nodes": nodes, "resources": resources or {"limits": {"memory": "2Gi"}}}}
    status = {"environment": {"machines": [*machines, load]}, **status}
    found = tuple(read.machines_of({"metadata": {"name": "es"}, "spec": spec, "status": status}))
    return replace(WELL, nodes=(replace(GOOD, cores=cores, neighbours=()),), machines=found)


@pytest.mark.parametrize("kind", ["Races", "Duet"])
@pytest.mark.parametrize("cores", [2, 16])
def test_clusters_that_a_comparison_keeps_are_not_told_to_take_whole_processors(kind: str, cores: int) -> None:
    """Built side by side, whole ones would leave the last of them none: they are given a share on purpose."""
    spec = {"elasticsearch": {"version": "9.0.0", "resources": {"limits": {"memory": "2Gi"}}}, "race": {}}
    prepared = {**built_once(spec), "racedAgain": ["search"]}
    raced = on_kept_cluster(prepared, ["search"], "upgrade-0a", "n")
    raced |= {"inTurn": {"block": "b", "races": 2, "number": 0}} if kind == "Duet" else {}
    shared = {"environment": {"machines": [{"node": "es-0", "machine": "n1", "exclusiveCpus": False}]}}
    found = [it for each in (prepared, raced) for it in read.machines_of({"spec": each, "status": shared})]
    nodes = (replace(GOOD, cores=cores, neighbours=()),)
    assert len(found) == 2 and said(replace(WELL, nodes=nodes, machines=tuple(found))) == []
    alone = tuple(read.machines_of({"spec": spec, "status": shared}))
    assert said(replace(WELL, nodes=nodes, machines=(*found, *alone))) == ["sharedProcessors"]


TWO_EACH = {"limits": {"cpu": "2", "memory": "2Gi"}}
SHARED = {"nodeProcessors": {"cpu": "100m", "message": "nodes share them"}}


@pytest.mark.parametrize(
    ("nodes", "cores", "resources", "status", "told"),
    [
        pytest.param(3, 2, None, {}, ["cores"], id="three-nodes-on-two-processors"),
        pytest.param(3, 3, None, {}, ["cores"], id="three-nodes-on-three"),
        pytest.param(3, 4, None, {}, ["sharedProcessors"], id="three-nodes-on-four"),
        pytest.param(1, 2, None, {}, ["sharedProcessors"], id="one-node-on-two"),
        pytest.param(2, 4, TWO_EACH, {}, ["cores"], id="two-of-two-on-four"),
        pytest.param(2, 5, TWO_EACH, {}, ["sharedProcessors"], id="two-of-two-on-five"),
        pytest.param(3, 2, None, SHARED, ["cores"], id="withheld-and-too-few"),
        pytest.param(1, 2, None, SHARED, [], id="withheld-for-the-load-generator"),
        pytest.param(
            1, 2, {"limits": {"memory": "2Gi"}, "requests": {"memory": "1Gi"}}, SHARED, ["sharedProcessors"],
            id="withheld-for-its-memory",
        ),
    ],
)  # fmt: skip
def test_whole_processors_are_advised_only_where_all_nodes_of_the_machine_can_have_them(
    nodes: int, cores: int, resources: dict[str, Any] | None, status: dict[str, Any], told: list[str]
) -> None:
    facts = on_localkube(nodes, cores, resources, **status)
    assert said(facts) == told
    unasked = replace(
        facts, nodes=(replace(GOOD, cores=cores, kubelet=None),), races=(remarked(Reason.PROCESSORS_SHARED),)
    )
    assert said(unasked) == (["cores"] if told == ["cores"] else ["sharedProcessors"])


@pytest.mark.parametrize(
    ("allocatable", "told"),
    [("1500m", ["cores"]), ("1999m", ["cores"]), ("2", ["sharedProcessors"]), ("?", ["sharedProcessors"])],
)
def test_whole_processors_are_advised_only_where_the_kubelet_gives_pods_as_many(
    allocatable: str, told: list[str]
) -> None:
    """Two nodes on four processors, of which a reserve leaves pods fewer."""
    about = {"capacity": {"cpu": "4"}, "allocatable": {"cpu": allocatable}}
    node = replace(read.node_of({"metadata": {"name": "n1"}, "status": about}), kubelet=STATIC, neighbours=())
    facts = replace(on_localkube(2, 4), nodes=(node,))
    assert said(facts) == told
    (found,) = advise(facts)
    if told == ["cores"]:
        assert found.found == (
            f"n1 gives pods fewer than the 2 whole processors that Elasticsearch alone takes ({node.for_pods:g} of 4)"
        )
        assert "reserve" in found.change
    unasked = replace(facts, nodes=(replace(node, kubelet=None),), races=(remarked(Reason.PROCESSORS_SHARED),))
    assert said(unasked) == told


def test_how_many_processors_it_takes_counts_all_nodes_of_a_machine() -> None:
    (found,) = advise(on_localkube(3, 2))
    assert found.found == (
        "n1 has fewer than the 4 processors that it takes: 3 for Elasticsearch alone, one for all else"
    )
    assert "fewer elasticsearch.nodes" in found.change
    spread = (*on_localkube(3, 2).machines, MachineSeen("n2", "elasticsearch", exclusive=True, needed=2))
    both = frozenset({"n1", "n2"})
    race = replace(RACE, machines=both, elasticsearch_on=both)
    nodes = (replace(GOOD, cores=2), replace(GOOD, name="n2", cores=2))
    assert [each.found[:2] for each in advise(replace(WELL, nodes=nodes, races=(race,), machines=spread))] == ["n1"]


@given(st.integers(min_value=1, max_value=9), st.integers(min_value=1, max_value=40), st.integers(1, 8))
def test_never_is_it_advised_to_take_more_processors_than_there_are(nodes: int, cores: int, each: int) -> None:
    found = said(on_localkube(nodes, cores, {"limits": {"cpu": str(each), "memory": "2Gi"}}))
    assert found == (["sharedProcessors"] if nodes * each < cores else ["cores"])
