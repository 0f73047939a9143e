"""bench/noise as far as it goes without a cluster: manifests, what is kept of races, and tables of known noise."""

import base64
import gzip
import math
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import noise
import pytest
import yaml
from parts import covariate, series, throwaway
from parts.lines import append, read
from parts.noise_tables import aside_words
from parts.raced_blocks import Number, costs, measured, nested, numbers_of, pair_ratios

from fairlap.api.block_record import KEY_BLOCK, BlockRecord, Curve, Measured, RaceRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.names import MAX_COMPARISON_NAME
from fairlap.comparison.facts.fairness import diff
from fairlap.comparison.numbers.block_pack import pack_block
from fairlap.comparison.variants.variants import expand

ROOT = Path(__file__).parents[3]


def size(*words: str) -> noise.Size:
    return noise.Size(noise.arguments(words))


@pytest.mark.parametrize("state", ["kept", "targets", "fresh", "duet"])
@pytest.mark.parametrize("words", [(), ("--smallest",), ("--track", "percolator"), ("--track", "page_cache")])
def test_sources_are_raced_by_variants_that_differ_in_nothing(state: str, words: tuple[str, ...]) -> None:
    spec = ComparisonSpec.model_validate(noise.source_spec(size("--state", state, *words)))
    one, two = (variant.spec for variant in expand(spec))
    assert one["race"] == two["race"] and one.get("elasticsearch") == two.get("elasticsearch")
    assert not spec.calibrate and spec.design.stop == "fixed"
    assert spec.design.kind == ("Duet" if state == "duet" else "Races")


def test_what_k6_sends_goes_to_two_engines_that_differ_in_nothing() -> None:
    wanted = size("--track", "requests", "--state", "targets", "--cpu", "500m")
    found = [variant.spec for variant in expand(ComparisonSpec.model_validate(noise.source_spec(wanted)))]
    requests, *engines = noise.support(wanted)
    hosts = [spec["target"]["hosts"][0] for spec in found]
    assert {spec["race"]["requests"]["configMap"]["name"] for spec in found} == {requests["metadata"]["name"]}
    assert hosts == [f"http://{name}-0.{name}:10041" for name in noise.CLUSTERS]
    for service, pods, name in zip(engines[::2], engines[1::2], noise.CLUSTERS, strict=True):
        assert service["metadata"]["name"] == pods["metadata"]["name"] == pods["spec"]["serviceName"] == name
        assert service["spec"]["selector"] == pods["spec"]["template"]["metadata"]["labels"] == {"app": name}
        resources = pods["spec"]["template"]["spec"]["containers"][0]["resources"]
        assert {each["cpu"] for each in resources.values()} == {"500m"}
    with pytest.raises(SystemExit):
        size("--track", "requests")


def test_how_k6_sends_may_be_changed_and_is_said() -> None:
    words = ("--track", "requests", "--state", "targets", "--load", "warmup=0s", "--load", "clients=4")
    changed, plain = size(*words), size(*words[:4])
    spec = ComparisonSpec.model_validate(noise.source_spec(changed))
    assert spec.template.race.load is not None
    assert (spec.template.race.load.warmup, spec.template.race.load.clients) == ("0s", 4)
    assert spec.template.race.load.duration == noise.LOAD["duration"]
    assert noise.in_words(changed) == "requests at 500m processors an engine, warmup 0s, clients 4"
    one, other = (noise.planned(None, each)[0] for each in (plain, changed))  # type: ignore[arg-type]
    assert one.design != other.design
    with pytest.raises(SystemExit):
        size("--load", "warmup=0s")


@pytest.mark.parametrize(
    ("told", "cpu", "words"),
    [
        (["1900m"], "500m", ""),
        (["1900m"], "1", "two engines of 1 and the load generator ask for 2.5 processors together, and pods are given"),
        (["1900m", "1900m"], "1", ""),
        ([None], "500m", "1.5 processors together, and pods are given 0"),
        ([], "500m", "pods are given 0"),
    ],
)
def test_engines_that_have_no_room_are_told_before_they_are_built(told: list[str | None], cpu: str, words: str) -> None:
    nodes = [{"status": {"allocatable": {"cpu": each}}} if each else {"metadata": {}} for each in told]
    found = noise.lacking(nodes, cpu)
    assert words in found and bool(words) == bool(found)


