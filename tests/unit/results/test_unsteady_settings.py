"""What the settings of machines do to a race's numbers is one remark, and the unknown is none."""

from tests.fixtures.message_form import looks_like

from fairlap.api.machine_status import MachineEvidence, SettingsEvidence
from fairlap.api.names import NODE_OF_THE_LOAD
from fairlap.results.unsteady_settings import remarks
from fairlap_race.contract.reasons import Reason

LOOSE = SettingsEvidence(governors=["powersave"])


def node(name: str, settings: SettingsEvidence | None, exclusive: bool | None = True) -> MachineEvidence:
    return MachineEvidence(node=name, settings=settings, exclusive_cpus=exclusive)


def test_machines_that_tell_nothing_are_not_remarked_on() -> None:
    assert list(remarks([node("a", None, False), node("load generator", SettingsEvidence(), False)])) == []


def test_one_sentence_names_all_its_machines() -> None:
    (one,) = remarks([node("bm-race-1-es-default-1", LOOSE), node("load generator", None)])
    assert one.reason is Reason.MACHINE_SETTINGS and looks_like(Reason.MACHINE_SETTINGS.example, one.text)
    (many,) = remarks([*(node(name, LOOSE) for name in "abcde"), node("load generator", LOOSE)])
    assert many.text.startswith("machine of a, b, c and 3 more: the cpufreq governor")


def test_threads_of_a_core_count_for_who_shares_them() -> None:
    smt = SettingsEvidence(smt_active=True, whole_cores=True)
    (one,) = remarks([node("a", smt, True), node("load generator", smt, False)])
    assert one.text.startswith("machine of load generator: SMT is on")


def test_whole_cores_are_asked_for_where_the_machines_own_pod_asks_for_processors() -> None:
    smt = SettingsEvidence(smt_active=True, whole_cores=False)
    (one,) = remarks([node("a", smt), node("b", smt), node(NODE_OF_THE_LOAD, smt, False)])
    elasticsearch, load = one.text.split("; machine of ")
    assert (
        elasticsearch.startswith("machine of a and b: ") and "whole ones in elasticsearch.resources," in elasticsearch
    )
    assert load.startswith("load generator: ") and "whole ones in race.resources," in load


def test_processors_of_its_own_on_several_numa_nodes_are_said_of_their_node_alone() -> None:
    apart = {"cpus": "3-4", "cpu_numa_nodes": "0-1"}
    machines = [node("a", None, True), node("b", None, False), node("load generator", None)]
    (one,) = remarks([machines[0].model_copy(update=apart), machines[1].model_copy(update=apart), machines[2]])
    assert one.reason is Reason.MACHINE_SETTINGS
    assert one.text.startswith("machine of a: its own processors 3-4 are of the NUMA nodes 0-1, ")
