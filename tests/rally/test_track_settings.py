"""Index settings in tracks as Rally loads them, by the ways in which Elastic's tracks take them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.specification.race_spec import parse_spec
from fairlap_race.track.check.step import check

PLAIN = "{{ index_settings | default({}) | tojson }}"
# As nyc_taxis, esql and joins have it: what the user gives replaces what the track has.
REPLACING = """{%- if index_settings is defined %} {{ index_settings | tojson }} {%- else %}
  {"index.codec": "default", "index.refresh_interval": "30s"} {%- endif %}"""
TRACK = """{"version": 2, "description": "d", "indices": [{"name": "a", "body": "index.json"}],
 "corpora": [{"name": "a", "documents": [{"source-file": "documents.json", "document-count": 2, "target-index": "a"}]}],
 "schedule": [{"operation": {"operation-type": "create-index"SETTINGS}},
              {"operation": {"operation-type": "bulk", "bulk-size": 1}, "name": "bulk"}]}"""


def rendered(work: Path, index: dict[str, Any], settings: str = "", body: str = "{}", **params: Any) -> TrackRecord:
    track = work / "mine"
    track.mkdir()
    operation = f', "settings": {settings}' if settings else ""
    (track / "track.json").write_text(TRACK.replace("SETTINGS", operation))
    (track / "index.json").write_text(f'{{"settings": {body}, "mappings": {{}}}}')
    (track / "documents.json").write_text('{"n": 1}\n{"n": 2}\n')
    spec = {"format": 1, "mode": "check", "namespace": "n", "record": "r", "raceId": "race"}
    told = {**spec, "track": {"path": str(track)}, "index": index, "params": params}
    record = check(parse_spec(json.dumps(told)), work / "work")
    assert record.outcome.reason is None, record.outcome.message
    return record.track


def test_a_track_that_takes_nothing(tmp_path: Path) -> None:
    track = rendered(tmp_path, {"codec": "best_compression", "shards": 2})
    assert track.params == {}
    assert track.passed_as == {"index.number_of_shards": "", "index.codec": ""}


def test_index_settings(tmp_path: Path) -> None:
    body = '{"index.number_of_shards": {{ number_of_shards | default(1) }}}'
    index = {"codec": "best_compression", "shards": 2, "settings": {"refresh_interval": "5s"}}
    track = rendered(tmp_path, index, PLAIN, body)
    assert track.params["number_of_shards"] == 2
    assert track.params["index_settings"] == {"index.codec": "best_compression", "index.refresh_interval": "5s"}
    assert track.passed_as["index.codec"] == "index_settings"


def test_what_the_track_has_instead_of_index_settings_is_kept(tmp_path: Path) -> None:
    track = rendered(tmp_path, {"codec": "best_compression"}, REPLACING)
    assert track.params["index_settings"] == {"index.codec": "best_compression", "index.refresh_interval": "30s"}


def test_the_users_index_settings_replace_it_as_ever(tmp_path: Path) -> None:
    users = {"index.refresh_interval": "1s"}
    track = rendered(tmp_path, {"codec": "best_compression"}, REPLACING, index_settings=users)
    assert track.params["index_settings"] == {"index.codec": "best_compression", "index.refresh_interval": "1s"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"codec": "default"}', {"codec": "best_compression"}),
        ('{"index": {"codec": "default", "refresh_interval": "5s"}}',
         {"index": {"codec": "best_compression", "refresh_interval": "5s"}}),
    ],
)  # fmt: skip
def test_the_spelling_of_the_body_is_kept(tmp_path: Path, body: str, expected: dict[str, Any]) -> None:
    assert rendered(tmp_path, {"codec": "best_compression"}, PLAIN, body).params["index_settings"] == expected
