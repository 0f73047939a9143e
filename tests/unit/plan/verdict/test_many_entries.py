"""A race's pod may have written ten thousand of anything: each list is gone through a few times, not once an entry.

Three thousand pipelines took an hour, in which the operator did nothing for anybody, and the same after its next start.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from world import good_record, spec

from fairlap.comparison.raced_benchmark import _numbers, _task_usage
from fairlap.plan.verdict import applied_pipelines, steady_cluster
from fairlap_race.contract import document_count
from fairlap_race.contract.document_count import count_documents
from fairlap_race.contract.record import IndexRecord, Pipeline, Task
from fairlap_race.contract.request_evidence import RequestEvidence, SearchAnswer
from fairlap_race.contract.resources import ELASTICSEARCH, Machine, MachineTable, TaskUsage

MANY = 300
FEW = 12


class Counted(tuple[Any, ...]):
    """Entries that count how often somebody goes through them."""

    times = 0

    def __iter__(self) -> Iterator[Any]:
        self.times += 1
        return super().__iter__()


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
    behind = document_count._Behind.indices

    def indices(self: Any, name: str) -> frozenset[str]:
        asked.append(name)
        return behind(self, name)

    monkeypatch.setattr(document_count._Behind, "indices", indices)
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
    assert len([*_numbers(record, table), *_task_usage(record, table)]) >= MANY
    assert usages.times <= FEW


def test_tasks_and_what_their_searches_answered() -> None:
    answers = Counted(SearchAnswer(task=f"t{number}") for number in range(MANY))
    tasks = tuple(Task(f"t{number}") for number in range(MANY))
    record = replace(good_record(), tasks=tasks, requests=RequestEvidence(answers=answers))
    list(steady_cluster.remarks(record))
    assert answers.times <= FEW
