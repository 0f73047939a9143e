"""The table of what the machines did: its JSON, its bound, and taking columns from a better source."""

import json
import threading
from dataclasses import replace

import pytest

from fairlap_race.contract.recorded.record import Record, Task, timestamp
from fairlap_race.contract.watched_machines.resources import (
    GROUPS,
    MAX_RESOURCES_BYTES,
    Machine,
    MachineTable,
    TaskUsage,
    Usage,
    is_note_on,
    merged,
    missing,
    note,
)
from fairlap_race.elasticsearch.client import ElasticsearchError
from fairlap_race.runner.watching.sampler import MachineSampler, summed_up


def machine(tasks=1, **columns):
    usage = Usage(seconds=60, samples=12, **columns)
    listed = tuple(TaskUsage(f"task-{i}", None, replace(usage, seconds=i)) for i in range(tasks))
    return Machine("bm-race-1-es-default-0", "elasticsearch", race=usage, tasks=listed)


def test_round_trip_without_what_is_not_known():
    table = MachineTable(race_id="r", machines=(machine(cpu_mean_cores=0.0, heap_peak_bytes=5.0),))
    text = table.to_json()
    assert MachineTable.from_json(text) == table
    assert "null" not in text and "diskReads" not in text
    assert json.loads(text)["machines"][0]["race"]["cpuMeanCores"] == 0.0
    for odd in (None, "", "[]", "{}", "nonsense"):
        assert MachineTable.from_json(odd) is None


def test_groups_and_columns_are_the_same_set():
    columns = [column for group in GROUPS.values() for column in group]
    assert len(columns) == len(set(columns))
    assert set(columns) == {name for name in vars(Usage()) if name not in ("seconds", "samples")}


def test_the_bound_keeps_the_longest_tasks():
    everything = {column: 123456.7 for group in GROUPS.values() for column in group}
    text = MachineTable(race_id="r", machines=(machine(tasks=900, **everything),)).to_json()
    assert len(text) <= MAX_RESOURCES_BYTES
    table = MachineTable.from_json(text)
    kept = [task.task for task in table.machines[0].tasks]
    assert "task-899" in kept and "task-0" not in kept and table.dropped_tasks == 900 - len(kept)
    many = MachineTable(race_id="r", machines=tuple(machine(tasks=0, **everything) for _ in range(400))).to_json()
    assert len(many) <= MAX_RESOURCES_BYTES and "left out" in many


def test_a_better_source_gives_whole_groups():
    base = machine(cpu_mean_cores=1.0, cpu_peak_cores=2.0, disk_reads=7.0, memory_peak_bytes=9.0, heap_peak_bytes=5.0)
    base = replace(base, sources={"cpu": "nodeStats", "jvm": "nodeStats"}, notes=(note("disk", "of the whole device"),))
    better = machine(disk_reads=3.0, disk_read_bytes=4.0, working_set_peak_bytes=8.0, major_faults_per_minute=0.0)
    found = merged(base, better, "prometheus")
    assert found.sources == {
        "cpu": "nodeStats", "jvm": "nodeStats", "disk": "prometheus", "memory": "prometheus", "faults": "prometheus",
    }  # fmt: skip
    for usage in (found.race, found.tasks[0].usage):
        assert (usage.disk_reads, usage.working_set_peak_bytes, usage.memory_peak_bytes) == (3.0, 8.0, None)
        assert (usage.cpu_mean_cores, usage.heap_peak_bytes) == (1.0, 5.0)
    assert "memory_peak_bytes" in found.missing and "major_faults_per_minute" not in found.missing
    assert found.notes == ()


