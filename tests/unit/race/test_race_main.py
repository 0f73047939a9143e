"""The program as a whole, short of Rally: whatever happens, the record is written."""

import json
import os
import signal
import time

import pytest

from fairlap.plan.stages.running import RUNNER_GRACE
from fairlap_race import __main__ as program
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import EnvironmentRecord, Fresh, Outcome, Record, TargetReport
from fairlap_race.contract.recorded.track_record import TrackTask
from fairlap_race.elasticsearch.client import TIMEOUT_SECONDS
from fairlap_race.elasticsearch.evidence import Before
from fairlap_race.runner.by_rally import race as race_module
from fairlap_race.runner.by_rally import race_steps
from fairlap_race.runner.by_rally.harvest import evidence_limit
from fairlap_race.runner.by_rally.race import RaceRunner
from fairlap_race.runner.parts import Numbers, Parts
from fairlap_race.runner.telling.config_map import ConfigMap, PatchError
from fairlap_race.track.load import TrackDescription
from fairlap_race.track.ready import Ready

SPEC = {
    "format": 1,
    "mode": "race",
    "namespace": "ns",
    "record": "bm-race-1",
    "raceId": "ns.bm.1.race-1",
    "track": {"builtin": "none"},
    "hosts": ["localhost:1"],
    "passwordFile": "/nonexistent/password",
}


@pytest.fixture(autouse=True)
def pod(monkeypatch, config_map, tmp_path):
    monkeypatch.setattr(ConfigMap, "of_pod", staticmethod(lambda *_: config_map))
    monkeypatch.setattr(program.process, "become_subreaper", lambda: None)
    monkeypatch.setenv("FAIRLAP_RACE_WORK", str(tmp_path))
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def run(monkeypatch, server, **change):
    monkeypatch.setenv(program.SPEC_VARIABLE, json.dumps({**SPEC, **change}))
    code = program.main()
    record = Record.from_json(text_of({"binaryData": server.binary}, "record.json"))
    return code, record, json.loads(server.data.get("progress", "{}"))


def test_a_failed_race_has_a_record(monkeypatch, server):
    code, record, progress = run(monkeypatch, server)
    assert code == 0 and progress["stage"] == "done"
    assert record.outcome.reason is Reason.AUTHENTICATION_FAILED
    assert record.race_id == "ns.bm.1.race-1" and record.started_at and record.finished_at
    assert record.rally.poll_intervals["workerWakeup"] == 1.0


def test_evidence_is_waited_for_but_not_past_what_the_operator_waits_for_the_record():
    assert evidence_limit(1000, 9999) == 1180, "a node that restarts is back by then"
    assert evidence_limit(1000, 1010) == 1070
    last_request, others = TIMEOUT_SECONDS, 20
    assert evidence_limit(1000, 1000) + last_request + others < 1000 + RUNNER_GRACE.total_seconds()


def test_a_wrong_specification_has_a_record(monkeypatch, server):
    code, record, _ = run(monkeypatch, server, surprise=1)
    assert code == 0 and record.outcome.reason is Reason.INVALID_SPEC and "surprise" in record.outcome.message


def test_a_bug_has_a_record(monkeypatch, server):
    monkeypatch.setattr(RaceRunner, "run", lambda _: 1 / 0)
    code, record, _ = run(monkeypatch, server)
    assert code == 0 and record.outcome.reason is Reason.RALLY_FAILED and "division" in record.outcome.message


@pytest.mark.parametrize(("place", "name"), [(RaceRunner, "run"), (race_module, "reach_elasticsearch")])
def test_a_bug_that_quotes_a_header_is_told_by_its_name_alone(monkeypatch, server, place, name):
    def breaks(_):
        raise ValueError("Invalid header value b'ApiKey VnVhQ2ZH\\nVctZTBhT'")

    monkeypatch.setattr(place, name, breaks)
    _, record, _ = run(monkeypatch, server)
    assert record.outcome == Outcome(Reason.RALLY_FAILED, "the runner failed: ValueError")


