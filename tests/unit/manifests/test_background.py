"""What is switched off on clusters that are built: only what a version knows, and nobody may want."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import SETTINGS, seen, spec

from fairlap.manifests.background import switched_off
from fairlap.manifests.elasticsearch import elasticsearch
from fairlap_race.contract.recorded.track_record import SERVICES

GEOIP, ML, WATCHER = "ingest.geoip.downloader.enabled", "xpack.ml.enabled", "xpack.watcher.enabled"
ALL = {GEOIP, ML, WATCHER}


def off(*used: str, **wanted: Any) -> set[str]:
    found = spec(elasticsearch=wanted).elasticsearch
    assert found is not None
    settings = switched_off(found, used)
    assert set(settings.values()) <= {False}
    return set(settings)


@pytest.mark.parametrize(
    ("used", "wanted", "expected"),
    [
        ((), {}, ALL),
        ((), {"version": "8.6.1"}, ALL),
        ((), {"version": "7.17.29"}, ALL),
        ((), {"version": "7.13.4"}, {ML, WATCHER}),  # it would not start with the setting
        ((), {"version": "6.8.23"}, {ML, WATCHER}),
        ((), {"version": "6.2.4"}, set()),
        ((), {"version": "7.10.2", "image": "elasticsearch-oss:7.10.2"}, set()),
        ((), {"version": "8.6.1", "image": "mine:8.6.1"}, ALL),
        (("geoip",), {}, {ML, WATCHER}),
        (SERVICES, {}, set()),
        ((), {"config": {"xpack.ml.enabled": True}}, {GEOIP, WATCHER}),
        ((), {"config": {"xpack": {"ml": {"max_open_jobs": 5}}}}, {GEOIP, WATCHER}),
        ((), {"config": {"ingest": {"geoip": {"downloader": {"enabled": True}}}}}, {ML, WATCHER}),
        ((), {"config": {"node.roles": ["data", "ml"]}}, {GEOIP, WATCHER}),
        ((), {"config": {"node.roles": ["data", "master"]}}, ALL),
    ],
)
def test_what_is_switched_off(used: tuple[str, ...], wanted: dict[str, Any], expected: set[str]) -> None:
    assert off(*used, **wanted) == expected


@given(st.dictionaries(st.sampled_from(sorted(ALL)), st.booleans()), st.sets(st.sampled_from(SERVICES)))
def test_the_users_own_config_always_holds(config: dict[str, bool], used: set[str]) -> None:
    subject = seen(of=spec(elasticsearch={"config": config})).subject
    made = elasticsearch(subject, "race-1", SETTINGS, {}, sorted(used))["spec"]["nodeSets"][0]["config"]
    assert {name: made[name] for name in config} == config
    assert all(made[name] is False for name in set(made) - set(config))
