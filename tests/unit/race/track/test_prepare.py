"""Making a track ready to race: copies, generated corpora, digests, and what is refused."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from fairlap.settings import BUILTIN_TRACKS
from fairlap_race.contract.reasons import Reason
from fairlap_race.errors import StoppedError, TrackError
from fairlap_race.track.prepare import GENERATOR, beside, digest, generate, generator_parameters, prepare

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


def make_volume(folder: Path, files: Mapping[str, str]) -> Path:
    """Write the files; a text that begins with "-> " makes a link to what follows."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.symlink_to(text.removeprefix("-> "))
        else:
            path.write_text(text)
    return folder


def names_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


TRACK_PY = "from shared import parameter_sources, x\nimport json, tools.csv\n"
MANY: Mapping[str, str] = {
    "elastic/logs/track.json": '{"parts": "../parts/*.json"}',
    "elastic/logs/track.py": TRACK_PY,
    "elastic/logs/docs": "-> ../../common",
    "elastic/json/README.md": "has the name of a module by chance",
    "elastic/shared/parameter_sources/__init__.py": "import more.deep",
    "elastic/shared/data.json": "{}",
    "elastic/more/deep.py": "from logs import track",
    "elastic/tools.py": "",
    "elastic/parts/a.json": "{}",
    "elastic/security/track.json": "{}",
    "common/docs.json": "{}\n",
}
"""a clone of a repository with several tracks"""


@pytest.mark.parametrize(
    ("path", "files", "expected"),
    [
        ("elastic/logs", MANY, ["logs/docs/docs.json", "logs/track.json", "logs/track.py", "more/deep.py",
            "parts/a.json", "shared/data.json", "shared/parameter_sources/__init__.py", "tools.py"]),
        ("a", {"a/track.json": "{}", "a/track.py": "import yaml.nodes, json, pytest", "yaml/nodes/__init__.py": "",
            "json/tools/x.py": "", "pytest/__init__.py": ""},
            ["a/track.json", "a/track.py", "pytest/__init__.py"]),
        ("a", {"a/track.json": "{}", "a/challenges/x.json": '"../common/*.json", "../../far/x.json", "../../../a/b"',
            "a/challenges/track.py": "join(here, '../common/y'), join(track, '../near/y')", "a/common/s.json": "{}",
            "common/s.json": "{}", "far/x.json": "{}", "near/y": "", "b": ""},
            ["a/challenges/track.py", "a/challenges/x.json", "a/common/s.json", "a/track.json", "far/x.json",
            "near/y"]),
        ("a", {"a/track.json": '{"parts": ["../b/*"]}', "a/docs.json": "GET /../images/x b../images/x ../../images/",
            "images/x": "", "b/c/x.json": "(../../d/x.json", "d/x.py": 'f"{here}/../e/x"', "e/x": ""},
            ["a/docs.json", "a/track.json", "b/c/x.json", "d/x.py", "e/x"]),
        ("", {"track.json": "{}", "track.py": "import common", "common/x.py": ""},
            ["volume/common/x.py", "volume/track.json", "volume/track.py"]),
        ("a", {"a/track.json": "{}", "a/b.json": "-> ../c.json", "c.json": "{}"}, ["a/b.json", "a/track.json"]),
        ("a", {"a/track.json": "{}", "a/track.py": "from (", "a/gone.json": "-> nowhere", "a/me": "-> me"},
            ["a/track.json", "a/track.py"]),
        ("", {"track.json": "{}", "lost+found/x": "", ".snapshot/1/track.json": "", ".git/x": "", "__pycache__/x": ""},
            ["volume/track.json"]),
    ],
    ids=["linked folders and what is beside", "not beside installed packages", "from where it is named",
        "no words of documents", "whole volume", "linked file", "what leads nowhere", "not the track's"],
)  # fmt: skip
def test_of_a_volume_there_is_what_a_clone_has(
    tmp_path: Path, path: str, files: Mapping[str, str], expected: list[str]
) -> None:
    volume = make_volume(tmp_path / "volume", files)
    prepare(volume / path, tmp_path / "work", {}, builtin=False, volume=volume)
    assert names_of(tmp_path / "work" / "tracks") == expected
    prepare(volume / path, tmp_path / "work", {}, builtin=False, volume=volume)
    assert names_of(tmp_path / "work" / "tracks") == expected, "the same when it is prepared again"


