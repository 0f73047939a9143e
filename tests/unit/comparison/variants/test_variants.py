"""Variants of a Comparison: what each races, what it changes, and what is refused with a sentence."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.crd import BENCHMARK, crd
from fairlap.comparison.terms.equal_values import comparable
from fairlap.comparison.variants import merge_patch
from fairlap.comparison.variants.merge_patch import changed_paths, meaning, merge
from fairlap.comparison.variants.variants import ResolvedVariant, VariantsRefusedError, expand

TEMPLATE: dict[str, Any] = {
    "elasticsearch": {"version": "8.11.0", "java": 21, "config": {"a.b": 1}},
    "race": {"track": {"builtin": "log_ingest"}},
}
PAIR = [{"name": "8.11.0"}, {"name": "9.0.0", "patch": {"elasticsearch": {"version": "9.0.0"}}}]


ONE_ALONE = re.compile(r"^\[((?:has\(self\.\w+\)(?:, )?)+)\]\.filter\(x, x\)\.size\(\) == 1$")

KEYS = st.sampled_from(
    ["elasticsearch", "target", "race", "track", "storage", "size", "ephemeral", "name", "builtin", "version", "nodes",
     "config", "hosts", "params", "odd", "java", "repetitions", "timeouts"]
)  # fmt: skip

SWEEP: dict[str, Any] = {"sweep": {"task": "s", "clients": [2, 4]}}
CAPACITY = {
    "capacity": {"task": "s", "objective": {"p99": "50ms"}, "targetThroughput": {"from": 50, "to": 500}}
}  # fmt: skip
VERSIONS: tuple[str, list[Any]] = ("elasticsearch.version", ["8.11.0", "9.0.0"])


def comparison(variants: Any = None, **changes: Any) -> ComparisonSpec:
    body = {"template": TEMPLATE, "variants": PAIR if variants is None else variants, "baseline": "8.11.0", **changes}
    return ComparisonSpec.model_validate({key: value for key, value in body.items() if value is not None})


def of_matrix(*axes: tuple[str, list[Any]], baseline: str, **changes: Any) -> ComparisonSpec:
    matrix = {"axes": [{"path": path, "values": values} for path, values in axes], **changes}
    return ComparisonSpec.model_validate({"template": TEMPLATE, "matrix": matrix, "baseline": baseline})


def named(name: str, **elasticsearch: Any) -> ComparisonSpec:
    return comparison([{"name": "8.11.0"}, {"name": name, "patch": {"elasticsearch": elasticsearch}}])


def in_turn(patch: dict[str, Any]) -> ComparisonSpec:
    return comparison([{"name": "8.11.0"}, {"name": "b", "patch": patch}], design={"kind": "Duet"})


def on_kept_clusters(patch: dict[str, Any], tasks: tuple[str, ...] = ("search",)) -> ComparisonSpec:
    design = {"state": "Kept", "tasks": [*tasks]}
    return comparison([{"name": "8.11.0"}, {"name": "b", "patch": patch}], design=design)


def of_race(part: dict[str, Any]) -> dict[str, Any]:
    return {**TEMPLATE, "race": {**TEMPLATE["race"], **part}}


def patched(patch: dict[str, Any], template: dict[str, Any] | None = None) -> dict[str, Any]:
    variants = [{"name": "base"}, {"name": "other", "patch": patch}]
    return expand(comparison(variants, baseline="base", template=template or TEMPLATE))[1].spec


def refused(spec: ComparisonSpec) -> str:
    with pytest.raises(VariantsRefusedError) as error:
        expand(spec)
    return " | ".join(error.value.objections)


def test_the_baseline_comes_first_and_each_tells_what_it_changes() -> None:
    found = expand(comparison(baseline="9.0.0"))
    assert [variant.name for variant in found] == ["9.0.0", "8.11.0"]
    assert found[0].changed == () and found[1].changed == ("elasticsearch.version",)
    assert found[0].spec["elasticsearch"]["java"] == 21 and found[0].spec["repetitions"] == 1


@pytest.mark.parametrize(
    ("template", "patch", "there"),
    [
        ({}, {"storage": {"size": "20Gi"}}, {"size": "20Gi"}),
        ({"storage": {"ephemeral": {}}}, {"storage": {"size": "20Gi", "className": "fast"}},
         {"size": "20Gi", "className": "fast"}),
        ({"storage": {"size": "1Gi", "className": "slow"}}, {"storage": {"className": "fast"}},
         {"size": "1Gi", "className": "fast"}),
        ({"storage": {"size": "1Gi", "className": "slow"}}, {"storage": {"ephemeral": {}}}, {"ephemeral": {}}),
        ({"storage": {"ephemeral": {"sizeLimit": "1Gi"}}}, {"storage": {"ephemeral": {"sizeLimit": "2Gi"}}},
         {"ephemeral": {"sizeLimit": "2Gi"}}),
    ],
)  # fmt: skip
def test_of_storages_the_patch_takes_the_place_of_the_template(template: Any, patch: Any, there: Any) -> None:
    whole = {**TEMPLATE, "elasticsearch": {**TEMPLATE["elasticsearch"], **template}}
    assert patched({"elasticsearch": patch}, whole)["elasticsearch"]["storage"] == there


def test_of_tracks_and_clusters_the_patch_takes_the_place_of_the_template() -> None:
    named = {**TEMPLATE, "race": {"track": {"name": "geonames", "revision": "abc"}}}
    assert patched({"race": {"track": {"builtin": "percolator"}}}, named)["race"]["track"] == {"builtin": "percolator"}
    assert patched({"race": {"track": {"revision": "def"}}}, named)["race"]["track"]["revision"] == "def"
    other = patched({"target": {"hosts": ["https://logs:9200"]}})
    assert "elasticsearch" not in other and other["target"]["hosts"] == ["https://logs:9200"]


def test_existing_clusters_are_variants() -> None:
    template = {"race": TEMPLATE["race"]}
    variants = [{"name": name, "target": {"hosts": [f"https://{name}:9200"]}} for name in ("old", "new")]
    found = expand(comparison(variants, baseline="old", template=template))
    assert found[1].spec["target"]["hosts"] == ["https://new:9200"] and found[1].changed == ("target.hosts",)


def test_the_target_of_a_variant_takes_the_place_of_the_template_s_as_a_whole() -> None:
    """No credentials of one cluster are sent to another."""
    there = {"hosts": ["https://old:9200"], "apiKeySecret": {"name": "old-key"}, "index": {"shards": 2}}
    template = {"race": TEMPLATE["race"], "target": there}
    hosts = {"hosts": ["https://new:9200"]}
    found = expand(comparison([{"name": "old"}, {"name": "new", "target": hosts}], baseline="old", template=template))
    assert found[0].spec["target"]["apiKeySecret"] == {"name": "old-key"}
    assert found[1].spec["target"] == {**hosts, "kind": "elasticsearch", "overwrite": False}
    assert patched({"target": hosts}, template)["target"]["apiKeySecret"] == {"name": "old-key"}


@pytest.mark.parametrize(
    ("name", "patch"),
    [
        ("9.0", {"version": "9.0.0"}), ("9", {"version": "9.0.0"}), ("ES9", {"version": "9.0.0"}),
        ("8.11", {"heap": "1g"}), ("9", {"nodes": 9}), ("6.5", {"config": {"a.b": 6.5}}), ("17", {"java": 17}),
        ("0", {"nodes": 2}), ("heap-9", {"heap": "9g"}), ("9", {"heap": "1g"}), ("v5", {"heap": "1g"}),
        ("jdk-21.0.5", {"heap": "1g"}), ("java21.0.5", {"heap": "1g"}),
        ("plugin-1.2.3", {"config": {"plugin": "1.2.3"}}), ("node-2", {"heap": "1g"}), ("3-nodes", {"nodes": 3}),
        ("3-shards", {"index": {"codec": "default"}}), ("replicas-1", {"nodes": 2, "index": {"replicas": 1}}),
        ("heap-4g", {"resources": {"limits": {"memory": "8Gi"}}}), ("heap-4g", {"heap": "4096m"}),
        ("heap-1g-2-shards", {"heap": "1g", "index": {"shards": 2}}), ("2gheap", {"heap": "2g"}),
        ("best-compression", {"index": {"codec": "best_compression"}}), ("es8-java17", {"java": 17}),
        ("best_compression", {"heap": "1g"}), ("theap-4gb", {"heap": "1g"}), ("99-nodesets", {"heap": "1g"}),
        ("without-best-compression", {"index": {"codec": "default"}}), ("not-3-nodes", {"nodes": 2}),
        ("8.11-no-best_compression", {"index": {"codec": "default"}}), ("lucene-9.12.0", {"heap": "1g"}),
        ("Lucene9.12.0", {"heap": "1g"}), ("zulu-21.0.5", {"heap": "1g"}), ("zulu-8.0.432", {"heap": "1g"}),
        ("rally-2.13.0", {"heap": "1g"}), ("10.0.0.5", {"heap": "1g"}), ("host-8.0.0.5", {"heap": "1g"}),
        ("kernel-6.1.0", {"heap": "1g"}), ("es-8g", {"version": "9.0.0", "heap": "8g"}),
        ("es-8gb-heap", {"version": "9.0.0", "heap": "8g"}),
    ],
)  # fmt: skip
def test_a_short_version_is_a_name_and_so_is_any_other_number(name: str, patch: dict[str, Any]) -> None:
    found = expand(comparison([{"name": "base"}, {"name": name, "patch": {"elasticsearch": patch}}], baseline="base"))
    assert found[1].name == name


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ({"heap": "1g"}, {"heap": "1024m"}, True),
        ({"heap": "1g"}, {"heap": "1025m"}, False),
        ({"resources": {"limits": {"memory": "2Gi"}}}, {"resources": {"limits": {"memory": "2048Mi"}}}, True),
        ({"resources": {"limits": {"memory": "3Gi"}}}, {"resources": {"limits": {"memory": "3G"}}}, False),
        ({"resources": {"requests": {"cpu": "1"}}}, {"resources": {"requests": {"cpu": "1000m"}}}, True),
        ({"resources": {"requests": {"cpu": "1"}}}, {"resources": {"requests": {"cpu": "1001m"}}}, False),
        ({"storage": {"size": "1Gi"}}, {"storage": {"size": "1024Mi"}}, True),
        ({"storage": {"ephemeral": {"sizeLimit": "1Gi"}}}, {"storage": {"ephemeral": {"sizeLimit": "1024Mi"}}}, True),
        ({"config": {"size": "1Gi"}}, {"config": {"size": "1024Mi"}}, False),  # whatever that is
    ],
)
def test_a_quantity_written_in_two_ways_is_one(one: Any, other: Any, equal: bool) -> None:
    spec = comparison(
        [{"name": "8.11.0"}, {"name": "b", "patch": {"elasticsearch": one}},
         {"name": "c", "patch": {"elasticsearch": other}}]
    )  # fmt: skip
    if equal:
        assert "variants b and c are the same" in refused(spec)
    else:
        assert len(expand(spec)) == 3


def test_a_matrix_names_its_variants_by_what_varies() -> None:
    found = expand(of_matrix(("race.params.corpus_version", ["1.0.0", "2.0.0"]), baseline="1.0.0"))
    assert [variant.name for variant in found] == ["1.0.0", "2.0.0"]


def test_null_takes_a_field_away() -> None:
    assert "java" not in patched({"elasticsearch": {"java": None}})["elasticsearch"]


BUFFER = {"indices": {"memory": {"index_buffer_size": "10%", "min_index_buffer_size": "1mb"}}}
DOTTED = {"indices.memory.index_buffer_size": "10%", "indices.memory.min_index_buffer_size": "1mb"}
LEAST = {"indices.memory.min_index_buffer_size": "1mb"}
LARGER = {"indices.memory.index_buffer_size": "20%", **LEAST}


@pytest.mark.parametrize("template", [BUFFER, DOTTED], ids=["nested", "dotted"])
@pytest.mark.parametrize(
    ("patch", "left"),
    [
        ({"indices.memory.index_buffer_size": "20%"}, LARGER),
        ({"indices": {"memory": {"index_buffer_size": "20%"}}}, LARGER),
        ({"indices.memory": {"index_buffer_size": "20%"}}, LARGER),
        ({"indices.memory.index_buffer_size": None}, LEAST),
        ({"indices": {"memory": {"index_buffer_size": None}}}, LEAST),
        ({"indices": None}, {}),
        ({"indices.memory": None}, {}),
        ({"indices": {"memory": None}, "indices.memory.min_index_buffer_size": "1mb"}, LEAST),
        ({"indices.mem": None, "indices-memory": "x"}, {**DOTTED, "indices-memory": "x"}),
    ],
)
@pytest.mark.parametrize(
    "path", [("elasticsearch", "config"), ("elasticsearch", "index", "settings"), ("target", "index", "settings")]
)
def test_settings_are_merged_by_their_dotted_names(path: tuple[str, ...], patch: Any, left: Any, template: Any) -> None:
    def at(value: Any) -> dict[str, Any]:
        for key in reversed(path):
            value = {key: value}
        return dict(value)

    assert merge(at(template), at(patch)) == at(left)


def test_settings_whose_dotted_names_would_be_too_long_to_be_accepted_stay_as_they_are() -> None:
    """Flattened, a few hundred kilobytes would be gigabytes."""
    long, many = "k" * 600, {str(number): number for number in range(200)}
    found = merge({"elasticsearch": {"config": {long: many}}}, {"elasticsearch": {"config": {long: {"0": None}}}})
    assert found["elasticsearch"]["config"] == {long: {key: value for key, value in many.items() if key != "0"}}


def test_settings_that_are_nested_in_one_variant_and_dotted_in_the_other_are_the_same() -> None:
    settings: dict[str, Any] = {"b": {"merge": {"policy": {"type": "tiered"}}}, "c": {"merge.policy.type": "tiered"}}
    variants = [
        {"name": name, "patch": {"elasticsearch": {"index": {"settings": written}}}}
        for name, written in settings.items()
    ]
    assert "variants b and c are the same" in refused(comparison([{"name": "8.11.0"}, *variants]))
    config = {**TEMPLATE, "elasticsearch": {**TEMPLATE["elasticsearch"], "config": {"a": {"b": 1}}}}
    same = [{"name": "8.11.0"}, {"name": "b", "patch": {"elasticsearch": {"config": {"a.b": 1}}}}]
    assert "changes nothing of the template" in refused(comparison(same, template=config))


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (comparison([{"name": "8.11.0"}, {"name": "same", "patch": {"elasticsearch": {"version": "8.11.0"}}}]),
         "variant same: variants[1].patch changes nothing of the template"),
        (comparison([{"name": "8.11.0"}, {"name": "same"}]), "variants 8.11.0 and same are the same: change one"),
        (comparison([{"name": "8.11.0"}, {"name": "9.0.0", "patch": {"elasticsearch": {"heap": "1g"}}}]),
         "variant 9.0.0 is called after version 9.0.0, but its elasticsearch.version is 8.11.0"),
        *((named(name, heap="1g"), f"variant {name} is called after version 9.0.0, but") for name in (
            "heap-9.0.0", "9.0.0-heap", "v9.0.0.large")),
        (comparison([{"name": "8.11.0"}, {"name": "9.0", "patch": {"elasticsearch": {"heap": "1g"}}}]),
         "variant 9.0 is called after version 9.0, but its elasticsearch.version is 8.11.0"),
        (comparison([*PAIR, {"name": "9", "patch": {"elasticsearch": {"heap": "1g"}}}]),
         "variant 9 is called after version 9, but its elasticsearch.version is 8.11.0"),
        (comparison([{"name": "8.1"}, PAIR[1]], baseline="8.1"), "variant 8.1 is called after version 8.1"),
        (comparison([{"name": "8.11.0"}, {"name": "es-8", "patch": PAIR[1]["patch"]}]),
         "variant es-8 is called after version 8, but its elasticsearch.version is 9.0.0"),
        *((named(name, version="9.0.0"), f"variant {name} is called after version 8, but") for name in (
            "es8", "es-8-defaults", "es8_defaults")),
        (comparison([{"name": "8.11.0"}, {"name": "java17", "patch": {"elasticsearch": {"heap": "1g"}}}]),
         "variant java17 is called after Java 17, but its elasticsearch.java is 21"),
        (comparison([{"name": "8.11.0"}, {"name": "jdk-17", "patch": {"elasticsearch": {"java": None}}}]),
         "variant jdk-17 is called after Java 17, but it has no elasticsearch.java"),
        (named("heap-4g", heap="2g"),
         "variant heap-4g is called after heap 4g, but its elasticsearch.heap is 2g: mend the name or the heap"),
        (named("4g-heap", heap="2g"), "is called after heap 4g"),
        (named("2-replicas", nodes=3, index={"replicas": 1}),
         "after replicas 2, but its elasticsearch.index.replicas is 1"),
        (named("shards-3", index={"shards": 2}), "after shards 3, but its elasticsearch.index.shards is 2"),
        (named("3-nodes", heap="1g"), "after nodes 3, but its elasticsearch.nodes is 1"),
        (named("best-compression", index={"codec": "default"}),
         "after codec best-compression, but its elasticsearch.index.codec is default"),
        (named("volcano-best-compression", index={"codec": "default"}), "after codec best-compression"),
        (named("es9-java17", java=17),
         "variant es9-java17 is called after version 9, but its elasticsearch.version is 8.11"),
        (comparison(baseline="8.12.0"), "baseline 8.12.0 is none of the variants: write one of 8.11.0, 9.0.0"),
        (comparison([{"name": "8.11.0"}, {"name": "b", "patch": {"elasticsearch": {"nodez": 2}}}]),
         "variant b: elasticsearch.nodez is no field of a Benchmark's spec"),
        (comparison([{"name": "8.11.0"}, {"name": "b", "patch": {"elasticsearch": {"jvm_options": []}}}]),
         "variant b: elasticsearch.jvm_options is no field of a Benchmark's spec"),
        (comparison([{"name": "8.11.0"}, {"name": "b", "patch": {"elasticsearch": {"nodes": 0}}}]),
         "variant b: elasticsearch.nodes 0 is not accepted: input should be greater than or equal to 1"),
        (comparison([{"name": "8.11.0"}, {"name": "b", "patch": {
            "elasticsearch": {"jvmOptions": ["-Da.password=w o"]}}}]),
         "variant b: elasticsearch.jvmOptions.0 -Da.password=sha256:"),
        (comparison([{"name": "8.11.0"}, {"name": "b", "patch": {
            "race": {"track": {"builtin": None, "git": {"url": "https://me:w/o@x/ y", "revision": "z"}}}}}]),
         "variant b: race.track.git.url https://x/ y is not accepted"),
        (comparison([{"name": "8.11.0"}, {"name": "b", "patch": {"race": {"track": {"builtin": None}}}}]),
         "changed"),
        (comparison([{"name": "8.11.0"}, {"name": "b", "patch": {"repetitions": 3}}]),
         "variant b: variants[1].patch sets repetitions, but each variant races once a block"),
        (comparison([{"name": "8.11.0"}, {"name": "b", "patch": {"keepCluster": "Always"}}]),
         "variant b: variants[1].patch sets keepCluster, but a cluster that is kept"),
        (comparison(template={"race": TEMPLATE["race"]}),
         "variant 8.11.0: its Benchmark takes exactly one of elasticsearch, target, and has none of them"),
        (comparison([{"name": "8.11.0"}, {"name": "b", "patch": {
            "race": {"track": {"name": "geonames", "git": {"url": "https://x/y", "revision": "z"}}}}}]),
         "variant b: race.track takes exactly one of builtin, configMap, name, git, volume, and has name and git"),
        (comparison(gates=[{"metric": "throughput", "margin": 5}] * 2), "gates has throughput 2 times"),
        (comparison(gates=[{"task": "t", "metric": "throughput", "margin": 5}] * 2), "throughput of task t 2 times"),
        (comparison(
            gates=[{"metric": "capacity", "margin": 10}, {"metric": "capacity", "task": "s", "margin": 5}],
            template={**TEMPLATE, "race": {**TEMPLATE["race"], "capacity": {
                "task": "s", "objective": {"p99": "50ms"}, "targetThroughput": {"from": 50, "to": 500}}}}),
         "gates has capacity of task s 2 times: each number decides once"),
        (comparison([{"name": "8.11.0", "target": {"hosts": ["http://es1:9200"]}},
                     {"name": "b", "target": {"hosts": ["http://ES1:9200/"]}}], template={"race": TEMPLATE["race"]}),
         "variants 8.11.0 and b are the same: change one"),
        (comparison(design={"stop": "fixed", "blocks": 3}, onInconclusive="extend"), "onInconclusive: extend needs"),
        (in_turn({"race": {"steady": {"maxWarmup": "60s"}}}), "variant b: race.steady contradicts design.kind: Duet"),
        (in_turn({"race": {"sweep": {"task": "t", "clients": [1, 2]}}}), "variant b: race.sweep contradicts"),
        (in_turn({"race": {"track": None, "requests": {"configMap": {"name": "r"}}}}),
         "variant b: design.kind: Duet is for races on a track"),
        (in_turn({"elasticsearch": {"scheduling": {"exclusiveNodes": True}}}),
         "variant b: elasticsearch.scheduling.exclusiveNodes contradicts design.kind: Duet"),
        *((in_turn({part: {"scheduling": {"machines": ["n1"]}}}), f"variants differ in {part}.scheduling, and with")
          for part in ("elasticsearch", "race")),
        *((named("b", **patch), "variant b: variants[1].patch changes nothing of the template") for patch in (
            {"scheduling": {}}, {"index": {}}, {"index": {"settings": {}}}, {"scheduling": {"exclusiveNodes": False}},
            {"resources": {"requests": {"memory": "2048Mi"}}})),
        *((named(name, **patch), f"variant {name} is called after {sentence}") for name, patch, sentence in (
            ("2-cpus", {"resources": {"limits": {"cpu": "4"}}}, "cpu 2, but its elasticsearch.resources.limits.cpu is"),
            ("4Gi-memory", {"resources": {"limits": {"memory": "8Gi"}}}, "memory 4G, but its"),
            ("ram-999999999999999999999999999g", {"resources": {"limits": {"memory": "8Gi"}}}, "memory 9"),
            ("synthetic", {"index": {"sourceMode": "stored"}}, "sourceMode synthetic, but its"),
            ("default-codec", {"index": {"codec": "best_compression"}}, "codec default, but its"))),
        (comparison([{"name": "8.11.0"}, {"name": "b", "patch": {"target": {"hosts": ["http://es1:9200"]}}}],
                    design={"state": "Kept", "tasks": ["search"]}),
         "variant b: variants[1].patch has a target, and design.state: Kept is for clusters that are built"),
        (on_kept_clusters({"elasticsearch": {"scheduling": {"exclusiveNodes": True}}}),
         "variant b: elasticsearch.scheduling.exclusiveNodes contradicts design.state: Kept, where the clusters of"),
        *((on_kept_clusters({"race": part}), f"variant b: race.{name}.task s must be one of design.tasks: with")
          for part, name in ((SWEEP, "sweep"), (CAPACITY, "capacity"))),
        (comparison([{"name": "8.11.0"}, {"name": "b", "patch": {"racedAgain": ["search"]}}]),
         "variant b: variants[1].patch sets racedAgain, but the Comparison writes it: leave it out, and write"),
        *((comparison([{"name": "8.11.0"}, {"name": "b", "patch": patch}], gates=[gate], template=template), sentence)
          for patch, gate, template, sentence in (
            ({"elasticsearch": {"heap": "1g"}}, {"task": "s", "metric": "throughput", "margin": 5}, of_race(SWEEP),
             "gates[0].task s is the task of race.sweep, whose steps take its place: write one of them, for example "
             "s@2"),
            ({"race": SWEEP}, {"task": "s", "metric": "throughput", "margin": 5}, TEMPLATE, "the task of race.sweep"),
            ({"elasticsearch": {"heap": "1g"}}, {"task": "s", "metric": "serviceTimeP50", "margin": 5},
             of_race(CAPACITY), "gates[0].task s is the task of race.capacity: probes take its place"),
            ({"target": {"kind": "http", "hosts": ["http://g:1"]}}, {"metric": "storeBytes", "margin": 5}, TEMPLATE,
             "gates[0].metric storeBytes is not known of a target of kind http"))),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_a_sentence(spec: ComparisonSpec, sentence: str) -> None:
    if sentence == "changed":  # no source at all: the API server's own rule says it in the dry run
        assert expand(spec)[1].changed == ("race.track.builtin",)
    else:
        assert sentence in refused(spec)


@pytest.mark.parametrize("part", [SWEEP, CAPACITY])
def test_steps_of_a_task_that_is_raced_on_kept_clusters_are_taken(part: dict[str, Any]) -> None:
    (name,) = part
    assert expand(on_kept_clusters({"race": part}, ("s",)))[1].spec["race"][name]["task"] == "s"


def test_a_patch_that_is_nested_without_end_is_a_sentence() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}
    spec = comparison().model_copy(update={"variants": comparison().variants})
    assert spec.variants
    wild = spec.variants[1].model_copy(update={"patch": {"elasticsearch": {"config": deep}}})
    sentence = refused(spec.model_copy(update={"variants": [spec.variants[0], wild]}))
    assert "variant 9.0.0: variants[1].patch is nested more than 20 levels deep" in sentence


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, TREES, max_size=4))
def test_whatever_a_patch_has_there_are_variants_or_sentences(patch: dict[str, Any]) -> None:
    try:
        found = expand(comparison([{"name": "8.11.0"}, {"name": "other", "patch": patch}]))
    except VariantsRefusedError as error:
        assert all(len(text) > 20 for text in error.objections)
    else:
        assert found[1].changed


PATHS = st.lists(KEYS, min_size=1, max_size=3).map(".".join)


@given(st.lists(st.dictionaries(PATHS, TREES, max_size=3), max_size=3))
def test_whatever_a_matrix_includes_there_are_variants_or_sentences(cells: list[dict[str, Any]]) -> None:
    try:
        expand(of_matrix(VERSIONS, baseline="8.11.0", include=[{"at": cell} for cell in cells]))
    except VariantsRefusedError as error:
        assert all(len(text) > 20 for text in error.objections)


def names(found: list[ResolvedVariant]) -> list[str]:
    return [variant.name for variant in found]


JAVAS: tuple[str, list[Any]] = ("elasticsearch.java", [21, 17])


def test_a_matrix_is_all_combinations_named_by_their_values() -> None:
    found = expand(of_matrix(VERSIONS, JAVAS, baseline="9.0.0-21"))
    assert names(found) == ["9.0.0-21", "8.11.0-21", "8.11.0-17", "9.0.0-17"]
    assert found[2].spec["elasticsearch"]["java"] == 17


def test_a_matrix_excludes_and_includes() -> None:
    found = expand(
        of_matrix(
            VERSIONS, JAVAS, baseline="8.11.0-21",
            exclude=[{"at": {"elasticsearch.version": "8.11.0", "elasticsearch.java": 17}}],
            include=[
                {"at": {"elasticsearch.version": "9.1.0"}},
                {"at": {"elasticsearch.java": None, "race.offline": True}},
            ],
        )
    )  # fmt: skip
    assert names(found) == ["8.11.0-21", "9.0.0-21", "9.0.0-17", "9.1.0", "default-true"]
    assert found[3].spec["elasticsearch"]["java"] == 21 and "java" not in found[4].spec["elasticsearch"]


def test_an_included_cell_has_one_name_in_whatever_order_its_keys_come() -> None:
    """The API server sorts them, and a file does not."""
    at = {"race.offline": True, "elasticsearch.java": 17, "elasticsearch.heap": "1g", "elasticsearch.version": "9.1.0"}
    for cell in (at, dict(sorted(at.items())), dict(sorted(at.items(), reverse=True))):
        found = expand(of_matrix(VERSIONS, JAVAS, baseline="8.11.0-21", include=[{"at": cell}]))
        assert names(found)[-1] == "9.1.0-17-1g-true"


def test_what_true_in_quotes_is_in_a_matrix() -> None:
    found = expand(of_matrix(("race.offline", ["true", "false"]), baseline="true"))
    assert [variant.spec["race"]["offline"] for variant in found] == [True, False]
    found = expand(of_matrix(("race.params.x", ["true", "false"]), baseline="true"))
    assert [variant.spec["race"]["params"]["x"] for variant in found] == ["true", "false"]


def test_a_path_may_lead_into_what_has_no_schema_and_lists_give_names() -> None:
    include = [{"elasticsearch.config.a.b": True}, {"elasticsearch.jvmOptions": ["-XX:+UseParallelGC"]}]
    cells = [{"at": each} for each in include]
    found = expand(of_matrix(("elasticsearch.config.a.b", [1, "1x"]), baseline="1", include=cells))
    assert names(found) == ["1", "1x", "true", "XX-UseParallelGC"]
    assert found[2].spec["elasticsearch"]["config"] == {"a.b": True}, "which is not 1"


MANY: tuple[str, list[Any]] = ("elasticsearch.nodes", list(range(1, 13)))


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (of_matrix(VERSIONS, MANY, baseline="8.11.0-1"),
         "matrix gives 24 variants, and matrix.maxVariants is 6: leave values out"),
        (of_matrix(*[(f"race.params.p{number}", list(range(12))) for number in range(6)], baseline="1"),
         "matrix gives 2985984 variants, those that matrix.exclude leaves out not counted"),
        (of_matrix(VERSIONS, baseline="8.11.0", exclude=[{"at": {"elasticsearch.version": "9.0.0"}}]),
         "matrix gives 1 variant"),
        (of_matrix(VERSIONS, JAVAS, baseline="9.0.0"), "baseline 9.0.0 is none of the variants: write one of 8.11.0-2"),
        (of_matrix(VERSIONS, ("elasticsearch", [1]), baseline="9.0.0"),
         "matrix.axes has elasticsearch.version, which is a part of elasticsearch: write one of the two"),
        (of_matrix(VERSIONS, VERSIONS, baseline="9.0.0"), "elasticsearch.version is there twice"),
        (of_matrix(("elasticsearch.version", ["9.0.0", "9.0.0"]), baseline="9.0.0"), 'has "9.0.0" twice'),
        (of_matrix(("elasticsearch..version", ["9.0.0"]), baseline="9.0.0"), "is no path: write names joined by dots"),
        (of_matrix(VERSIONS, baseline="9.0.0", exclude=[{"at": {"elasticsearch.java": 21}}]),
         "matrix.exclude[0].at names elasticsearch.java, which is no path of an axis: write one of"),
        (of_matrix(VERSIONS, baseline="9.0.0", exclude=[{"at": {"elasticsearch.version": "9.9.9"}}]),
         'has elasticsearch.version "9.9.9", which is not among its values: "8.11.0", "9.0.0"'),
        (of_matrix(VERSIONS, baseline="9.0.0", include=[{"at": {}}]), "matrix.include[0].at is empty"),
        (of_matrix(VERSIONS, baseline="9.0.0", include=[{"at": {"elasticsearch.version": "9.0.0"}}]),
         "2 variants are called 9.0.0"),
        (of_matrix(("race.challenge", ["a" * 41, "b"]), baseline="b"), "which is not 1 to 40 characters long"),
        (of_matrix(("elasticsearch.nodes", [1, "2"]), baseline="1", include=[{"at": {"elasticsearch.nodes": 2}}]),
         "2 variants are called 2"),
        (of_matrix(("elasticsearch.heap", ["1g"]), baseline="1g", include=[{"at": {"elasticsearch.heap": [1]}}]),
         "variant 1: elasticsearch.heap [1] is not accepted: input should be a valid string"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_matrix_is_a_sentence(spec: ComparisonSpec, sentence: str) -> None:
    assert sentence in refused(spec)


LEAVES: Any = st.sampled_from([None, True, 1, 0, "1", "a", "2Gi", "2048Mi", "1g", "1024m", [], [{"a": None}], {}])
PARTS = st.sampled_from(
    [
        "elasticsearch",
        "resources",
        "requests",
        "limits",
        "memory",
        "index",
        "scheduling",
        "heap",
        "race",
        "a",
        "config",
        "a.a",
    ]
)
SPECS = st.dictionaries(PARTS, st.recursive(LEAVES, lambda inner: st.dictionaries(PARTS, inner, max_size=3)))


@pytest.mark.parametrize(
    ("name", "patch"),
    [
        ("2-cpus", {"resources": {"limits": {"cpu": "2000m"}}}),
        ("4g-ram", {"resources": {"limits": {"memory": "4096Mi"}}}),
        ("synthetic", {"index": {"sourceMode": "synthetic"}}), ("codec-default", {"index": {"codec": "default"}}),
        ("no-replicas", {"index": {"replicas": 0}}), ("halved", {"resources": {"requests": {"memory": "1Gi"}}}),
        ("on-n1", {"scheduling": {"machines": ["n1"]}}),
    ],
)  # fmt: skip
def test_what_a_name_says_truly_and_what_is_written_for_the_first_time_is_taken(name: str, patch: Any) -> None:
    assert expand(named(name, **patch))[1].changed


def test_what_was_accepted_once_is_raced_on_by_an_operator_that_asks_for_more() -> None:
    odd = named("2-cpus", resources={"limits": {"cpu": "4"}})
    assert "is called after cpu 2" in refused(odd)
    assert [it.name for it in expand(odd, accepted=True)] == ["8.11.0", "2-cpus"]
    unreadable = named("b", oddly=1)
    with pytest.raises(VariantsRefusedError, match="oddly is no field"):
        expand(unreadable, accepted=True)


@given(SPECS, SPECS)
def test_specs_have_one_meaning_when_nothing_differs_between_them(one: Any, other: Any) -> None:
    assert (meaning(one) == meaning(other)) == (changed_paths(one, other) == [])
    assert changed_paths(one, one) == [] and changed_paths(one, other) == changed_paths(other, one)


def test_each_variant_is_gone_through_a_few_times_and_not_once_a_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve of the largest that is accepted took five seconds a look, in which nobody else's race went on."""
    many, asked = 300, 0

    def counted(path: str, value: Any) -> Any:
        nonlocal asked
        asked += 1
        return comparable(path, value)

    monkeypatch.setattr(merge_patch, "comparable", counted)
    template = {**TEMPLATE, "race": {**TEMPLATE["race"], "params": {"p": {f"k{n}": n for n in range(many)}}}}
    variants = [{"name": f"v{n}", "patch": {"elasticsearch": {"config": {"a.c": n}}}} for n in range(12)]
    assert len(expand(comparison(variants, baseline="v0", template=template))) == 12
    assert asked < 4 * 12 * many


def one_alone(schema: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Yield where the schema takes one field alone, and which; not within lists, which a patch replaces as a whole."""
    for each in schema.get("x-kubernetes-validations", ()):
        if found := ONE_ALONE.match(each["rule"]):
            yield path, set(re.findall(r"self\.(\w+)", found[1]))
    for name, inner in schema.get("properties", {}).items():
        yield from one_alone(inner, (*path, name))


def test_what_the_schema_takes_one_of_alone_a_patch_replaces() -> None:
    (version,) = crd(BENCHMARK)["spec"]["versions"]
    asked = dict(one_alone(version["schema"]["openAPIV3Schema"]["properties"]["spec"]))
    assert ("race", "track") in asked
    assert {group.path: set(group.choices) for group in merge_patch.ONE_OF} == asked


def test_an_objective_takes_the_place_of_another_percentile() -> None:
    template = of_race(CAPACITY)
    found = merge(template, {"race": {"capacity": {"objective": {"p90": "20ms", "errorRate": 0.01}}}})
    assert found["race"]["capacity"]["objective"] == {"p90": "20ms", "errorRate": 0.01}
