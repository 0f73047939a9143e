"""Builtin tracks are found, generated, and go along when the package is built."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from fairlap.cli import main as program
from fairlap.cli.edge.builtin import builtin_tracks
from fairlap.settings import BUILTIN_TRACKS

ROOT = Path(__file__).parents[4]


def test_the_builtin_tracks_are_those_of_the_operator() -> None:
    assert set(builtin_tracks()) == set(BUILTIN_TRACKS)


def test_every_file_of_every_builtin_track_is_installed() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["data-files"]
    for name, path in builtin_tracks().items():
        there = {file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts}
        listed = {file for pattern in data[f"share/fairlap/tracks/{name}"] for file in ROOT.glob(pattern)}
        assert there == listed


def test_generate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "my_track"
    assert program.main(["track", "generate", "log_ingest", str(target), "--documents", "100", "--seed", "3"]) == 0
    assert (target / "track.json").is_file()
    corpora = [path for path in target.iterdir() if path.name not in ("track.json", "index.json")]
    assert sum(path.read_bytes().count(b"\n") for path in corpora) >= 100
    assert "--track-params=documents:100,seed:3" in capsys.readouterr().out
    assert program.main(["track", "generate", "log_ingest", str(target)]) == 2
    assert "not empty" in capsys.readouterr().err


def test_new(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["track", "new", str(tmp_path / "mine")]) == 0
    documents = (tmp_path / "mine" / "documents.json").read_text().splitlines()
    assert len(documents) == 1000
    assert json.loads(documents[42])["text"] == "four two"
    assert "fairlap track check" in capsys.readouterr().out


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["track", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines} == set(BUILTIN_TRACKS)
    assert all(len(line.split()) > 3 for line in lines)


def test_the_commands_for_a_new_track_can_be_typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Kubernetes takes no underscore in a name, and a shell no blank in a path."""
    folder = tmp_path / "My new_track"
    assert program.main(["track", "new", str(folder)]) == 0
    said = capsys.readouterr().out
    assert f"kubectl create configmap my-new-track --from-file='{folder}'" in said
    assert "{configMap: {name: my-new-track}}" in said and f"fairlap track check '{folder}'" in said
