"""`fairlap results -o machines`."""

import re
from dataclasses import replace
from typing import Any

from fairlap.cli.tables.machine_report import machines
from fairlap_race.contract.watched_machines.machine_settings import MachineSettings
from fairlap_race.contract.watched_machines.machine_watch import MachineWatch, WatchedSpan
from fairlap_race.contract.watched_machines.resources import Machine, MachineTable, TaskUsage, Usage

USAGE = Usage(60, 12, cpu_mean_cores=1.5, major_faults_per_minute=7.0)
NODE = Machine(
    "bm-race-2-es-default-0", "elasticsearch", sources={"cpu": "prometheus", "faults": "prometheus"},
    notes=("disk: of the whole device",), race=USAGE, tasks=(TaskUsage("bulk", None, USAGE),),
)  # fmt: skip
RACES = [{"name": f"race-{n}", "record": f"bm-race-{n}", "valid": n != 3} for n in (1, 2, 3)]


class FakeCluster:
    def __init__(self, **texts: str) -> None:
        self.texts = texts

    def config_map(self, name: str) -> dict[str, Any] | None:
        found = self.texts.get(name.replace("-", "_"))
        return None if found is None else {"data": {"resources.json": found}}


def show(races: list[dict[str, Any]], **texts: str) -> str:
    benchmark = {"metadata": {"name": "bm"}, "status": {"races": races}}
    return machines(FakeCluster(**texts), benchmark)  # type: ignore[arg-type]


def test_the_last_valid_race_task_by_task() -> None:
    title, head, race, bulk, *below = show(RACES, bm_race_2=MachineTable(machines=(NODE,)).to_json()).splitlines()
    assert title == "bm, race-2"
    assert head.split("  ")[0].strip() == "machine" and "major faults/min" in head and "disk read" not in head
    assert race.startswith("es-default-0  race") and race.endswith(" 7") and bulk.startswith("es-default-0  bulk")
    assert below == [
        "* es-default-0: cpu, faults from prometheus", "* es-default-0: settings unknown",
        "* es-default-0: disk: of the whole device",
    ]  # fmt: skip


def test_the_settings_of_a_machine_are_told() -> None:
    node = replace(NODE, settings=MachineSettings("madvise", governors=("powersave",), turbo=False))
    shown = show(RACES, bm_race_2=MachineTable(machines=(node,)).to_json())
    assert "* es-default-0: governor powersave, turbo off, SMT unknown, transparent huge pages madvise" in shown


def test_what_was_watched_of_the_whole_machine_is_shown_task_by_task() -> None:
    bulk = WatchedSpan(
        "bulk", 30.0, steal_share=0.012, processors=2.0, busy_cores=1.5, cpu_waiting_share=0.25,
        memory_waiting_share=0.5, interrupts_per_second=12345.4, megahertz=2450.2,
    )  # fmt: skip
    watch = MachineWatch(race=WatchedSpan("", 90.0, megahertz=2500.0), tasks=(bulk,))
    shown = show(RACES, bm_race_2=MachineTable(machines=(NODE,), watch=watch).to_json()).splitlines()
    title, head, race, task = shown[-4:]
    assert title == "The load generator's machine as a whole:" and shown[-5] == ""
    titles = ["span", "seconds", "processors", "busy", "steal", "waiting for CPU", "for memory", "interrupts/s", "MHz"]
    assert re.split(r"  +", head.strip()) == titles
    assert re.split(r"  +", task.strip()) == [
        "bulk", "30.0", "2", "1.50", "1.2 %", "25.0 %", "50.0 %", "12,345", "2,450"
    ]  # fmt: skip
    assert race.startswith("race") and race.endswith(" 2,500")
    assert "as a whole" not in show(RACES, bm_race_2=MachineTable(watch=MachineWatch()).to_json())


def test_what_is_not_there_is_said() -> None:
    assert show([]) == "bm: no race is recorded"
    assert show(RACES) == "bm, race-2: what the machines did was not recorded"
    assert show(RACES[2:], bm_race_3=MachineTable(remarks=("Prometheus is away",)).to_json()).startswith("bm, race-3")
