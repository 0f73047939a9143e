"""What Rally, ECK or a JVM would refuse when a cluster is there, or drop in silence, is refused before one is built."""

from typing import Any

import pytest
from world import SETTINGS, spec

from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.acceptance.accept import objections
from fairlap_race.contract.specification.race_spec import OPERATORS_CLIENT_OPTIONS


def messages(of: BenchmarkSpec) -> list[str]:
    return [objection.message for objection in objections(of, SETTINGS)]


@pytest.mark.parametrize("config", [{"node.name": "es"}, {"node": {"name": "es"}}])
def test_nodes_have_the_names_by_which_eck_has_them_find_each_other(config: dict[str, Any]) -> None:
    sentence = "elasticsearch.config sets node.name, which ECK manages itself; remove it"
    assert messages(spec(elasticsearch={"config": config})) == [sentence]
    assert messages(spec(elasticsearch={"config": {"node.attr.name": "es"}})) == []


@pytest.mark.parametrize("option", sorted(OPERATORS_CLIENT_OPTIONS))
def test_each_client_option_that_the_runner_refuses_is_refused_before(option: str) -> None:
    (message,) = messages(spec(race={"clientOptions": {option: {"x-opaque-id": "bench"}}}))
    assert message.startswith(f"race.clientOptions sets {option}, which is not for a user to set")


@pytest.mark.parametrize(
    ("timeout", "shown"),
    [("60s", '"60s"'), ("60", '"60"'), (0, "0"), (-1, "-1"), (True, "true"), (None, "null"), ([1], "[1]")],
)
def test_a_timeout_that_rally_s_client_cannot_take_is_refused(timeout: Any, shown: str) -> None:
    (message,) = messages(spec(race={"clientOptions": {"timeout": timeout}}))
    assert message == f"race.clientOptions.timeout is {shown}: write seconds as a number, for example 60"


@pytest.mark.parametrize("timeout", [60, 0.5, 3600])
def test_a_timeout_is_a_number_of_seconds_above_none(timeout: float) -> None:
    assert messages(spec(race={"clientOptions": {"timeout": timeout}})) == []


def test_the_name_by_which_rally_would_drop_a_timeout_is_refused() -> None:
    (message,) = messages(spec(race={"clientOptions": {"request_timeout": 600}}))
    assert message == "race.clientOptions sets request_timeout, which Rally calls timeout: write it as timeout"


@pytest.mark.parametrize("char", ["\u00a0", "\u3000", "\u200b", "\u2028", "\x0b", "\x85"])
def test_a_character_that_nobody_sees_is_named_where_the_api_server_takes_it(char: str) -> None:
    """Each of them is stored: the API server's white space is that of ASCII alone."""
    git = {"url": f"https://example.com/a{char}b.git", "revision": "main"}
    replayed = {"track": {"builtin": "replay"}, "requests": {"git": git}}
    for of, field in (
        (spec(elasticsearch={"jvmOptions": ["-XX:-UseG1GC", f"-Da=b{char}"]}), "elasticsearch.jvmOptions[1]"),
        (spec(race={"track": {"git": git}}), "race.track.git.url"),
        (spec(race={"track": {"name": "geonames", "repository": git["url"]}}), "race.track.repository"),
        (spec(race=replayed), "race.requests.git.url"),
    ):
        sentence = f"{field} has the character U+{ord(char):04X}, which nobody sees: type that part anew"
        assert sentence in messages(of)
    assert messages(spec(elasticsearch={"jvmOptions": ["-Dname=Jürgen"]})) == []


@pytest.mark.parametrize(
    ("hosts", "mixed"),
    [
        (["https://10.0.0.1:9200", "https://es-2.search.svc:9200"], True),
        (["https://10.0.0.1:9200", "https://10.0.0.2:9200"], False),
        (["https://es-1.search.svc:9200", "https://10-0-0-2.search.svc:9200"], False),
        (["http://10.0.0.1:9200", "http://es-2.search.svc:9200"], False),
    ],
)
def test_names_and_addresses_are_not_mixed_where_rally_verifies_certificates(hosts: list[str], mixed: bool) -> None:
    track = {"track": {"builtin": "log_ingest"}}
    found = messages(BenchmarkSpec.model_validate({"target": {"hosts": hosts}, "race": track}))
    assert len(found) == mixed and all(it.startswith("target.hosts has names and IP addresses, and") for it in found)


def test_names_and_addresses_may_be_mixed_over_http() -> None:
    target = {"kind": "http", "hosts": ["https://10.0.0.1:80", "https://es-2.search.svc:80"]}
    requests = {"requests": {"configMap": {"name": "queries"}}, "load": {}}
    assert messages(BenchmarkSpec.model_validate({"target": target, "race": requests})) == []
