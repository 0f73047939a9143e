"""`fairlap plan`: what a Comparison would do, and what is wrong with it, before anything is applied."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.names import NOISE_CONFIG_MAP
from fairlap.api.spec import BenchmarkSpec
from fairlap.cli.commands.plan_command import plan
from fairlap.cli.edge.exits import RefusedError
from fairlap.cli.main import main
from fairlap.cli.tables.plan_text import Known, plan_text, races_of
from fairlap.cli.tables.spec_refusals import EXAMPLES
from fairlap.comparison.noise.noise_store import Shown, encode_noise, noise_key
from fairlap.comparison.variants.variants import expand

Json = dict[str, Any]
TWO = [{"name": "8.11.0"}, {"name": "9.0.0", "patch": {"elasticsearch": {"version": "9.0.0"}}}]

OF_VARIANTS: Json = {  # each brings its cluster along
    "template": {"race": {"track": {"builtin": "log_ingest"}}},
    "variants": [
        {"name": name, "patch": {"elasticsearch": {"version": name, "java": 21}}} for name in ("8.11.0", "9.0.0")
    ],
}


def spec(**more: Any) -> Json:
    template = {"elasticsearch": {"version": "8.11.0", "java": 21}, "race": {"track": {"builtin": "log_ingest"}}}
    return {"baseline": "8.11.0", "template": template, "variants": TWO, **more}


def manifest(name: str = "up", **more: Any) -> Json:
    meta = {"name": name}
    return {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Comparison", "metadata": meta, "spec": spec(**more)}


def text(known: Known | None = None, **more: Any) -> str:
    found = ComparisonSpec.model_validate(spec(**more))
    return plan_text("up", found, expand(found), known)


def test_the_variants_and_what_each_changes() -> None:
    lines = [line.split(maxsplit=2) for line in text().splitlines() if line.startswith("  ")]
    assert lines[0] == ["a", "8.11.0", "the baseline"]
    assert lines[1] == ["b", "9.0.0", "elasticsearch.version: 8.11.0 → 9.0.0"]
    assert lines[2][:2] == ["z", "8.11.0*"]
    assert "8.11.0*" not in text(calibrate=False)


def test_no_secret_of_an_option_is_printed() -> None:
    options = {"elasticsearch": {"jvmOptions": ["-Dhttps.proxyPassword=hunter"]}}
    said = text(variants=[TWO[0], {"name": "proxy", "patch": options}])
    assert "hunter" not in said and 'elasticsearch.jvmOptions: [] → ["-Dhttps.proxyPassword=sha256:' in said


def test_variants_that_race_alike_are_told() -> None:
    patient = [TWO[0], {"name": "patient", "patch": {"timeouts": {"race": "2h"}}}]
    assert "Mind: nothing that changes a race differs between 8.11.0 and patient" in text(variants=patient)
    assert "Mind: " not in text()


def test_a_cell_of_a_matrix_that_cannot_be_compared_is_not_counted() -> None:
    axes = [
        {"path": "elasticsearch.version", "values": ["8.11.0", "8.12.0"]},
        {"path": "elasticsearch.java", "values": [17, 21]},
    ]
    said = text(variants=None, matrix={"axes": axes}, baseline="8.11.0-17", design={"stop": "fixed", "blocks": 2})
    assert said.startswith("up: 8.11.0-21, 8.12.0-17 against 8.11.0-17\n") and "Races: 8, " in said
    assert "Not raced, since nothing could be told of it: 8.12.0-21 differs from 8.11.0-17 in 2 variables" in said
    order = said.rpartition("Order of the first blocks")[2]
    assert "8.12.0-17" in order and "8.12.0-21" not in order and "Not raced" not in text()


def test_a_key_with_dots_is_found() -> None:
    settings = {"index.store.type": "mmapfs"}
    variants = [{"name": "a"}, {"name": "b", "patch": {"race": {"params": {"index_settings": settings}}}}]
    template = {
        **spec()["template"],
        "race": {"track": {"builtin": "page_cache"}, "params": {"index_settings": {"x": 1}}},
    }
    said = text(variants=variants, baseline="a", template=template)
    assert "race.params.index_settings.index.store.type: nothing → mmapfs" in said


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({}, "Races: 9 to 30, "),
        ({"calibrate": False}, "Races: 6 to 20, "),
        ({"calibrateEvery": 3}, "Races: 7 to 24, "),
        ({"design": {"maxBlocks": 5}}, "Races: 9 to 15, "),
        ({"design": {"stop": "fixed", "blocks": 3}, "calibrateEvery": 3}, "Races: 7, "),
        ({"design": {"stop": "fixed", "blocks": 3}}, "Looks: once, after 3 blocks"),
        ({"design": {"minBlocks": 5, "maxBlocks": 10}}, "Looks: after 5, 7 and 10 blocks"),
        ({"design": {"minBlocks": 5, "maxBlocks": 5}}, "Looks: after 5 blocks"),
        ({}, "throughput (5 %), serviceTimeP50 (5 %), serviceTimeP99 (10 %), storeBytes (2 %)"),
        ({"gates": [{"metric": "segments"}]}, "What decides: segments, requireNonInferior"),
        (
            {"gates": [{"task": "bulk", "metric": "throughput", "margin": 2.5, "policy": "reportOnly"}]},
            "throughput of bulk (2.5 %), reportOnly",
        ),
        ({"design": {"seed": 7}}, "by design.seed 7:"),
        ({}, "Up to 3 blocks may be raced again, and up to 5 more whose machine was disturbed."),
        ({"design": {"disturbed": "Count", "retries": 2}}, "Up to 2 blocks may be raced again.\n"),
        ({"design": {"kind": "Duet"}}, "Up to 3 blocks may be raced again.\n"),
        ({"design": {"kind": "Duet", "retries": 1}}, "Up to 1 block may be raced again.\n"),
        ({"design": {"kind": "Duet", "retries": 0}}, "No block may be raced again.\n"),
        (
            {"design": {"retries": 0}},
            "No block may be raced again, but for up to 5 blocks whose machine was disturbed.\n",
        ),
        ({}, "Races: 9 to 30, each on a cluster of its own where one is built; "),
        ({"design": {"state": "Kept", "tasks": ["a", "b"]}}, "Races: 9 to 30, of a, b alone, on kept clusters; "),
        (
            {"design": {"kind": "Duet"}},
            "Races: 9 to 30, each on a cluster of its own where one is built, those of a "
            "block in turn, one request of each; ",
        ),
        (
            {"design": {"kind": "Duet"}},
            "What decides: serviceTimeP50 (5 %), serviceTimeP99 (10 %), storeBytes (2 %), over",
        ),
        ({"design": {"state": "Kept", "tasks": ["a"]}}, "Clusters: 2, each built and filled once"),
        (
            {},
            "each built and filled anew, one at a time; with state: Kept, for questions about searches alone, it would "
            "be 2, each",
        ),
        ({"design": {"kind": "Duet"}}, "each built and filled anew, those of a block side by side; with state: Kept"),
        (OF_VARIANTS, "each built and filled anew, one at a time; with state: Kept"),
        ({"design": {"state": "Kept", "tasks": ["a"]}}, "with state: Fresh it would be 9 to 30 clusters"),
        ({}, "for example (it is drawn at"),
    ],
)
def test_what_it_takes_and_what_decides(more: Json, says: str) -> None:
    assert says in text(**more)


def test_time_and_noise_are_reckoned_with() -> None:
    said = text(Known(race_seconds=240, noise=4))
    assert "How long: 36 min to 2.0 h, at 4 min a race." in said
    assert "after 10 blocks with a noise of 4 %" in said and "not known" not in said
    assert "Races: 7 to 24, " in text(Known(race_seconds=1000)), "the baseline against itself in every third block"


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        (1, "1 min, at 1 s a race."),
        (10, "2 min to 5 min, at 10 s a race."),
        (45, "7 min to 22 min, at 45 s a race."),
        (60, "9 min to 30 min, at 1 min a race."),
        (90, "14 min to 45 min, at 90 s a race."),
        (250.4, "38 min to 2.1 h, at 250 s a race."),
        (420, "63 min to 3.5 h, at 7 min a race."),
        (1010, "2.0 h to 6.7 h, at 17 min a race."),
    ],
)
def test_a_short_race_is_told_in_seconds(seconds: float, says: str) -> None:
    assert f"How long: {says}" in text(Known(race_seconds=seconds))


@given(st.floats(0.01, 1000), st.integers(2, 30), st.integers(2, 12), st.sampled_from([{}, {"stop": "sequential"}]))
def test_any_noise_has_an_answer(noise: float, blocks: int, variants: int, design: Json) -> None:
    many = [{"name": f"v{n}", "patch": {"elasticsearch": {"heap": f"{n + 1}g"}}} for n in range(variants - 1)]
    design = design or {"stop": "fixed", "blocks": blocks}
    said = text(Known(noise=noise), variants=[{"name": "8.11.0"}, *many], design=design)
    assert "How small a change it shows: " in said and "nan" not in said


@given(st.integers(1, 30), st.integers(2, 12), st.integers(0, 10))
def test_races_are_counted(blocks: int, variants: int, every: int) -> None:
    twins = [number for number in range(1, blocks + 1) if every and number % every == (1 if every > 1 else 0)]
    assert races_of(blocks, variants, every) == blocks * variants + len(twins)


class Cluster:
    """An API server that refuses what has a version that it does not know."""

    namespace = "n"

    def __init__(self, **noise: Json) -> None:
        self.asked: list[str] = []
        self.noise = noise
        """by namespace"""

    def config_map(self, name: str, namespace: str | None = None) -> Json | None:
        assert name == NOISE_CONFIG_MAP
        return self.noise.get(namespace or self.namespace)

    def apply(self, found: Json, dry_run: bool = False) -> tuple[Json, str]:
        assert dry_run, "nothing may be changed"
        self.asked.append(f"{found['kind']} {found['metadata']['name']}")
        if found["kind"] == "Benchmark" and found["spec"]["elasticsearch"]["version"] == "9.0.0":
            raise RefusedError(422, "elasticsearch.version 9.0.0 does not run here")
        return found, "created"


def planned(tmp_path: Path, *objects: Json, cluster: Any = None) -> int:
    (tmp_path / "m.yaml").write_text(yaml.safe_dump_all(objects))
    return plan((lambda: cluster) if cluster else None, [str(tmp_path / "m.yaml")], Known())


@pytest.mark.parametrize(
    ("change", "words"),
    [(6.5, "6.5 %"), (0.253, "0.25 %"), (0.00109, "0.0011 %"), (210.4, "210 %"), (1e11, "none that is of any use")],
)
def test_the_noise_known_in_a_cluster_is_told(change: float, words: str) -> None:
    said = text(Known(smallest_change=change))
    assert f"How small a change it shows: {words}, four times in five, after 10 blocks with the noise known in" in said


def test_the_noise_is_that_of_the_manifest_s_namespace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = manifest(variants=[TWO[0], {"name": "b", "patch": {"elasticsearch": {"heap": "1g"}}}])
    key = f"{noise_key(ComparisonSpec.model_validate(found['spec']), ())}m"
    shown = Shown(datetime.now(UTC), "throughput mean", (0.0004,) * 5, 4)
    there = {"data": encode_noise({key: (shown,)})}
    known = "with the noise known in this"
    assert planned(tmp_path, found, cluster=Cluster(n=there)) == 0 and known in capsys.readouterr().out
    found["metadata"]["namespace"] = "other"
    assert planned(tmp_path, found, cluster=Cluster(n=there)) == 0 and known not in capsys.readouterr().out
    assert planned(tmp_path, found, cluster=Cluster(other=there)) == 0 and known in capsys.readouterr().out


def bench(**template: Any) -> Json:
    found = {**spec()["template"], **template}
    return {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Benchmark", "metadata": {"name": "bm"}, "spec": found}


def resources(*, cpu: Any = None, limit: Any = None, memory: str | None = "2Gi") -> Json:
    limits = {"memory": memory} if memory else {}
    asked = {"requests": {"cpu": cpu} if cpu else {}, "limits": {**limits, **({"cpu": limit} if limit else {})}}
    return {"elasticsearch": {"version": "8.11.0", "java": 21, "resources": asked}}


def test_without_a_cluster_nothing_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert planned(tmp_path, manifest("one"), bench(repetitions=3), manifest("two")) == 0
    said = capsys.readouterr().out
    assert "one: 9.0.0 against 8.11.0" in said and "two: 9.0.0 against 8.11.0" in said
    assert "bm: a Benchmark of 3 races\n" in said
    assert "Nothing was applied." in said


def test_the_server_is_asked_about_each_variant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster()
    assert planned(tmp_path, manifest(), cluster=cluster) == 1
    assert cluster.asked == ["Comparison up", "Benchmark up-0a", "Benchmark up-0b"]
    assert capsys.readouterr().err == "up: variant 9.0.0: elasticsearch.version 9.0.0 does not run here\n"


def test_what_is_refused_is_told_with_a_server_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert planned(tmp_path, manifest(baseline="7"), manifest("up"), cluster=Cluster()) == 1
    told = capsys.readouterr().err
    assert "up: baseline 7 is none of the variants: write one of 8.11.0, 9.0.0" in told and "does not run here" in told


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (manifest(baseline="7"), "up: baseline 7 is none of the variants: write one of 8.11.0, 9.0.0"),
        (manifest(variants=[TWO[0], {"name": "b", "patch": {}}]), "changes nothing of the template"),
        (manifest(baselin="8.11.0"), "up: spec.baselin: is no field: mend its name, or leave it out"),
        (manifest(variants=None), "up: spec takes exactly one of variants"),
        (manifest("8-vs-9"), "metadata.name is 8-vs-9: write one of a-z, 0-9 and - that begins with a letter"),
        (manifest("a-name-that-is-too-long"), "metadata.name is 23 characters long: write at most 20"),
        (manifest(on_inconclusive="pass"), "spec.on_inconclusive: is no field"),
        (manifest(design={"minBlocks": 4, "maxBlocks": 4}), "design.maxBlocks are one of 3, 5, 7, 10, not 4"),
        (manifest(design={"minBlocks": 10, "maxBlocks": 3}), "design.minBlocks 10 is above design.maxBlocks 3"),
        (manifest(design={"stop": "fixed"}), "design.stop: fixed needs design.blocks, for example 5"),
        (manifest(design={"stop": "fixed", "blocks": 3, "maxBlocks": 5}), "are for design.stop: sequential"),
        (manifest(design={"blocks": 3}), "design.blocks is for design.stop: fixed"),
        (manifest(gates=[{"metric": "throughput", "margin": 0}]), "gates[].margin 0 can never be shown"),
    ],
)
def test_what_is_wrong_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], found: Json, says: str
) -> None:
    assert planned(tmp_path, found) == 1
    assert says in capsys.readouterr().err


def test_two_variables_at_once_are_said_before_the_first_race(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = {"elasticsearch": {"version": "9.0.0", "java": 22}}
    assert planned(tmp_path, manifest(variants=[TWO[0], {"name": "9.0.0", "patch": both}])) == 1
    said = capsys.readouterr().err
    assert "elasticsearch.version (8.11.0 and 9.0.0) and elasticsearch.java (21 and 22)" in said


def test_a_name_that_no_service_may_have_is_good_where_none_is_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    targets = [{"name": name, "target": {"hosts": [f"{name}.example.com:9200"]}} for name in ("a", "b")]
    on_targets = spec(baseline="a", variants=targets, template={"race": {"track": {"builtin": "log_ingest"}}})
    assert planned(tmp_path, {**manifest("8-vs-9"), "spec": on_targets}) == 0, capsys.readouterr().err


def test_what_is_neither_benchmark_nor_comparison_is_no_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(other))
    assert main(["plan", "-f", str(tmp_path / "m.yaml")]) == 2
    assert "there is no Benchmark and no Comparison of fairlap.dev in it" in capsys.readouterr().err


REFUSED = [
    (resources(cpu=2, limit=1), "elasticsearch.resources.requests.cpu 2 is more than its limit 1"),
    (resources(memory=None), "elasticsearch.resources.limits.memory is missing"),
    (resources(memory="2000m"), "elasticsearch.resources.limits.memory 2000m is 2 bytes, less than 1Mi"),
    ({"timeouts": {"race": "9999h"}}, "timeouts.race 9999h is too long: write at most 720h"),
]
OLDER = [{"name": "8.11.0"}, {"name": "heap", "patch": {"elasticsearch": {"heap": "1g"}}}]


@pytest.mark.parametrize(("template", "says"), REFUSED)
def test_what_every_installation_refuses_is_said_before_anything_is_applied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], template: Json, says: str
) -> None:
    assert planned(tmp_path, bench(**template)) == 1
    assert capsys.readouterr().err.startswith(f"bm: {says}")
    of_all = {**spec()["template"], **template}
    assert planned(tmp_path, manifest(template=of_all, variants=OLDER)) == 1
    assert f"up: every variant: {says}" in capsys.readouterr().err
    one = [TWO[0], {"name": "odd", "patch": template}]
    assert planned(tmp_path, manifest(variants=one)) == 1
    told = capsys.readouterr().err
    assert f"up: variant odd: {says}" in told or "limits.memory is missing" in says


def test_a_number_with_a_fraction_is_refused_where_the_api_server_refuses_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    half, words = resources(limit=0.5), "limits.cpu: 0.5 is neither a text nor a whole number, and the API server"
    for found, path in (
        (bench(**half), "spec."),
        (manifest(template={**spec()["template"], **half}), "spec.template."),
    ):
        assert planned(tmp_path, found) == 1
        told = capsys.readouterr().err
        assert f"{path}elasticsearch.resources.{words}" in told and told.endswith('write "0.5" or 500m\n')
    patched = [TWO[0], {"name": "half", "patch": {"elasticsearch": {"resources": {"limits": {"cpu": 0.5}}}}}]
    assert planned(tmp_path, manifest(variants=patched)) == 0, "a patch has no schema"


def test_what_is_no_benchmark_is_said_of_each_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert planned(tmp_path, bench(repetition=3)) == 1
    assert capsys.readouterr().err == "bm: spec.repetition: is no field: mend its name, or leave it out\n"


def elasticsearch(**more: Any) -> Json:
    return {"elasticsearch": {"version": "8.11.0", "java": 21, **more}}


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (bench(**elasticsearch(version=9)), 'spec.elasticsearch.version: is 9, a number: write it in quotes, as "9"'),
        (bench(**elasticsearch(version=True)), "spec.elasticsearch.version: is true: write a text"),
        (bench(**elasticsearch(version=None)), "spec.elasticsearch.version: is missing: write it"),
        (bench(**elasticsearch(version="9")), "spec.elasticsearch.version: is '9': write for example 9.0.0"),
        (bench(**elasticsearch(heap="1gb")), "spec.elasticsearch.heap: is '1gb': write for example 1g"),
        (bench(**elasticsearch(java="21")), "spec.elasticsearch.java: is '21', a text: write 21 without quotes"),
        (bench(**elasticsearch(java="x")), "spec.elasticsearch.java: is 'x', a text: write a whole number"),
        (bench(**elasticsearch(java=[21])), "spec.elasticsearch.java: is a list: write a whole number"),
        (bench(**elasticsearch(config="x")), "spec.elasticsearch.config: is 'x': write its fields below it"),
        (bench(elasticsearch="8.11.0"), "spec.elasticsearch: is '8.11.0': write its fields below it, as KEY: VALUE"),
        (bench(repetitions="2"), "spec.repetitions: is '2', a text: write 2 without quotes"),
        (bench(repetitions=2.5), "spec.repetitions: is 2.5: write a whole number"),
        (bench(smokeTest="yes"), "spec.smokeTest: is 'yes', a text: write true or false without quotes"),
        (bench(timeouts={"race": "2 hours"}), "spec.timeouts.race: is '2 hours': write for example 30m"),
        (bench(timeouts={"race": "1"}), "spec.timeouts.race: is '1': write at least 2 characters"),
        ({**bench(), "spec": {}}, "spec.race: is missing: write it"),
        (bench(repetitions=-1), "spec.repetitions: is -1: write at least 0"),
        (bench(repetitions=99), "spec.repetitions: is 99: write at most 50"),
        ({**bench(), "spec": "hello"}, "spec: is 'hello': write its fields below it, as KEY: VALUE"),
        (manifest(gates=[{"metric": "x"}]), "spec.gates[0].metric: is 'x': write 'throughput', 'serviceTimeP50', "),
        (manifest(gates=[{"metric": "segments", "margin": "5%"}]), "spec.gates[0].margin: is '5%', a text: write 5 "),
        (manifest(gates={"metric": "segments"}), "spec.gates: is an object: write a list, each entry after a -"),
        (manifest(design={"stop": "x"}), "spec.design.stop: is 'x': write 'sequential' or 'fixed'"),
        (manifest(variants=TWO * 13), "spec.variants: has 26 entries: write at most 12"),
        (manifest(variants=[TWO[0]]), "spec.variants: has 1 entry: write at least 2"),
        (manifest(baseline="x" * 80), "spec.baseline: has 80 characters: write at most 40"),
    ],
)
def test_a_wrong_value_is_told_with_what_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], found: Json, says: str
) -> None:
    assert planned(tmp_path, found) == 1
    told = capsys.readouterr().err
    assert says in told and "Input should" not in told and "instance of" not in told


def test_null_is_what_the_api_server_takes_it_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A key below which all lines are commented out: a field with a schema has its default then, or is absent."""
    race = {"track": {"builtin": "log_ingest"}, "params": None, "userTags": None, "scheduling": {"machines": None}}
    empty: Json = {"race": race, "timeouts": None, **elasticsearch(config=None, heap=None, resources=None)}
    of_all = manifest(template={**spec()["template"], **empty}, gates=None, design={"minBlocks": None, "stop": None})
    assert planned(tmp_path, bench(**empty), of_all) == 0, capsys.readouterr().err


