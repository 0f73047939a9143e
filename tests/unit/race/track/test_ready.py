"""What is said before a track is there."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.specification.race_spec import GitSource, Mode, RaceSpec, RequestsSource, TrackSource
from fairlap_race.corpora.corpora import CorporaSource
from fairlap_race.errors import StoppedError, TrackError
from fairlap_race.track.ask import make_request
from fairlap_race.track.ready import Ready, get_ready
from fairlap_race.track.services import services_used


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


@pytest.mark.parametrize(
    ("track", "requests", "generated"),
    [
        (TrackSource(builtin="page_cache"), None, True),
        (TrackSource(builtin="replay"), RequestsSource(path=Path("/requests")), False),
        (TrackSource(path=Path("/track")), None, False),
    ],
)
def test_a_check_is_told_whose_documents_they_are(
    track: TrackSource, requests: RequestsSource | None, generated: bool
) -> None:
    spec = RaceSpec(Mode.CHECK, "ns", "r", "id", track, requests=requests)
    assert make_request(spec, Ready(Path("/track"), "sha256:0"), Path("/cache")).generated is generated


def test_a_track_of_a_volume_is_the_same_in_its_check_and_in_each_race(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = tmp_path / "volume"
    for name, text in (("logs/track.json", "{}"), ("logs/track.py", "import shared"), ("shared/__init__.py", "geoip")):
        (volume / name).parent.mkdir(parents=True, exist_ok=True)
        (volume / name).write_text(text)

    def ready(mode: Mode, number: int) -> Ready:
        spec = RaceSpec(mode, "ns", "r", "id", TrackSource(path=volume / "logs"))
        work = tmp_path / str(number)
        corpora = CorporaSource(None, work, False, threading.Event(), lambda *_: None)
        return get_ready(spec, work, corpora, lambda *_: None, threading.Event())

    before = [ready(mode, number) for number, mode in enumerate((Mode.CHECK, Mode.SMOKE, Mode.RACE))]
    assert len({each.digest for each in before}) == 1
    assert services_used(before[0].path.parent) == ("geoip",)
    (volume / "shared" / "__init__.py").write_text("watcher")
    assert ready(Mode.RACE, 3).digest != before[0].digest

    (volume / "logs" / "docs").symlink_to(tmp_path)
    monkeypatch.setattr("fairlap_race.track.ready.TRACK_MOUNT", volume)
    with pytest.raises(TrackError, match="docs is a link that leads out of the volume"):
        ready(Mode.RACE, 4)


def test_a_generator_ends_when_the_race_is_told_to_stop(tmp_path: Path) -> None:
    slow = tmp_path / "tracks" / "slow"
    slow.mkdir(parents=True)
    (slow / "track.json").write_text("{}")
    (slow / "generate.py").write_text("import time\ntime.sleep(8)\n")
    spec = RaceSpec(Mode.RACE, "ns", "r", "id", TrackSource(builtin="slow"))
    stop = threading.Event()
    stop.set()
    corpora = CorporaSource(None, tmp_path, False, stop, lambda *_: None)
    with pytest.raises(StoppedError):
        get_ready(spec, tmp_path / "work", corpora, lambda *_: None, stop, slow.parent)
