"""A race's pod may have written ten thousand of anything: each list is gone through a few times, not once an entry.

Three thousand pipelines took an hour, in which the operator did nothing for anybody, and the same after its next start.
"""

import builtins
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from world import good_record, spec

from fairlap.api.noise_status import MOST_NOISY_TASKS
from fairlap.api.spec import BenchmarkSpec, IndexSettings
from fairlap.api.sweep_status import MOST_ROWS
from fairlap.comparison.noise import benchmark_noise
from fairlap.comparison.noise.benchmark_noise import History, noise_of
from fairlap.comparison.numbers.benchmark_numbers import _numbers, _task_usage
from fairlap.plan.verdict import applied_pipelines, applied_settings, http_checks, measurement, steady_cluster
from fairlap.plan.verdict import requests_done as done
from fairlap.plan.verdict.checks import CHECKS
from fairlap.results import disturbance, machine_use, sweep_curve
from fairlap.results.environment import environment
from fairlap.results.machine_use import machine_uses
from fairlap.results.sweep_curve import sweep_result
from fairlap_race.contract.recorded import document_count
from fairlap_race.contract.recorded.cluster_course import ClusterCourse, MissingCopies
from fairlap_race.contract.recorded.document_count import count_documents
from fairlap_race.contract.recorded.record import Counts, IndexRecord, Pipeline, RallyNumbers, Record, Shard, Task
from fairlap_race.contract.recorded.request_evidence import RequestEvidence, SearchAnswer, StepCounters
from fairlap_race.contract.recorded.track_record import TrackTask
from fairlap_race.contract.specification.capacity_search import CapacitySearch
from fairlap_race.contract.specification.document_plan import DocumentPlan
from fairlap_race.contract.specification.sweep import SweepSpec, SweepStep
from fairlap_race.contract.watched_machines.machine_watch import MachineWatch, WatchedSpan
from fairlap_race.contract.watched_machines.resources import (
    ELASTICSEARCH,
    LOAD_GENERATOR,
    Machine,
    MachineTable,
    TaskUsage,
    Usage,
)
from fairlap_race.runner.watching.watched_use import with_use

MANY = 300
FEW = 12


class Counted(tuple[Any, ...]):
    """Entries that count how often somebody goes through them."""

    times = 0

    def __iter__(self) -> Iterator[Any]:
        self.times += 1
        return super().__iter__()

    def __contains__(self, entry: object) -> bool:
        self.times += 1
        return super().__contains__(entry)


def reads(monkeypatch: pytest.MonkeyPatch, cls: type, *fields: str) -> list[str]:
    """Return what will tell how often somebody looked at the fields of what was made before, each look an entry."""
    looks: list[str] = []

    def look(field: str) -> property:
        def read(self: Any) -> Any:
            looks.append(field)
            return self.__dict__[field]

        return property(read)

    for field in fields:
        monkeypatch.setattr(cls, field, look(field))
    return looks


