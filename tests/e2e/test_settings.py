"""Settings on real clusters: what reaches the indices on which way, what does not, and who shares a machine."""

import json

import pytest

from kube import Namespace, benchmark, condition

pytestmark = pytest.mark.e2e

# It takes the number of shards as a parameter, sets the replicas itself, and offers no way to set a codec.
TRACK = {
    "version": 2,
    "description": "a track with few parameters",
    "indices": [{"name": "notes", "body": "index.json"}],
    "corpora": [
        {
            "name": "notes",
            "documents": [{"source-file": "documents.json", "document-count": 500, "target-index": "notes"}],
        }
    ],
    "schedule": [
        {"operation": {"operation-type": "delete-index"}},
        {"operation": {"operation-type": "create-index"}},
        {"operation": {"operation-type": "bulk", "name": "bulk", "bulk-size": 10}, "clients": 1},
    ],
}
INDEX = """{"settings": {"index.number_of_shards": {{ number_of_shards | default(1) }}, "index.number_of_replicas": 0},
 "mappings": {"properties": {"text": {"type": "text"}}}}"""


def few_parameters(name: str) -> dict[str, object]:
    lines = "".join(json.dumps({"text": f"note {number} of many"}) + "\n" for number in range(500))
    data = {"track.json": json.dumps(TRACK), "index.json": INDEX, "documents.json": lines}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_a_codec_that_the_track_cannot_take_comes_from_the_nodes_and_what_cannot_be_set_is_named(
    namespace: Namespace,
) -> None:
    """One race: shards by the track's parameter, the codec by the nodes, and a refresh interval that nobody sets."""
    index = {
        "shards": 2,
        "codec": "best_compression",
        "settings": {"refresh_interval": "30s", "translog.durability": "request"},
    }
    namespace.apply(few_parameters("few"))
    namespace.apply(benchmark("few", elasticsearch={"index": index}, race={"track": {"configMap": {"name": "few"}}}))
    status = namespace.until_over("few")
    assert (status["phase"], status["reason"]) == ("Failed", "SettingsNotApplied"), json.dumps(status, indent=1)
    for words in (
        "index notes: index.refresh_interval was to be 30s, Elasticsearch has 1s",
        "no parameter refresh_interval",
    ):
        assert words in status["message"]
    assert condition(status, "SettingsVerified") == "False"
    assert status["nodeSettings"] == {"index.codec": "best_compression"}
    found = status["environment"]["indices"][0]
    assert (found["shards"], found["codec"], found["algorithm"]) == (2, "best_compression", "ZSTD")
    # A default that is as asked is found among the defaults.
    assert found["settings"]["index.translog.durability"].lower() == "request"
    remarks = status["races"][0]["remarks"]
    assert any(
        "index.codec was set on the nodes" in it["message"] for it in remarks if it["reason"] == "SettingsOnNodes"
    )
    namespace.kubectl("delete", "bm", "few", "--timeout=200s")


def test_exclusive_nodes_on_one_machine_are_said_to_be_impossible(namespace: Namespace) -> None:
    wanted = benchmark(
        "alone", elasticsearch={"nodes": 2, "scheduling": {"exclusiveNodes": True}}, timeouts={"provisioning": "40s"}
    )
    namespace.apply(wanted)
    status = namespace.until_over("alone", 180)
    assert status["reason"] == "Unschedulable", json.dumps(status, indent=1)
    assert "anti-affinity" in status["message"] and "exclusiveNodes asks for 2 machine(s)" in status["message"]
    namespace.nothing_left_of("alone")
    namespace.kubectl("delete", "bm", "alone", "--timeout=200s")
