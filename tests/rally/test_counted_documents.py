"""Which documents beside a track are counted by the check."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairlap_race.track.check import documents as checked
from fairlap_race.track.check.finding import FoundError
from fairlap_race.track.load import Request


def check(folder: Path, size: int | None, *, generated: bool = False) -> None:
    found: Any = SimpleNamespace(
        document_file="documents.json",
        document_archive=None,
        base_url=None,
        uncompressed_size_in_bytes=size,
        compressed_size_in_bytes=None,
        number_of_lines=4,
        includes_action_and_meta_data=False,
    )
    rendered: Any = SimpleNamespace(place_of=lambda path: None)
    checked._check(Request(str(folder), {}, generated=generated), "numbers", found, rendered)


@pytest.mark.parametrize(("size", "limit", "counted"), [(30, 10, False), (30, 30, True), (None, 10, True)])
def test_a_large_file_of_the_size_that_the_track_says_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int | None, limit: int, counted: bool
) -> None:
    monkeypatch.setattr(checked, "COUNTED_BYTES", limit)
    monkeypatch.setattr(checked, "_place", lambda *_: None)
    (tmp_path / "documents.json").write_text('{"n": 12}\n' * 3)
    if not counted:
        check(tmp_path, size)
        return
    with pytest.raises(FoundError, match="has 3 lines, the track says 4"):
        check(tmp_path, size)


def test_a_large_file_that_was_generated_for_the_track_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checked, "_place", lambda *_: None)
    (tmp_path / "documents.json").write_text('{"n": 12}\n' * 3)
    with pytest.raises(FoundError, match="has 3 lines, the track says 4"):
        check(tmp_path, None, generated=True)
    monkeypatch.setattr(checked, "COUNTED_BYTES", 10)
    check(tmp_path, None, generated=True)


@pytest.mark.parametrize("limit", [10, 1000])
def test_documents_that_cannot_be_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(checked, "COUNTED_BYTES", limit)
    monkeypatch.setattr(checked, "_place", lambda *_: None)
    (tmp_path / "documents.json").write_text('{"n": 12}\n' * 3)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(FoundError, match=r"documents\.json cannot be read: .*Permission denied"):
        check(tmp_path, 30)
