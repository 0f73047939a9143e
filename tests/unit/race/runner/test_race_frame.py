"""What is around the steps of every race: nothing that is known gets lost, whatever goes wrong, and no secret out."""

import base64
import gzip
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.http_record import HttpRecord
from fairlap_race.contract.recorded.record import MAX_RECORD_BYTES, IndexRecord, Outcome, Totals
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec, SpecError
from fairlap_race.contract.watched_machines.machine_watch import Canary
from fairlap_race.contract.watched_machines.resources import KEY_RESOURCES, MachineTable
from fairlap_race.elasticsearch.evidence import After
from fairlap_race.errors import StoppedError, TrackError
from fairlap_race.http.health import UnhealthyError
from fairlap_race.runner import race_frame
from fairlap_race.runner.over_http.http_parts import HttpParts, assemble_http
from fairlap_race.runner.parts import STOPPED, FailedError, Numbers, Parts, assemble, ending_race
from fairlap_race.runner.race_frame import RaceFrame, texts_of
from fairlap_race.runner.telling import bounds

SPEC = RaceSpec(Mode.RACE, "ns", "r", "id", canary_seconds=3.0)


def frame(mode: Mode = Mode.RACE) -> RaceFrame[Parts]:
    return RaceFrame(RaceSpec(mode, "ns", "r", "id", canary_seconds=3.0), threading.Event(), Parts(), assemble)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (FailedError(Reason.RACE_STALLED, "stalled with word"), Outcome(Reason.RACE_STALLED, "stalled with *****")),
        (SpecError("userTags.a: wrong"), Outcome(Reason.INVALID_SPEC, "userTags.a: wrong")),
        (KeyError("word"), Outcome(Reason.RALLY_FAILED, "the runner failed: KeyError: '*****'")),
        (ValueError("Invalid header value"), Outcome(Reason.RALLY_FAILED, "the runner failed: ValueError")),
    ],
)
def test_whatever_goes_wrong_is_the_outcome_and_what_was_known_stays(error: Exception, outcome: Outcome) -> None:
    race = frame()
    race.secrets = ("word",)
    with race.keeping_failure():
        race.keep(Parts(numbers=Numbers(samples_dropped=True)))
        raise error
    assert race.record.outcome == outcome and race.record.samples_dropped
    race.keep(Parts(after=After((IndexRecord("logs"),), (), (), (), Totals())))
    found = race.finished(race.record)
    assert found.outcome == outcome and found.finished_at, "what is found out afterwards makes it no success"
    assert found.indices == (IndexRecord("logs"),) and found.samples_dropped


def test_what_ends_the_process_is_not_kept() -> None:
    with pytest.raises(KeyboardInterrupt), frame().keeping_failure():
        raise KeyboardInterrupt


def test_the_failure_that_came_last_is_told() -> None:
    race = frame()
    for word in ("first", "last"):
        with race.keeping_failure():
            raise FailedError(Reason.RALLY_FAILED, word)
    assert race.record.outcome.message == "last"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (TrackError(Reason.TRACK_INVALID, "no track"), Outcome(Reason.TRACK_INVALID, "no track")),
        (UnhealthyError(Reason.CLUSTER_UNREACHABLE, "no host"), Outcome(Reason.CLUSTER_UNREACHABLE, "no host")),
        (StoppedError(), Outcome(Reason.RACE_ABORTED, STOPPED)),
    ],
)
def test_what_ends_the_preparation_ends_the_race(error: Exception, outcome: Outcome) -> None:
    with pytest.raises(FailedError) as failed, ending_race():
        raise error
    assert failed.value.outcome == outcome


def test_the_record_of_what_is_not_known_says_which_race_it_is() -> None:
    race = RaceFrame(SPEC, threading.Event(), HttpParts(), assemble_http)
    found = race.record
    assert (found.mode, found.race_id, found.outcome) == ("race", "id", Outcome()) and found.started_at
    assert found.http == HttpRecord() and found.finished_at is None


def test_a_clock_that_is_set_changes_no_duration(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000.0, 50.0]
    monkeypatch.setattr(race_frame, "time", SimpleNamespace(time=lambda: now[0], monotonic=lambda: now[1]))
    race = frame()
    now[:] = [1_000_000.0 - 3600, 50.0 + 600]
    found = race.finished(race.record)
    assert (found.started_at, found.finished_at) == ("1970-01-12T13:46:40.000Z", "1970-01-12T13:56:40.000Z")


def test_a_record_that_is_over_fits() -> None:
    race = frame()
    race.keep(
        Parts(after=After(tuple(IndexRecord(f"i{number}" * 20) for number in range(20_000)), (), (), (), Totals()))
    )
    found = race.finished(race.record)
    assert bounds._size(found) <= MAX_RECORD_BYTES and found.outcome.reason is Reason.RECORD_MISSING


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[object, ...]]]:
    done: list[tuple[object, ...]] = []

    def work(*about: object) -> Canary:
        done.append(about)
        return Canary("now", 0.01, 0.02, 0.001)

    monkeypatch.setattr(race_frame, "do_fixed_work", work)
    yield done


@pytest.mark.parametrize(("mode", "works"), [(Mode.RACE, True), (Mode.SMOKE, False), (Mode.PROBE, False)])
def test_only_where_something_is_measured_is_it_seen_how_fast_the_machine_is(
    worked: list[tuple[object, ...]], tmp_path: Path, mode: Mode, works: bool
) -> None:
    assert (frame(mode).canary(tmp_path, 2.5) is not None) is works
    assert [(folder, cpus, seconds) for folder, cpus, _stop, seconds in worked] == [(tmp_path, 2.5, 0.5)] * works


def test_files_that_are_there_are_kept_without_secrets(tmp_path: Path) -> None:
    race = frame()
    race.secrets = ("word",)
    (tmp_path / "log").write_text("a word")
    found = race.artifacts({"log": tmp_path / "log", "race": tmp_path / "none"})
    assert {key: gzip.decompress(base64.b64decode(text)) for key, text in found.items()} == {"log": b"a *****"}


def test_what_is_not_known_of_the_machines_is_no_text() -> None:
    assert texts_of(None) == {}
    assert MachineTable.from_json(texts_of(MachineTable(race_id="id"))[KEY_RESOURCES]) == MachineTable(race_id="id")