def test_a_task_that_a_better_source_has_too_few_samples_of_keeps_its_own_columns():
    """Else adding a source takes away that a node was throttled in it."""
    base = machine(cpu_mean_cores=1.0, cpu_peak_cores=2.0, throttled_seconds=6.0, disk_write_bytes=9.0)
    base = replace(
        base,
        sources=dict.fromkeys(("cpu", "throttling", "disk"), "nodeStats"),
        notes=(note("disk", "of the whole device"),),
    )
    better = machine(cpu_mean_cores=1.1, throttled_seconds=7.0, disk_write_bytes=3.0, network_sent_bytes=5.0)
    better = replace(better, tasks=(TaskUsage("task-0", None, Usage(12)),))
    found = merged(base, better, "prometheus")
    assert found.sources == dict.fromkeys(("cpu", "throttling", "disk", "network"), "prometheus")
    whole, task = found.race, found.tasks[0].usage
    assert (whole.cpu_mean_cores, whole.cpu_peak_cores, whole.throttled_seconds) == (1.1, None, 7.0)
    assert (task.cpu_mean_cores, task.cpu_peak_cores, task.throttled_seconds) == (1.0, 2.0, 6.0)
    assert (whole.disk_write_bytes, task.disk_write_bytes) == (3.0, None), "a device's bytes are no container's"
    assert found.notes == (
        "cpu: nodeStats where a task is too short for prometheus",
        "throttling: nodeStats where a task is too short for prometheus",
    )
    without = merged(base, replace(better, tasks=()), "prometheus")
    assert without.tasks[0].usage.throttled_seconds == 6.0


@pytest.mark.parametrize("group", GROUPS)
def test_a_note_is_on_the_columns_that_it_was_written_for_alone(group):
    written = note(group, "disk: of the whole device")
    assert [each for each in GROUPS if is_note_on(written, each)] == [group]


def test_the_load_generator_misses_no_heap():
    own = Machine("p", "load-generator")
    assert not set(GROUPS["jvm"]) & set(missing(own))
    assert set(GROUPS["jvm"]) <= set(missing(replace(own, role="elasticsearch")))


class Client:
    """Answers node stats of one node that uses one core; fails every third time."""

    def __init__(self):
        self.asked = 0

    def get(self, path, timeout):
        if "fs.data" in path:
            return {"nodes": {"a": {"name": "es-0", "fs": {"data": [{"path": "/d", "type": "xfs"}]}}}}
        self.asked += 1
        if self.asked % 3 == 0:
            raise ElasticsearchError("GET: no answer")
        return {"nodes": {"a": {"name": "es-0", "process": {"cpu": {"total_in_millis": 100 * self.asked}}}}}


def test_the_sampler_looks_regularly_and_at_each_step(tmp_path):
    client = Client()
    sampler = MachineSampler(client, tmp_path, "pod-1", interval=0.1)
    sampler.start()
    threading.Event().wait(1.0)
    sampler.stop()
    first, last = sampler._moments[0], sampler._moments[-1]
    task = Task("bulk", started_at=timestamp(first), measured_from=timestamp(first), ended_at=timestamp(last))
    table = summed_up(sampler, Record(race_id="r", tasks=(task,)), ask=True)
    node, own = table.machines
    assert (node.name, node.role, own.name, own.role) == ("es-0", "elasticsearch", "pod-1", "load-generator")
    assert node.race.cpu_mean_cores > 0.3 and node.tasks[0].task == "bulk"
    assert node.sources["cpu"] == "nodeStats" and "major_faults_per_minute" in node.missing
    assert table.sampler.failures >= 2 and "no answer" in table.sampler.last_failure
    assert table.sampler.samples >= 5 and table.sampler.cpu_seconds is not None
    assert table.volumes[0].type == "xfs"


def test_a_new_step_is_looked_at_at_once(tmp_path):
    def state(step):
        text = {"step": step, "steps": 2, "tasks": [], "percent": 0, "samples": 0, "firstRequestAt": None}
        (tmp_path / "state.json").write_text(json.dumps(text))

    sampler = MachineSampler(Client(), tmp_path, None, interval=60)
    state(1)
    sampler.start()
    threading.Event().wait(0.3)
    state(2)
    threading.Event().wait(0.9)
    assert len(sampler._moments) == 2
    sampler.stop()


def test_without_a_request_there_is_nothing_to_sum_up(tmp_path):
    sampler = MachineSampler(Client(), tmp_path, None)
    sampler.stop()
    table = summed_up(sampler, Record(race_id="r"), ask=False)
    assert not table.machines and "nothing to sum up" in table.remarks[0] and table.volumes == ()
