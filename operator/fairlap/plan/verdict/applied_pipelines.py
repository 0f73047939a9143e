"""Whether the ingest pipelines of a race did their work: those that its bulks name, and those of the live indices.

Elasticsearch counts for each pipeline, and for each processor of its first level; nothing for a pipeline without
processors, which it skips.
"""

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.verdict.violation import Violation
from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.index_settings import comes_with_elasticsearch
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.failed_bulks import accepted_loss
from fairlap_race.contract.recorded.ingest_record import ProcessorCount
from fairlap_race.contract.recorded.record import IndexRecord, Pipeline, Record
from fairlap_race.contract.some_of import some_clauses, some_of

_SHOWN = 5
_MOST_PATTERNS, _LONGEST_PATTERN = 10, 100
"""Each is compared with each pipeline; no schedule deletes by more, or by longer ones."""
_DEFAULT, _FINAL = "default_pipeline", "final_pipeline"


def violation(record: Record, _: BenchmarkSpec) -> Violation | None:
    """Return the first pipeline that was to be applied and was not."""
    found = next(_violations(record), None)
    return Violation(Reason.PIPELINE_NOT_APPLIED, found) if found else None


def remarks(record: Record) -> list[RaceRemark]:
    """Return what a reader must know of the pipelines of a race that ran to its end."""
    if record.outcome.reason or record.pipelines is None:
        return []
    known = _Known(record)
    return [*_unverified(known), *_bypassed(known), *_partly(known)]


class _Known:
    """What the checks look up again and again, found once: a race's pod may have written ten thousand pipelines."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.ran: Mapping[str, Pipeline] = {pipeline.name: pipeline for pipeline in record.pipelines or ()}
        self.of_indices = [*_of_indices(record)]
        self.expected = list(dict.fromkeys((*record.track.pipelines, *(name for name, _, _ in self.of_indices))))
        self.not_counted = self._not_counted()
        finals = {index.final_pipeline for index in record.indices or () if index.final_pipeline}
        self._others = {it.name for it in record.pipelines or () if it.count and it.name not in finals}
        named = set(record.track.pipelines)
        self._named = {name: pipeline.count for name, pipeline in self.ran.items() if name in named}
        self._by_name = sum(self._named.values())

    def _not_counted(self) -> dict[str, str]:
        """Return the pipelines that have no counters although they may have been applied, and why."""
        deleted, sent = (
            dict.fromkeys(self.record.track.documents.deletes_pipelines),
            self.record.track.pipeline_documents,
        )
        patterns = [it for it in deleted if "*" in it and len(it) <= _LONGEST_PATTERN][:_MOST_PATTERNS]
        found = {}
        for name in self.expected:
            pipeline = self.ran.get(name)
            is_short = pipeline is None or 0 < pipeline.count < sent.get(name, 0)
            if is_short and (name in deleted or any(fnmatchcase(name, pattern) for pattern in patterns)):
                found[name] = "a task deletes it, and its counters with it"
            elif pipeline and not pipeline.count and pipeline.work and not pipeline.work.processors:
                found[name] = "it has no processors, and Elasticsearch skips it"
        return found

    def another_ran(self, name: str) -> bool:
        """Tell whether a pipeline other than that one, and final for no index, has processed documents."""
        return len(self._others) > (name in self._others)

    def instead_of(self, name: str) -> int:
        """Return what the pipelines that requests name, without that one, have processed."""
        return self._by_name - self._named.get(name, 0)


def _violations(record: Record) -> Iterator[str]:
    known, lost = _Known(record), accepted_loss(record)
    ran = known.ran
    for name in record.track.pipelines:
        pipeline, expected = ran.get(name), record.track.pipeline_documents.get(name, 0)
        if name in known.not_counted:
            continue
        if pipeline is None or pipeline.count == 0:
            yield f"ingest pipeline {name} processed no document"
        elif pipeline.count < expected and not lost.explains(expected - pipeline.count):
            yield f"ingest pipeline {name} processed {pipeline.count} of {expected} documents"
    for name in known.expected:
        pipeline = ran.get(name)
        if pipeline is None or not pipeline.count:
            continue
        if pipeline.failed and not lost.explains(pipeline.failed):
            yield f"ingest pipeline {name} failed for {pipeline.failed} documents"
        elif _did_nothing(pipeline) and not comes_with_elasticsearch(name):
            yield (
                f"ingest pipeline {name} did nothing for its {pipeline.count} documents: "
                f"{_in_words(pipeline.work.told if pipeline.work else ())}"
            )
    for name, role, indices in known.of_indices:
        pipeline = ran.get(name)
        if (pipeline is None or not pipeline.count) and not _may_be_passed_by(known, name, role):
            yield (
                f"ingest pipeline {name}, {role} of index {_names(indices)}, processed none of the "
                f"{_indexed(indices)} documents indexed there"
            )


def _of_indices(record: Record) -> Iterator[tuple[str, str, list[IndexRecord]]]:
    """Yield each pipeline that live indices name, as what, and those of the indices into which was indexed."""
    held = {name for touch in (record.target.touches if record.target else ()) for name in touch.existing}
    for role in (_DEFAULT, _FINAL):
        found: dict[str, list[IndexRecord]] = {}
        for index in record.indices or ():
            name = index.default_pipeline if role == _DEFAULT else index.final_pipeline
            # The counters of what was there before the race are not those of the race.
            if name and index.indexed and index.name not in held:
                found.setdefault(name, []).append(index)
        yield from ((name, role, indices) for name, indices in found.items())


def _may_be_passed_by(known: _Known, name: str, role: str) -> bool:
    """Tell whether something explains that an index's own pipeline was not applied."""
    track = known.record.track
    if name in known.not_counted or track.documents.changes_settings:
        return True
    if role == _FINAL:
        return False
    return bool(track.pipelines or track.documents.without_pipeline or known.another_ran(name))


