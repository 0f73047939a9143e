"""What each request finds, read once more when a race over HTTP is over."""

import json
import math
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.request_files.sent_request import Sent
from fairlap_race.elasticsearch.client import ElasticsearchError
from fairlap_race.runner.over_http import request_hits
from fairlap_race.runner.over_http.request_hits import asker, check_hits, read_hits
from fairlap_race.runner.parts import FailedError

POINTER = "/n"


class Engine:
    """Answers each path with the number at its end, x with an error, slow never, and notes who was asked what."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def __call__(self, host: str, request: Sent, seconds: float) -> Any:
        self.asked.append((host, request[1]))
        self.seconds = seconds
        if request[1].endswith("slow"):
            raise ElasticsearchError(f"GET {request[1]}: late", why="late", given_up=True)
        if request[1].endswith("x"):
            raise ElasticsearchError(f"GET {request[1]}: HTTP 503", 503, why="HTTP 503")
        if request[1].startswith("/search"):
            return {"n": 7, "timed_out": False, "_shards": {"failed": 0}}
        return {"n": json.loads(request[1].rpartition("/")[2])}


def lines_of(*paths: str) -> list[Sent]:
    return [("GET", path, None, None) for path in paths]


def read(*paths: str, hosts: Sequence[str] = ("a", "b"), deadline: float = math.inf) -> tuple[Engine, Any]:
    engine = Engine()
    return engine, read_hits(POINTER, lines_of(*paths), hosts, engine, threading.Event(), deadline)


class Hanging(Engine):
    """Answers nothing from the path /hang on until it is let go, and tells the stop then, if it is given one."""

    def __init__(self, stop: threading.Event | None = None) -> None:
        super().__init__()
        self.stop, self.let_go = stop, threading.Event()

    def __call__(self, host: str, request: Sent, seconds: float) -> Any:
        if request[1] == "/hang":
            if self.stop:
                self.stop.set()
            self.let_go.wait(60)
        return super().__call__(host, ("GET", "/5", None, None) if request[1] == "/hang" else request, seconds)


class Client:
    """Notes the headers of what it sends."""

    def send_to(self, *request: Any) -> Any:
        self.headers, self.seconds = request[4], request[6]


@pytest.mark.parametrize(
    ("headers", "content", "sent"),
    [
        (
            {"X-A": "b"}, "application/json",
            {"User-Agent": "FairLap", "X-A": "b", "Content-Type": "application/json"},
        ),
        (
            {"content-type": "application/x"}, "application/json",
            {"User-Agent": "FairLap", "content-type": "application/x"},
        ),
        ({"X-A": "b"}, None, {"User-Agent": "FairLap", "X-A": "b"}),
        ({"user-agent": "mine"}, None, {"user-agent": "mine"}),
    ],
)  # fmt: skip
def test_the_headers_are_those_of_the_race(headers: dict[str, str], content: str | None, sent: dict[str, str]) -> None:
    client = Client()
    ask = asker(client, headers, 90.0)  # type: ignore[arg-type]
    ask("a", ("POST", "/a", "{}", content), 120.0)
    assert client.headers == sent and client.seconds == 90.0, "a slow answer of the race comes in time here, too"
    ask("a", ("GET", "/a", None, None), 45.0)
    assert client.seconds == 45.0


def test_equal_lines_are_asked_once_and_the_hosts_in_turn() -> None:
    engine, found = read("/7", "/8", "/7", "/9")
    assert found.lines == (7, 8, 7, 9) and not found.why
    assert engine.asked == [("a", "/7"), ("b", "/8"), ("a", "/9")]


@pytest.mark.parametrize(
    ("path", "why"),
    [("/x", "HTTP 503"), ("/1.5", "/n finds a number that is no count"), ("/-1", "/n finds a number that is no count"),
     ('/"a"', "/n is a text, and no number"), ("/[]", "/n is a list, and no number")],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_its_line(path: str, why: str) -> None:
    _, found = read("/7", path, "/8")
    assert found.lines == (7, None, 8) and found.why.startswith(f"line 2: {why}")


def test_it_takes_a_bounded_time_and_says_how_many_lines_it_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_hits, "MOST_SECONDS", 0.0)
    engine, found = read("/7")
    assert (found.lines, found.why, engine.asked) == ((), "only the first 0 of 1 lines were asked again in 0 s", [])
    assert found.asked == 0 and found.digest is None


def test_it_ends_at_the_deadline_of_the_race() -> None:
    engine, found = read("/7", deadline=time.monotonic() - 1)
    words = "only the first 0 of 1 lines were asked again before the race's deadline"
    assert (found.lines, found.why, engine.asked) == ((), words, [])
    engine, found = read("/7", deadline=time.monotonic() + 5)
    assert found.lines == (7,) and 0 < engine.seconds <= 5


def test_a_line_that_hangs_holds_up_neither_the_deadline_nor_a_stop() -> None:
    began, stop = time.monotonic(), threading.Event()
    late = Hanging()
    found = read_hits(POINTER, lines_of("/7", "/hang", "/8"), ("a",), late, threading.Event(), began + 0.3)
    assert found.lines == (7,)
    assert found.why == "only the first 1 of 3 lines were asked again before the race's deadline"
    told = Hanging(stop)
    found = read_hits(POINTER, lines_of("/7", "/hang", "/8"), ("a",), told, stop)
    assert (found.lines, found.asked) == ((7,), 1)
    assert found.why == "only the first 1 of 3 lines were asked again before the runner was told to stop"
    assert time.monotonic() - began < 30
    late.let_go.set()
    told.let_go.set()


def test_every_line_is_asked_however_many_and_the_first_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(request_hits, "MOST_KEPT", 2)
    found = read("/1", "/2", "/3")[1]
    assert (found.lines, found.asked, found.why) == ((1, 2), 3, "")
    assert found.digest == read("/1", "/2", "/3")[1].digest != read("/1", "/2", "/4")[1].digest
    broken = read("/1", "/2", "/x")[1]
    assert (broken.lines, broken.unreadable, broken.digest) == ((1, 2), 1, None) and broken.why == "line 3: HTTP 503"


def test_the_check_asks_every_host_for_the_first_line() -> None:
    engine, stop = Engine(), threading.Event()
    check_hits(POINTER, lines_of("/7", "/x"), ("a", "b"), engine, stop)
    assert engine.asked == [("a", "/7"), ("b", "/7")]
    with pytest.raises(FailedError) as failed:
        check_hits(POINTER, lines_of("/x"), ("a",), engine, stop)
    assert failed.value.outcome.reason is Reason.PROBE_UNREADABLE
    assert failed.value.outcome.message == "race.requests.hits: the answer of a to line 1: HTTP 503"


@pytest.mark.parametrize("path", ["/7", "/hang"])
def test_the_check_ends_at_a_stop_and_at_its_deadline(path: str) -> None:
    began, stop = time.monotonic(), threading.Event()
    late, told = Hanging(), Hanging(stop)
    with pytest.raises(FailedError) as failed:
        check_hits(POINTER, lines_of(path), ("a",), late, threading.Event(), began + (0.3 if path == "/hang" else -1))
    assert failed.value.outcome.reason is Reason.RACE_TIMEOUT
    words = "race.requests.hits: a had not answered line 1 before"
    assert failed.value.outcome.message == f"{words} the race's deadline"
    if path == "/7":
        stop.set()
    with pytest.raises(FailedError) as failed:
        check_hits(POINTER, lines_of(path), ("a",), told, stop)
    assert failed.value.outcome.reason is Reason.RACE_ABORTED
    assert failed.value.outcome.message == f"{words} the runner was told to stop"
    assert not told.asked and time.monotonic() - began < 30
    late.let_go.set()
    told.let_go.set()


def test_a_line_that_takes_too_long_was_not_asked_and_no_other_behind_it() -> None:
    engine, found = read("/7", "/slow", "/8")
    assert (found.lines, found.asked, found.unreadable, found.digest) == ((7,), 1, 0, None)
    assert found.why == "line 2: late" and engine.asked[-1][1] == "/slow"
    assert 0 < engine.seconds <= request_hits.MOST_SECONDS


@pytest.mark.parametrize(
    ("paths", "told"),
    [
        (("/7", "/search"), True),
        (("/search?allow_partial_search_results=true",), True),
        (("/search?allow_partial_search_results=false", "/7"), False),
    ],
)
def test_searches_that_may_be_answered_in_part_are_told(paths: tuple[str, ...], told: bool) -> None:
    assert read(*paths)[1].parts_allowed is told
