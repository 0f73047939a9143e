"""Rally does not outlive the one who watches it."""

import threading
import time
from pathlib import Path
from typing import Any, cast

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Progress
from fairlap_race.elasticsearch.client import ElasticsearchClient
from fairlap_race.runner import supervise
from fairlap_race.runner.supervise import INTERRUPT_PATIENCE, Supervisor, Watched
from fairlap_race.runner.watching.watchdog import Watchdog


class Rally:
    """A process that goes on until it is ended."""

    pid, returncode = 1, None

    def poll(self) -> None:
        return None


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, float]]:
    """The processes that were ended, each with the patience that it was given."""
    found: list[tuple[Any, float]] = []
    monkeypatch.setattr(supervise.process, "end", lambda running, patience: found.append((running, patience)))
    return found


def supervisor(rally: Rally, live: Path, tell: Any, stop: threading.Event) -> Supervisor:
    client, dog = cast(ElasticsearchClient, None), Watchdog(time.monotonic(), 600.0, 600.0)
    return Supervisor(cast(Any, rally), live, client, dog, tell, stop, Watched())


@pytest.mark.parametrize("kind", [AttributeError, KeyboardInterrupt])
def test_rally_is_ended_when_a_look_at_it_fails(
    tmp_path: Path, ended: list[tuple[Any, float]], kind: type[BaseException]
) -> None:
    def fail(_: Progress) -> None:
        raise kind("odd")

    rally = Rally()
    with pytest.raises(kind, match="odd"):
        supervisor(rally, tmp_path, fail, threading.Event()).watch(1.0)
    assert ended == [(rally, INTERRUPT_PATIENCE)]


def test_rally_is_ended_once_when_the_runner_is_told_to_stop(tmp_path: Path, ended: list[tuple[Any, float]]) -> None:
    stop = threading.Event()
    stop.set()
    rally = Rally()
    found = supervisor(rally, tmp_path, lambda _: None, stop).watch(1.0)
    assert found.outcome.reason is Reason.RACE_ABORTED and ended == [(rally, INTERRUPT_PATIENCE)]
