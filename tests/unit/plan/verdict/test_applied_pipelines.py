"""Pipelines that did their work, those that did not, and what is said of those in between."""

from dataclasses import replace
from typing import Any

import pytest
from world import good_record, spec

from fairlap.plan.verdict import applied_pipelines
from fairlap.plan.verdict.checks import first_violation
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded import record as rec
from fairlap_race.contract.recorded.ingest_record import ProcessorCount, ProcessorWork
from fairlap_race.contract.specification.document_plan import DocumentPlan

GOOD = good_record()
INDEX = (GOOD.indices or ())[0]
DONE = ProcessorWork(processors=1, done=1000)
FAILED = ProcessorWork(1, 0, told=(ProcessorCount(1, "set", 1000, 1000),))
NEVER = ProcessorWork(1, 0, told=(ProcessorCount(1, "set", 0, 0),))


def pipeline(name: str = "p", count: int = 1000, failed: int = 0, work: ProcessorWork | None = DONE) -> rec.Pipeline:
    return rec.Pipeline(name, count, 1, failed, work)


def record(*pipelines: rec.Pipeline, named: tuple[str, ...] = (), plan: Any = None, **index: Any) -> rec.Record:
    """Return the record of a race whose bulks name some pipelines, and whose index names others."""
    track = replace(GOOD.track, pipelines=named, pipeline_documents={}, documents=DocumentPlan(**(plan or {})))
    indices = (replace(INDEX, indexed=1000, **index),)
    return replace(GOOD, track=track, indices=indices, pipelines=pipelines)


def of_1000(raced: rec.Record) -> rec.Record:
    """Return the record of bulks that send a thousand documents through pipeline p."""
    return replace(raced, track=replace(raced.track, pipeline_documents={"p": 1000}))


DEFAULT, FINAL = {"default_pipeline": "p"}, {"final_pipeline": "p"}
PARTLY = ProcessorWork(9, 500, told=tuple(ProcessorCount(place, "set", 9, 1) for place in range(1, 8)))


@pytest.mark.parametrize(
    "good",
    [
        record(),
        record(pipeline(), named=("p",)),
        record(pipeline(), **DEFAULT),
        record(pipeline(), **FINAL),
        record(pipeline(work=None), **DEFAULT),
        # A document that is dropped was seen by the pipeline.
        record(pipeline(count=1200), **DEFAULT),
        # A request names another one on purpose; the final pipeline is run in any case.
        record(pipeline("q"), named=("q",), **DEFAULT),
        record(pipeline("q"), pipeline(), named=("q",), **FINAL),
        record(pipeline("q")),
        record(pipeline("q", count=0, work=NEVER)),
        record(pipeline("logs@json-pipeline", work=NEVER)),
        # Elasticsearch's own, which a template of its names and nobody asked for.
        record(pipeline("logs@default-pipeline", work=NEVER), default_pipeline="logs@default-pipeline"),
        record(pipeline("logs-default-pipeline", work=NEVER), default_pipeline="logs-default-pipeline"),
        record(pipeline("logs-default-pipeline", work=PARTLY)),
        # Nothing was indexed into it.
        replace(record(**DEFAULT), indices=(replace(INDEX, indexed=0, default_pipeline="p"),)),
        replace(record(**DEFAULT), indices=(replace(INDEX, indexed=None, default_pipeline="p"),)),
    ],
)
def test_what_passes_without_a_word(good: rec.Record) -> None:
    assert first_violation(good, spec()) is None
    assert applied_pipelines.remarks(good) == []


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (record(named=("p",)), "ingest pipeline p processed no document"),
        (record(pipeline(work=FAILED), named=("p",)), "p did nothing for its 1000 documents: processor 1 (set) failed"),
        (record(pipeline(work=NEVER), named=("p",)), "processor 1 (set) never ran, for its `if`"),
        (record(pipeline(work=NEVER), **DEFAULT), "did nothing"),
        (record(pipeline(failed=3), **FINAL), "ingest pipeline p failed for 3 documents"),
        (record(**DEFAULT), "p, default_pipeline of index logs, processed none of the 1000 documents indexed there"),
        (record(pipeline(count=0), **DEFAULT), "processed none"),
        (record(pipeline("q"), named=("q",), **FINAL), "p, final_pipeline of index logs, processed none"),
        (record(plan={"without_pipeline": ("bulk",)}, **FINAL), "processed none"),
    ],
)
def test_what_was_not_applied(bad: rec.Record, words: str) -> None:
    found = first_violation(bad, spec())
    assert found is not None and found.reason is Reason.PIPELINE_NOT_APPLIED and words in found.message


