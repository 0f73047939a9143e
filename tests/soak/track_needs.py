"""What a track of others needs to be raced here: its files of documents, their mappings, and tasks left out.

Run with Rally's interpreter as `python -m tests.soak.track_needs REQUEST.json ANSWER.json`: it runs the track's code.
"""

from __future__ import annotations

import fnmatch
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairlap_race.track.child import answer_parent
from fairlap_race.track.load import Request, rally_config

Json = dict[str, Any]
LACKED = {
    '"script': "scripts",
    '"lang":': "scripts",
    '"runtime_mappings"': "runtime fields",
    '"auto_date_histogram"': "aggregations of a module",
    '"matrix_stats"': "aggregations of a module",
    '"time_series"': "aggregations of a module",
    '"multi_terms"': "aggregations of a module",
    '"top_metrics"': "aggregations of a module",
    '"percolate"': "percolator",
    '"pipeline":': "processors",
    "/_sql": "SQL",
    "/_query": "ES|QL",
    "/_eql": "EQL",
    "/_transform": "transforms",
    "/_ilm": "ILM",
    "/_ml": "machine learning",
    "/_inference": "inference",
}
"""What the Elasticsearch of tests/race lacks, by what a task's parameters have when it needs that."""
LACKED_TYPES = {
    "esql": "ES|QL",
    "sql": "SQL",
    "eql": "EQL",
    "knn-recall": "scripts",
    "put-pipeline": "processors",
    "reindex": "reindexing",
}


@dataclass(frozen=True)
class NeededFile:
    """One file of documents that Rally will read."""

    corpus: str = ""
    file: str = ""
    documents: int = 0
    by_line: bool = False
    """each document has a line of action and meta-data before it"""
    target: str = ""
    """index or data stream; with `by_line`, the one that the lines are to name"""
    mapping: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TrackNeeds:
    """The answer; with `error` set, the words of what went wrong."""

    error: str = ""
    challenge: str = ""
    challenges: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    files: tuple[NeededFile, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    """tasks by name with what the stand-in lacks for them"""
    tasks: int = 0


def needs(request: Request) -> TrackNeeds:
    """Return what the track of `request` needs; an error of the track is in the answer."""
    try:
        return _needs(request)
    except Exception as error:
        return TrackNeeds(error=f"{type(error).__name__}: {getattr(error, 'full_message', None) or error}")


def _needs(request: Request) -> TrackNeeds:
    from esrally.track import loader  # noqa: PLC0415

    path = Path(request.track_path)
    reader = loader.TrackFileReader(rally_config(request, request.params))
    reader.read(path.name, str(path / "track.json"), str(path))
    exposed = tuple(reader.complete_track_params.sorted_track_defined_params)
    params = {**request.params, **({"number_of_replicas": 0} if "number_of_replicas" in exposed else {})}
    track = loader.load_track(rally_config(request, params))
    challenge = track.find_challenge_or_default(request.challenge or "")
    leaves = [leaf for element in challenge.schedule for leaf in element]
    files = {file.file: file for file in _files(track)}
    left_out = {leaf.name: why for leaf in leaves if (why := _lacking(leaf))}
    names = tuple(each.name for each in track.challenges)
    return TrackNeeds("", challenge.name, names, exposed, tuple(files.values()), left_out, len(leaves))


def _lacking(leaf: Any) -> str:
    kind = str(leaf.operation.type)
    if "transform" in kind:
        return "transforms"
    text = json.dumps(leaf.operation.params, default=str)
    return LACKED_TYPES.get(kind) or next((why for mark, why in LACKED.items() if mark in text), "")


def _files(track: Any) -> Iterator[NeededFile]:
    for corpus in track.corpora:
        for documents in corpus.documents:
            if not documents.is_bulk:
                continue
            target = documents.target_data_stream or documents.target_index or ""
            target = target or (track.indices[0].name if track.indices else corpus.name)
            yield NeededFile(
                corpus.name, documents.document_file, documents.number_of_documents,
                bool(documents.includes_action_and_meta_data), target, _mapping(track, target),
            )  # fmt: skip


def _mapping(track: Any, target: str) -> Json:
    """Return the mapping of `target`: of its own body, else of the templates that it matches, parts first."""
    for index in track.indices:
        if index.name == target and isinstance(index.body, Mapping):
            return _typeless(index.body.get("mappings") or {})
    parts = {each.name: each.content for each in track.component_templates}
    for template in (*track.composable_templates, *track.templates):
        content = template.content
        patterns = content.get("index_patterns") or [template.pattern]
        if not any(fnmatch.fnmatch(target, pattern) for pattern in patterns):
            continue
        found: Json = {}
        for body in (*(parts.get(name, {}) for name in content.get("composed_of", [])), content):
            mappings = body.get("template", body).get("mappings") or {}
            found |= _typeless(mappings).get("properties", {})
        return {"properties": found}
    return {}


def _typeless(mappings: Json) -> Json:
    """Return mappings without the name of a type around them, which 6.x had."""
    if len(mappings) == 1 and "properties" in (only := next(iter(mappings.values()))) and "properties" not in mappings:
        return dict(only)
    return mappings


def main() -> None:
    """Read the request file, write the answer file."""
    logging.disable(logging.CRITICAL)
    answer_parent(Request, needs)


if __name__ == "__main__":
    main()
