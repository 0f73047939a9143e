"""How many documents Rally's own loader makes of a schedule: what ends a bulk early, and what only seems to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from fairlap_race.contract.specification.document_plan import UncountedTask, WhyUncounted
from fairlap_race.track.load import Request, TrackDescription, describe

Json = dict[str, Any]
CREATE: Json = {"operation": {"operation-type": "create-index", "name": "create"}}
INDEX: Json = {"operation-type": "bulk", "name": "index", "bulk-size": 100}
BULK: Json = {"name": "bulk", "operation": INDEX}
SEARCH: Json = {"name": "search", "operation": {"operation-type": "search", "index": "t", "body": {}}, "time-period": 5}


def described(folder: Path, *schedule: Json, **source: Any) -> TrackDescription:
    (folder / "documents.json").write_text('{"n": 1}\n' * 1000)
    (folder / "index.json").write_text("{}")
    corpus = {"source-file": "documents.json", "document-count": 1000, "uncompressed-bytes": 9000, **source}
    track = {
        "version": 2, "description": "a small track", "indices": [{"name": "t", "body": "index.json"}],
        "corpora": [{"name": "c", "documents": [corpus]}], "schedule": list(schedule),
    }  # fmt: skip
    (folder / "track.json").write_text(json.dumps(track))
    found = describe(Request(track_path=str(folder), data_cache=str(folder / "cache")))
    assert found.error is None, found.error
    return found


def parallel(completed_by: str, *tasks: Json, **more: Any) -> Json:
    return {"parallel": {"completed-by": completed_by, "tasks": list(tasks), **more}}


@pytest.mark.parametrize(
    ("schedule", "exact", "why"),
    [
        ([CREATE, BULK], True, None),
        ([CREATE, {**BULK, "clients": 8}, SEARCH], True, None),
        ([CREATE, {"parallel": {"tasks": [BULK, SEARCH]}}], True, None),
        # The task that completed-by names runs to its own end, with all its clients.
        ([CREATE, parallel("bulk", {**BULK, "clients": 4}, SEARCH)], True, None),
        ([CREATE, parallel("search", BULK, SEARCH)], False, WhyUncounted.ENDED_BY_OTHER),
        ([CREATE, parallel("any", BULK, SEARCH)], False, WhyUncounted.ENDED_BY_OTHER),
        ([CREATE, parallel("any", BULK)], True, None),
        ([CREATE, parallel("any", {**BULK, "clients": 2})], False, WhyUncounted.ENDED_BY_OTHER),
        ([CREATE, {**BULK, "iterations": 3}], False, WhyUncounted.ENDED_BY_TIME),
        ([CREATE, {**BULK, "time-period": 3}], False, WhyUncounted.ENDED_BY_TIME),
        ([CREATE, {**BULK, "operation": {**INDEX, "ingest-percentage": 50}}], False, WhyUncounted.PART_OF_CORPUS),
        ([CREATE, {**BULK, "operation": {**INDEX, "looped": True}}], False, WhyUncounted.BEGINS_AGAIN),
        ([CREATE, {**BULK, "operation": {**INDEX, "conflicts": "random"}}], False, WhyUncounted.ID_CONFLICTS),
    ],
)
def test_what_ends_a_bulk_early(tmp_path: Path, schedule: list[Json], exact: bool, why: WhyUncounted | None) -> None:
    found = described(tmp_path, *schedule)
    assert found.expected_documents == ({"t": 1000} if exact else {})
    bound = None if why is WhyUncounted.BEGINS_AGAIN else 1000
    assert found.documents.uncounted == (() if why is None else (UncountedTask("bulk", "t", why, bound),))


def test_where_documents_go(tmp_path: Path) -> None:
    assert described(tmp_path, CREATE, BULK, **{"target-index": "alias"}).expected_documents == {"alias": 1000}
    found = described(tmp_path, CREATE, BULK, **{"includes-action-and-meta-data": True})
    assert found.documents.uncounted == (UncountedTask("bulk", "", WhyUncounted.ACTION_LINES, 1000),)


def test_what_only_a_parameter_source_knows_may_write(tmp_path: Path) -> None:
    own = {"name": "own", "operation": {"operation-type": "raw-request", "name": "o", "param-source": "mine"}}
    found = described(tmp_path, CREATE, BULK, own)
    assert found.expected_documents == {"t": 1000}
    assert found.documents.uncounted == (UncountedTask("own", "", WhyUncounted.OTHER_WRITES),)


def test_what_a_schedule_deletes(tmp_path: Path) -> None:
    delete = {"name": "drop-it", "operation": {"operation-type": "delete-index", "name": "d"}}
    clean = {"name": "clean", "operation": {"operation-type": "delete-index", "name": "c"}}
    assert described(tmp_path, clean, CREATE, BULK).expected_documents == {"t": 1000}
    found = described(tmp_path, clean, CREATE, BULK, delete)
    assert found.expected_documents == {} and found.documents.is_exact
    assert found.documents.uncounted == (UncountedTask("drop-it", "t", WhyUncounted.DELETED, 1000),)


def test_a_deletion_without_a_name_is_of_the_tracks_own_alone(tmp_path: Path) -> None:
    """Another index, made by the bulk itself, keeps its documents."""
    drop = {"name": "drop-it", "operation": {"operation-type": "delete-index", "name": "d"}}
    found = described(tmp_path, CREATE, BULK, drop, **{"target-index": "other"})
    assert found.expected_documents == {"other": 1000} and found.documents.uncounted == ()


@pytest.mark.parametrize(
    ("kind", "templates", "more", "gone"),
    [
        ("delete-index-template", "templates", {}, True),
        ("delete-composable-template", "composable-templates", {}, True),
        ("delete-composable-template", "composable-templates", {"delete-matching-indices": False}, False),
    ],
)
def test_templates_of_the_track_say_what_is_deleted_with_them(
    tmp_path: Path, kind: str, templates: str, more: Json, gone: bool
) -> None:
    (tmp_path / "template.json").write_text('{"index_patterns": ["t*"]}')
    drop = {"name": "drop-it", "operation": {"operation-type": kind, "name": "d"}}
    template = {"name": "w", "index-pattern": "t*", "template": "template.json", **more}
    (tmp_path / "documents.json").write_text('{"n": 1}\n' * 1000)
    source = {"source-file": "documents.json", "document-count": 1000, "uncompressed-bytes": 9000, "target-index": "t"}
    track = {
        "version": 2, "description": "a small track", templates: [template],
        "corpora": [{"name": "c", "documents": [source]}], "schedule": [drop | {"name": "first"}, BULK, drop],
    }  # fmt: skip
    (tmp_path / "track.json").write_text(json.dumps(track))
    found = describe(Request(track_path=str(tmp_path), data_cache=str(tmp_path / "cache")))
    assert found.error is None, found.error
    assert found.expected_documents == ({} if gone else {"t": 1000})
    deleted = (UncountedTask("drop-it", "t", WhyUncounted.DELETED, 1000),)
    assert found.documents.uncounted == (deleted if gone else ())
    assert found.documents.deletes_indices == (("drop-it",) if gone else ())


def test_a_deletion_of_data_streams_without_a_name_is_of_the_tracks_own_alone(tmp_path: Path) -> None:
    drop = {"name": "drop-it", "operation": {"operation-type": "delete-data-stream", "name": "d"}}
    (tmp_path / "documents.json").write_text('{"n": 1}\n' * 1000)
    source = {"source-file": "documents.json", "document-count": 1000, "uncompressed-bytes": 9000}
    for stream, gone in (("own", True), ("other", False)):
        corpus = {"name": "c", "documents": [{**source, "target-data-stream": stream}]}
        track = {
            "version": 2, "description": "a small track", "data-streams": [{"name": "own"}], "corpora": [corpus],
            "schedule": [BULK, drop],
        }  # fmt: skip
        (tmp_path / "track.json").write_text(json.dumps(track))
        found = describe(Request(track_path=str(tmp_path), data_cache=str(tmp_path / "cache")))
        assert found.error is None, found.error
        assert found.expected_documents == ({} if gone else {stream: 1000})
        deleted = (UncountedTask("drop-it", stream, WhyUncounted.DELETED, 1000),)
        assert found.documents.uncounted == (deleted if gone else ())


def test_pipelines_of_a_schedule(tmp_path: Path) -> None:
    def through(pipeline: str, **task: Any) -> Json:
        return {**BULK, "name": f"bulk-{pipeline}", "operation": {**INDEX, "pipeline": pipeline}, **task}

    found = described(tmp_path, CREATE, through("p"), through("_none"), through("q", iterations=1))
    assert found.pipelines == ("p", "q") and found.pipeline_documents == {"p": 1000}
    assert found.documents.without_pipeline == ("bulk-_none",)


def test_tasks_of_a_parallel_element_are_told_as_such(tmp_path: Path) -> None:
    """Which of them run beside each other decides which client sends what."""
    second = {**SEARCH, "name": "second"}
    found = described(
        tmp_path, CREATE, parallel("bulk", {**BULK, "clients": 4}, SEARCH), {"parallel": {"tasks": [second]}}
    )
    told = [(task.name, task.clients, task.parallel) for task in found.tasks]
    assert told == [("create", 1, None), ("bulk", 4, 1), ("search", 1, 1), ("second", 1, 2)]
