"""What users write as addresses and latencies: the rules of the schema, as the API server reads them."""

from functools import cache
from typing import Any

import cel
import pytest
from pydantic import ValidationError

from fairlap.api.base import Json
from fairlap.api.crd import RESOURCES, crd
from fairlap.api.sweep_spec import Objective

(BENCHMARK,) = (resource for resource in RESOURCES if resource.kind == "Benchmark")


@cache
def schema() -> Json:
    found: Json = crd(BENCHMARK)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def node(*path: str) -> Json:
    found = schema()
    for name in path:
        found = found["properties"][name]
    return found


def refusals(value: Any, *path: str) -> list[str]:
    """Return the sentences of the rules of a field that do not hold for its value."""
    return [
        it["message"] for it in node(*path)["x-kubernetes-validations"] if not cel.evaluate(it["rule"], {"self": value})
    ]


@pytest.mark.parametrize(
    ("host", "good"),
    [
        ("http://es:9200", True), ("https://es-0.search.svc:65535", True), ("https://192.0.2.1:1", True),
        ("http://[fd00::1]:9200", True), ("https://[2001:DB8::1]:9200", True), ("http://[::ffff:192.0.2.1]:80", True),
        ("http://[::]:80", True),
        ("http://fd00::1:9200", False), ("http://[fd00::1]", False), ("http://[fd00::1%eth0]:80", False),
        ("http://[es]:80", False), ("http://[]:80", False), ("http://u:p@[fd00::1]:80", False),
        ("http://[fd00::1]:80/a", False), ("http://es:65536", False), ("http://es:99999", False),
        ("http://es:0", False),
        ("http://es:080", False), ("ftp://es:80", False), ("http://es:80\n", False),
    ],
)  # fmt: skip
def test_hosts(host: str, good: bool) -> None:
    target = {"kind": "http", "hosts": [host], "overwrite": False}
    sentence = "target.hosts are written as https://NAME:PORT or http://NAME:PORT, without user, password and path; "
    sentence += "a port is at most 65535, and an IPv6 address stands in brackets, as http://[fd00::1]:9200"
    assert (sentence in refusals(target, "target")) is not good
    store = refusals({"hosts": [host]}, "race", "metricsStore")
    assert (sentence.replace("target", "race.metricsStore") in store) is not good


def test_rally_is_given_no_ipv6_address() -> None:
    target = {"kind": "elasticsearch", "hosts": ["http://es:80", "http://[fd00::1]:80"], "overwrite": False}
    (sentence,) = refusals(target, "target")
    assert sentence.startswith("target.hosts has an IPv6 address, which Rally cannot be given: write a name")
    assert not refusals({**target, "kind": "http"}, "target") and not refusals(
        {**target, "hosts": ["http://es:80"]}, "target"
    )


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("50ms", 50.0), ("2.5ms", 2.5), ("500us", 0.5), ("0.5ms", 0.5), ("1s", 1000.0), ("1.25s", 1250.0),
        ("0.001us", 1e-6), ("9999999s", 9_999_999_000.0), ("010ms", 10.0),
        ("0ms", None), ("0.000s", None), ("1m", None), ("50", None), ("ms", None), (".5ms", None), ("1.ms", None),
        ("2.5 ms", None), ("-1ms", None), ("1e3ms", None), ("1.0005ms", None), ("12345678ms", None), ("50ms\n", None),
        ("\uff11ms", None), ("", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("of", ["sweep", "capacity"])
def test_objectives(text: str, millis: float | None, of: str) -> None:
    said = refusals(text, "race", of, "objective", "p99")
    if millis is not None:
        assert not said and Objective(p99=text).millis == pytest.approx(millis, rel=1e-12)
        return
    assert said == [
        "a latency is a number above 0, of at most three decimal places, with the unit us, ms or s: write for example "
        "500us, 2.5ms or 1s"
    ]
    with pytest.raises(ValidationError, match=r"write for example 500us, 2\.5ms or 1s"):
        Objective(p99=text)
