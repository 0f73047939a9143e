"""What is said before a track is there."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.specification.race_spec import GitSource, Mode, RaceSpec, TrackSource
from fairlap_race.corpora.corpora import CorporaSource
from fairlap_race.errors import TrackError
from fairlap_race.track.ready import get_ready


@pytest.mark.parametrize(
    "url",
    [
        *("https://me:SECRET@host/x", "https://SECRET@host/x", "ssh://git:SECRET@host/x"),
        *("https://me:SEC/SECRET@host/x", "ssh://git:SEC/SECRET@host/x", "me:SECRET@host/x"),
    ],
)
def test_an_address_with_credentials_is_shown_to_nobody(tmp_path: Path, url: str) -> None:
    said: list[str] = []
    spec = RaceSpec(Mode.RACE, "ns", "r", "id", TrackSource(git=GitSource(url, "main")))
    corpora = CorporaSource(None, tmp_path, False, threading.Event(), lambda words, _: said.append(words))
    with pytest.raises(TrackError) as caught:
        get_ready(spec, tmp_path, corpora, lambda words, _: said.append(words), threading.Event())
    assert caught.value.reason is Reason.TRACK_FETCH_FAILED and "SECRET" not in caught.value.message
    assert said == []
