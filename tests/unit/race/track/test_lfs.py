"""What stands in place of a file of Git LFS is told from the file itself."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tests.fixtures.broken_tracks import LFS_POINTER

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.specification.race_spec import RequestsSource
from fairlap_race.errors import TrackError
from fairlap_race.track.lfs import is_lfs_pointer
from fairlap_race.track.request_source import find_files


@pytest.mark.parametrize(("text", "expected"), [(LFS_POINTER, True), ("", False), ('{"version": 2}', False)])
def test_a_pointer_is_known_by_its_first_line(tmp_path: Path, text: str, expected: bool) -> None:
    (tmp_path / "documents.json.bz2").write_text(text)
    assert is_lfs_pointer(tmp_path / "documents.json.bz2") is expected


def test_what_cannot_be_read_is_no_pointer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, _: str) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    assert is_lfs_pointer(tmp_path / "documents.json") is False


@pytest.mark.parametrize("name", ["requests.ndjson", "documents.json"])
def test_requests_that_are_a_pointer_are_said_to_be_one(tmp_path: Path, name: str) -> None:
    (tmp_path / "requests.ndjson").write_text("/_search\n")
    (tmp_path / name).write_text(LFS_POINTER)
    with pytest.raises(TrackError, match=f"^race.requests: {name} is a pointer of Git LFS, .* on a volume") as caught:
        find_files(RequestsSource(path=tmp_path), tmp_path, threading.Event(), ("documents.json",))
    assert caught.value.reason is Reason.REQUESTS_INVALID
