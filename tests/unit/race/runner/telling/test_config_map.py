"""Patching the ConfigMap, against a small API server that speaks HTTPS on loopback and fails as asked."""

import json
import time

import pytest

from fairlap_race.contract.config_maps import packed
from fairlap_race.contract.recorded.record import Progress
from fairlap_race.runner.telling.config_map import ConfigMap, PatchError, patch
from fairlap_race.runner.telling.publish import Publisher


def test_patch(server, config_map):
    config_map.patch_once({"progress": "{}"}, {"race.json.gz": "eA=="})
    assert server.data == {"progress": "{}"} and server.binary == {"race.json.gz": "eA=="}


def test_an_unknown_certificate_is_refused(server, config_map, certificate, tmp_path):
    other = tmp_path / "account"
    other.mkdir()
    (other / "token").write_text("the-token")
    certificate(other)
    stranger = ConfigMap("127.0.0.1", config_map.port, "ns", "bm-race-1", other)
    with pytest.raises(PatchError, match="CERTIFICATE_VERIFY_FAILED"):
        stranger.patch_once({}, {})
    assert server.bodies == []


def test_outside_a_pod(monkeypatch):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(PatchError, match="not a pod"):
        ConfigMap.of_pod("ns", "x")


class Clock:
    def __init__(self):
        self.now, self.pauses = 0.0, []

    def sleep(self, seconds):
        self.pauses.append(seconds)
        self.now += seconds


def failing(*statuses):
    left = list(statuses)

    def once():
        if left:
            raise PatchError("no", left.pop(0))

    return once


def test_an_outage_is_waited_for():
    clock = Clock()
    patch(failing(None, 503, 429, 500, None, None, None, None), lambda: 900.0, lambda: clock.now, clock.sleep)
    assert clock.pauses == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


@pytest.mark.parametrize(("status", "seconds"), [(404, 20.0), (403, 20.0), (422, 0.0), (413, 0.0), (None, 900.0)])
def test_how_long_it_is_tried(status, seconds):
    clock = Clock()
    with pytest.raises(PatchError):
        patch(failing(*[status] * 1000), lambda: 900.0, lambda: clock.now, clock.sleep)
    assert seconds - 9 < clock.now <= seconds


def test_a_shutdown_shortens_the_patience():
    clock = Clock()
    with pytest.raises(PatchError):
        patch(failing(*[None] * 1000), lambda: 900.0 if clock.now < 30 else 20.0, lambda: clock.now, clock.sleep)
    assert clock.now < 60


def test_a_replaced_token_is_read(server, config_map, account):
    (account / "token").write_text("an-old-one")
    try:
        with pytest.raises(PatchError) as error:
            config_map.patch_once({}, {})
        assert error.value.status == 401
    finally:
        (account / "token").write_text("the-token")
    config_map.patch_once({"a": "b"}, {})
    assert server.data == {"a": "b"}


def eventually(check, seconds=5.0):
    limit = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_publisher_says_done_only_when_the_record_stands(server, config_map, progress_map):
    publisher = Publisher(progress_map.patch_once, config_map.patch_once)
    publisher.progress(Progress(at="1", stage="racing", percent=1))
    eventually(lambda: server.bodies)
    publisher.progress(Progress(at="2", stage="racing", percent=2))
    server.fail = [503, 500]
    before = time.monotonic()
    publisher.finish({"record.json": '{"format":1}'}, {"race.json.gz": "eA=="})
    assert time.monotonic() - before < 3
    written, last = server.bodies[-2:]
    assert server.names[-2:] == ["bm-race-1", "bm-race-1-progress"], "each in its own ConfigMap, the record first"
    assert set(written) == {"binaryData"}, "in one request: there is a whole record or none"
    assert written["binaryData"] == {**packed({"record.json": '{"format":1}'}), "race.json.gz": "eA=="}
    assert set(last) == {"data"} and json.loads(last["data"]["progress"])["stage"] == "done"


def test_a_record_that_stands_is_a_success_even_when_done_cannot_be_said(server, config_map):
    def refused(*_):
        raise PatchError("refused", 422)

    Publisher(refused, config_map.patch_once).finish({"record.json": "{}"}, {})
    assert server.binary == packed({"record.json": "{}"})
    with pytest.raises(PatchError):
        Publisher(config_map.patch_once, refused).finish({"record.json": "{}"}, {})
    assert not server.data, "without a record nothing is done"


def test_publisher_is_patient_and_says_only_what_changed(server, config_map, progress_map):
    publisher = Publisher(progress_map.patch_once, config_map.patch_once)
    for at in range(20):
        publisher.progress(Progress(at=str(at), stage="racing", percent=5))
    eventually(lambda: server.bodies)
    time.sleep(0.2)
    assert len(server.bodies) == 1
    publisher.finish({}, {})


def test_publisher_tries_again_after_an_outage(server, config_map, progress_map, monkeypatch):
    monkeypatch.setattr("fairlap_race.runner.telling.publish.MIN_INTERVAL", 0.05)
    server.fail = [503, 503]
    publisher = Publisher(progress_map.patch_once, config_map.patch_once)
    publisher.progress(Progress(at="1", stage="racing", percent=7))
    eventually(lambda: server.bodies)
    assert json.loads(server.data["progress"])["percent"] == 7
    publisher.finish({}, {})