@pytest.mark.parametrize("name", noise.LEVERS)
def test_a_lever_is_two_pairs_of_the_same(name: str) -> None:
    spec = ComparisonSpec.model_validate(noise.lever_spec([name], size("--lever", name)))
    off, again, on, on_again = (
        {key: value for key, value in each.spec.items() if key != "timeouts"} for each in expand(spec)
    )
    assert off == again != on == on_again
    assert spec.design.blocks == 6
    found = diff(spec, expand(spec), [])
    assert found.fair and not found.not_comparable, found.sentence


def test_levers_on_the_same_races_share_those_without_any() -> None:
    asked = ("warm", "pretouch", "longer", "warmup", "cores", "steady", "warm")
    assert noise.together(asked) == [("cores", "longer", "steady", "warm"), ("pretouch",), ("warmup",)]
    assert set(noise.together(asked[::-1])) == set(noise.together(asked)), "in whatever order they are given"
    levers = noise.together(asked)[0]
    spec = ComparisonSpec.model_validate(noise.lever_spec(levers, size(*[f"--lever={name}" for name in levers])))
    found = {each.name: {**each.spec, "timeouts": None} for each in expand(spec)}
    assert list(found)[:4] == ["off-1", "off-2", "cores-one", "cores-two"] and len(found) == 10
    for name in levers:
        alone = ComparisonSpec.model_validate(noise.lever_spec([name], size("--lever", name)))
        assert [{**each.spec, "timeouts": None} for each in expand(alone)] == [
            found[each] for each in (*noise.OFF, *noise.pulled(name, levers))
        ]
    told = diff(spec, expand(spec), [])
    assert told.fair and not told.not_comparable, told.sentence


