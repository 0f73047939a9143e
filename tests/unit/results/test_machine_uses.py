"""The short lines of the status."""

from dataclasses import replace

from fairlap.results.machine_use import IN_STATUS, machine_uses, remarks
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.watched_machines.resources import Machine, MachineTable, Sampler, Usage, missing


def table(race: str, cpu: float, **columns: float) -> MachineTable:
    node = Machine(f"{race}-es-default-0", "elasticsearch", 2.0, 4e9, {"cpu": "prometheus", "jvm": "nodeStats"})
    node = replace(node, race=Usage(60, 12, cpu_mean_cores=cpu, heap_peak_bytes=5.0, **columns))
    own = Machine(f"{race}-k2x9q", "load-generator", sources={"cpu": "cgroup"}, race=Usage(60, 12, cpu_mean_cores=0.1))
    return MachineTable(machines=tuple(replace(m, missing=missing(m)) for m in (node, own)))


def test_a_line_a_machine_with_medians_over_the_races() -> None:
    tables = [(f"bm-race-{i}", table(f"bm-race-{i}", cpu)) for i, cpu in enumerate((1.0, 3.0, 1.5))]
    node, own = machine_uses(tables, most=60)
    assert (node.name, node.races, node.cpu_mean_cores, node.heap_peak_bytes) == ("es-default-0", 3, 1.5, 5.0)
    assert node.sources == ["prometheus", "nodeStats"] and (node.cpu_limit_cores, node.memory_limit_bytes) == (2.0, 4e9)
    assert node.missing == ["throttling", "memory", "faults", "disk", "network", "pressure"]
    assert own.name == "load-generator" and "jvm" not in own.missing
    assert node.disk_reads is None
    assert machine_uses([], most=60) == []


def test_a_group_with_one_known_column_is_not_missing() -> None:
    (node, _) = machine_uses([("bm-race-1", table("bm-race-1", 1.0, memory_peak_bytes=9.0))], most=60)
    assert "memory" not in node.missing and node.memory_peak_bytes == 9.0


def test_columns_of_the_status_exist() -> None:
    assert set(IN_STATUS) <= set(vars(Usage()))


def test_remarks() -> None:
    assert remarks(None) == [(Reason.MACHINE_FIGURES_INCOMPLETE, "what the machines did was not recorded")]
    assert remarks(MachineTable(remarks=("a",))) == [(Reason.MACHINE_FIGURES_INCOMPLETE, "a")]
    (failed,) = remarks(MachineTable(sampler=Sampler(4.0, samples=8, failures=2, last_failure="HTTP 503")))
    assert "2 of 10" in failed.text and "HTTP 503" in failed.text
