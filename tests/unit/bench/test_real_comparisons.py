"""Comparisons raced by bench/aa and bench/power, as far as they go without a cluster: manifests, results, tables."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import aa
import power
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from parts import delaying_proxy, series, throwaway
from parts.lines import append, read

from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.comparison.variants.variants import expand
from fairlap.statistics.gates import fixed

ROOT = Path(__file__).parents[3]
STATES = ("targets", "fresh", "duet", "kept")


def gate(verdict: str, metric: str = "throughput", **more: Any) -> dict[str, Any]:
    return {"metric": metric, "verdict": verdict, "change": 1.0, "low": -1.0, "high": 3.0, "spread": 2.0, **more}


def line(*gates: dict[str, Any], verdict: str = "NoDifference", **key: Any) -> dict[str, Any]:
    return {"key": {"bench": "aa", "state": "targets", "number": 1, **key}, "verdict": verdict, "gates": list(gates)}


def size(*words: str) -> aa.Size:
    return aa.Size(aa.arguments(words))


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("smallest", [(), ("--smallest",)])
def test_variants_of_an_a_a_comparison_differ_in_nothing_that_is_raced(state: str, smallest: tuple[str, ...]) -> None:
    spec = ComparisonSpec.model_validate(aa.spec(size("--state", state, *smallest)))
    one, two = (variant.spec for variant in expand(spec))
    assert one["race"] == two["race"] and one.get("elasticsearch") == two.get("elasticsearch")
    assert not spec.calibrate and spec.design.stop == "fixed" and spec.design.blocks == (2 if smallest else 5)
    assert spec.gates == [], "the default gates"


def test_every_cell_of_power_is_a_comparison_through_two_ports() -> None:
    sizes = [power.Size(power.arguments(words)) for words in ((), ("--smallest",))]
    assert [len(each.cells) for each in sizes] == [6, 1]
    for each in sizes:
        for cell in each.cells:
            plain, slowed = expand(ComparisonSpec.model_validate(power.spec(cell, each)))
            assert plain.spec["target"]["hosts"] != slowed.spec["target"]["hosts"]
            assert slowed.changed == ("target.hosts",)


def test_a_cell_is_the_same_comparison_whatever_else_is_raced() -> None:
    """So that a slowdown that was raced alone counts among all of them later."""
    all_of_them, alone = (power.Size(power.arguments(words)) for words in ((), ("--percent", "10")))
    ports = [cell.port for cell in all_of_them.cells]
    assert len(set(ports)) == len(ports) == 6 and power.PLAIN_PORT not in ports
    assert set(alone.cells) <= set(all_of_them.cells)
    with pytest.raises(SystemExit):
        power.arguments(["--percent", "100"])


def test_in_turn_each_of_two_clusters_has_a_port_of_one_proxy() -> None:
    in_turn, plain = (power.Size(power.arguments(words)) for words in (("--duet",), ()))
    assert len(in_turn.cells) == 6 and in_turn.race["params"] == power.IN_TURN
    manifests = power.support("image", in_turn)
    clusters = [each["metadata"]["name"] for each in manifests if each["kind"] == "Elasticsearch"]
    (deployment,) = (each for each in manifests if each["kind"] == "Deployment")
    words = deployment["spec"]["template"]["spec"]["containers"][0]["command"][2:]
    assert words[:2] == [f"--upstream={clusters[0]}-es-http:9200", f"--listen={power.PLAIN_PORT}=none:0"]
    held = [delaying_proxy.listens(word.removeprefix("--listen=")) for word in words[2:]]
    assert [each.port for each in held] == [cell.port for cell in in_turn.cells]
    assert {each.upstream for each in held} == {(f"{clusters[1]}-es-http", 9200)}
    for cell in in_turn.cells:
        design = ComparisonSpec.model_validate(power.spec(cell, in_turn)).design
        assert (design.kind, design.stop) == ("Duet", "sequential")
    apart = [{each.name for each in power.planned(size, lambda: None)} for size in (in_turn, plain)]
    assert not apart[0] & apart[1], "both may be in one namespace"
    with pytest.raises(SystemExit):
        power.arguments(["--duet", "--steady", "5m"])


def test_the_table_of_power_needs_no_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = power.planned(power.Size(power.arguments(["--percent", "10"])), lambda: None)[0]
    status = {"phase": "Complete", "verdict": "Regressed", "costSeconds": 900, "contenders": [{"gates": [
        gate("Regressed", "serviceTimeP50", change=9.0)]}]}  # fmt: skip
    append(tmp_path / "power.jsonl", series.line_of(wanted, status))
    assert power.main(["--tables", "--percent", "10", "--results", str(tmp_path / "power.jsonl")]) == 0
    told = capsys.readouterr().out
    assert "| search 10 % slower | 1 | +9.0 % | 1 | 0 | 0 | 0 |" in told and "| 15 |" in told
    assert "| indexing 10 % slower | 0 |" in told


def test_flags_change_what_power_races_and_only_when_they_are_given() -> None:
    plain, changed = (
        power.Size(power.arguments(words)).race
        for words in ((), ("--steady", "5m", "--param", "search_time_period=30"))
    )
    assert set(plain) == {"track", "params", "resources"} and plain["params"] == power.SHORT
    assert changed == {
        **plain, "steady": {"maxWarmup": "5m"}, "params": {**power.SHORT, "search_time_period": 30},
    }  # fmt: skip


@pytest.mark.parametrize(
    "words", [("aa.py", "--state", "targets"), ("power.py",), ("power.py", "--duet")], ids=" ".join
)
def test_a_dry_run_prints_manifests(words: tuple[str, ...]) -> None:
    argv = [sys.executable, f"bench/{words[0]}", *words[1:], "--dry-run"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    made = list(yaml.safe_load_all(done.stdout))
    assert {"Elasticsearch", "Secret", "Comparison"} <= {each["kind"] for each in made}
    assert all(throwaway.LABEL in each["metadata"]["labels"] for each in made), "what is not labelled stays behind"


def test_the_same_spec_has_the_same_digest_and_another_one_another() -> None:
    one, same, other = (throwaway.comparison("n", "aa", {"baseline": name}) for name in ("a", "a", "b"))
    digests = [each["metadata"]["labels"][throwaway.DIGEST] for each in (one, same, other)]
    assert digests[0] == digests[1] != digests[2]


def planned(number: int, design: str = "d") -> series.Planned:
    manifest = {"metadata": {"name": f"aa-{number}", "labels": {throwaway.DIGEST: design}}}
    return series.Planned({"number": number}, manifest, lambda: None)


def ended(number: int, phase: str = "Complete", design: str = "d") -> dict[str, Any]:
    return {**series.line_of(planned(number, design), {"phase": phase, "verdict": "NoDifference"})}


@given(st.integers(0, 60))
def test_a_line_that_was_cut_off_is_left_out_and_harms_no_other(tmp_path_factory: Any, cut: int) -> None:
    path = tmp_path_factory.mktemp("results") / "deep" / "aa.jsonl"
    append(path, ended(1))
    whole = path.read_bytes()
    append(path, ended(2))
    path.write_bytes(path.read_bytes()[: len(whole) + cut])
    append(path, ended(3))
    found = [each["key"]["number"] for each in read(path)]
    assert found == [1, 3]


def test_what_failed_or_was_of_another_spec_is_raced_again() -> None:
    lines = [ended(1), ended(2, "Failed"), ended(3, design="other"), ended(4), ended(4), {"old": "line"}]
    kept = series.counted(lines, [planned(number) for number in (1, 2, 3, 4, 5)])
    assert [each["key"]["number"] for each in kept] == [1, 4]


@pytest.mark.parametrize(("pairs", "counted"), [(False, [1, 2]), (True, [2])])
def test_what_is_not_comparable_has_no_pairs(pairs: bool, counted: list[int]) -> None:
    lines = [{**ended(1), "verdict": "NotComparable"}, ended(2)]
    kept = series.counted(lines, [planned(number)._replace(pairs=pairs) for number in (1, 2)])
    assert [each["key"]["number"] for each in kept] == counted


def test_comparisons_for_their_pairs_that_are_not_comparable_end_it_and_say_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = Cluster(verdict="NotComparable")
    wanted = [planned(number)._replace(pairs=True) for number in range(1, 9)]
    with pytest.raises(SystemExit, match="3 comparisons failed in a row, the last one: b differs from a"):
        series.race(cluster, wanted, tmp_path / "noise.jsonl")  # type: ignore[arg-type]
    assert "aa-1: NotComparable: b differs from a" in capsys.readouterr().out


class Cluster:
    """A Kubernetes that ends each Comparison as soon as it is asked for."""

    def __init__(self, phases: dict[str, str] | None = None, verdict: str = "NoDifference") -> None:
        self.there: dict[str, Any] = {}
        self.applied: list[str] = []
        self.removed: list[str] = []
        """kinds of which all that is labelled was deleted"""
        self.phases = phases or {}
        self.verdict = verdict

    def __call__(self, *words: str) -> str:
        if words[0] == "delete" and words[2] == "-l":
            self.removed.append(words[1])
        elif words[0] == "delete":
            self.there.pop(words[2], None)
        return ""

    def attempt(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, 0, "", "")

    def get(self, _: str, name: str) -> dict[str, Any]:
        return dict(self.there.get(name, {}))

    def apply(self, manifest: dict[str, Any]) -> None:
        name = manifest["metadata"]["name"]
        self.applied.append(name)
        status = {"phase": self.phases.get(name, "Complete"), "verdict": self.verdict, "message": "b differs from a"}
        self.there[name] = {**manifest, "status": status}


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    cluster, path = Cluster(), tmp_path / "aa.jsonl"
    append(path, ended(1))
    cluster.there["aa-2"] = {**planned(2).manifest, "status": {"phase": "Complete", "verdict": "Inconclusive"}}
    cluster.there["aa-3"] = {**planned(3, "other").manifest, "status": {"phase": "Complete", "verdict": "Regressed"}}
    found = series.race(cluster, [planned(number) for number in (1, 2, 3)], path)  # type: ignore[arg-type]
    assert [each["verdict"] for each in found] == ["NoDifference", "Inconclusive", "NoDifference"]
    assert cluster.applied == ["aa-3"] and not cluster.there
    assert [each["key"]["number"] for each in read(path)] == [1, 2, 3]


def test_failures_in_a_row_end_it_and_nothing_stays(tmp_path: Path) -> None:
    failing = {f"aa-{number}": "Failed" for number in range(1, 9)}
    cluster, path = Cluster(failing), tmp_path / "aa.jsonl"
    with pytest.raises(SystemExit, match="3 comparisons failed in a row"):
        series.run(cluster, "aa", [planned(number) for number in range(1, 9)], path)  # type: ignore[arg-type]
    assert cluster.applied == ["aa-1", "aa-2", "aa-3"]
    assert cluster.removed == list(throwaway.KINDS)


def test_a_run_without_any_verdict_does_not_end_well(tmp_path: Path) -> None:
    cluster = Cluster({"aa-1": "Failed"})
    with pytest.raises(SystemExit, match="no comparison ended with a verdict"):
        series.run(cluster, "aa", [planned(1)], tmp_path / "aa.jsonl")  # type: ignore[arg-type]
    assert cluster.removed == list(throwaway.KINDS)


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), subprocess.CalledProcessError(1, ["kubectl", "apply"], stderr="no route to host")]
)
def test_what_was_interrupted_stays_as_it_is(tmp_path: Path, error: BaseException) -> None:
    cluster = Cluster()

    def fails() -> None:
        raise error

    with pytest.raises(SystemExit):
        series.run(cluster, "aa", [planned(1)._replace(prepare=fails)], tmp_path / "aa.jsonl")  # type: ignore[arg-type]
    assert cluster.removed == []


def test_false_verdicts_are_counted_by_gate_with_their_interval() -> None:
    lines = [line(gate("NoDifference"), gate("Inconclusive", "storeBytes"), number=n) for n in range(19)]
    lines.append(line(gate("ImprovedWithinMargin"), gate("NoDifference", "storeBytes"), verdict="ImprovedWithinMargin"))
    lines.append(line(verdict="NotComparable"))
    text = aa.table(lines)
    assert "| throughput | 1 of 20: 5% (0% to 25%) | | 19 | 0 |" in text
    assert "| store size | 0 of 20: 0% (0% to 17%) | | 1 | 19 |" in text
    assert "**1 of 20: 5% (0% to 25%)** | 5 % |" in text and "1 more were NotComparable" in text
    assert aa.false_claims(lines) == [
        "targets 1: throughput ImprovedWithinMargin +1.0 % (-1.0 to +3.0; from block to block 2.0 %)"
    ]


def test_the_table_of_nothing_has_no_rows() -> None:
    assert len(aa.table([]).splitlines()) == 2


def test_slowdowns_are_found_missed_or_open() -> None:
    cell = power.Cell("search", 10, 9210)
    key = {"kind": "search", "percent": 10}
    gates = [gate("Regressed", change=9.0)] * 3 + [gate("Improved", change=-4.0), gate("NoDifference", change=1.0)]
    gates.append(gate("Inconclusive", change=8.0, spread=20.0, moreBlocks=20, blocks=5))
    lines = [{**line(each, **key), "seconds": 60.0 * minutes} for minutes, each in enumerate(gates, 10)]
    text = power.table(lines, [cell], fixed(5)).splitlines()[-1]
    title, count, change, found, same, unsure, wrong, noise, simulated, minutes = text.strip("| ").split(" | ")
    assert minutes == "12", "the median of 10 to 15, rounded to even"
    assert (title, count, change, found, same, wrong) == ("search 10 % slower", "6", "+8.5 %", "3", "1", "1")
    assert unsure.startswith("1: 20 (") and float(noise.rstrip("%")) == pytest.approx(7.8, abs=0.2)
    assert "%" in simulated


def test_simulated_power_grows_with_the_change_and_shrinks_with_noise() -> None:
    looks = fixed(5)
    assert power.simulated(20, 0.02, looks) > 0.99 > power.simulated(5, 0.02, looks) > power.simulated(5, 0.04, looks)
    assert power.settled(10, 0.05, 40) > power.settled(10, 0.05, 5)