def test_levers_that_raced_together_have_a_table_each() -> None:
    asked, rng, races = size("--lever", "warm", "--lever", "steady"), random.Random(3), []
    for block in range(1, 7):
        for name in (*noise.OFF, "warm-one", "warm-two", "steady-one", "steady-two"):
            races.append({"block": block, "variant": name, "numbers": [["search", "throughput", rng.uniform(9, 11)]]})
    (planned,) = noise.planned(None, asked)  # type: ignore[arg-type]
    assert planned.key["lever"] == "steady warm" and planned.name == "noise-lever-steady"
    text = noise.tables([{"key": planned.key, "measured": races}], asked)
    assert "**warm**: 4,000 searches" in text and "**steady**: race.steady" in text
    assert text.count("| search throughput | 6 |") == 2
    # The same pairs, in three Comparisons of two.
    parts = size("--lever", "warm", "--lever", "steady", "--parts", "3")
    several = noise.planned(None, parts)  # type: ignore[arg-type]
    assert [each.key["part"] for each in several] == [1, 2, 3]
    assert noise.lever_spec(("steady", "warm"), parts)["design"]["blocks"] == 2
    lines = [
        {"key": each.key, "measured": [race for race in races if (race["block"] + 1) // 2 == each.key["part"]]}
        for each in several
    ]
    assert noise.tables(lines, parts) == text


def test_a_longer_warm_up_in_seconds_is_all_that_its_lever_changes_of_searches_that_are_timed() -> None:
    spec = ComparisonSpec.model_validate(noise.lever_spec(["warmup"], size("--lever", "warmup")))
    off, _, on, _ = (each.spec["race"]["params"] for each in expand(spec))
    assert on == {**off, "search_warmup_time_period": 60}
    assert (off["search_warmup_time_period"], off["search_time_period"]) == (10, 30), "the defaults of the track"
    assert not [name for name in off if name.endswith("iterations")], "with search_iterations requests are counted"
    text = (ROOT / "tracks/log_ingest/track.json").read_text()
    assert "search_warmup_time_period | default(10)" in text and "search_time_period | default(0 if " in text


@pytest.mark.parametrize("track", noise.KEPT_TASKS)
def test_what_is_raced_on_kept_clusters_is_in_the_track(track: str) -> None:
    text = (ROOT / f"tracks/{track}/track.json").read_text()
    for task in noise.KEPT_TASKS[track]:
        name, _, last = task.rpartition("-")
        assert (f'"{name}"' in text and last in text) if last.isdigit() else f'"{task}"' in text


def race(variant: str, value: float, rates: list[float], seconds: float = 60.0) -> RaceRecord:
    numbers = [
        Measured(task="search", metric="throughput", value=value, unit="ops/s"),
        Measured(task="search", metric="serviceTimeP50", value=1000 / value),
        Measured(task="search", metric="serviceTimeP99", value=9.0, supported=False),
        Measured(task="search", metric="cpuSecondsPerOperation", value=1.0),
        Measured(task="", metric="storeBytes", value=5e6),
    ]
    points = [(2.0 * at + 1, rate) for at, rate in enumerate(rates)]
    facts = {"ran: machines[0].cpuModel": "a CPU", "ran: machines[0].processors": "2"}
    return RaceRecord(
        variant=variant, benchmark="b", seconds=seconds, numbers=numbers, facts=facts,
        rates=[Curve(task="search", points=points)],
    )  # fmt: skip


class Cluster:
    """A kubectl that knows ConfigMaps."""

    def __init__(self, blocks: dict[str, BlockRecord]) -> None:
        self.blocks = blocks

    def get(self, _: str, name: str) -> dict[str, Any]:
        if name not in self.blocks:
            return {}
        return {"binaryData": {KEY_BLOCK: base64.b64encode(pack_block(self.blocks[name])).decode()}}


def test_what_valid_blocks_measured_is_kept_with_what_filling_took() -> None:
    good = BlockRecord(number=1, races=[race("a", 100, [90, 110]), race("b", 50, [50, 0])])
    void = BlockRecord(number=2, races=[race("a", 1, [1, 1])])
    status = {
        "blocks": [
            {"number": 0, "valid": True, "races": [{"seconds": 150.0}, {"seconds": 170.0}]},
            {"number": 1, "valid": True, "record": "one"},
            {"number": 2, "valid": False, "record": "two"},
            {"number": 3, "valid": True, "record": "gone"},
        ]
    }
    kept = measured(Cluster({"one": good, "two": void}), status)  # type: ignore[arg-type]
    assert [(it["block"], it["variant"]) for it in kept["measured"]] == [(1, "a"), (1, "b")]
    assert kept["filled"] == [150.0, 170.0] and kept["machine"] == "cpuModel a CPU, processors 2"
    found = numbers_of([kept])
    assert found == [
        Number("search", "throughput"), Number("search", "serviceTimeP50"), Number("", "storeBytes"),
    ]  # fmt: skip
    assert costs([kept], "kept") == (2.0, 56.0, 160.0)
    assert costs([kept], "targets") == (2.0, 56.0, None)
    # A part of nothing has no logarithm: then there are no parts, and the race's own number counts.
    tree, seconds = nested([kept], found[0], "kept")
    assert tree == [[[math.log(100)]], [[math.log(50)]]] and seconds == 0


def test_over_http_the_load_generators_machine_is_the_one_that_is_known() -> None:
    facts = {"ran: load generator's CPU": "EPYC", "ran: load generator's kernel": "6.1"}
    good = BlockRecord(number=1, races=[race("a", 100, [90, 110]).model_copy(update={"facts": facts})])
    status = {"blocks": [{"number": 1, "valid": True, "record": "one"}]}
    kept = measured(Cluster({"one": good}), status)  # type: ignore[arg-type]
    assert kept["machine"] == "load generator's CPU EPYC, load generator's kernel 6.1"


def simulated(seed: int, comparisons: int = 40, blocks: int = 6, names: tuple[str, ...] = ("a", "b")) -> list[Any]:
    """Lines of kept clusters with 20 % between clusters, 10 % between races, 5 % between ten parts."""
    rng, lines = random.Random(seed), []
    for number in range(comparisons):
        levels = {name: rng.gauss(4, 0.2) for name in names}
        races = []
        for block in range(1, blocks + 1):
            for name in names:
                level = levels[name] + rng.gauss(0, 0.1)
                record = race(name, math.exp(level), [math.exp(rng.gauss(level, 0.05)) for _ in range(10)])
                status = {"blocks": [{"number": block, "valid": True, "record": "r"}]}
                block_record = BlockRecord(number=block, races=[record])
                races += measured(Cluster({"r": block_record}), status)["measured"]  # type: ignore[arg-type]
        lines.append({"key": {"number": number}, "measured": races, "filled": [150.0] * len(names), "machine": "m"})
    return lines


def row(text: str, title: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(f"| {title} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_the_table_of_sources_has_the_components_that_the_races_have() -> None:
    text = noise.sources_table(simulated(1), "kept", noise.CLUSTERS)
    clusters, races, within, seconds, fresh, apart, kept = row(text, "search throughput")
    known = [float(cell.split(" %")[0]) for cell in (clusters, races, within, fresh, kept)]
    # e^0.2, e^0.1, e^0.05; root 2 (0.04 + 0.01 + 0.00025) and root 2 (0.01 + 0.00025)
    assert known == pytest.approx([22.1, 10.5, 5.1, 37.3, 15.4], rel=0.15)
    assert seconds == "2.0" and 80 <= int(apart.rstrip("%")) <= 90
    assert row(text, "search service time p50")[2] == "in races"
    assert row(text, "store size")[:2] == ["0.0 %", "0.0 %"]
    below = [line for line in text.splitlines() if line.startswith("Pairs on ")]
    assert below[0].startswith("Pairs on fresh clusters: median over the numbers ")
    assert below[1].startswith("Pairs on kept clusters: median over the numbers ")
    assert f"the worst but p99s {kept} (search throughput)" in below[1] or "(search service time p50)" in below[1]


@pytest.mark.parametrize("state", ["fresh", "duet"])
def test_fresh_clusters_do_not_tell_clusters_and_races_apart(state: str) -> None:
    text = noise.sources_table(simulated(2), state, noise.CLUSTERS)
    clusters, races, *_, kept, spread, apart = row(text, "search throughput")
    assert races == "in clusters" and kept == "unknown"
    assert (spread, apart) == ("unknown", "unknown"), "there are no pairs of these variants"
    assert float(clusters.split(" %")[0]) == pytest.approx(25.1, rel=0.15)


@pytest.mark.parametrize("state", ["fresh", "duet"])
def test_what_pairs_really_differed_by_is_beside_what_the_components_say(state: str) -> None:
    lines = simulated(4, names=noise.CLUSTERS)
    number = Number("search", "throughput")
    ratios = pair_ratios(lines, number, *noise.CLUSTERS)
    spread, apart = row(noise.sources_table(lines, state, noise.CLUSTERS), "search throughput")[-2:]
    # e^(root 2 (0.04 + 0.01 + 0.00025))
    assert float(spread.split(" %")[0]) == pytest.approx(37.3, rel=0.25)
    assert apart == f"{sum(abs(each) > math.log(1.05) for each in ratios)} of {len(ratios)}" and len(ratios) == 240
    for lasting in ("kept", "targets"):
        assert "observed" not in noise.sources_table(lines, lasting, noise.CLUSTERS), "there a pair has its own mean"


def test_p99s_are_in_the_median_and_not_the_worst() -> None:
    lines = [{"measured": [
        {"block": block, "variant": name, "seconds": 60.0, "parts": {}, "numbers": [
            ["a", "throughput", 100.0 * (1.04 if name == noise.CLUSTERS[1] else 1)],
            ["a", "serviceTimeP50", 10.0 * (1.08 if name == noise.CLUSTERS[1] else 1)],
            ["a", "serviceTimeP99", 30.0 * (1.5 if name == noise.CLUSTERS[1] else 1)],
        ]} for block in (1, 2) for name in noise.CLUSTERS
    ]}]  # fmt: skip
    text = noise.sources_table(lines, "fresh", noise.CLUSTERS)
    assert "median over the numbers 8.0 %; the worst but p99s 8.0 % (a service time p50)" in text
    assert "Apart by > 5 %, without p99s: 2 of 4 (50%)." in text
    assert row(text, "a service time p99")[-2:] == ["50.0 %", "2 of 2"]
    assert row(text, "a throughput")[-2:] == ["4.0 %", "0 of 2"]


FLAGS = ("--challenge", "quick", "--steady", "5m", "--param", "documents=1000", "--param", "codec=default")


@pytest.mark.parametrize("state", ["kept", "targets", "fresh"])
def test_flags_change_what_both_variants_race_and_only_when_they_are_given(state: str) -> None:
    plain, changed = (noise.source_spec(size("--state", state, *words)) for words in ((), FLAGS))
    assert set(plain["template"]["race"]) == {"track", "resources"}, "lines of before stay counted"
    spec = ComparisonSpec.model_validate(changed)
    one, two = (variant.spec["race"] for variant in expand(spec))
    assert one == two and (one["challenge"], one["steady"]) == ("quick", {"maxWarmup": "5m"})
    assert one["params"] == {"documents": 1000, "codec": "default"}
    before, after = (noise.planned(None, size("--state", state, *words))[0] for words in ((), FLAGS))  # type: ignore[arg-type]
    assert before.key == after.key and before.design != after.design
    smallest = noise.source_spec(size("--state", state, "--smallest", "--param", "documents=3000"))
    assert smallest["template"]["race"]["params"] == {**noise.SMALLEST, "documents": 3000}


@pytest.mark.parametrize("track", [*noise.KEPT_TASKS, noise.REQUESTS])
@pytest.mark.parametrize("state", ["kept", "targets", "fresh", "duet"])
def test_the_names_of_comparisons_are_short_enough(track: str, state: str) -> None:
    if track == noise.REQUESTS and state != "targets":
        return
    names = [each.name for each in noise.planned(None, size("--track", track, "--state", state, "--comparisons", "99"))]  # type: ignore[arg-type]
    assert len(set(names)) == 99 and max(map(len, names)) <= MAX_COMPARISON_NAME


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--param", "documents"), "is not KEY=VALUE"), (("--param", "=1"), "is not KEY=VALUE"),
        (("--lever", "steady", "--steady", "5m"), "leave out --challenge"),
        (("--state", "duet", "--steady", "5m"), "send as many requests each"),
        (("--smallest", "--lever", "warmup"), "--smallest counts searches"),
        (("--lever", "warm", "--parts", "4"), "--parts: each needs two pairs or more"),
        (("--lever", "warm", "--parts", "0"), "--parts: each needs two pairs or more"),
    ],
)  # fmt: skip
def test_flags_that_say_nothing_are_refused(
    words: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        noise.arguments(words)
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(("words", "disturbed"), [((), None), (("--count-disturbed",), "Count")])
def test_blocks_of_a_disturbed_machine_count_where_it_is_said(words: tuple[str, ...], disturbed: str | None) -> None:
    for spec in (noise.lever_spec(["warm"], size(*words)), noise.source_spec(size(*words))):
        assert spec["design"].get("disturbed") == disturbed


def test_lines_that_were_raced_before_stay_counted() -> None:
    asked = size("--lever", "cores", "--label", "2026-11-24")
    assert len(series.counted(read(noise.RESULTS), noise.planned(None, asked))) == 1  # type: ignore[arg-type]


def test_the_allocation_follows_from_costs_and_components() -> None:
    text = noise.allocation_table(simulated(3), "kept")
    assert "One more part of each task takes 2.0 s, a race besides them 40 s, a cluster 150 s." in text
    again, inside = row(text, "search throughput")
    # root(150/40 x 0.01/0.04) = 0.97, root(40/2 x 0.0025/0.01) = 2.2 parts of 2 s
    assert again in ("1", "2") and inside in ("4", "6")
    assert row(text, "search service time p50") == ["1", "unknown"] or row(text, "search service time p50")[0] == "2"
    without = [{**line, "filled": []} for line in simulated(3)]
    text = noise.allocation_table(without, "kept")
    assert "a cluster unknown (--state kept says it)." in text
    assert row(text, "search throughput") == ["unknown", inside]


def test_how_often_to_index_again_is_known_of_tasks_that_are_too_short_for_parts() -> None:
    short = [
        {**line, "measured": [{**race, "parts": {}} for race in line["measured"]]} for line in simulated(3)
    ]  # fmt: skip
    text = noise.allocation_table(short, "kept")
    assert "A race takes" in text and "no task is long enough to have parts" in text
    assert re.search(r"\| \d+ \| unknown \|", text)
    without = [{**line, "filled": []} for line in short]
    assert "unknown, since nothing says what a cluster costs" in noise.allocation_table(without, "kept")


def test_a_lever_that_halves_the_noise_is_in_its_table() -> None:
    rng, races = random.Random(7), []
    for block in range(1, 201):
        for name in (*noise.OFF, *noise.ON):
            value = math.exp(rng.gauss(4, 0.1 if name in noise.ON else 0.2))
            status = {"blocks": [{"number": block, "valid": True, "record": "r"}]}
            record = BlockRecord(number=block, races=[race(name, value, [value] * 2)])
            races += measured(Cluster({"r": record}), status)["measured"]  # type: ignore[arg-type]
    lines = [{"measured": races}]
    assert len(pair_ratios(lines, Number("search", "throughput"), *noise.OFF)) == 200
    pairs, without, with_it, away = row(noise.lever_table("**warm**", lines, noise.OFF, noise.ON), "search throughput")
    assert pairs == "200" and 42 <= int(away.split("%")[0]) <= 58
    assert float(without.split(" %")[0]) > 1.7 * float(with_it.split(" %")[0])


def test_lines_go_through_the_file_with_what_was_measured(tmp_path: Path) -> None:
    class Kubernetes(Cluster):
        def __call__(self, *_: str) -> str:
            return ""

        def attempt(self, *words: str) -> subprocess.CompletedProcess[str]:
            return subprocess.CompletedProcess(words, 0, "", "")

        def get(self, kind: str, name: str) -> dict[str, Any]:
            if kind == "configmap":
                return super().get(kind, name)
            manifest = by_name[name].manifest
            status = {"phase": "Complete", "blocks": [{"number": 1, "valid": True, "record": "r"}]}
            return {**manifest, "status": status}

    record = BlockRecord(number=1, races=[race("noise-one", 100, [90, 110]), race("noise-two", 90, [80, 100])])
    asked, cluster = size("--smallest"), Kubernetes({"r": record})
    todo = noise.planned(cluster, asked)  # type: ignore[arg-type]
    by_name = {each.name: each for each in todo}
    lines = series.race(cluster, todo, tmp_path / "noise.jsonl")  # type: ignore[arg-type]
    assert lines == read(tmp_path / "noise.jsonl") and len(lines[0]["measured"]) == 2
    text = noise.tables(lines, asked)
    assert text.startswith("log_ingest, label none, machine: cpuModel a CPU") and "search throughput" in text
    assert not series.counted(lines, noise.planned(cluster, size("--smallest", "--label", "after")))  # type: ignore[arg-type]


def test_a_dry_run_prints_manifests_and_tables_need_no_cluster(tmp_path: Path) -> None:
    for words, kinds in (
        (("--lever", "warm", "--lever", "cores", "--lever", "pretouch"), 2),
        (("--state", "targets"), 4),
        ((), 1),
    ):
        argv = [sys.executable, "bench/noise.py", "--dry-run", *words]
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        made = list(yaml.safe_load_all(done.stdout))
        assert len(made) == kinds and all(throwaway.LABEL in each["metadata"]["labels"] for each in made)
    append(tmp_path / "r.jsonl", {"key": {"bench": "other"}})
    argv = [sys.executable, "bench/noise.py", "--tables", "--results", str(tmp_path / "r.jsonl")]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "nothing was measured yet\n", done.stderr


def test_a_record_that_cannot_be_read_is_no_race() -> None:
    cluster = Cluster({})
    cluster.get = lambda *_: {"binaryData": {KEY_BLOCK: base64.b64encode(gzip.compress(b"[]")).decode()}}  # type: ignore[method-assign]
    status = {"blocks": [{"number": 1, "valid": True, "record": "r"}]}
    assert measured(cluster, status)["measured"] == []  # type: ignore[arg-type]


def line_with_canaries(seed: int, slope: float, offset: float = 0.0) -> dict[str, Any]:
    """A comparison whose throughput follows the canary of its race, more or less, and scatters by 2 % besides."""
    rng, races = random.Random(seed), []
    for block in range(1, 31):
        for name in noise.CLUSTERS:
            slower = rng.gauss(0, 0.1)
            value = math.exp(4 - slope * slower + rng.gauss(0, 0.02) + (offset if name == noise.CLUSTERS[0] else 0))
            record = race(name, value, [value] * 2).model_copy(update={"canary": {"cpuSeconds": math.exp(slower)}})
            status = {"blocks": [{"number": block, "valid": True, "record": "r"}]}
            races += measured(Cluster({"r": BlockRecord(number=block, races=[record])}), status)["measured"]  # type: ignore[arg-type]
    return {"measured": races}


@pytest.mark.parametrize(("slope", "low", "high"), [(1.0, 0.15, 0.25), (0.0, 0.95, 1.02)])
def test_what_a_canary_explains_is_told_by_what_is_left_over(slope: float, low: float, high: float) -> None:
    # Two comparisons whose clusters truly differ otherwise: that is no noise of a pair.
    lines = [line_with_canaries(1, slope), line_with_canaries(2, slope, offset=1.0)]
    numbers = [Number("search", "throughput")]
    groups = covariate.points(lines, numbers[0], "cpuSeconds", *noise.CLUSTERS)
    assert [len(group) for group in groups] == [30, 30]
    left = covariate.left_over(groups)
    assert left is not None and low <= left <= high
    text = covariate.table(lines, numbers, *noise.CLUSTERS)
    assert row(text, "search throughput") == [f"{left:.2f}", ""] == row(text, "**median over the numbers**")


def test_races_without_a_canary_have_no_table_of_it() -> None:
    lines = simulated(5, comparisons=2, names=noise.CLUSTERS)
    assert "canary" not in lines[0]["measured"][0]
    assert covariate.table(lines, numbers_of(lines), *noise.CLUSTERS) == ""
    assert covariate.left_over([[(1.0, 1.0)]]) is None


def test_blocks_that_were_raced_again_for_their_machine_stand_beside_those_that_count() -> None:
    def block(number: int, ratio: float) -> BlockRecord:
        return BlockRecord(number=number, races=[race("a", 100, []), race("b", 100 * ratio, [])])

    status = {
        "blocks": [
            {"number": 1, "valid": False, "reason": "MachineDisturbed", "record": "aside"},
            {"number": 1, "valid": False, "reason": "RaceFailed", "record": "lost"},
            {"number": 1, "valid": True, "attempt": 2, "reason": "", "record": "good"},
            {"number": 2, "valid": True, "reason": "", "record": "good"},
        ]
    }
    records = {"aside": block(1, math.exp(0.1)), "lost": block(1, 9.0), "good": block(1, math.exp(0.02))}
    kept = measured(Cluster(records), status)  # type: ignore[arg-type]
    assert [(it["block"], it["variant"]) for it in kept["aside"]] == [("1, attempt 1", "a"), ("1, attempt 1", "b")]
    assert len(kept["measured"]) == 4, "they are not among those that count"
    text = aside_words([kept], ("a", "b"))
    assert row(text, "search throughput") == ["1: 10.5 %", "2: 2.0 %"]
    assert row(text, "**median over the numbers**") == ["10.5 %", "2.0 %"]
    assert aside_words([{**kept, "aside": []}], ("a", "b")) == ""


def test_latencies_of_races_in_turn_are_no_numbers_of_one_of_them() -> None:
    one = {"numbers": [["search", "serviceTimeP50", 1.0], ["search", "latencyP50", 2.0], ["search", "latencyP99", 3.0]]}
    lines = [{"measured": [one]}]
    assert [number.metric for number in numbers_of(lines, "duet")] == ["serviceTimeP50"]
    assert [number.metric for number in numbers_of(lines, "fresh")] == ["serviceTimeP50", "latencyP50", "latencyP99"]
