"""Whether the ingest pipelines of a race did their work: those that its bulks name, and those of the live indices.

Elasticsearch counts for each pipeline, and for each processor of its first level; nothing for a pipeline without
processors, which it skips.
"""

from collections.abc import Iterable, Iterator, Mapping

from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.verdict.violation import Violation
from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.failed_bulks import accepted_loss
from fairlap_race.contract.ingest_record import ProcessorCount
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.record import IndexRecord, Pipeline, Record

_SHOWN = 5
_DEFAULT, _FINAL = "default_pipeline", "final_pipeline"


def violation(record: Record, _: BenchmarkSpec) -> Violation | None:
    """Return the first pipeline that was to be applied and was not."""
    found = next(_violations(record), None)
    return Violation(Reason.PIPELINE_NOT_APPLIED, found) if found else None


def remarks(record: Record) -> list[RaceRemark]:
    """Return what a reader must know of the pipelines of a race that ran to its end."""
    if record.outcome.reason or record.pipelines is None:
        return []
    return [*_unverified(record), *_bypassed(record), *_partly(record)]


def _violations(record: Record) -> Iterator[str]:
    ran, lost = _ran(record), accepted_loss(record)
    for name in record.track.pipelines:
        pipeline, expected = ran.get(name), record.track.pipeline_documents.get(name, 0)
        if name in _not_counted(record):
            continue
        if pipeline is None or pipeline.count == 0:
            yield f"ingest pipeline {name} processed no document"
        elif pipeline.count < expected and not lost.explains(expected - pipeline.count):
            yield f"ingest pipeline {name} processed {pipeline.count} of {expected} documents"
    for name in _expected(record):
        pipeline = ran.get(name)
        if pipeline is None or not pipeline.count:
            continue
        if pipeline.failed and not lost.explains(pipeline.failed):
            yield f"ingest pipeline {name} failed for {pipeline.failed} documents"
        elif _did_nothing(pipeline) and not _of_elasticsearch(name):
            yield (
                f"ingest pipeline {name} did nothing for its {pipeline.count} documents: "
                f"{_in_words(pipeline.work.told if pipeline.work else ())}"
            )
    for name, role, indices in _of_indices(record):
        pipeline = ran.get(name)
        if (pipeline is None or not pipeline.count) and not _may_be_passed_by(record, name, role):
            yield (
                f"ingest pipeline {name}, {role} of index {_names(indices)}, processed none of the "
                f"{_indexed(indices)} documents indexed there"
            )


def _ran(record: Record) -> Mapping[str, Pipeline]:
    return {pipeline.name: pipeline for pipeline in record.pipelines or ()}


def _expected(record: Record) -> list[str]:
    return list(dict.fromkeys((*record.track.pipelines, *(name for name, _, _ in _of_indices(record)))))


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


def _not_counted(record: Record) -> dict[str, str]:
    """Return the pipelines that have no counters although they may have been applied, and why."""
    deleted = set(record.track.documents.deletes_pipelines)
    found = {}
    for name in _expected(record):
        pipeline = _ran(record).get(name)
        if pipeline is None and name in deleted:
            found[name] = "a task deletes it, and its counters with it"
        elif pipeline and not pipeline.count and pipeline.work and not pipeline.work.processors:
            found[name] = "it has no processors, and Elasticsearch skips it"
    return found


def _may_be_passed_by(record: Record, name: str, role: str) -> bool:
    """Tell whether something explains that an index's own pipeline was not applied."""
    track = record.track
    if name in _not_counted(record) or track.documents.changes_settings:
        return True
    if role == _FINAL:
        return False
    others = any(it.count for it in record.pipelines or () if it.name != name and it.name not in _finals(record))
    return bool(track.pipelines or track.documents.without_pipeline or others)


def _finals(record: Record) -> set[str]:
    return {index.final_pipeline for index in record.indices or () if index.final_pipeline}


def _did_nothing(pipeline: Pipeline) -> bool:
    work = pipeline.work
    return work is not None and work.processors > 0 and work.done == 0


def _of_elasticsearch(name: str) -> bool:
    """Tell whether a pipeline is one that Elasticsearch brings for its own templates, such as logs@default-pipeline."""
    return "@" in name or name.startswith(".")


def _unverified(record: Record) -> Iterator[RaceRemark]:
    for name, why in _not_counted(record).items():
        text = f"what ingest pipeline {name} did could not be counted: {why}"
        yield RaceRemark(Reason.PIPELINE_NOT_VERIFIED, text)


def _bypassed(record: Record) -> Iterator[RaceRemark]:
    ran, named = _ran(record), set(record.track.pipelines)
    for name, role, indices in _of_indices(record):
        if name in _not_counted(record):
            continue
        done, there = ran[name].count if name in ran else 0, _indexed(indices)
        # What a request names as its pipeline takes the place of the default on purpose.
        instead = sum(it.count for it in ran.values() if it.name in named - {name}) if role == _DEFAULT else 0
        if done + instead < there:
            yield RaceRemark(
                Reason.PIPELINE_BYPASSED,
                f"ingest pipeline {name}, {role} of index {_names(indices)}, processed {done} of the {there} documents "
                f"indexed there: {_by_what(record, role)}",
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


def _partly(record: Record) -> Iterator[RaceRemark]:
    for name in _expected(record):
        pipeline = _ran(record).get(name)
        if pipeline and pipeline.count and pipeline.work and pipeline.work.told:
            text = f"ingest pipeline {name}, {pipeline.count} documents: {_in_words(pipeline.work.told)}"
            yield RaceRemark(Reason.PIPELINE_PARTLY_APPLIED, text)


def _in_words(processors: Iterable[ProcessorCount]) -> str:
    listed = [*processors]
    more = f"; and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return "; ".join(_processor(it) for it in listed[:_SHOWN]) + more


def _processor(it: ProcessorCount) -> str:
    which = f"processor {it.place} ({it.type})"
    if not it.count:
        return f"{which} never ran, for its `if` or for what comes before it"
    return f"{which} failed for {it.failed} of {it.count} documents, which is ignored or handled"


def _indexed(indices: Iterable[IndexRecord]) -> int:
    return sum(index.indexed or 0 for index in indices)


def _names(indices: list[IndexRecord]) -> str:
    more = f" and {len(indices) - _SHOWN} more" if len(indices) > _SHOWN else ""
    return ", ".join(index.name for index in indices[:_SHOWN]) + more
