"""What Elasticsearch's answers say of indices and shards; they are those of real servers, cut to what is read."""

import pytest

from fairlap_race.contract.recorded.record import IndexRecord, Shard
from fairlap_race.elasticsearch.indices import of_nodes, read_settings, read_shards, source_mode, with_settings

MODE = "index.mapping.source.mode"


def nodes(*codecs):
    return {"nodes": {str(n): {"settings": {"index.codec": c} if c else {}} for n, c in enumerate(codecs)}}


def answer(own=None, defaults=None):
    return {"logs": {"settings": own or {}, "defaults": {"index.codec": "default", **(defaults or {})}}}


def read(names, own=None, defaults=None, of=None, mappings=None, version="9.0.0"):
    mapping = {"logs": {"mappings": mappings or {}}}
    return read_settings("logs", names, answer(own, defaults), of or nodes(None), mapping, version)


def test_an_indexs_own_setting_goes_before_the_nodes_and_the_default():
    own = {"index.codec": "default"}
    assert read(["index.codec"], own, of=nodes("best_compression")) == {"index.codec": "default"}
    assert read(["index.codec"], of=nodes("best_compression")) == {"index.codec": "best_compression"}
    assert read(["index.codec"]) == {"index.codec": "default"}


def test_defaults_count_and_what_is_not_set_is_none():
    assert read(["index.refresh_interval", "index.mode"], defaults={"index.refresh_interval": "1s"}) == {
        "index.refresh_interval": "1s",
        "index.mode": None,
    }


def test_nodes_that_differ_have_no_common_setting():
    assert of_nodes("index.codec", nodes("best_compression", None), "default") is None
    assert of_nodes("index.codec", nodes(None, None), "default") == "default"
    assert of_nodes("index.codec", {}, "default") is None


@pytest.mark.parametrize(
    ("asked_for", "settings", "mapping", "expected"),
    [
        (["index.mode"], None, {}, None),
        ([MODE], answer(), None, None),
        (["index.mode"], answer(), None, {"index.mode": None}),
        ([], answer(), {}, {}),
        ([MODE], answer(), {}, {MODE: "stored"}),
        (["index.codec"], answer({"index.codec": "best_compression"}), {}, {"index.codec": "best_compression"}),
    ],
)
def test_an_index_has_settings_where_the_answers_tell_those_that_were_asked_for(asked_for, settings, mapping, expected):
    before = IndexRecord(name="logs", codec="of all")
    mappings = None if mapping is None else {"logs": {"mappings": mapping}}
    found = with_settings(before, asked_for, settings, mappings, nodes(None), "9.0.0")
    if expected is None:
        assert found == before
    else:
        assert found.settings == expected and found.settings_digest
        assert found.codec == expected.get("index.codec", "default")
        assert (found.mapping_digest is None) is (mapping is None)


@pytest.mark.parametrize(
    ("own", "defaults", "mappings", "version", "expected"),
    [
        ({}, {}, {}, "7.17.29", "stored"),
        ({}, {}, {"_source": {"enabled": False}}, "7.17.29", "disabled"),
        ({}, {}, {"_doc": {"_source": {"enabled": False}}}, "6.8.23", "disabled"),
        ({}, {}, {"_source": {"mode": "synthetic"}}, "8.11.0", "synthetic"),
        ({"index.mode": "time_series"}, {}, {}, "8.11.0", "synthetic"),
        ({MODE: "SYNTHETIC"}, {}, {}, "9.0.0", "synthetic"),
        ({MODE: "stored"}, {}, {"_source": {"mode": "synthetic"}}, "8.18.0", "stored"),
        # from 9.0 on the mapping's mode does nothing
        ({}, {MODE: "STORED"}, {"_source": {"mode": "synthetic"}}, "9.0.0", "stored"),
        ({}, {MODE: "stored"}, {}, "9.0.0", "stored"),
    ],
)
def test_source_mode(own, defaults, mappings, version, expected):
    assert source_mode(own, defaults, mappings, version) == expected
    assert read([MODE], own, defaults, mappings=mappings, version=version)[MODE] == expected


def test_shards():
    rows = [
        {"index": "logs", "shard": "0", "prirep": "r", "state": "UNASSIGNED", "node": None, "docs": None,
         "store": None, "unassigned.reason": "INDEX_CREATED"},
        {"index": "logs", "shard": "0", "prirep": "p", "state": "STARTED", "node": "es-0", "docs": "5000",
         "store": "812345", "unassigned.reason": None},
        {"index": "logs", "shard": "1", "prirep": "p", "state": "RELOCATING",
         "node": "es-0 -> 10.244.0.9 p3XNm es-1", "docs": "1", "store": "5", "unassigned.reason": None},
        {"index": ".security-7", "shard": "0", "prirep": "p", "state": "STARTED", "node": "es-0", "docs": "1",
         "store": "9", "unassigned.reason": None},
    ]  # fmt: skip
    assert read_shards(rows, {"logs"}) == (
        Shard("logs", 0, True, "STARTED", "es-0", 5000, 812345),
        Shard("logs", 0, False, "UNASSIGNED", None, None, None, "INDEX_CREATED"),
        Shard("logs", 1, True, "RELOCATING", "es-0", 1, 5),
    )


def test_a_node_has_its_whole_name_in_which_there_may_be_blanks():
    named = {"index": "logs", "shard": "0", "prirep": "p", "state": "STARTED", "node": "rack 1"}
    moving = {**named, "shard": "1", "state": "RELOCATING", "node": "rack 2 -> 10.244.0.9 p3XNm rack 3"}
    assert [it.node for it in read_shards([named, moving], {"logs"})] == ["rack 1", "rack 2"]