EMPTY = pipeline(count=0, work=ProcessorWork())


@pytest.mark.parametrize(
    ("odd", "reason", "words"),
    [
        (record(EMPTY, named=("p",)), Reason.PIPELINE_NOT_VERIFIED, "it has no processors, and Elasticsearch skips it"),
        (record(EMPTY, **DEFAULT), Reason.PIPELINE_NOT_VERIFIED, "no processors"),
        (record(named=("p",), plan={"deletes_pipelines": ("p",)}), Reason.PIPELINE_NOT_VERIFIED, "a task deletes it"),
        (record(named=("p",), plan={"deletes_pipelines": ("*",)}), Reason.PIPELINE_NOT_VERIFIED, "a task deletes it"),
        # Put again, it counts from 0.
        (
            of_1000(record(pipeline(count=900), named=("p",), plan={"deletes_pipelines": ("p*",)})),
            Reason.PIPELINE_NOT_VERIFIED,
            "a task deletes it",
        ),
        (record(pipeline(count=900), **DEFAULT), Reason.PIPELINE_BYPASSED, "processed 900 of the 1000 documents"),
        (record(pipeline(count=900), **FINAL), Reason.PIPELINE_BYPASSED, "while the index did not name it"),
        (record(pipeline("q"), **DEFAULT), Reason.PIPELINE_BYPASSED, "processed 0 of the 1000"),
        (
            record(plan={"without_pipeline": ("bulk",)}, **DEFAULT),
            Reason.PIPELINE_BYPASSED,
            "task bulk names _none as its pipeline",
        ),
        (record(plan={"changes_settings": ("set",)}, **DEFAULT), Reason.PIPELINE_BYPASSED, "task set changes settings"),
        (record(pipeline(work=PARTLY), named=("p",)), Reason.PIPELINE_PARTLY_APPLIED, "; and 2 more"),
        # Named by action lines, or by another pipeline.
        (record(pipeline("q", work=FAILED)), Reason.PIPELINE_PARTLY_APPLIED, "q, 1000 documents: processor 1 (set)"),
        # Elasticsearch's own, which the track asks for.
        (
            record(pipeline("logs@default-pipeline", work=NEVER), named=("logs@default-pipeline",)),
            Reason.PIPELINE_PARTLY_APPLIED,
            "never ran",
        ),
    ],
)
def test_what_is_said(odd: rec.Record, reason: Reason, words: str) -> None:
    assert first_violation(odd, spec()) is None
    (remark,) = applied_pipelines.remarks(odd)
    assert remark.reason is reason and words in remark.text


def test_an_index_of_a_target_that_was_there_before_has_other_counters() -> None:
    touched = rec.TargetReport(touches=(rec.Touch("index", "logs", creates=True, existing=("logs",)),))
    there = replace(record(**DEFAULT), target=touched)
    assert applied_pipelines.violation(there, spec()) is None and applied_pipelines.remarks(there) == []


def test_a_race_that_failed_is_told_nothing() -> None:
    failed = replace(record(EMPTY, named=("p",)), outcome=rec.Outcome(Reason.RACE_STALLED, "stood"))
    assert applied_pipelines.remarks(failed) == []
