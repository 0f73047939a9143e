"""What each variable changes in a running Elasticsearch is its own, or follows from it; nobody else's."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from fairlap.api.block_record import BlockRecord, RaceRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.comparison.facts import fairness_table as table
from fairlap.comparison.facts.fairness import Fairness, diff
from fairlap.comparison.facts.fairness_table import NONE, VARIABLES, WORK, cut_with, row_of, variable_of
from fairlap.comparison.facts.race_facts import as_text, leaves
from fairlap.comparison.variants.variants import ResolvedVariant, expand
from fairlap.comparison_report.archive import read_archive

RECORDED = json.loads(gzip.decompress((Path(__file__).parents[2] / "report" / "demo.json.gz").read_bytes()))
COMPARISON, BLOCKS = read_archive(RECORDED)
TEMPLATE: Final = COMPARISON["spec"]["template"]
(MEASURED,) = (it for it in BLOCKS[0].races if it.variant == COMPARISON["spec"]["baseline"])
FACTS: Final = {
    **{path: value for path, value in MEASURED.facts.items() if not path.startswith("spec.")},
    # What races since then know, too, and what Elasticsearch tells where machine learning is on.
    "ran: each node's JVM flag -Xmx": "1g",
    "ran: machines[0].exclusiveCpus": "false", "ran: machines[0].settings.turbo": "true",
    "ran: machines[1].exclusiveCpus": "false", "ran: machines[1].kernel": "6.18.44",
    "ran: node setting node.attr.ml.machine_memory": "2147483648",
    "ran: node setting node.attr.ml.max_jvm_size": "1073741824",
    "ran: node setting node.attr.ml.allocated_processors_double": "2.0",
}  # fmt: skip
"""Of 8.11.0 as localkube raced it, with 2 processors."""

DECLARED, FOLLOWS, BY_RELEASE, RECORDED_ONLY = "Declared", "MayFollow", "FollowsRelease", "RecordOnly"
GONE: Final = "-"
INDEX: Final = "ran: index access-logs: "
Json = dict[str, Any]


class Effect(NamedTuple):
    """A patch, and what another race shows for it."""

    variable: str
    patch: Json
    ran: Mapping[str, str]
    """by rule and a blank before its path: the value of a fact that changes, or that it is gone"""
    template: Json = TEMPLATE


def built(**changes: Any) -> Json:
    return {"elasticsearch": changes}


def without(*fields: str) -> Json:
    kept = {key: value for key, value in TEMPLATE["elasticsearch"].items() if key not in fields}
    return {**TEMPLATE, "elasticsearch": kept}


def there(name: str, **race: Any) -> Json:
    target = {"kind": "http", "hosts": [f"http://{name}:9200"], "health": "/"} if race else {
        "hosts": [f"http://{name}:9200"]}  # fmt: skip
    return {"target": target, "race": race or TEMPLATE["race"]}


def requests(name: str) -> Json:
    return {"load": {"clients": 2}, "requests": {"configMap": {"name": name}, "hits": "/hits/total/value"}}


ONE_PROCESSOR = {
    "each node's processors": "1",
    "node setting node.attr.ml.allocated_processors_double": "1.0",
    "index access-logs: default index.merge.scheduler.max_merge_count": "5",
}


def all_of(rule: str, facts: Mapping[str, str]) -> dict[str, str]:
    return {f"{rule} ran: {path}": value for path, value in facts.items()}


EFFECTS: Final = (
    Effect(table.VERSION, built(version="9.0.0"), {
        **all_of(DECLARED, {"version": "9.0.0", "buildHash": "b9", "images[0]": "es:9.0.0 sha256:9"}),
        **all_of(FOLLOWS, {"each node's memory": "4294967296", "each node's memory limit": GONE}),
        **all_of(BY_RELEASE, {
            "luceneVersion": "10.1.0", "module entitlement": "there", "JVM flag -Djava.security.manager": GONE,
            "node setting xpack.security.authc.realms.file.file1.order": GONE, "cluster setting a": "b",
            "index access-logs: default index.merge.policy.floor_segment": "16mb",
            "index access-logs: default index.codec.new": "1", "index access-logs: setting index.version.created": "9",
        }),
    }),
    Effect(table.VERSION, built(version="9.0.0"), all_of(FOLLOWS, {
        "java": "24", "jvm[0]": "OpenJDK 24", "gc[0]": "ZGC", "each node's processors of the machine": "1",
        "each node's processors": "1",
    }), without("java")),
    Effect(table.IMAGE, built(image="registry/es-icu:8.11.0"), {
        **all_of(DECLARED, {"images[0]": "es-icu sha256:1", "plugin analysis-icu": "8.11.0", "buildHash": "own"}),
        **all_of(BY_RELEASE, {"luceneVersion": "9.8.1", "module own": "there", "node setting own.a": "b"}),
        **all_of(FOLLOWS, {"each node's memory": "4294967296"}),
    }),
    Effect(table.JAVA, built(java=17), {
        **all_of(DECLARED, {"java": "17.0.9", "jvm[0]": "OpenJDK 17.0.9"}),
        **all_of(FOLLOWS, {
            "JVM flag --add-modules=jdk.incubator.vector": "on", "JVM flag -Djava.locale.providers": "CLDR",
            "gc[1]": GONE, "each node's memory": "4294967296", "each node's processors of the machine": "1",
            "each node's processors": "1",
            "index access-logs: default index.merge.scheduler.max_merge_count": "5",
        }),
    }),
    Effect(table.HEAP, built(heap="512m"), {
        **all_of(DECLARED, {"JVM flag -Xms": "512m", "JVM flag -Xmx": "512m", "each node's JVM flag -Xmx": "512m"}),
        **all_of(FOLLOWS, {"JVM flag -XX:MaxDirectMemorySize": "268435456", "JVM flag -XX:G1HeapRegionSize": "2m"}),
        **all_of(RECORDED_ONLY, {
            "heapBytes": "536870912", "each node's heap": "536870912", "nodeData[0].heapBytes": "536870912",
            "nodeData[0].memoryToData": "177", "node setting node.attr.ml.max_jvm_size": "536870912",
        }),
    }),
    Effect(table.JVM_OPTIONS, built(jvmOptions=["-XX:-UseG1GC", "-XX:+UseParallelGC"]), {
        **all_of(DECLARED, {
            "JVM flag -XX:UseG1GC": "off", "JVM flag -XX:UseParallelGC": "on", "JVM flag -XX:G1HeapRegionSize": GONE,
            "gc[0]": "PS MarkSweep", "gc[1]": "PS Scavenge", "gc[2]": GONE,
        }),
        **all_of(RECORDED_ONLY, {
            "heapBytes": "1029177344", "each node's heap": "1029177344", "nodeData[0].heapBytes": "1029177344",
            "node setting node.attr.ml.max_jvm_size": "1029177344",
        }),
    }),
    Effect(table.JVM_OPTIONS, built(jvmOptions=["-XX:ActiveProcessorCount=1", "-XX:-UseContainerSupport"]), all_of(
        DECLARED, {
            **ONE_PROCESSOR, "JVM flag -XX:ActiveProcessorCount": "1", "each node's processors of the machine": "1",
            "each node's memory": "8589934592", "node setting node.attr.ml.machine_memory": "8589934592",
        },
    )),
    Effect(table.RESOURCES, built(resources={"limits": {"cpu": "1"}}), {
        **all_of(DECLARED, {
            **ONE_PROCESSOR, "each node's processors of the machine": "1", "qosClass": "Guaranteed",
            "machines[0].exclusiveCpus": "true", "machines[0].settings.wholeCores": "false",
        }),
        **all_of(FOLLOWS, {"load generator's cores": "1"}),
    }),
    Effect(table.RESOURCES, built(resources={"limits": {"memory": "4Gi"}, "requests": {"memory": "4Gi"}}), {
        **all_of(DECLARED, {
            "each node's memory": "4294967296", "each node's memory limit": "4294967296",
            "nodeData[0].memoryBytes": "4294967296", "node setting node.attr.ml.machine_memory": "4294967296",
        }),
        **all_of(FOLLOWS, {
            "JVM flag -Xmx": "2048m", "JVM flag -Xms": "2048m", "each node's JVM flag -Xmx": "2048m",
            "JVM flag -XX:MaxDirectMemorySize": "1073741824",
        }),
        **all_of(RECORDED_ONLY, {"heapBytes": "2147483648", "each node's heap": "2147483648"}),
    }, without("heap")),
    Effect(table.STORAGE, built(storage={"size": "10Gi", "className": "fast"}), all_of(DECLARED, {
        "storage[0].kind": "volumeClaim", "storage[0].className": "fast", "storage[0].provisioner": "nvme.csi",
        "storage[0].parameters.tier": "1", "storage[0].fileSystem": "xfs", "storage[0].mountOptions": "rw,noatime",
    })),
    Effect(table.CONFIG, built(config={"node.processors": 1}), all_of(DECLARED, {
        **ONE_PROCESSOR, "node setting node.processors": "1",
    })),
    Effect(table.CONFIG, built(config={"indices.memory.index_buffer_size": "30%", "thread_pool.write.queue_size": 9,
                                       "cluster.routing.allocation.enforce_default_tier_preference": False}), all_of(
        DECLARED, {
            "node setting indices.memory.index_buffer_size": "30%", "node setting thread_pool.write.queue_size": "9",
            "node setting cluster.routing.allocation.enforce_default_tier_preference": "false",
            "index access-logs: setting index.routing.allocation.include._tier_preference": GONE,
        },
    )),
    Effect(table.CONFIG, built(config={"xpack.ml.enabled": True}), all_of(DECLARED, {
        "node setting xpack.ml.enabled": "true", "node setting node.attr.ml.machine_memory": "1",
        "node setting node.attr.ml.allocated_processors_double": "1.0",
    })),
    Effect(table.CONFIG, built(config={"index.codec": "best_compression"}), all_of(DECLARED, {
        "node setting index.codec": "best_compression", "index access-logs: codec": "best_compression",
        "index access-logs: algorithm": "DEFLATE",
    }), without("index")),
    Effect(table.SETTINGS, built(config={"cluster.logsdb.enabled": True}), all_of(DECLARED, {
        "node setting cluster.logsdb.enabled": "true", "index access-logs: setting index.mode": "logsdb",
        "index access-logs: setting index.mapping.source.mode": "synthetic", "index access-logs: algorithm": "ZSTD",
        "index access-logs: setting index.sort.field": '["@timestamp"]', "index access-logs: mapping": "m2",
        "index access-logs: default index.mapping.ignore_above": "8191",
    })),
    Effect(table.SETTINGS, built(index={"settings": {"store.type": "niofs"}}), all_of(DECLARED, {
        "setting given to the nodes index.store.type": "niofs", "node setting index.store.type": "niofs",
        "index access-logs: setting index.store.type": "niofs",
        "index settings as track parameter.store_type": "niofs",
    })),
    Effect(table.SETTINGS, built(index={"settings": {"merge.scheduler.max_thread_count": 4}}), all_of(DECLARED, {
        "index access-logs: setting index.merge.scheduler.max_thread_count": "4",
        "index access-logs: default index.merge.scheduler.max_merge_count": "9",
    })),
    Effect(table.NODES, built(nodes=2), {
        **all_of(DECLARED, {
            "nodes": "2", "machines of Elasticsearch": "localkube, other", "storage[1].kind": "emptyDir",
            "nodeData[1].memoryBytes": "2147483648", "machines[1].kernel": "6.9",
            "each node's processors of the machine": "1, 2",
        }),
        **all_of(FOLLOWS, {
            "each node's processors": "1, 2", "load generator's cores": "1", "index access-logs: replicas": "1",
            "index access-logs: setting index.number_of_replicas": "1",
        }),
        **all_of(RECORDED_ONLY, {"nodeData[1].node": "es-1", "nodeData[1].heapBytes": "1073741824"}),
    }, without("index")),
    Effect(table.MACHINES, built(scheduling={"nodeSelector": {"pool": "large"}}), {
        **all_of(DECLARED, {
            "machines of Elasticsearch": "large-1", "machines[0].settings.turbo": "false", "each node's kernel": "6.9",
            "each node's memory": "4294967296", "each node's processors of the machine": "8",
        }),
        **all_of(FOLLOWS, {
            "each node's processors": "8", "load generator's cores": "4", "storage[0].fileSystem": "xfs",
            "index access-logs: default index.merge.scheduler.max_merge_count": "9",
        }),
    }),
    Effect(table.SHARDS, built(index={"shards": 1}), all_of(DECLARED, {
        "index access-logs: shards": "1", "index access-logs: setting index.number_of_shards": "1",
        "index access-logs: default index.number_of_routing_shards": "1",
        "index settings as track parameter.number_of_shards": "1",
    })),
    Effect(table.REPLICAS, built(nodes=2, index={"replicas": 1}), all_of(DECLARED, {
        "nodes": "2", "index access-logs: replicas": "1", "index access-logs: setting index.number_of_replicas": "1",
        "index settings as track parameter.number_of_replicas": "1",
    })),
    Effect(table.CODEC, built(index={"codec": "best_compression"}), all_of(DECLARED, {
        "index access-logs: codec": "best_compression", "index access-logs: algorithm": "DEFLATE",
        "index access-logs: setting index.codec": "best_compression",
        "index settings as track parameter.codec": "best_compression",
        "setting given to the nodes index.codec": "best_compression", "node setting index.codec": "best_compression",
    })),
    Effect(table.SOURCE_MODE, built(index={"sourceMode": "synthetic"}), all_of(DECLARED, {
        "index access-logs: setting index.mapping.source.mode": "synthetic", "index access-logs: mapping": "m2",
        "index access-logs: setting index.recovery.use_synthetic_source": "true",
        "index access-logs: default index.mapping.synthetic_source_keep": "arrays",
    })),
    Effect(table.TARGET, there("other"), all_of(DECLARED, {
        **ONE_PROCESSOR, "target clusterUUID": "u2", "version": "9.0.0", "java": "24", "JVM flag -Xmx": "9g",
        "node setting xpack.security.http.ssl.enabled": GONE, "nodes": "3", "each node's memory": "9",
    }), there("one")),
    Effect(table.REQUESTS, there("one", **requests("other")), all_of(DECLARED, {"trackDigest": "d2"}),
           there("one", **requests("one"))),
    Effect(table.PARAMS, {"race": {"params": {"bulk_size": 50}}}, {
        **all_of(DECLARED, {
            "track parameter.bulk_size": "50", "task bulk-index: plan": "bulk, 8 clients",
            "task search-request: target throughput": "5.0",
            "index access-logs: default index.refresh_interval": "30s",
        }),
        **all_of(FOLLOWS, {"cluster setting indices.recovery.max_bytes_per_sec": "80mb"}),
    }),
    Effect(table.LOAD_GENERATOR, {"race": {"resources": {"limits": {"cpu": "1"}}}}, {
        **all_of(DECLARED, {
            "load generator's CPU limit": "1.0", "load generator's cores": "1", "machines[1].exclusiveCpus": "true",
        }),
        **all_of(FOLLOWS, {"each node's processors": "1", "each node's processors of the machine": "1"}),
    }),
    Effect(table.LOAD_GENERATOR, {"race": {"scheduling": {"nodeSelector": {"pool": "large"}}}}, all_of(DECLARED, {
        "machine of the load generator": "large-1", "machines[1].kernel": "6.9", "load generator's kernel": "6.9",
    })),
    Effect(table.STEADY, {"race": {"steady": {"maxWarmup": "5m"}}}, {}),
)  # fmt: skip
NOTHING_OF_IT: Final = {"race": {"steady": {"maxWarmup": "5m"}}}


def changed(effect: Effect) -> dict[str, str]:
    return {path.partition(" ")[2]: value for path, value in effect.ran.items()}


def race(variant: ResolvedVariant, changes: Mapping[str, str]) -> RaceRecord:
    spec = {path: as_text(it) for path, it in leaves("spec", variant.spec) if it not in (None, {}, [])}
    asked = {"ran: number of requests": "2", "ran: lines whose hits were read": "2"}
    found = {**FACTS, **(asked if "spec.race.requests.hits" in spec else {}), **spec, **changes}
    facts = {path: value for path, value in found.items() if value != GONE}
    return RaceRecord(variant=variant.name, benchmark="b", facts=facts)


def judged(template: Json, patch: Json, *blocks: Sequence[Mapping[str, str]]) -> Fairness:
    """What is said of the races of both variants in each block, with what each of the two shows there."""
    spec = ComparisonSpec.model_validate(
        {"template": template, "baseline": "one", "variants": [{"name": "one"}, {"name": "other", "patch": patch}]}
    )
    variants = expand(spec)
    records = [
        BlockRecord(number=number, races=[race(*pair) for pair in zip(variants, ran, strict=True)])
        for number, ran in enumerate(blocks, 1)
    ]
    return diff(spec, variants, records)


def test_there_is_an_effect_for_each_variable() -> None:
    assert {effect.variable for effect in EFFECTS} == {variable for _, variable in VARIABLES} - {NONE, WORK}
    for effect in EFFECTS:
        declared = {variable_of(path.removeprefix(".")) for path, _ in leaves("", effect.patch)}
        assert effect.variable in declared, effect.patch


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: json.dumps(effect.patch))
def test_what_a_variable_changes_is_part_of_it_or_follows_from_it(effect: Effect) -> None:
    found = judged(effect.template, effect.patch, [{}, changed(effect)])
    assert found.fair, found.sentence
    lines = {(line.what.partition(" (")[0], line.rule) for line in found.differences}
    for key in effect.ran:
        rule, _, path = key.partition(" ")
        assert (row_of(path).what or path.removeprefix("ran: "), rule) in lines, (path, lines)


@pytest.mark.parametrize(
    ("path", "value"),
    sorted({
        (path, value)
        for effect in EFFECTS
        for path, value in changed(effect).items()
        if not row_of(path).recorded and not row_of(path).better_told_by and FACTS.get(path, GONE) != value
    }),
)  # fmt: skip
def test_what_a_variable_changes_must_match_where_nobody_declared_it(path: str, value: str) -> None:
    found = judged(TEMPLATE, NOTHING_OF_IT, [{}, {path: value}])
    assert not found.fair, path
    unfair = {line.what for line in found.differences if not line.fair}
    assert (row_of(path).what or path.removeprefix("ran: ")) in unfair


HEAP_AS_TOLD = ("ran: heapBytes", "ran: each node's heap", "ran: nodeData[0].heapBytes")


@pytest.mark.parametrize("path", HEAP_AS_TOLD)
def test_a_heap_that_moves_from_race_to_race_is_recorded_where_its_flag_says_what_it_is(path: str) -> None:
    parallel = {**TEMPLATE["elasticsearch"], "jvmOptions": ["-XX:-UseG1GC", "-XX:+UseParallelGC"]}
    template = {**TEMPLATE, "elasticsearch": parallel}
    blocks = [[{path: "1029177344"}, {path: "1030225920"}], [{path: "1030225920"}, {path: "1029177344"}]]
    assert judged(template, NOTHING_OF_IT, *blocks).fair
    silent = {"ran: JVM flag -Xmx": GONE}
    unknown = [[{**each, **silent} for each in block] for block in blocks]
    found = judged(template, NOTHING_OF_IT, *unknown)
    assert not found.fair and f"{path} was not the same in all races of one" in found.sentence


@pytest.mark.parametrize("path", ["ran: JVM flag -Xmx", "ran: each node's JVM flag -Xmx"])
def test_another_largest_heap_that_nobody_declared_is_unfair(path: str) -> None:
    assert not judged(TEMPLATE, NOTHING_OF_IT, [{}, {path: "2g"}]).fair
    assert judged(TEMPLATE, NOTHING_OF_IT, [{}, {path: "1024m"}]).fair, "the same in other words"


def test_what_only_some_races_know_of_each_nodes_heap_is_no_difference() -> None:
    assert judged(TEMPLATE, NOTHING_OF_IT, [{}, {"ran: each node's JVM flag -Xmx": GONE}]).fair


def test_another_plugin_is_what_is_compared_only_where_the_version_is_the_same() -> None:
    plugin = {"ran: plugin analysis-icu": "9.0.0", "ran: images[0]": "es-icu sha256:1"}
    own = built(version="9.0.0", image="registry/es-icu:9.0.0")
    found = judged(TEMPLATE, own, [{}, plugin])
    assert not found.fair and "use images with the same plugins for all variants" in found.differences[0].message
    assert {line.rule for line in found.differences if line.what == "elasticsearch.image"} == {DECLARED}
    found = judged(TEMPLATE, built(image="registry/es:8.11.0"), [{}, {"ran: luceneVersion": "9.8.1"}])
    assert found.fair and "Lucene follows the image" in found.sentence


@pytest.mark.parametrize("patch", [built(index={"shards": 1}), built(resources={"limits": {"cpu": "1"}})])
def test_a_digest_of_all_settings_differs_with_each_of_them(patch: Json) -> None:
    cut = {path: GONE for path in FACTS if cut_with(path) == "default "}
    one, other = ({**cut, f"{INDEX}digest of settings": digest} for digest in ("a", "b"))
    assert judged(TEMPLATE, patch, [one, other]).fair
    assert not judged(TEMPLATE, NOTHING_OF_IT, [one, other]).fair


@pytest.mark.parametrize("path", sorted(path for path in FACTS if ": default " in path))
def test_a_record_without_room_for_defaults_differs_in_none_of_them(path: str) -> None:
    cut = {each: GONE for each in FACTS if cut_with(each) == cut_with(path)}
    assert judged(TEMPLATE, NOTHING_OF_IT, [{}, cut], [cut, {}]).fair


def test_defaults_that_follow_from_the_machine_may_change_with_it_from_block_to_block() -> None:
    merges = f"{INDEX}default index.merge.scheduler.max_merge_count"
    larger = {merges: "9", "ran: machines of Elasticsearch": "large", "ran: each node's processors": "8"}
    assert judged(TEMPLATE, NOTHING_OF_IT, [{}, {}], [larger, larger]).fair
    assert not judged(TEMPLATE, NOTHING_OF_IT, [{}, {}], [larger, {}]).fair
