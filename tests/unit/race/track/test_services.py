"""A track that may use a service of Elasticsearch is told from one that does not."""

from pathlib import Path

import pytest

from fairlap_race.contract.recorded.track_record import SERVICES
from fairlap_race.track import services
from fairlap_race.track.services import services_used

TRACKS = Path(__file__).parents[4] / "tracks"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("track.json", '{"description": "HTML of templates, xml, geonames"}', ()),
        ("pipeline.json", '{"processors": [{"geoip": {"field": "ip"}}]}', ("geoip",)),
        ("track.py", 'await es.perform_request("PUT", "/_ml/anomaly_detectors/x")', ("ml",)),
        ("index.json", '{"mappings": {"properties": {"a": {"type": "semantic_text"}}}}', ("ml",)),
        ("x.j2", '{"operation-type": "raw-request", "path": "/_watcher/watch/x"}', ("watcher",)),
        ("README.md", "geoip and watcher", ()),
        ("requests.ndjson", '{"path": "/a/_search", "body": {"query": {"text_expansion": {}}}}', ("ml",)),
        ("all.json", "GeoIP Watcher ELSER", SERVICES),
    ],
)
def test_words(tmp_path: Path, name: str, text: str, expected: tuple[str, ...]) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / name).write_text(text)
    assert services_used(tmp_path) == expected


def test_what_a_repository_shares_counts(tmp_path: Path) -> None:
    (tmp_path / "track").mkdir()
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/pipelines.json").write_text("geoip")
    assert services_used(tmp_path / "track") == () and services_used(tmp_path) == ("geoip",)


def test_too_much_to_tell_is_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text("x")
    (tmp_path / "b.json").write_text("x")
    monkeypatch.setattr(services, "_MOST_FILES", 1)
    assert services_used(tmp_path) == SERVICES
    monkeypatch.setattr(services, "_LARGEST_FILE", 0)
    assert services_used(tmp_path) == (), "documents are not read"
    (tmp_path / "requests.ndjson").write_text("/a")
    assert services_used(tmp_path) == SERVICES, "requests are what may use them"


def test_the_builtin_tracks_use_none() -> None:
    """They are raced without a check, so nobody looks."""
    for track in sorted(path.parent for path in TRACKS.glob("*/track.json")):
        assert services_used(track) == (), track
