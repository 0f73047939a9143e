"""The part of a race's specification that is about HTTP: what is taken, and what is refused in which words."""

import json

import pytest

from fairlap_race.contract.specification.http_spec import HttpLoad, HttpSpec, find_wrong
from fairlap_race.contract.specification.race_spec import RaceSpec, SpecError, parse_spec

LOAD = {"name": "c1", "seconds": 30, "clients": 1}
HTTP = {"loads": [LOAD]}
SPEC = {
    "format": 1,
    "mode": "race",
    "namespace": "ns",
    "record": "bm-race-1",
    "raceId": "ns.bm.1234.race-1",
    "http": HTTP,
    "requests": {"path": "/run/requests", "file": "terms.txt"},
    "hosts": ["one:10041", "two:10041"],
}


def parsed(**change: object) -> RaceSpec:
    return parse_spec(json.dumps({**SPEC, **change}))


def test_a_race_over_http_needs_no_track_and_survives_the_way_through_json():
    spec = parsed(http={**HTTP, "order": "zipf", "exponent": 1.1, "headers": {"X-A": "b"}}, samples="/samples")
    assert spec.http is not None and spec.http.loads[0].clients == 1 and spec.http.loads[0].rate is None
    assert parse_spec(spec.to_json()) == spec


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loads": []}, "http.loads: there are 0; write 1 to 200"),
        ({"loads": [{**LOAD, "name": f"c{n}"} for n in range(201)]}, "http.loads: there are 201; write 1 to 200"),
        ({"loads": [LOAD, LOAD]}, "http.loads: 'c1' is the name of several loads"),
        ({"loads": [{**LOAD, "clients": 0}]}, "http.loads[0].clients: must be 1 to 10000, not 0"),
        ({"loads": [{**LOAD, "seconds": 0}]}, "http.loads[0].seconds: must be above 0"),
        ({"loads": [{**LOAD, "rate": 0}]}, "http.loads[0].rate: must be 0.001 to 1000000 requests per second, not 0"),
        ({"loads": [{**LOAD, "warmupSeconds": -1}]}, "http.loads[0].warmupSeconds: must be 0 to"),
        ({"loads": [{**LOAD, "name": "a b"}]}, "http.loads[0].name: 'a b' must have 1 to 63 letters, digits"),
        ({"order": "sorted"}, "http.order: must be file, random or zipf, not 'sorted'"),
        ({"order": "zipf"}, "http.exponent: the order zipf needs it, and no other takes it; write one as 1.0"),
        ({"exponent": 1.0}, "http.exponent: the order zipf needs it, and no other takes it; write one as 1.0"),
        ({"order": "zipf", "exponent": 0}, "http.exponent: must be above 0 and at most 10, not 0"),
        ({"seed": -1}, "http.seed: must be a whole number from 0 to 2147483647, not -1"),
        ({"timeoutSeconds": 0}, "http.timeoutSeconds: must be 0.001 to 3600 seconds, not 0"),
        ({"intervalSeconds": -1}, "http.intervalSeconds: must be 0 to 3600 seconds, not -1"),
        ({"health": "d/status"}, "http.health: 'd/status' is no path"),
        ({"health": "//elsewhere/"}, "http.health: '//elsewhere/' is no path"),
        ({"health": "/100%"}, "http.health: '/100%' is no path"),
        ({"headers": {"Authorization": "x"}}, "http.headers.Authorization: is not a user's to set"),
        ({"headers": {"X-Api-Key": "x"}}, "http.headers.X-Api-Key: is the name of credentials;"),
        ({"headers": {"X A": "x"}}, "http.headers: 'X A' is no name of a header; write letters, digits"),
        ({"headers": {"X-A": "x\r\ny: z"}}, "http.headers.X-A: must be a text of printable ASCII"),
        ({"headers": {f"X-{n}": "x" for n in range(51)}}, "http.headers: there are 51; write 50 at most"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(change, message):
    with pytest.raises(SpecError) as caught:
        parsed(http={**HTTP, **change})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"requests": None}, "requests: a race over HTTP needs them"),
        ({"requests": {"file": "x"}}, "requests: must have exactly one of path and git"),
        ({"mode": "probe"}, "mode: there is nothing to probe over HTTP; the check asks each host's health path"),
        ({"hosts": []}, "hosts: there are 0; write 1 to 100"),
        ({"hosts": [f"h{n}:80" for n in range(101)]}, "hosts: there are 101; write 1 to 100"),
        ({"hosts": ["one:1", "one:1"]}, "hosts: one of them is there twice"),
        ({"hosts": ["one"]}, "hosts: 'one' needs a port, as in name:9200"),
        ({"target": {"overwrite": True}}, "target: overwrite and remove mean nothing in a race over HTTP"),
        ({"target": {"kept": True}}, "target.kept: means nothing in a race over HTTP"),
        *[
            ({name: value}, f"{name}: means nothing in a race over HTTP; leave it out")
            for name, value in {
                "track": {"builtin": "replay"}, "challenge": "a", "params": {"a": 1}, "includeTasks": ["a"],
                "excludeTasks": ["a"], "telemetry": ["gc"], "telemetryParams": {"a": 1}, "downSampling": 10,
                "userTags": {"a": 1}, "index": {"shards": 1}, "clientOptions": {"timeout": 1}, "cores": 1,
                "corpora": {"path": "/c"}, "offline": True, "expect": {},
            }.items()
        ],
    ],
)  # fmt: skip
def test_what_means_nothing_over_http_is_refused(change, message):
    with pytest.raises(SpecError) as caught:
        parsed(**change)
    assert str(caught.value).startswith(message)


