"""Each bound of a spec that the schema cannot have, or an older one has not: a sentence, never an exception."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import SETTINGS, seen, spec

from fairlap.api.names import MOST_LEVELS
from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.acceptance.accept import objections
from fairlap.plan.benchmark import plan


def nested(levels: int, *, lists: bool = False) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value] if lists else {"a": value}
    return value


def nested_under(key: str, levels: int, value: Any) -> Any:
    for _ in range(levels):
        value = {key: value}
    return value


CAPACITY = {"task": "search", "objective": {"p99": "50ms"}, "targetThroughput": {"from": 50, "to": 500}}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "race": ({"timeouts": {"race": "99999999h"}}, "timeouts.race 99999999h is too long: write at most 720h"),
    "19 digits": ({"timeouts": {"race": "9" * 19 + "h"}}, "h is too long: write at most 720h"),
    "provisioning": ({"timeouts": {"provisioning": "25h"}}, "timeouts.provisioning 25h is too long: write at most 24h"),
    "ttl": (
        {"ttlAfterFinished": {"failed": "9000h"}},
        "ttlAfterFinished.failed 9000h is too long: write at most 8760h",
    ),
    "keep": ({"keepClusterFor": "99999999h"}, "keepClusterFor 99999999h is too long: write at most 720h"),
    "memory": (
        {"elasticsearch": {"resources": {"limits": {"memory": "99999999999999Pi"}}}},
        "elasticsearch.resources.limits.memory 99999999999999Pi is more than any machine has: write at most 64Ti",
    ),
    "cpu": (
        {"race": {"resources": {"limits": {"cpu": "99999999999999"}}}},
        "race.resources.limits.cpu 99999999999999 is more than any machine has: write at most 1000",
    ),
    "sweep": (
        {
            "race": {
                "sweep": {
                    "task": "a",
                    "clients": [1, 2, 3],
                    "duration": "30m",
                    "warmup": "5m",
                    "interval": "10s",
                    "order": "upAndDown",
                }
            },
            "timeouts": {"race": "3h30m"},
        },
        "race.sweep takes 12650 s at least, and timeouts.race is 3h30m: write fewer or shorter steps or intervals, or",
    ),
    "a sweep that waits": (
        {"race": {"sweep": {"task": "index", "clients": [1, 2], "interval": "7h"}}},
        "race.sweep takes 25200 s at least, and timeouts.race is 6h: write fewer or shorter steps or intervals, or a",
    ),
    "capacity": (
        {"race": {"capacity": {**CAPACITY, "duration": "10m"}}},
        "race.capacity takes 24200 s if the probes contradict each other, and timeouts.race is 6h: write a shorter",
    ),
    "capacity between rates closer than the resolution": (
        {"race": {"capacity": {**CAPACITY, "targetThroughput": {"from": 100, "to": 101}, "resolution": "10%"}}},
        "race.capacity.targetThroughput goes from 100 to 101, which is less than the resolution of 10%, so that "
        "nothing is left to be found: write rates further apart, or a finer resolution",
    ),
    "capacity of few requests": (
        {"race": {"capacity": {**CAPACITY, "targetThroughput": {"from": 5, "to": 50}}}},
        "race.capacity: 5/s for 30s are 150 requests, and p99 says nothing below 368: write a higher "
        "targetThroughput.from, a duration of 74s, or another percentile",
    ),
    "capacity of clients that send nothing": (
        {"race": {"capacity": {**CAPACITY, "targetThroughput": {"from": 20, "to": 500}, "clients": 2000}}},
        "race.capacity.clients 2000 send a request each in 100 s at 20/s, and a probe is measured for 30s: write 600 "
        "clients at most, a higher targetThroughput.from, or a longer duration",
    ),
    "rates of no request": (
        {"race": {"sweep": {"task": "search", "targetThroughput": [0.001, 0.01, 10], "duration": "30s"}}},
        "race.sweep.targetThroughput 0.001, 0.01: less than one request in the 30 s of a step: write rates of 0.034 or "
        "more, or a longer duration",
    ),
    "volume": (
        {"elasticsearch": {"storage": {"size": "2Pi"}}},
        "elasticsearch.storage.size 2Pi is more than any machine has: write at most 1Pi",
    ),
    "empty volume": (
        {"elasticsearch": {"storage": {"size": "0Gi"}}},
        "elasticsearch.storage.size 0Gi is nothing: write for example 20Gi",
    ),
    "two bytes": (
        {"elasticsearch": {"resources": {"limits": {"memory": "2000m"}}}},
        "elasticsearch.resources.limits.memory 2000m is 2 bytes, less than 1Mi: write for example 2Gi",
    ),
    "a request of two bytes": (
        {"race": {"resources": {"requests": {"memory": "2"}}}},
        "race.resources.requests.memory 2 is 2 bytes, less than 1Mi: write for example 2Gi",
    ),
    "a volume of 20 KiB": (
        {"elasticsearch": {"storage": {"size": "20Ki"}}},
        "elasticsearch.storage.size 20Ki is 20480 bytes, less than 1Mi: write for example 20Gi",
    ),
    "a directory of two bytes": (
        {"elasticsearch": {"storage": {"ephemeral": {"sizeLimit": "2000m"}}}},
        "elasticsearch.storage.ephemeral.sizeLimit 2000m is 2 bytes, less than 1Ki: write for example 20Gi",
    ),
    "corpora of nothing": (
        {"race": {"corpora": {"claimName": "c", "maxSize": "0"}}},
        "race.corpora.maxSize 0 is nothing: write for example 200Gi",
    ),
    "corpora of a tenth of a byte": (
        {"race": {"corpora": {"claimName": "c", "maxSize": "100m"}}},
        "race.corpora.maxSize 100m is 0.1 bytes, less than 1Ki: write for example 200Gi",
    ),
    "no memory": (
        {"race": {"resources": {"limits": {"memory": "0.0"}}}},
        "race.resources.limits.memory 0.0 is nothing: write for example 2Gi",
    ),
    "no processor to send from": (
        {"race": {"resources": {"limits": {"cpu": "0"}}}},
        "race.resources.limits.cpu 0 is nothing: write for example 2, or leave it out",
    ),
    "no processor": (
        {"elasticsearch": {"resources": {"limits": {"cpu": "0m", "memory": "2Gi"}}}},
        "elasticsearch.resources.limits.cpu 0m is nothing: write for example 2, or leave it out",
    ),
    "deep": ({"race": {"params": nested(21)}}, "race.params is nested more than 20 levels deep: write it flatter"),
    "very deep": ({"elasticsearch": {"config": nested(5000)}}, "elasticsearch.config is nested more than 20 levels"),
    "deep lists": ({"race": {"params": {"a": nested(900, lists=True)}}}, "race.params is nested more than 20 levels"),
    "large": (
        {"race": {"params": {"a": "x" * 70_000}}},
        "race.params is larger than 64 KiB: write less, and keep what is large in the track",
    ),
    "many": (
        {"elasticsearch": {"index": {"settings": {"a": list(range(20_000))}}}},
        "elasticsearch.index.settings is larger than 64 KiB",
    ),
    "long names": (
        {"elasticsearch": {"config": nested_under("k" * 450, 15, {str(number): 1 for number in range(100)})}},
        "elasticsearch.config is larger than 64 KiB",
    ),
    "many values together": (
        {"race": {"params": {"a": list(range(9000))}}, "elasticsearch": {"config": {"b": list(range(9000))}}},
        "elasticsearch.config, race.params have more than 16000 values together: write fewer, and keep what is large "
        "in the track",
    ),
    "many empty texts": ({"race": {"params": {"a": [""] * 20_000}}}, "race.params is larger than 64 KiB"),
    "deep telemetry": (
        {"race": {"telemetry": ["node-stats"], "telemetryParams": {"node-stats-x": nested(61)}}},
        "race.telemetryParams is nested more than 20 levels deep: write it flatter",
    ),
    "large telemetry": (
        {"race": {"telemetry": ["node-stats"], "telemetryParams": {"node-stats-x": "x" * 70_000}}},
        "race.telemetryParams is larger than 64 KiB",
    ),
    "bytes": (
        {"race": {"params": {"a": "𝄞" * 60_000}, "userTags": {"b": "x" * 400}}},
        "race is 234 KiB in UTF-8, and its pod can be told 111 at most; the largest parts in KiB: race.params 234, "
        "race.userTags 0: write less, and keep what is large in a file of the track",
    ),
    "bytes together": (
        {"race": {"params": {"a": "x" * 60_000}, "clientOptions": {"a": "x" * 60_000}}},
        "the largest parts in KiB: race.params 58, race.clientOptions 58: write less",
    ),
    "bytes of steps": (
        {"race": {"sweep": {"task": "𝄞" * 180, "clients": list(range(1, 201)), "duration": "1s"}}},
        "the largest parts in KiB: race.sweep",
    ),
    "no key": ({"race": {"params": {"": 1}}}, "race.params has an empty key: write a name"),
    "long key": (
        {"race": {"userTags": {"k" * 501: "x"}}},
        f"race.userTags has a key of 501 characters ({'k' * 40}…): write at most 500",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_out_of_its_bounds_has_a_sentence(case: str) -> None:
    written, sentence = REFUSED[case]
    of = spec(**written)
    assert any(sentence in objection.message for objection in objections(of, SETTINGS)), objections(of, SETTINGS)
    status = plan(seen(of=of)).status
    assert (status.phase, status.reason) == ("Failed", "InvalidSpec") and sentence in status.message


@pytest.mark.parametrize(("first", "last", "resolution"), [(20, 22, "10%"), (100, 105, "5%"), (0.1, 0.15, "50%")])
def test_rates_may_be_apart_by_just_the_resolution(first: float, last: float, resolution: str) -> None:
    rates = {"from": first, "to": last}
    about = {**CAPACITY, "targetThroughput": rates, "resolution": resolution, "duration": "6m"}
    found = objections(spec(race={"capacity": about}), SETTINGS)
    assert not [it for it in found if "further apart" in it.message]


HTTP: dict[str, Any] = {"requests": {"configMap": {"name": "queries"}}, "load": {}}


def over_http(**race: Any) -> BenchmarkSpec:
    target = {"kind": "http", "hosts": ["http://one:80"]}
    return BenchmarkSpec.model_validate({"target": target, "race": {**HTTP, **race}})


def messages(of: BenchmarkSpec) -> list[str]:
    return [objection.message for objection in objections(of, SETTINGS)]


PROBES = {**CAPACITY, "task": "requests"}


@pytest.mark.parametrize(
    ("timeout", "percentile", "latency", "refused"),
    [
        ("1s", "p99", "2s", True),
        ("1s", "p50", "1000.1ms", True),
        ("1s", "p99", "1s", False),
        ("1500ms", "p90", "1.5s", False),
        ("60s", "p99", "90s", True),
        ("999s", "p99", "90s", False),
    ],
)
@pytest.mark.parametrize("field", ["sweep", "capacity"])
def test_an_objective_longer_than_the_timeout_of_the_load_is_refused(
    field: str, timeout: str, percentile: str, latency: str, refused: bool
) -> None:
    steps = {"task": "requests", "clients": [1]} if field == "sweep" else PROBES
    found = messages(over_http(load={"timeout": timeout}, **{field: {**steps, "objective": {percentile: latency}}}))
    sentence = (
        f"race.{field}.objective.{percentile} {latency} is longer than race.load.timeout {timeout}, after which a "
        "request is given up and has failed: write a longer timeout, or a shorter latency"
    )
    assert found == ([sentence] if refused else [])


@pytest.mark.parametrize(
    ("first", "clients", "duration"), [(4.35, 435, "100s"), (1.13, 113, "100s"), (400, 8, "30s"), (0.5, 1, "12s")]
)
def test_clients_that_send_just_once_in_a_probe_are_accepted(first: float, clients: int, duration: str) -> None:
    capacity = {**CAPACITY, "objective": {"p50": "50ms"}, "clients": clients, "duration": duration}
    rates = {"from": first, "to": first * 10}
    found = messages(spec(race={"capacity": {**capacity, "targetThroughput": rates}}, timeouts={"race": "100h"}))
    assert not [text for text in found if "capacity" in text]


def test_an_objective_of_rally_knows_no_timeout_of_the_load() -> None:
    assert messages(spec(race={"capacity": {**CAPACITY, "objective": {"p99": "90s"}}})) == []


@pytest.mark.parametrize(
    ("load", "needed"),
    [
        ({"targetThroughput": 0.01}, "a warm-up of 10 s: write a higher rate, 0.034 or more, or a duration of 91s"),
        ({"targetThroughput": 0.025}, "a warm-up of 10 s: write a higher rate, 0.034 or more, or a duration of 31s"),
        ({"targetThroughput": 0.0251}, ""),
        ({"targetThroughput": 0.034}, ""),
        ({"targetThroughput": 0.01, "duration": "91s"}, ""),
        ({"targetThroughput": 0.01, "warmup": "0s"}, ""),  # the first is sent at once
        ({"targetThroughput": 0.03, "warmup": "100s"}, ""),  # the fourth is, when the warm-up ends
        ({"targetThroughput": 0.03, "warmup": "101s"}, "write a higher rate, 0.034 or more, or a duration of 33s"),
        ({}, ""),
    ],
)
def test_a_rate_of_which_no_request_is_measured_is_refused(load: dict[str, Any], needed: str) -> None:
    found = messages(over_http(load=load))
    assert len(found) == bool(needed) and all(it.endswith(needed) for it in found), found
    for message in found:
        begins = f"race.load.targetThroughput {load['targetThroughput']}: no request is sent in the 30 s that are"
        assert message.startswith(begins)


def test_each_step_of_which_no_request_is_measured_is_named() -> None:
    sweep = {"task": "requests", "targetThroughput": [1, 0.02, 0.01], "duration": "20s", "warmup": "5s"}
    assert messages(over_http(sweep=sweep)) == [
        "race.sweep.targetThroughput 0.01, 0.02: no request is sent in the 20 s that are measured after a warm-up of "
        "5 s: write a higher rate, 0.05 or more, or a duration of 96s"
    ]
    assert messages(over_http(sweep={**sweep, "duration": "96s"})) == []
    assert messages(over_http(sweep={**sweep, "duration": None, "warmup": None}, load={"duration": "91s"})) == []
    assert len(messages(over_http(sweep={**sweep, "duration": None, "warmup": None}))) == 1


def test_a_load_that_an_older_schema_lets_last_no_time_raises_nothing() -> None:
    assert messages(over_http(load={"targetThroughput": 0.01, "duration": "0s"})) == []


@given(rate=st.floats(0.001, 2), seconds=st.integers(1, 2000), warmup=st.integers(0, 2000))
def test_what_is_written_instead_of_a_rate_without_requests_is_accepted(rate: float, seconds: int, warmup: int) -> None:
    load = {"targetThroughput": rate, "duration": f"{seconds}s", "warmup": f"{warmup}s"}
    for message in messages(over_http(load=load)):
        words = message.partition("write a higher rate, ")[2]
        higher, _, duration = words.partition(" or more, or a duration of ")
        assert messages(over_http(load={**load, "targetThroughput": float(higher)})) == []
        assert messages(over_http(load={**load, "duration": duration})) == []


@pytest.mark.parametrize("task", ["search", "search@probe-1"])
def test_errors_allowed_to_the_task_of_a_search_for_capacity_are_refused_where_they_were_dropped(task: str) -> None:
    (found,) = messages(spec(race={"capacity": CAPACITY, "allow": {"errorRate": {task: 0.01, "bulk": 0.01}}}))
    assert found == (
        f"race.allow.errorRate.{task} means nothing beside race.capacity, whose objective says how many requests may "
        "fail: write race.capacity.objective.errorRate, and leave the task out of race.allow"
    )
    assert messages(spec(race={"capacity": CAPACITY, "allow": {"errorRate": {"bulk": 0.01, "search@home": 0.1}}})) == []
    (over,) = messages(over_http(capacity=PROBES, allow={"errorRate": {"requests": 0.01}}))
    assert over.startswith("race.allow.errorRate.requests means nothing beside race.capacity")


@pytest.mark.parametrize(
    ("hosts", "sentence"),
    [
        (["http://[fd00::1]:80", "http://[fd00::2]:80"], ""),
        (
            ["http://[1:2]:80"],
            "target.hosts: http://[1:2]:80 has no IPv6 address in its brackets; write one as http://[f",
        ),
        (["http://[::1::]:80"], "target.hosts: http://[::1::]:80 has no IPv6 address in its brackets"),
        (["http://one:80", "http://One:80"], "target.hosts has a host twice: each gets the same share of the requests"),
    ],
)
def test_hosts_over_http(hosts: list[str], sentence: str) -> None:
    of = BenchmarkSpec.model_validate({"target": {"kind": "http", "hosts": hosts}, "race": HTTP})
    found = [objection.message for objection in objections(of, SETTINGS)]
    assert len(found) == bool(sentence) and all(sentence in message for message in found)


def test_a_metrics_store_has_an_address() -> None:
    of = spec(race={"metricsStore": {"hosts": ["https://[1:2]:9200"]}})
    (found,) = objections(of, SETTINGS)
    assert found.message.startswith("race.metricsStore.hosts: https://[1:2]:9200 has no IPv6 address")


def test_a_directory_may_be_too_small_for_what_is_to_be_seen() -> None:
    assert objections(spec(elasticsearch={"storage": {"ephemeral": {"sizeLimit": "16Ki"}}}), SETTINGS) == []
    assert objections(spec(race={"corpora": {"claimName": "c", "maxSize": "1Ki"}}), SETTINGS) == []


def test_what_is_within_its_bounds_has_none() -> None:
    within = spec(
        race={"params": {**nested(MOST_LEVELS), "b": "ä" * 50_000}, "userTags": {"𝄞": "x"}},
        timeouts={"race": "720h", "provisioning": "1440m"},
        keepClusterFor="720h0s",
    )
    assert objections(within, SETTINGS) == []


free = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


@given(st.dictionaries(st.text(max_size=5), free, max_size=4))
def test_no_free_form_map_raises(written: dict[str, Any]) -> None:
    of = spec(
        race={"params": written, "clientOptions": written},
        elasticsearch={"config": written, "index": {"settings": written}},
    )
    for objection in objections(of, SETTINGS):
        assert objection.message
