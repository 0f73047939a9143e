"""Reads from Rally's track object what the rules of `lint` look at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from esrally.track import params as parameters
from esrally.track import track as model

from fairlap_race.rally import releases
from fairlap_race.track.check.lint import TaskFacts, TrackFacts


def track_facts(track: Any, challenge: Any, added: set[str], words: Mapping[str, int]) -> TrackFacts:
    """Return the facts of one challenge; `added` are the operation types of the track's own code."""
    templates = (track.templates, track.composable_templates, track.component_templates, track.data_streams)
    tasks = (_task(track, element, leaf, added) for element in challenge.schedule for leaf in element)
    return TrackFacts(tuple(tasks), tuple(index.name for index in track.indices), any(templates), words=words)


def _task(track: Any, element: Any, leaf: Any, added: set[str]) -> TaskFacts:
    operation = leaf.operation
    kind = str(operation.type)
    custom = bool(operation.param_source) or kind in added or not _known(kind)
    # The older release of Rally knows nothing of "any".
    ends = [other for other in element if other.completes_parent or getattr(other, "any_completes_parent", False)]
    data = _bulk(track, operation) if kind == "bulk" and not custom else _Data()
    return TaskFacts(
        name=leaf.name,
        kind=kind,
        operation=operation.name,
        params=operation.params,
        clients=leaf.clients,
        warmup_time_period=leaf.warmup_time_period,
        time_period=leaf.time_period,
        warmup_iterations=leaf.warmup_iterations,
        iterations=leaf.iterations,
        custom=custom,
        ended_by_other=bool(ends) and ends != [leaf],
        documents=data.documents,
        in_files=data.in_files,
        size=data.size,
        targets=data.targets,
        errors_ignored=leaf.params.get("ignore-response-error-level") == "non-fatal",
    )


def _known(kind: str) -> bool:
    try:
        model.OperationType.from_hyphenated_string(kind)
    except KeyError:
        return False
    return True


@dataclass(frozen=True)
class _Data:
    """What a bulk task indexes, as far as the track says."""

    documents: int | None = None
    in_files: tuple[int, ...] = ()
    size: float | None = None
    targets: tuple[str, ...] = ()


def _bulk(track: Any, operation: Any) -> _Data:
    try:
        source = parameters.BulkIndexParamSource(track, dict(operation.params))
        sets = [each for corpus in source.corpora for each in corpus.documents]
        there = sum(each.number_of_documents for each in sets)
        documents = int(there * source.ingest_percentage / 100)
    except Exception:  # what is wrong with it is said by task_errors and corpus_errors
        return _Data()
    limit = releases.documents_wanted(source)
    if limit is not None:
        documents = limit
    sizes = [each.uncompressed_size_in_bytes for each in sets]
    size = sum(sizes) * documents / there if there and all(sizes) else None
    taken = documents / there if there else 0
    in_files = tuple(math.ceil(each.number_of_documents * taken) for each in sets)
    return _Data(
        documents, in_files, size, tuple(dict.fromkeys(each.target_index for each in sets if each.target_index))
    )
