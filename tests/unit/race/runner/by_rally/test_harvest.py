"""What the end of Rally means: a table of ways to end and their reasons; and what Elasticsearch is asked then."""

import threading
import time
from pathlib import Path
from typing import Any, cast

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import EnvironmentRecord, Fresh, LoadGenerator, Outcome
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.elasticsearch.evidence import Before
from fairlap_race.runner.by_rally.harvest import Versions, judge_ending, look_after
from fairlap_race.runner.supervise import Ended

COMPLETE = {"results": {}}
STALLED = Outcome(Reason.RACE_STALLED, "nothing moved")
DIED = Outcome(Reason.LOAD_GENERATOR_DIED, "a process ended")
REFUSED = "[ERROR] Cannot race. UnsupportedProductError: not Elasticsearch\n"


def ended(code: int | None, outcome: Outcome | None = None, oom_killed: bool = False) -> Ended:
    return Ended(code, outcome or Outcome(), 5.0, None, LoadGenerator(), oom_killed)


@pytest.mark.parametrize(
    ("how", "race", "output", "reason"),
    [
        (ended(0), COMPLETE, "", None),
        (ended(0, STALLED), COMPLETE, "", None),  # it was over just when it was to be ended
        (ended(None, STALLED), None, "", Reason.RACE_STALLED),
        (ended(1, DIED), None, "", Reason.LOAD_GENERATOR_DIED),
        (ended(1, DIED, True), None, "", Reason.LOAD_GENERATOR_OUT_OF_MEMORY),
        (ended(0), {}, "odd", Reason.RALLY_FAILED),
        (ended(0), None, "odd", Reason.RALLY_FAILED),
        (ended(130), None, "", Reason.RACE_ABORTED),
        (ended(-9), None, "", Reason.LOAD_GENERATOR_DIED),
        (ended(-9, oom_killed=True), None, "", Reason.LOAD_GENERATOR_OUT_OF_MEMORY),
        (ended(64), None, "[ERROR] Cannot race. Unknown challenge [x]\n", Reason.UNKNOWN_CHALLENGE),
    ],
)
def test_endings(how: Ended, race: dict[str, object] | None, output: str, reason: Reason | None) -> None:
    assert judge_ending(how, output, race, Versions("9.0.0", "2.13.0")).reason is reason


@pytest.mark.parametrize(
    ("elasticsearch", "rally", "reason"),
    [
        ("6.2.0", "2.13.0", Reason.CLIENT_TOO_NEW),
        ("6.2.0", "2.3.1", Reason.UNSUPPORTED_PRODUCT),  # that Rally speaks to it: something else is wrong
        ("5.6.0", "2.3.1", Reason.CLIENT_TOO_NEW),
        ("8.0.0", "2.13.0", Reason.UNSUPPORTED_PRODUCT),
    ],
)
def test_too_old_is_what_the_installed_rally_does_not_speak_to(elasticsearch: str, rally: str, reason: Reason) -> None:
    assert judge_ending(ended(64), REFUSED, None, Versions(elasticsearch, rally)).reason is reason


class Busy:
    """A cluster of one index whose first counts fail."""

    def __init__(self, fails: int) -> None:
        self.fails = fails

    def get(self, path: str, timeout: float = 0) -> Any:
        if path.startswith("/_all/_settings"):
            return {"logs": {"settings": {}}}
        if path.startswith("/logs/_count"):
            self.fails -= 1
            if self.fails >= 0:
                raise ElasticsearchError("GET /logs/_count: HTTP 429", 429)
            return {"count": 7, "_shards": {"failed": 0}}
        if path.startswith("/logs/"):
            raise ElasticsearchError("forbidden", 403)
        return [] if path.startswith("/_cat") else {}

    def post(self, path: str, timeout: float = 0) -> Any:
        return {}


class NoPause(threading.Event):
    def wait(self, timeout: float | None = None) -> bool:
        return False


@pytest.mark.parametrize(("fails", "seconds", "documents"), [(0, 60.0, 7), (2, 60.0, 7), (1, -1.0, None)])
def test_a_count_that_fails_is_asked_for_again_until_the_limit(
    fails: int, seconds: float, documents: int | None
) -> None:
    before = Before(EnvironmentRecord(version="9.0.0"), Fresh(), {}, {})
    spec, client = RaceSpec(Mode.RACE, "ns", "r", "id", Path("/t")), cast(ElasticsearchClient, Busy(fails))
    found = look_after(client, spec, before, None, TrackRecord(), time.monotonic() + seconds, NoPause())
    assert ([it.documents for it in found.indices] if found else [None]) == [documents]
