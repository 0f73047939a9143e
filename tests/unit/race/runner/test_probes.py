"""What is read of the system under test, host by host, and how it is said that it cannot be read."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.request_files.probe import ProbeSpec
from fairlap_race.contract.specification.http_spec import HttpLoad, HttpSpec
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec, RequestsSource
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.runner import probes as module
from fairlap_race.runner.parts import FailedError
from fairlap_race.runner.probes import ProbeReader, probe_reader

RATE = ProbeSpec("rate", "/d/status", "/1/cache_hit_rate", "/1/n_queries")
CACHED = ProbeSpec("cached", "/d/status", "/1/cached")


class System:
    """Hosts that answer what they are told to."""

    def __init__(self, **hosts: Any) -> None:
        self.answers, self.asked = hosts, list[str]()

    def ask(self, host: str, path: str) -> Any:
        self.asked.append(f"{host}{path}")
        answer = self.answers[host]
        if isinstance(answer, Exception):
            raise answer
        return answer


def status(rate: float, queries: int, cached: int = 1) -> Any:
    return [[0], {"cache_hit_rate": rate, "n_queries": queries, "cached": cached}]


def reader(system: System, *probes: ProbeSpec, stop: threading.Event | None = None) -> ProbeReader:
    return ProbeReader(probes, tuple(system.answers), system.ask, stop or threading.Event())


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)


def test_each_host_is_read_once_a_path() -> None:
    system = System(a=status(0, 0), b=status(80, 100))
    probes = reader(system, RATE, CACHED)
    probes.read_before()
    assert system.asked == ["a/d/status", "b/d/status"]
    system.answers = {"a": status(40, 100, 7), "b": status(65, 200, 8)}
    rate, cached = probes.read_after()
    assert rate.own == 45 and [it.own for it in rate.hosts] == [40, 50]
    assert cached.own is None and [(it.before, it.after) for it in cached.hosts] == [(1, 7), (1, 8)]


def test_the_last_look_before_the_race_counts() -> None:
    system = System(a=status(10, 100))
    probes = reader(system, RATE)
    probes.read_before()
    system.answers = {"a": status(50, 200)}
    probes.read_before()
    system.answers = {"a": status(60, 400)}
    assert probes.read_after()[0].own == 70


def test_without_probes_nothing_is_asked() -> None:
    system = System(a=status(0, 0))
    probes = reader(system)
    probes.read_before()
    assert probes.read_after() == () and not system.asked


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([[0], {}], "/1/cache_hit_rate finds nothing: the deepest level that exists is /1, an object without"),
        (ElasticsearchError("the request: HTTP 404", 404, why="HTTP 404"), "HTTP 404"),
        (ElasticsearchError("/d/status: said: no", why="ConnectionRefusedError: no"), "ConnectionRefusedError: no"),
        (ElasticsearchError("no such host"), "no such host"),
    ],
)
def test_what_cannot_be_read_is_refused_before_the_race(answer: Any, words: str) -> None:
    system = System(a=status(0, 0), b=answer)
    with pytest.raises(FailedError) as error:
        reader(system, RATE).read_before()
    outcome = error.value.outcome
    assert outcome.reason is Reason.PROBE_UNREADABLE
    assert outcome.message.startswith("race.probes rate: GET /d/status at b: ")
    assert outcome.message.partition("at b: ")[2].startswith(words)


def test_a_runner_that_is_told_to_stop_says_so() -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(FailedError) as error:
        reader(System(a=ElasticsearchError("GET /d/status at a: no")), RATE, stop=stop).read_before()
    assert error.value.outcome.reason is Reason.RACE_ABORTED


def test_a_host_that_is_gone_after_the_race_leaves_every_probe_unread() -> None:
    system = System(a=status(0, 0), b=status(0, 0))
    probes = reader(system, RATE, CACHED)
    probes.read_before()
    system.answers = {"a": status(50, 10), "b": ElasticsearchError("b is gone", why="TimeoutError: timed out")}
    for found in probes.read_after():
        assert found.unread and found.own is None
        assert found.why == "after the race: race.probes rate: GET /d/status at b: TimeoutError: timed out"


@pytest.mark.parametrize(
    ("http", "expected"),
    [(None, {}), (HttpSpec((HttpLoad("c", 1, 1),), headers={"X-Tenant": "a"}), {"X-Tenant": "a"})],
)
def test_probes_send_the_headers_of_the_load(
    http: HttpSpec | None, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Mapping[str, str]] = []

    def ask(*arguments: Any) -> tuple[int, bytes]:
        sent.append(arguments[6])
        return 200, b'[[0], {"cached": 1}]'

    monkeypatch.setattr(ElasticsearchClient, "_send", ask)
    source = RequestsSource(path=Path("/r"))
    spec = RaceSpec(Mode.RACE, "ns", "r", "id", hosts=("a:1",), http=http, requests=source, probes=(CACHED,))
    probe_reader(spec, ElasticsearchClient(spec.hosts, "me", None, None), threading.Event()).read_before()
    assert [dict(each) for each in sent] == [expected]
