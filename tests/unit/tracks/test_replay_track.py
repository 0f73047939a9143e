"""The replay track's parameter source: orders, shares of clients, and the exponent that gives a hit rate."""

from __future__ import annotations

import importlib.util
import json
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fairlap_race.contract.request_files.request_lines import RequestLine, read_lines

TRACK = Path(__file__).parents[3] / "tracks" / "replay"
Sources = Callable[..., Any]


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("replay_track", TRACK / "track.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODULE = load()


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sources:
    """Make a source of requests for the given lines."""

    def make(lines: list[str], **params: Any) -> Any:
        file = tmp_path / f"{random.random()}.ndjson"
        file.write_text("".join(f"{line}\n" for line in lines))
        monkeypatch.setattr(MODULE, "FILE", file)
        return MODULE.Replay(None, {name.replace("_", "-"): value for name, value in params.items()})

    return make


def paths(source: Any, number: int) -> list[str]:
    return [str(source.params()["path"]) for _ in range(number)]


def test_the_file_once_in_its_order_each_client_its_share(source: Sources) -> None:
    made = source([f"/i/_doc/{n}" for n in range(7)])
    assert not made.infinite
    for client, expected in enumerate(([0, 3, 6], [1, 4], [2, 5])):
        mine = made.partition(client, 3)
        sent = []
        with pytest.raises(StopIteration):
            while True:
                sent.append(mine.params()["path"])
        assert sent == [f"/i/_doc/{n}" for n in expected]
        assert mine.percent_completed == pytest.approx(min(1.0, len(expected) * 3 / 7))


def test_a_client_without_a_share_sends_nothing(source: Sources) -> None:
    with pytest.raises(StopIteration):
        source(["/i/_doc/1"]).partition(1, 2).params()


@pytest.mark.parametrize("end", [{"requests": 6}, {"time_period": 5.0}, {"looped": True}])
def test_the_file_again_and_again_until_the_end(source: Sources, end: dict[str, Any]) -> None:
    made = source(["/a", "/b", "/c"], **end)
    assert made.infinite
    assert paths(made.partition(0, 2), 4) == ["/a", "/c", "/b", "/a"]
    assert paths(made.partition(1, 2), 4) == ["/b", "/a", "/c", "/b"]


def test_at_random_is_decided_by_seed_and_client(source: Sources) -> None:
    lines = [f"/i/_doc/{n}" for n in range(50)]
    first = paths(source(lines, order="random").partition(0, 2), 200)
    assert first == paths(source(lines, order="random").partition(0, 2), 200)
    assert first != paths(source(lines, order="random", seed=7).partition(0, 2), 200)
    assert first != paths(source(lines, order="random").partition(1, 2), 200)
    assert len(set(first)) > 40


def test_what_is_sent(source: Sources) -> None:
    lines = [
        "/i/_search?q=a",
        '{"path": "/i/_search", "body": {"query": {"match": {"t": "é"}}}}',
        '{"method": "get", "path": "/_msearch", "body": [{"index": "i"}, {"size": 0}]}',
        '{"method": "POST", "path": "/i/_search", "body": "{}"}',
    ]
    made = source(lines).partition(0, 1)
    assert [made.params() for _ in lines] == [
        {"method": "GET", "path": "/i/_search?q=a"},
        {"method": "POST", "path": "/i/_search", "body": '{"query":{"match":{"t":"é"}}}'},
        {
            "method": "GET", "path": "/_msearch", "body": '{"index":"i"}\n{"size":0}\n',
            "headers": {"content-type": "application/x-ndjson"},
        },
        {"method": "POST", "path": "/i/_search", "body": "{}"},
    ]  # fmt: skip


def test_searches_ask_for_the_cache_where_it_is_wanted(source: Sources) -> None:
    scrolls = "/i/_search?scroll=1m"
    assert paths(source([scrolls], request_cache=True).partition(0, 1), 1) == [scrolls], "it would be refused"
    lines = ["/i/_search", "/i/_search?", "/i/_search?q=a", "/i/_search?request_cache=false", "/i/_count"]
    assert paths(source(lines, request_cache=True).partition(0, 1), 5) == [
        "/i/_search?request_cache=true",
        "/i/_search?request_cache=true", "/i/_search?q=a&request_cache=true", "/i/_search?request_cache=false",
        "/i/_count",
    ]  # fmt: skip


@pytest.mark.parametrize("wanted", [0.3, 0.5, 0.9])
@pytest.mark.parametrize("clients", [1, 4])
def test_what_is_sent_repeats_itself_as_wanted(source: Sources, wanted: float, clients: int) -> None:
    number = 4000
    lines = [f"/i/_search?q={n}" for n in range(20_000)]
    made = source(lines, order="zipf", requests=number, cache_hit_rate=wanted)
    sent = [path for client in range(clients) for path in paths(made.partition(client, clients), number // clients)]
    assert 1 - len(set(sent)) / number == pytest.approx(wanted, abs=0.02)


def test_the_most_frequent_request_of_the_file_is_the_most_frequent_one(source: Sources) -> None:
    lines = [f"/i/_search?q={n}" for n in range(100)] + ["/i/_search?q=57"] * 2
    sent = paths(source(lines, order="zipf", requests=1000, cache_hit_rate=0.95).partition(0, 1), 1000)
    assert max(set(sent), key=sent.count) == "/i/_search?q=57"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"order": "backwards"}, "order must be one of file, random, zipf, not 'backwards'"),
        ({"requests": 5, "time_period": 5.0}, "requests and time_period both say when to end; write one of them"),
        ({"requests": 0}, "requests must be a whole number of at least 1"),
        ({"warmup_requests": 5}, "warmup_requests must be a whole number below that of requests"),
        ({"requests": 5, "warmup_requests": 5}, "warmup_requests must be a whole number below that of requests"),
        ({"requests": 5, "warmup_time_period": 5.0}, "warmup_time_period needs time_period"),
        ({"cache_hit_rate": 0.5}, "cache_hit_rate is for order: zipf"),
        ({"order": "zipf", "cache_hit_rate": 0.5}, "order: zipf needs requests"),
        ({"order": "zipf", "requests": 10}, "order: zipf needs cache_hit_rate"),
        ({"order": "zipf", "requests": 10, "cache_hit_rate": 1.0}, "must be above 0 and below 1, not 1"),
        ({"order": "zipf", "requests": 10, "cache_hit_rate": 0.95}, "write at most 0.9, or more requests"),
        (
            {"order": "zipf", "requests": 10, "cache_hit_rate": 0.5},
            "10 requests of only 3 distinct ones hit at least 0.705; the file needs 6 distinct requests",
        ),
    ],
)
def test_what_cannot_be_done_is_said(source: Sources, params: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as caught:
        source(["/a", "/b", "/c"], **params)
    assert words in str(caught.value)


def test_the_example_can_be_sent(source: Sources) -> None:
    folder = TRACK.parents[1] / "examples" / "replay"
    requests = yaml.safe_load((folder / "1-requests.yaml").read_text())
    race = yaml.safe_load((folder / "2-benchmark.yaml").read_text())["spec"]["race"]
    assert race["requests"]["configMap"]["name"] == requests["metadata"]["name"]
    params = dict(race["params"])
    documents = requests["data"]["documents.json"].splitlines()
    assert [type(json.loads(line)) for line in documents] == [dict] * params.pop("documents")
    lines = requests["data"]["requests.ndjson"].encode().splitlines(keepends=True)
    for line in read_lines(lines, "requests.ndjson"):
        assert line.path.startswith(f"/{params['index']}/")
    names = ("order", "requests", "cache_hit_rate", "request_cache")
    made = source(requests["data"]["requests.ndjson"].splitlines(), **{name: params[name] for name in names})
    assert made.exponent > 0


DISTINCT, REQUESTS = st.integers(1, 100_000), st.integers(2, 1_000_000)


@given(DISTINCT, REQUESTS, st.floats(0.001, 0.999))
@settings(max_examples=60, deadline=None)
def test_the_exponent_gives_the_rate(distinct: int, requests: int, wanted: float) -> None:
    assume(MODULE.expected_hit_rate(0.0, distinct, requests) <= wanted <= 1 - 1 / requests)
    exponent = MODULE.zipf_exponent(wanted, distinct, requests)
    assert exponent >= 0
    assert MODULE.expected_hit_rate(exponent, distinct, requests) == pytest.approx(wanted, abs=1e-6)


@given(DISTINCT, REQUESTS, st.floats(0, 5), st.floats(0, 5))
@settings(max_examples=60, deadline=None)
def test_the_rate_grows_with_the_exponent_and_stays_in_its_bounds(
    distinct: int, requests: int, one: float, other: float
) -> None:
    low, high = sorted((one, other))
    rates = [MODULE.expected_hit_rate(exponent, distinct, requests) for exponent in (0.0, low, high)]
    assert -1e-9 <= rates[0] <= rates[1] + 1e-9 <= rates[2] + 2e-9 <= 1 - 1 / requests + 1e-6


@given(st.integers(1, 5000), st.integers(1, 20_000), st.floats(0, 4))
@settings(max_examples=40, deadline=None)
def test_ranks_in_blocks_give_what_each_rank_alone_gives(distinct: int, requests: int, exponent: float) -> None:
    weights = [rank**-exponent for rank in range(1, distinct + 1)]
    total = sum(weights)
    misses = sum(1 - (1 - weight / total) ** requests for weight in weights)
    assert MODULE.expected_hit_rate(exponent, distinct, requests) == pytest.approx(1 - misses / requests, abs=2e-4)


@given(st.integers(1, 3000), st.floats(0.01, 0.9))
@settings(max_examples=40, deadline=None)
def test_a_rate_that_is_refused_says_how_many_distinct_requests_are_enough(requests: int, wanted: float) -> None:
    assume(wanted <= 1 - 1 / requests)
    enough = MODULE._enough(wanted, requests)
    assert MODULE.zipf_exponent(wanted, enough, requests) >= 0
    if enough > 1:
        with pytest.raises(ValueError, match="cannot be had"):
            MODULE.zipf_exponent(wanted, enough - 1, requests)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.sampled_from(["GET", "POST"]),
    st.sampled_from(["/i/_search", "/_msearch", "/i/_count?q=a%20b"]),
    st.none() | st.dictionaries(st.text(max_size=5), JSON, max_size=3) | st.lists(JSON, max_size=3),
)
@settings(deadline=None)
def test_every_line_that_is_accepted_is_sent_as_it_says(method: str, path: str, body: Any) -> None:
    line = RequestLine(method, path, body)
    (read,) = read_lines([f"{line.to_line()}\n".encode()], "requests.ndjson")
    assert read == line
    sent_method, sent_path, sent_body, kind = MODULE._request(line.to_line(), False)
    assert (sent_method, sent_path) == (method, path)
    if body is None:
        assert sent_body is None
    elif isinstance(body, dict):
        assert json.loads(sent_body) == body
    else:
        assert kind == "application/x-ndjson" and sent_body.count("\n") >= len(body)


def test_steps_of_a_sweep_draw_others_and_each_the_same_in_every_race(source: Sources) -> None:
    """Else a step begins with what the one before it has just brought into a cache."""
    lines = [f"/i/_search?q={number}" for number in range(1000)]
    drawn = [paths(source(lines, order="random", step=step).partition(0, 2), 50) for step in (0, 1, 2, 1)]
    assert drawn[1] == drawn[3] and len({tuple(each) for each in drawn}) == 3
    assert paths(source(lines, order="random").partition(0, 2), 50) == drawn[0]