def _did_nothing(pipeline: Pipeline) -> bool:
    work = pipeline.work
    return work is not None and work.processors > 0 and work.done == 0


def _unverified(known: _Known) -> Iterator[RaceRemark]:
    for name, why in known.not_counted.items():
        text = f"what ingest pipeline {name} did could not be counted: {why}"
        yield RaceRemark(Reason.PIPELINE_NOT_VERIFIED, text)


def _bypassed(known: _Known) -> Iterator[RaceRemark]:
    ran = known.ran
    for name, role, indices in known.of_indices:
        if name in known.not_counted:
            continue
        done, there = ran[name].count if name in ran else 0, _indexed(indices)
        # What a request names as its pipeline takes the place of the default on purpose.
        instead = known.instead_of(name) if role == _DEFAULT else 0
        if done + instead < there:
            yield RaceRemark(
                Reason.PIPELINE_BYPASSED,
                f"ingest pipeline {name}, {role} of index {_names(indices)}, processed {done} of the {there} documents "
                f"indexed there: {_by_what(known.record, role)}",
            )


def _by_what(record: Record, role: str) -> str:
    plan = record.track.documents
    if plan.changes_settings:
        return f"task {plan.changes_settings[0]} changes settings of indices that hold documents"
    if role == _FINAL:
        return "the others were indexed while the index did not name it"
    if plan.without_pipeline:
        return f"task {plan.without_pipeline[0]} names _none as its pipeline"
    return "the others name another pipeline, or _none, in their action lines or requests"


def _partly(known: _Known) -> Iterator[RaceRemark]:
    named = set(known.record.track.pipelines)
    # Action lines and other pipelines name some that no task and no index does.
    for name in dict.fromkeys((*known.expected, *known.ran)):
        if comes_with_elasticsearch(name) and name not in named:
            continue  # a template of Elasticsearch's names it, or one of its pipelines, and nobody asked for it
        pipeline = known.ran.get(name)
        if pipeline and pipeline.count and pipeline.work and pipeline.work.told:
            text = f"ingest pipeline {name}, {pipeline.count} documents: {_in_words(pipeline.work.told)}"
            yield RaceRemark(Reason.PIPELINE_PARTLY_APPLIED, text)


def _in_words(processors: Iterable[ProcessorCount]) -> str:
    return some_clauses(map(_processor, processors), _SHOWN)


def _processor(it: ProcessorCount) -> str:
    which = f"processor {it.place} ({it.type})"
    if not it.count:
        return f"{which} never ran, for its `if` or for what comes before it"
    return f"{which} failed for {it.failed} of {it.count} documents, which is ignored or handled"


def _indexed(indices: Iterable[IndexRecord]) -> int:
    return sum(index.indexed or 0 for index in indices)


def _names(indices: list[IndexRecord]) -> str:
    return some_of((index.name for index in indices), _SHOWN)