@pytest.mark.parametrize(
    ("field", "content"), [("apiKeyFile", b"VnVhQ2ZH\nVctZTBhT"), ("passwordFile", b"VnVhQ2ZH\xff")]
)
def test_credentials_that_cannot_be_sent_are_said_without_a_word_of_them(
    monkeypatch, server, tmp_path, caplog, field, content
):
    (tmp_path / "credential").write_bytes(content)
    code, record, _ = run(monkeypatch, server, **{"passwordFile": None, field: str(tmp_path / "credential")})
    assert code == 0 and record.outcome.reason is Reason.AUTHENTICATION_FAILED
    assert record.outcome.message.startswith(f"the credentials cannot be read: {tmp_path}/credential is no ")
    assert "VnVh" not in record.to_json() + caplog.text


def test_what_a_race_knew_before_a_bug_is_kept(monkeypatch, server):
    def breaks(it):
        it.frame.secrets = ("word",)
        it.frame.keep(Parts(numbers=Numbers(samples_dropped=True)))
        it.files.log.parent.mkdir(parents=True, exist_ok=True)
        it.files.log.write_text("Rally said much")
        raise KeyError("word")

    monkeypatch.setattr(race_module, "reach_elasticsearch", breaks)
    code, record, _ = run(monkeypatch, server)
    assert code == 0 and record.outcome.reason is Reason.RALLY_FAILED and record.samples_dropped
    assert "KeyError" in record.outcome.message and "word" not in record.outcome.message
    assert server.binary["rally.log.gz"]


def test_what_the_race_created_stays_after_a_bug_when_only_a_success_removes_it(monkeypatch, server, tmp_path):
    (tmp_path / "password").write_text("secret")
    left_with = []

    class Guest:
        report, occupied, objection = TargetReport("c"), (), ""

        def look_for_searched(self, *_, **__):
            pass

        def leave(self, record):
            left_with.append(record.outcome.reason)

    found = Ready(tmp_path, "sha256:1")
    before = Before(EnvironmentRecord(version="9.0.0"), Fresh(), {}, {})
    about = TrackDescription(tasks=(TrackTask("sleep", "sleep", "sleep"),))
    monkeypatch.setattr(race_steps, "look_before", lambda *_: before)
    monkeypatch.setattr(race_steps.Site, "look", staticmethod(lambda *_: Guest()))
    monkeypatch.setattr(race_steps, "get_ready", lambda *_: found)
    monkeypatch.setattr(race_steps, "describe_track", lambda *_: about)
    monkeypatch.setattr(race_module, "run_rally", lambda *_: 1 / 0)
    target = {"remove": "onSuccess"}
    _, record, _ = run(monkeypatch, server, target=target, passwordFile=str(tmp_path / "password"))
    assert left_with == [Reason.RALLY_FAILED] == [record.outcome.reason]
    assert record.target == TargetReport("c") and record.environment.version == "9.0.0"


def test_a_missing_config_map_is_an_exit_code(monkeypatch, server):
    server.fail = [404] * 1000
    monkeypatch.setattr("fairlap_race.runner.telling.config_map.GIVE_UP_MISSING", 0.3)
    code, record, _ = run(monkeypatch, server)
    assert code == 1 and record is None


def test_no_specification_at_all(monkeypatch):
    monkeypatch.setenv(program.SPEC_VARIABLE, "nonsense")
    assert program.main() == 2


def test_outside_a_pod(monkeypatch, server):
    def nowhere(*_):
        raise PatchError("this is not a pod")

    monkeypatch.setattr(ConfigMap, "of_pod", staticmethod(nowhere))
    code, record, _ = run(monkeypatch, server)
    assert code == 2 and record is None


def test_sigterm_before_the_race(monkeypatch, server, tmp_path):
    (tmp_path / "password").write_text("secret")
    started = time.monotonic()
    real = race_steps.look_before

    def terminated(*arguments):
        os.kill(os.getpid(), signal.SIGTERM)
        return real(*arguments)

    monkeypatch.setattr(race_steps, "look_before", terminated)
    code, record, _ = run(monkeypatch, server, passwordFile=str(tmp_path / "password"))
    assert code == 0 and record.outcome.reason is Reason.RACE_ABORTED
    assert time.monotonic() - started < 5