def test_null_stays_where_the_api_server_keeps_or_refuses_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    track = {"track": {"builtin": "log_ingest"}}
    assert planned(tmp_path, bench(race={**track, "includeTasks": [None]})) == 1
    assert "spec.race.includeTasks[0]: is null: write a text" in capsys.readouterr().err
    assert planned(tmp_path, bench(race={**track, "parms": None})) == 1
    assert "spec.race.parms: is no field" in capsys.readouterr().err
    patched = [TWO[0], {"name": "b", "patch": {"elasticsearch": {"heap": None}}}]
    heap = {**spec()["template"], **elasticsearch(heap="1g")}
    assert planned(tmp_path, manifest(template=heap, variants=patched)) == 0
    assert "elasticsearch.heap: 1g" in capsys.readouterr().out


@pytest.mark.parametrize(("pattern", "example"), EXAMPLES.items())
def test_an_example_is_of_its_pattern(pattern: str, example: str) -> None:
    fields = BenchmarkSpec.model_validate(bench(**elasticsearch(version=EXAMPLES["version"]))["spec"])
    assert fields.elasticsearch and (pattern == "version" or re.fullmatch(pattern, example))


def test_what_is_right_for_the_api_server_is_no_wrong_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gates = [{"metric": "throughput", "margin": 5}]
    assert planned(tmp_path, manifest(gates=gates), bench(**resources(cpu=1, limit=2))) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"apiVersion": "fairlap.dev/v9"}, "bm: apiVersion: is fairlap.dev/v9: write fairlap.dev/v1alpha1"),
        ({"kind": "Benchmrk"}, "bm: kind: is Benchmrk: did you mean Benchmark?"),
        ({"kind": "Race"}, "bm: kind: is Race: write Benchmark or Comparison"),
        ({"Spec": 5}, "bm: Spec: is no field: did you mean spec?"),
        ({"metdata": {}}, "bm: metdata: is no field: did you mean metadata?"),
        ({"race": {}}, "bm: race: is no field: write it below spec, or leave it out"),
        ({"color": {}}, "bm: color: is no field: leave it out"),
    ],
)
def test_what_stands_at_the_top_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Json, says: str
) -> None:
    assert planned(tmp_path, manifest(), {**bench(), **change}) == 1
    assert capsys.readouterr().err == f"{says}\n"


