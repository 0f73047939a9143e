"""The effective state of a cluster and its indices: what is kept of it, and what is left out since no two share it."""

from __future__ import annotations

from typing import Any

import pytest

from fairlap_race.elasticsearch import effective

SETTINGS = {
    "settings": {
        "index.uuid": "u",
        "index.creation_date": "1",
        "index.provided_name": "<logs-{now/d}>",
        "index.version.created": "9000000",
        "index.number_of_shards": "1",
        "index.query.default_field": ["a", "b"],
    },
    "defaults": {"index.refresh_interval": "1s", "index.codec": "default"},
}
MAPPING = {"mappings": {"properties": {"a": {"type": "long"}}}}


def test_settings_without_what_no_two_indices_share() -> None:
    found = effective.index_state(SETTINGS, MAPPING, "stored")
    assert found.explicit == {
        "index.number_of_shards": "1",
        "index.query.default_field": '["a", "b"]',
        "index.version.created": "9000000",
    }
    assert found.defaults == {
        "index.refresh_interval": "1s", "index.codec": "default", "index.mapping.source.mode": "stored",
    }  # fmt: skip
    again = {**SETTINGS, "settings": {**SETTINGS["settings"], "index.uuid": "v", "index.creation_date": "2"}}
    assert effective.index_state(again, MAPPING, "stored") == found


def test_the_digest_is_of_what_is_in_effect_whoever_set_it() -> None:
    found = effective.index_state(SETTINGS, MAPPING, "stored")
    moved = {
        "settings": {**SETTINGS["settings"], "index.codec": "default"},
        "defaults": {"index.refresh_interval": "1s"},
    }
    assert effective.index_state(moved, MAPPING, "stored").settings_digest == found.settings_digest
    changed = {**SETTINGS, "defaults": {**SETTINGS["defaults"], "index.codec": "best_compression"}}
    assert effective.index_state(changed, MAPPING, "stored").settings_digest != found.settings_digest
    assert effective.index_state(SETTINGS, MAPPING, "synthetic").settings_digest != found.settings_digest


@pytest.mark.parametrize(
    ("mapping", "same"),
    [
        ({"mappings": {"_source": {"mode": "stored"}, "properties": {"a": {"type": "long"}}}}, True),
        ({"mappings": {"_source": {"excludes": ["a"]}, "properties": {"a": {"type": "long"}}}}, False),
        ({"mappings": {"properties": {"a": {"type": "keyword"}}}}, False),
        ({"mappings": {}}, False),
    ],
)
def test_the_digest_of_a_mapping_is_without_the_source_mode(mapping: Any, same: bool) -> None:
    found = effective.index_state(SETTINGS, mapping, "stored").mapping_digest
    assert (found == effective.index_state(SETTINGS, MAPPING, "stored").mapping_digest) is same


def test_an_index_without_an_answer() -> None:
    found = effective.index_state(None, None, "stored")
    assert found.mapping_digest is None and found.explicit == {}


def test_settings_are_bounded() -> None:
    many = {"settings": {f"index.a{number}": "x" * 5000 for number in range(400)}, "defaults": {}}
    found = effective.index_state(many, MAPPING, "stored").explicit
    assert len(found) == effective.MOST_SETTINGS and {len(text) for text in found.values()} == {effective.LONGEST_VALUE}


def test_plugins_and_modules() -> None:
    icu, painless = {"name": "analysis-icu", "version": "9.0.0"}, {"name": "lang-painless", "version": "9.0.0"}
    both = {"nodes": {"a": {"plugins": [icu], "modules": [painless]}, "b": {"plugins": [], "modules": [painless]}}}
    assert effective.plugins(both) == ("analysis-icu 9.0.0 (on 1 of 2 nodes)",)
    assert effective.plugin_versions(both) == {"analysis-icu": "9.0.0 (on 1 of 2 nodes)"}
    assert effective.modules(both) == ("lang-painless",)
    assert effective.plugins({"nodes": {"a": {}}}) is None and effective.modules(None) is None
    assert effective.plugin_versions({"nodes": {"a": {}}}) is None
    assert effective.plugin_versions({"nodes": {"a": {"plugins": []}}}) == {}


def test_a_plugin_has_its_whole_name_and_every_version_that_a_node_has() -> None:
    first, second = ({"name": f"acme {name}", "version": "1.0"} for name in ("one", "two"))
    apart = {"nodes": {"a": {"plugins": [first, second]}, "b": {"plugins": [first, {**second, "version": "2.0"}]}}}
    assert effective.plugin_versions(apart) == {
        "acme one": "1.0",
        "acme two": "1.0 (on 1 of 2 nodes), 2.0 (on 1 of 2 nodes)",
    }


def test_settings_of_cluster_and_nodes() -> None:
    answer = {"persistent": {"a.b": "1"}, "transient": {"a.b": "2", "discovery.seed_hosts": ["x"]}}
    assert effective.cluster_settings(answer) == {"a.b": "2"} and effective.cluster_settings(None) == {}
    one = {"settings": {"node.name": "a", "path.data": "/x", "http.type": "netty4", "node.roles": "data"}}
    two = {"settings": {"node.name": "b", "http.type": "netty4", "network.host": "1.2.3.4"}}
    assert effective.node_settings({"nodes": {"a": one, "b": two}}) == {
        "http.type": "netty4",
        "node.roles": "data or not set",
    }
