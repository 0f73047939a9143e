"""Making a track ready to race: copies, generated corpora, digests, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fairlap.settings import BUILTIN_TRACKS
from fairlap_race.contract.reasons import Reason
from fairlap_race.errors import TrackError
from fairlap_race.track.prepare import GENERATOR, digest, generator_parameters, prepare

TRACKS = Path(__file__).parents[4] / "tracks"
INLINE = Path(__file__).parents[2] / "tracks" / "fixtures" / "inline"


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    """The inline track as Kubernetes mounts a ConfigMap: links to links, all of it read-only."""
    mount = tmp_path / "track"
    data = mount / "..2025_01_01_00_00_00.1"
    shutil.copytree(INLINE, data)
    (mount / "..data").symlink_to(data.name)
    for path in data.iterdir():
        path.chmod(0o444)
        (mount / path.name).symlink_to(Path("..data") / path.name)
    return mount


def test_configmap_becomes_a_writable_copy(mounted: Path, tmp_path: Path) -> None:
    ready = prepare(mounted, tmp_path / "work", {}, builtin=False)

    assert ready == tmp_path / "work" / "tracks" / "track"
    assert sorted(path.name for path in ready.iterdir()) == ["documents.json", "index.json", "track.json"]
    for path in ready.iterdir():
        assert not path.is_symlink()
        assert path.stat().st_mode & 0o200
        assert path.read_bytes() == (INLINE / path.name).read_bytes()


def test_builtin_corpus_is_generated_from_the_parameters(tmp_path: Path) -> None:
    ready = prepare(TRACKS / "log_ingest", tmp_path, {"documents": 40, "seed": "3"}, builtin=True)

    assert [(ready / f"documents-{part}.json").read_bytes().count(b"\n") for part in ("first", "rest")] == [8, 32]
    assert (ready / "track.json").is_file()
    assert not (ready / "generate.py").exists()


def test_the_operator_knows_every_track_that_ships() -> None:
    assert set(BUILTIN_TRACKS) == {path.parent.name for path in TRACKS.glob("*/track.json")}


@pytest.mark.parametrize(
    ("track", "parameters"),
    [
        ("log_ingest", ("seed", "documents")),
        ("page_cache", ("seed", "data_size_mb", "document_kb")),
        ("percolator", ("seed", "queries")),
    ],
)
def test_a_generator_names_its_parameters(track: str, parameters: tuple[str, ...]) -> None:
    assert generator_parameters(TRACKS / track / GENERATOR) == parameters


def test_a_generator_without_parameters(tmp_path: Path) -> None:
    (tmp_path / GENERATOR).write_text("print('no PARAMETERS = here')\n")

    assert generator_parameters(tmp_path / GENERATOR) == ()


def test_a_parameter_of_another_track_is_not_the_generators(tmp_path: Path) -> None:
    ready = prepare(TRACKS / "percolator", tmp_path, {"queries": 150, "documents": 7, "bulk_size": 3}, builtin=True)

    assert (ready / "queries-rest.json").read_bytes().count(b"\n") == 120
    assert (ready / "track.py").is_file()


def test_code_of_a_user_is_not_run(tmp_path: Path) -> None:
    track = tmp_path / "mine"
    track.mkdir()
    (track / "track.json").write_text("{}")
    (track / "generate.py").write_text("raise SystemExit('ran')")

    ready = prepare(track, tmp_path / "work", {"documents": 40}, builtin=False)

    assert sorted(path.name for path in ready.iterdir()) == ["generate.py", "track.json"]


def test_digest_is_that_of_names_and_contents(tmp_path: Path) -> None:
    first = prepare(TRACKS / "log_ingest", tmp_path / "a", {"documents": 40}, builtin=True)
    second = prepare(TRACKS / "log_ingest", tmp_path / "b", {"documents": 40}, builtin=True)
    other_seed = prepare(TRACKS / "log_ingest", tmp_path / "c", {"documents": 40, "seed": 1}, builtin=True)

    before = digest(first)
    assert before.startswith("sha256:")
    assert len(before) == 71
    assert before == digest(second) != digest(other_seed)
    (second / "index.json").rename(second / "renamed.json")
    assert digest(second) != before


def test_preparing_again_leaves_nothing_of_before(tmp_path: Path) -> None:
    first = prepare(INLINE, tmp_path, {}, builtin=False)
    (first / "documents.json.offset").write_text("1;2")

    again = prepare(INLINE, tmp_path, {}, builtin=False)

    assert not (again / "documents.json.offset").exists()


def test_large_files_are_linked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlap_race.track.prepare.LINK_BYTES", 1000)

    ready = prepare(INLINE, tmp_path, {}, builtin=False)

    assert (ready / "documents.json").is_symlink()
    assert (ready / "documents.json").read_bytes() == (INLINE / "documents.json").read_bytes()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"documents": "many"}, "params.documents: must be a whole number of at least 0, not 'many'"),
        ({"documents": -1}, "params.documents: must be a whole number of at least 0, not -1"),
        ({"seed": 1.5}, "params.seed: must be a whole number of at least 0, not 1.5"),
        ({"documents": True}, "params.documents: must be a whole number of at least 0, not True"),
        ({"documents": 3}, "the generator of log_ingest failed: documents: at least 5 are needed, not 3"),
    ],
)
def test_bad_generator_parameters(tmp_path: Path, params: dict[str, object], message: str) -> None:
    with pytest.raises(TrackError) as caught:
        prepare(TRACKS / "log_ingest", tmp_path, params, builtin=True)

    assert caught.value.reason is Reason.TRACK_INVALID
    assert caught.value.message == message


def test_unknown_builtin_track_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(TrackError) as caught:
        prepare(TRACKS / "log_injest", tmp_path, {}, builtin=True)

    assert caught.value.reason is Reason.UNKNOWN_TRACK
    assert "'log_injest'" in caught.value.message
    assert "log_ingest" in caught.value.message.partition("there are:")[2]


def test_configmap_without_track_json(tmp_path: Path) -> None:
    (tmp_path / "track").mkdir()
    (tmp_path / "track" / "index.json").write_text("{}")

    with pytest.raises(TrackError) as caught:
        prepare(tmp_path / "track", tmp_path / "work", {}, builtin=False)

    assert caught.value.reason is Reason.TRACK_NOT_FOUND
    assert caught.value.message == "track.json is missing; the track has: index.json"


def test_missing_directory(tmp_path: Path) -> None:
    with pytest.raises(TrackError) as caught:
        prepare(tmp_path / "none", tmp_path / "work", {}, builtin=False)

    assert caught.value.reason is Reason.TRACK_NOT_FOUND
