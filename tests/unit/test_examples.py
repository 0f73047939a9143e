"""Examples that ask a question are Comparisons whose variants differ in one thing, with gates that can be decided."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.quantity import parse_quantity
from fairlap.cli.main import main
from fairlap.comparison.facts.fairness import diff
from fairlap.comparison.variants.variants import expand
from fairlap.comparison_report.archive import read_archive

EXAMPLES = Path(__file__).parents[2] / "examples"


def comparison(path: str) -> tuple[str, ComparisonSpec]:
    found: dict[str, Any] = yaml.safe_load((EXAMPLES / path).read_text())
    return found["metadata"]["labels"]["question"], ComparisonSpec.model_validate(found["spec"])


@pytest.mark.parametrize(
    ("path", "differs", "values"),
    [
        ("version-8-vs-9/comparison.yaml", "elasticsearch.version", {"8.11.0": "8.11.0", "9.0.0": "9.0.0"}),
        ("demo.yaml", "elasticsearch.version", {"8.11.0": "8.11.0", "9.0.0": "9.0.0"}),
        ("searches-8-vs-9/comparison.yaml", "elasticsearch.version", {"8.11.0": "8.11.0", "9.0.0": "9.0.0"}),
        ("upgrade/comparison.yaml", "elasticsearch.version", {"today": "8.11.0", "tomorrow": "9.0.0"}),
        ("java/comparison.yaml", "elasticsearch.java", {"17": 17, "21": 21}),
        ("replicas-0-vs-1/comparison.yaml", "elasticsearch.index.replicas", {"0": 0, "1": 1}),
        (
            "codec-best-compression/comparison.yaml",
            "elasticsearch.index.codec",
            {"default": "default", "best-compression": "best_compression"},
        ),
        (
            "storage-classes/comparison.yaml",
            "elasticsearch.storage.className",
            {"disk": "local-disk", "tmpfs": "local-tmpfs"},
        ),
    ],
)
def test_one_thing_differs(path: str, differs: str, values: dict[str, Any]) -> None:
    question, spec = comparison(path)
    variants = expand(spec)
    found = {}
    for variant in variants:
        value: Any = variant.spec
        for key in differs.split("."):
            value = value[key]
        found[variant.name] = value
    assert found == values
    assert [tuple(variant.changed) for variant in variants] == [(), (differs,)]
    assert question == ("version-8-vs-9" if path == "demo.yaml" else path.partition("/")[0])


def test_the_demo_races_the_example_short() -> None:
    (_, demo), (_, whole) = comparison("demo.yaml"), comparison("version-8-vs-9/comparison.yaml")
    assert demo.template.elasticsearch == whole.template.elasticsearch
    assert demo.variants == whole.variants and demo.baseline == whole.baseline
    assert (demo.design.stop, demo.design.blocks) == ("fixed", 3)
    assert demo.calibrate and demo.calibrate_every == 3, "the baseline against itself in the first block only"


@pytest.mark.parametrize(("rates", "prefix"), [("fetch_rates", "fetch-document"), ("search_rates", "search-term")])
@pytest.mark.parametrize("folder", ["codec-best-compression", "storage-classes"])
def test_a_latency_is_asked_for_at_a_rate_with_enough_requests(folder: str, rates: str, prefix: str) -> None:
    """A p50 needs 6 requests to decide, a p99 368 (docs/statistics.md); a step of page_cache takes 30 s."""
    _, spec = comparison(f"{folder}/comparison.yaml")
    gates = [gate for gate in spec.gates if gate.task and gate.task.startswith(f"{prefix}-")]
    assert gates
    for gate in gates:
        rate = int(str(gate.task).rpartition("-")[2])
        assert rate in (spec.template.race.params or {})[rates]
        assert gate.metric.startswith("latency")
        assert rate * 30 >= (368 if gate.metric == "latencyP99" else 6)


SEARCHES = ("search-request", "search-response", "search-time-range", "requests-per-hour")


@pytest.mark.parametrize("folder", ["searches-8-vs-9", "java"])
def test_races_in_turn_decide_by_each_search(folder: str) -> None:
    """Their number of documents alone is another one, so that each search is measured for its 30 s."""
    _, spec = comparison(f"{folder}/comparison.yaml")
    assert spec.design.kind == "Duet" and set(spec.template.race.params or {}) == {"documents"}
    assert [(gate.task, gate.metric) for gate in spec.gates] == [(task, "serviceTimeP50") for task in SEARCHES]
    assert spec.template.elasticsearch and spec.template.elasticsearch.resources.requests.cpu
    together = 3 * sum(
        parse_quantity(str(each.requests.cpu))
        for each in (spec.template.elasticsearch.resources, spec.template.race.resources)
    )
    assert together < 1.5, "three clusters and their load generators on two processors, beside the system"


@pytest.mark.parametrize("folder", sorted(path.parent.name for path in EXAMPLES.glob("*/README.md")))
def test_the_folder_of_an_example_can_be_planned_as_it_is(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A file beside the manifests that is none (a pipeline's, say) would be refused, by kubectl too."""
    assert main(["plan", "-f", str(EXAMPLES / folder)]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("folder", ["version-8-vs-9", "pull-request"])
def test_log_ingest_is_measured_long_enough_to_decide(folder: str) -> None:
    """Its default challenge is; tests/rally/test_generated_tracks.py knows how long that one measures."""
    _, spec = comparison(f"{folder}/comparison.yaml")
    assert not spec.template.race.params and spec.template.race.challenge is None


@pytest.mark.parametrize("folder", ["codec-best-compression"])
def test_page_cache_is_warmed_up(folder: str) -> None:
    _, spec = comparison(f"{folder}/comparison.yaml")
    params = spec.template.race.params or {}
    assert params["bulk_warmup_time_period"] > 0 and params["measure_bulk"]


def test_what_the_demo_found_is_told_as_it_was_recorded() -> None:
    """Three gates, each with its change, its interval and the baseline against itself."""
    recorded = json.loads(gzip.decompress((EXAMPLES.parent / "tests" / "report" / "demo.json.gz").read_bytes()))
    status = recorded["comparison"]["status"]
    told = (EXAMPLES / "version-8-vs-9" / "README.md").read_text()
    assert f"`{status['verdict']}`" in told
    rows = [line for line in told.splitlines() if line.startswith(("| throughput", "| service time", "| store size"))]
    for row, gate in zip(rows, status["contenders"][0]["gates"], strict=True):
        interval = gate["sentence"].partition(" interval ")[2].partition(",")[0]
        assert interval in row and f"{gate['change']:+.1f} %" in row and f"±{gate['noise']:.1f} %" in row
        assert str(gate.get("moreBlocks", "")) in row.split("|")[-2]


def test_two_releases_raced_for_real_on_one_java_are_fair_and_lucene_follows_the_version() -> None:
    """8.11.0 against 9.0.0 on Java 21, as `make demo` recorded it on localkube: no fact of these races is made up."""
    recorded = json.loads(gzip.decompress((EXAMPLES.parent / "tests" / "report" / "demo.json.gz").read_bytes()))
    found, blocks = read_archive(recorded)
    spec = ComparisonSpec.model_validate(found["spec"])
    judged = diff(spec, expand(spec), blocks)
    assert judged.fair, judged.sentence
    rules = {each.what: (each.rule, each.values) for each in judged.differences}
    assert rules["Lucene"] == ("FollowsRelease", {"8.11.0": "9.8.0", "9.0.0": "10.1.0"})
    assert rules["elasticsearch.version"][0] == rules["build"][0] == "Declared"
    assert {rule for rule, _ in rules.values()} <= {"Declared", "FollowsRelease", "RecordOnly"}


FOUND = [
    json.loads(line) for line in (EXAMPLES.parent / "bench" / "results" / "examples.jsonl").read_text().splitlines()
]


@pytest.mark.parametrize("found", FOUND, ids=lambda found: str(found["example"]))
def test_what_an_example_found_is_told_as_it_was_recorded(found: dict[str, Any]) -> None:
    """Each gate with its change, its interval, its blocks and the baseline against itself."""
    told = (EXAMPLES / found["example"] / "README.md").read_text()
    assert f"`{found['verdict']}`" in told and found["at"][:10] in told and found["machine"].partition(",")[0] in told
    assert f"{found['races']} races" in told
    for gate in found["gates"]:
        name = gate.get("task") or gate["metric"]
        rows = [line for line in told.splitlines() if line.startswith(f"| `{name}`")]
        (row,) = rows if len(rows) == 1 else [line for line in rows if f"`{gate['metric']}`" in line]
        interval = gate["sentence"].partition(" interval ")[2].partition(",")[0]
        cells = (f"{gate['change']:+.1f} %", interval, f"({gate['confidence']:.1f} %)", f"±{gate['noise']:.1f} %")
        assert all(cell in row for cell in cells) and f"| {gate['blocks']} |" in row
