"""Which indices stand behind a name."""

import pytest

from fairlap_race.elasticsearch import evidence
from fairlap_race.elasticsearch.behind_names import NOTHING_BEHIND, pipeline_named, read_names

BACKING, FAILED = ".ds-logs-2026.01.01-000001", ".fs-logs-2026.01.01-000001"


def test_aliases_streams_and_failure_stores() -> None:
    aliases = {"t": {"aliases": {"b": {}, "a": {"filter": {}}}}, "u": {"aliases": {}}}
    streams = {
        "data_streams": [
            {"name": "logs", "indices": [{"index_name": BACKING}, {"index_name": "shrunk"}],
             "failure_store": {"enabled": True, "indices": [{"index_name": "failed"}]}},
            {"name": "old", "indices": [], "failure_indices": [{"index_name": "failed-too"}]},
        ]
    }  # fmt: skip
    found = read_names(aliases, streams, ["t", "u", FAILED])
    assert found.aliases == {"t": ("a", "b"), "u": ()}
    assert found.streams == {BACKING: "logs", "shrunk": "logs"}
    assert found.failures == {FAILED: "logs", "failed": "logs", "failed-too": "old"}


def test_what_could_not_be_asked_is_empty() -> None:
    assert read_names(None, None, ["t"]) == NOTHING_BEHIND


@pytest.mark.parametrize(("setting", "pipeline"), [("p", "p"), ("_none", None), ("", None), (None, None)])
def test_the_pipelines_of_an_index(setting: str | None, pipeline: str | None) -> None:
    assert pipeline_named(setting) == pipeline
    settings = {"t": {"settings": {"index.default_pipeline": setting, "index.final_pipeline": setting}}}
    stats = {"indices": {"t": {"primaries": {"indexing": {"index_total": 7}}}}}
    found = evidence.read_index("t", settings, {}, {}, stats, 5)
    assert (found.default_pipeline, found.final_pipeline, found.indexed) == (pipeline, pipeline, 7)