SECRETS = (
    *("X-Api-Key", "Api-Key", "X-ApiKey", "X-Typesense-API-Key", "X-Auth-Token", "Proxy-Authorization"),
    *("X-Amz-Security-Token", "PRIVATE-TOKEN", "X-Access-Key", "X-AccessToken", "es-secondary-authorization"),
    *("Ocp-Apim-Subscription-Key", "X-Client-Secret", "X-Password", "x-passwd", "X-Credentials", "X-Session-Id"),
    *("X-Cookie", "Set-Cookie", "Auth", "X-JWT"),
)
INNOCENT = (
    *("X-Author", "X-Authored-By", "X-Monkey", "Accept-Encoding", "X-Opaque-Id", "Traceparent", "X-Tokenizer"),
    *("X-Max-Tokens", "X-Cache-Key", "Idempotency-Key", "Content-Type", "X-Secretary", "X-Keyboard", "Key"),
    *("X-Sessions", "User-Agent", "X-Elastic-Product-Origin", "X-Forwarded-For", "Cache-Control", "X-Passage"),
)


@pytest.mark.parametrize("name", SECRETS)
def test_a_header_that_carries_credentials_is_refused(name: str) -> None:
    (wrong,) = find_wrong(HttpSpec((HttpLoad("c1", 30.0, 1),), headers={name: "x"}))
    assert wrong.startswith(f"http.headers.{name}: is the name of credentials; they come from a Secret")


@pytest.mark.parametrize("name", INNOCENT)
def test_a_header_that_only_looks_like_one_of_credentials_is_taken(name: str) -> None:
    assert not list(find_wrong(HttpSpec((HttpLoad("c1", 30.0, 1),), headers={name: "x"})))


@pytest.mark.parametrize(
    ("rates", "timeout", "silent"),
    [((None,), 60.0, 60.0), ((100.0,), 60.0, 60.01), ((None, 0.5, 10.0), 5.0, 7.0), ((0.001,), 999.0, 1999.0)],
)
def test_how_long_a_load_may_be_silent_follows_from_timeout_and_rate(
    rates: tuple[float | None, ...], timeout: float, silent: float
) -> None:
    loads = tuple(HttpLoad(f"c{number}", 30.0, 1, rate) for number, rate in enumerate(rates))
    assert HttpSpec(loads, timeout_seconds=timeout).longest_silence == pytest.approx(silent)


@pytest.mark.parametrize(
    ("rate", "warmup", "seconds", "measured"),
    [
        pytest.param(None, 10, 30, None, id="none"),
        pytest.param(50, 10, 30, 1500, id="even"),
        pytest.param(1, 0.5, 4, 4, id="the first of them half a second later"),
        pytest.param(3, 10, 20, 60, id="none at the clock, at 29.99999997 s"),
        pytest.param(1000, 2, 2, 2000, id="none of the warm-up"),
        pytest.param(50_000, 10, 30, 1_500_000, id="close together"),
        pytest.param(0.001, 10, 30, 0, id="one that is sent at once alone"),
    ],
)
def test_what_k6_plans_for_the_measured_time_is_counted_by_its_moments(rate, warmup, seconds, measured):
    load = HttpLoad("r", seconds, 5, rate, warmup)
    assert load.measured_requests == measured and (rate is None or load.measures_any is (measured > 0))