def test_a_spec_under_a_misspelt_key_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for found in (bench(), manifest("bm")):
        found["Spec"] = found.pop("spec")
        assert planned(tmp_path, found) == 1
        assert capsys.readouterr().err == "bm: Spec: is no field: did you mean spec?\n"


def test_a_status_is_no_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert planned(tmp_path, {**bench(), "status": {"phase": "Racing"}}) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("a" * 28, "metadata.name is 28 characters long: write at most 27"),
        ("Big_name", "metadata.name is Big_name: write one of a-z, 0-9 and - that begins with a letter"),
    ],
)
def test_the_name_of_a_benchmark_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, says: str
) -> None:
    assert planned(tmp_path, {**bench(), "metadata": {"name": name}}) == 1
    assert says in capsys.readouterr().err


def test_the_server_is_asked_about_a_benchmark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster()
    newer = {**spec()["template"]["elasticsearch"], "version": "9.0.0"}
    assert planned(tmp_path, bench(elasticsearch=newer), cluster=cluster) == 1
    assert cluster.asked == ["Benchmark bm"]
    assert capsys.readouterr().err == "bm: elasticsearch.version 9.0.0 does not run here\n"


@pytest.mark.parametrize("evil", ["\x1b[2J", "\u202e", "\x9b31m", "a\nb"])
def test_nothing_in_a_manifest_steers_a_terminal(evil: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    variants = [TWO[0], {"name": "b", "patch": {"elasticsearch": {"config": {"node.attr.a": f"x{evil}"}}}}]
    assert planned(tmp_path, manifest(variants=variants)) == 0
    assert evil not in capsys.readouterr().out
    assert planned(tmp_path, manifest(**{"template": {evil: 1}})) == 1
    assert evil not in capsys.readouterr().err


def test_how_long_earlier_races_took_is_told_unless_another_time_is_written() -> None:
    said = text(Known(earlier_seconds=240))
    assert "How long: 36 min to 2.0 h, at 4 min a race, as in earlier Comparisons." in said
    assert "at 8 min a race." in text(Known(race_seconds=480, earlier_seconds=240))
    assert "Races: 7 to 24, " in text(Known(earlier_seconds=1000))


def test_the_server_knows_how_long_earlier_races_took(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the same work: another track's races say nothing."""
    found = ComparisonSpec.model_validate(spec())
    shown = Shown(datetime.now(UTC), "throughput mean", (4e-4, 5e-4, 3e-4), 4, 240.0)
    cluster = Cluster(n={"data": encode_noise({noise_key(found, ()) + "m": (shown,)})})
    other = {**spec()["template"], "elasticsearch": {"version": "8.11.0"}, "race": {"track": {"builtin": "page_cache"}}}
    same = manifest(variants=[TWO[0], {"name": "b", "patch": {"elasticsearch": {"heap": "1g"}}}])
    assert (
        planned(tmp_path, same, manifest("other", variants=same["spec"]["variants"], template=other), cluster=cluster)
        == 0
    )
    first, second = capsys.readouterr().out.split("other: b against")
    assert "at 4 min a race, as in earlier Comparisons" in first and "four times in five" in first
    assert "How long: not known before a race" in second