def calls(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[Any]:
    """Return what will have the first argument of each call of a function that a module uses."""
    called: list[Any] = []
    function = getattr(module, name, None) or getattr(builtins, name)

    def call(*args: Any, **more: Any) -> Any:
        called.append(args[0] if args else None)
        return function(*args, **more)

    monkeypatch.setattr(module, name, call, raising=False)
    return called


def wanting(**settings: Any) -> BenchmarkSpec:
    asked = spec()
    assert asked.elasticsearch is not None
    cluster = asked.elasticsearch.model_copy(update={"index": IndexSettings(settings=settings)})
    return asked.model_copy(update={"elasticsearch": cluster})


def test_pipelines() -> None:
    names = [f"p{number}" for number in range(MANY)]
    pipelines = Counted(Pipeline(name, 1000, 12) for name in names)
    indices = Counted(
        IndexRecord(f"i{n}", documents=1, default_pipeline=f"q{n}", final_pipeline=f"r{n}", indexed=9)
        for n in range(MANY)
    )
    record = good_record()
    track = replace(record.track, pipelines=tuple(names), pipeline_documents=dict.fromkeys(names, 1))
    record = replace(record, track=track, pipelines=pipelines, indices=indices)
    applied_pipelines.violation(record, spec())
    applied_pipelines.remarks(record)
    assert pipelines.times <= FEW and indices.times <= FEW


def test_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    behind = document_count._IndicesBehind.indices

    def indices(self: Any, name: str) -> frozenset[str]:
        asked.append(name)
        return behind(self, name)

    monkeypatch.setattr(document_count._IndicesBehind, "indices", indices)
    record = good_record()
    track = replace(record.track, expected_documents={f"i{n}": n for n in range(MANY)})
    record = replace(record, track=track, indices=tuple(IndexRecord(f"i{n}", documents=n) for n in range(MANY)))
    assert count_documents(record).mismatch == ""
    assert len(asked) <= FEW * MANY


def test_tasks_and_what_machines_used_in_them() -> None:
    (task,) = good_record().tasks
    tasks = tuple(replace(task, task=f"t{number}", units_done=1) for number in range(MANY))
    usages = Counted(TaskUsage(each.task) for each in reversed(tasks))
    record, table = replace(good_record(), tasks=tasks), MachineTable(machines=(Machine("es-0", ELASTICSEARCH),))
    table = replace(table, machines=(replace(table.machines[0], tasks=usages),))
    assert len([*_numbers(record, table, None), *_task_usage(record, table)]) >= MANY
    assert usages.times <= FEW


def test_tasks_and_what_their_searches_answered() -> None:
    answers = Counted(SearchAnswer(task=f"t{number}") for number in range(MANY))
    tasks = tuple(Task(f"t{number}") for number in range(MANY))
    record = replace(good_record(), tasks=tasks, requests=RequestEvidence(answers=answers))
    list(steady_cluster.remarks(record))
    assert answers.times <= FEW


def test_pipelines_and_patterns_that_delete_some(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = calls(monkeypatch, applied_pipelines, "fnmatchcase")
    names, good = tuple(f"p{number}" for number in range(MANY)), good_record()
    deletes = ("p1*", *(f"q{number}*" for number in range(MANY)), "p2")
    track = replace(good.track, pipelines=names, documents=DocumentPlan(deletes_pipelines=deletes))
    found = applied_pipelines.remarks(replace(good, track=track, pipelines=()))
    assert len(found) == 112 and len(compared) <= FEW * MANY


def test_indices_and_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """One index of the bulks has all of the settings, and half of the others need none of them."""
    names = [f"s{number}" for number in range(MANY)]
    has = {f"index.many.{name}": "1" for name in names}
    indices = Counted(
        IndexRecord(f"i{n}", documents=1, aliases=("main",) if n % 2 else (), settings=has if n == 1 else {})
        for n in range(MANY)
    )
    good, asked = good_record(), wanting(many=dict.fromkeys(names, "1"))
    record = replace(good, indices=indices, track=replace(good.track, expected_documents={"main": 1}))
    compared = calls(monkeypatch, applied_settings, "same")
    equal = calls(monkeypatch, IndexRecord, "__eq__")
    found = applied_settings.violation(record, asked)
    assert found is not None and "could not be asked" in found.message
    assert len([*applied_settings.not_everywhere(record, asked)]) == MANY
    assert not equal and len(compared) <= FEW * MANY and indices.times <= 3 * FEW


def test_noise_of_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = Counted(Task(f"t{number}", rally=RallyNumbers()) for number in range(MANY))
    looked_at = calls(monkeypatch, benchmark_noise, "task_numbers")
    found = noise_of([Record(tasks=tasks)] * 3, History())
    assert len(found.tasks) + found.left_out == MANY and len(looked_at) <= 3 * MOST_NOISY_TASKS
    assert tasks.times <= FEW


@pytest.mark.parametrize("names", [[f"t{number}" for number in range(MANY)], ["t"] * MANY], ids=["own", "same"])
def test_spans_and_what_machines_used_in_them(names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    usage = Usage(30.0, cpu_mean_cores=0.1, disk_write_bytes=1e9, disk_read_bytes=0.0)
    usages = Counted(TaskUsage(name, usage=usage) for name in names)
    spans = tuple(WatchedSpan(name, 30.0, processors=2.0, busy_cores=1e6, io_waiting_share=0.9) for name in names)
    looks = reads(monkeypatch, Usage, "cpu_mean_cores", "disk_write_bytes", "disk_read_bytes")
    own = Machine("rally", LOAD_GENERATOR, tasks=tuple(TaskUsage(name, usage=usage) for name in {*names}))
    watch = with_use(MachineWatch(tasks=spans), (Machine("es-0", ELASTICSEARCH, tasks=usages), own), 1)
    (found,) = disturbance.remarks(disturbance.disturbances(watch, ["a"], "a", {*names}))
    assert f"and {2 * MANY - 5} more" in found.text
    assert usages.times <= FEW and len(looks) <= FEW * MANY


@pytest.mark.parametrize("machines", [1, MANY])
def test_tasks_of_one_name_and_machines(machines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    (task,) = good_record().tasks
    used = (TaskUsage(task.task, usage=Usage(1.0, cpu_mean_cores=1.0, memory_peak_bytes=1.0, disk_write_bytes=1.0)),)
    table = MachineTable(machines=tuple(Machine(f"es-{n}", ELASTICSEARCH, tasks=used) for n in range(machines)))
    record = replace(good_record(), tasks=(task,) * MANY)
    looks = reads(monkeypatch, Usage, "cpu_mean_cores", "memory_peak_bytes", "disk_write_bytes")
    assert len([*_task_usage(record, table)]) == 2 * MANY
    assert len([*_numbers(record, table, None)]) >= MANY
    assert len(looks) <= FEW * max(machines, FEW)


def test_steps_and_what_their_searches_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """All steps, tasks and answers are of one name, and that again with a name each."""
    sent = Counts(0, 9)
    for names in (["t"] * MANY, [f"t{number}" for number in range(MANY)]):
        answers = tuple(SearchAnswer(name, shards=0, hits=n % 2, items_without_hits=1) for n, name in enumerate(names))
        steps = tuple(StepCounters(searches=(name,), shards={name: 1}, queries=0, anywhere=1) for name in names)
        hit = replace(answers[0], shards=1, skipped=1)
        good = good_record()
        record = replace(
            good,
            tasks=tuple(Task(name, samples=sent) for name in names),
            track=replace(good.track, tasks=tuple(TrackTask(name, type="search") for name in names)),
            requests=RequestEvidence(steps, (*answers, *(replace(hit, task=name) for name in names))),
        )
        with monkeypatch.context() as patched:
            equal = calls(patched, SearchAnswer, "__eq__")
            looks = reads(patched, SearchAnswer, "drawn", "skipped", "trouble", "hits")
            looked_at = reads(patched, StepCounters, "searches", "others")
            assert done.searches_hit_nothing(record, spec()) is None
            assert [*done.remarks(record)]
        assert not equal and len(looks) <= 2 * FEW * MANY and len(looked_at) <= FEW * MANY


@pytest.mark.parametrize("search", [None, CapacitySearch()], ids=["sweep", "search"])
def test_steps_of_a_sweep(search: CapacitySearch | None, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"q@{number}" for number in range(1, MANY + 1)]
    steps = tuple(SweepStep(name, clients=number, kept=True) for number, name in enumerate(names, start=1))
    tasks = Counted(Task(name, rally=RallyNumbers()) for name in reversed(names))
    record = Record(race_id="r", tasks=tasks)
    record = replace(record, track=replace(record.track, sweep=SweepSpec("q", steps=steps, search=search)))
    usages = Counted(TaskUsage(name, usage=Usage(1.0, cpu_mean_cores=1.0)) for name in names)
    table = MachineTable(race_id="r", machines=(Machine("es-0", ELASTICSEARCH, tasks=usages),))
    made = calls(monkeypatch, sweep_curve, "_row")
    found = sweep_result([record] * 3, None, [table])
    assert found is not None and 0 < len(found.rows) <= MOST_ROWS and len(made) <= MOST_ROWS
    assert tasks.times <= FEW and usages.times <= FEW


def test_loads_and_probes_that_drowned() -> None:
    tasks, planned = Counted(good_record().tasks), tuple(TrackTask(f"t{number}") for number in range(MANY))
    steps = tuple(SweepStep(it.name, kept=False) for it in planned)
    track = replace(good_record().track, tasks=planned, sweep=SweepSpec(steps=steps, search=CapacitySearch()))
    assert http_checks._every_load_has_numbers(replace(good_record(), tasks=tasks, track=track), spec()) is None
    assert tasks.times <= FEW


def test_bulks(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = calls(monkeypatch, measurement, "min")
    bulk = Task(type="bulk", started_at="2026-01-01T00:00:00Z", ended_at="2026-01-01T00:01:00Z")
    bulks = [replace(bulk, task=f"t{number}") for number in range(MANY)]
    assert len(measurement._first_bulks(bulks)) == MANY
    assert len(looked) <= FEW


def test_options_of_many_nodes() -> None:
    good, options = good_record(), [f"-Xa{number}" for number in range(2 * FEW)]
    (node,) = good.environment.nodes
    arguments = Counted([*node.jvm_arguments, *options])
    asked = spec()
    assert asked.elasticsearch is not None
    asked = asked.model_copy(update={"elasticsearch": asked.elasticsearch.model_copy(update={"jvm_options": options})})
    nodes = (replace(node, jvm_arguments=arguments),)
    record = replace(good, environment=replace(good.environment, nodes=nodes))
    assert not any(check(record, asked) for check in CHECKS)
    assert arguments.times <= FEW


def test_copies_that_were_missing() -> None:
    indices = Counted(IndexRecord(f"i{number}", shards=1, replicas=1) for number in range(MANY))
    missing = tuple(MissingCopies(it.name, copies=1) for it in indices)
    record = replace(good_record(), indices=indices, course=ClusterCourse(missing=missing))
    indices.times = 0
    assert steady_cluster.replicas_were_there(record, spec()) is None
    assert indices.times <= FEW


def test_copies_of_shards() -> None:
    names = [f"i{number}" for number in range(MANY)]
    shards = Counted(Shard(name, 0, True, "STARTED", "es-0") for name in names)
    record = replace(good_record(), indices=tuple(IndexRecord(name) for name in names), shards=shards)
    assert {it.placement for it in environment(record, [], []).indices} == {"0p es-0"}
    assert shards.times <= FEW


def test_lines_of_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    made = calls(monkeypatch, machine_use, "_line")
    table = MachineTable(machines=tuple(Machine(f"es-{number}", ELASTICSEARCH) for number in range(MANY)))
    assert len(machine_uses([("r", table)], most=FEW)) == len(made) == FEW