@pytest.mark.parametrize(
    ("path", "files", "message"),
    [
        ("a", {"a/docs": "-> ../../outside"}, "docs is a link that leads out of the volume"),
        ("a", {"a/docs/x.json": "-> /outside/x.json"}, "docs/x.json is a link that leads out of the volume"),
        ("b", {"b": "-> ../outside"}, "b is a link that leads out of the volume"),
        ("a", {"a/track.py": "# ../s", "s": "-> ../outside"}, "../s is a link that leads out of the volume"),
        ("a", {"a/x/me": "-> ../../a"}, "x/me is a link to a folder that it is in"),
        ("a", {"a/x/y": "-> ../z", "a/z/x": "-> ../x"}, "x/y/x is a link to a folder that it is in"),
    ],
)
def test_a_link_of_a_volume_that_cannot_be_followed_is_named(
    tmp_path: Path, path: str, files: Mapping[str, str], message: str
) -> None:
    make_volume(tmp_path / "outside", {"track.json": "{}", "x.json": "{}"})
    volume = make_volume(tmp_path / "volume", {"a/track.json": "{}", **files})
    with pytest.raises(TrackError) as caught:
        prepare(volume / path, tmp_path / "work", {}, builtin=False, volume=volume)
    assert caught.value.reason is Reason.TRACK_INVALID
    assert caught.value.message.startswith(f"{message}: ")


def test_beside_a_track_whose_parent_cannot_be_listed_is_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume, listed = make_volume(tmp_path / "volume", MANY), Path.iterdir

    def refuse(path: Path) -> Iterator[Path]:
        if path == volume / "elastic":
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", refuse)
    prepare(volume / "elastic/logs", tmp_path / "work", {}, builtin=False, volume=volume)
    assert names_of(tmp_path / "work" / "tracks") == ["logs/docs/docs.json", "logs/track.json", "logs/track.py"]


def test_what_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, _: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("fairlap_race.track.prepare.shutil.copyfile", refuse)
    with pytest.raises(TrackError) as caught:
        prepare(INLINE, tmp_path, {}, builtin=False)
    assert caught.value.reason is Reason.TRACK_INVALID
    assert caught.value.message == (
        f"{INLINE}/documents.json cannot be read: make every file and folder of the track readable for user 1000"
    )


def test_the_digest_has_what_is_used_from_beside_and_nothing_else(tmp_path: Path) -> None:
    volume = make_volume(tmp_path / "volume", MANY)

    def digest_of(number: int, *changed: str) -> str:
        for name in changed:
            (volume / name).write_text(f"# {number}")
        ready = prepare(volume / "elastic/logs", tmp_path / str(number), {}, builtin=False, volume=volume)
        return digest(ready, beside=beside(ready))

    before = digest_of(1)
    assert before == digest_of(2) == digest_of(3, "elastic/security/track.json")
    assert len({before, digest_of(4, "elastic/shared/data.json"), digest_of(5, "common/docs.json")}) == 3


def test_a_name_that_is_no_utf_8_has_a_digest(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.json")).write_text("{}")
    assert digest(tmp_path).startswith("sha256:")


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


def builtin(directory: Path, code: str) -> Path:
    track = directory / "mine"
    track.mkdir()
    (track / "track.json").write_text("{}")
    (track / GENERATOR).write_text(code)
    return track


def test_a_disk_that_is_full_is_not_laid_to_the_track(tmp_path: Path) -> None:
    track = builtin(tmp_path, "raise OSError(28, 'No space left on device')\n")
    with pytest.raises(TrackError, match=r"the generator of mine .*No space left on device") as caught:
        prepare(track, tmp_path / "work", {}, builtin=True)
    assert caught.value.reason is Reason.CORPORA_CACHE


def test_a_generator_is_watched_while_it_stands_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlap_race.track.prepare.WATCH_SECONDS", 0.05)
    code = "import sys\nwith open(sys.argv[2] + '/x', 'wb', 0) as out:\n    while True:\n        out.write(b'x')\n"
    sizes: list[int] = []

    def watch() -> None:
        if not (tmp_path / "x").exists():
            return
        for _ in range(2):
            time.sleep(0.05)
            sizes.append((tmp_path / "x").stat().st_size)
        if len(sizes) > 2:
            raise StoppedError

    with pytest.raises(StoppedError):
        generate(builtin(tmp_path, code), tmp_path, {}, watch)
    assert sizes[0] == sizes[1] < sizes[2] == sizes[3] == (tmp_path / "x").stat().st_size


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
