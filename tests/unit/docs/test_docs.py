"""The documentation is true where that can be checked: generated pages, manifests, links, numbers."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.names import API_VERSION, COMPARISON_KIND, GROUP, KIND, MAX_COMPARISON_NAME, MAX_NAME
from fairlap.api.spec import BenchmarkSpec
from fairlap.comparison.terms.block_reason import BlockReason
from fairlap.comparison.variants.variants import expand
from fairlap.plan.acceptance.accept import objections
from fairlap.settings import JdkImage, Settings
from fairlap_docs.pages import pages
from fairlap_race.contract.reasons import Reason

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
EXAMPLES = sorted((ROOT / "examples").rglob("*.yaml"))
SETTINGS = Settings(race_image="race", jdk_images={major: JdkImage("jdk", "/jdk") for major in (17, 21)})


def yaml_blocks(page: Path) -> Iterator[Any]:
    for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M):
        yield from yaml.safe_load_all(block)


def manifests() -> Iterator[tuple[str, dict[str, Any]]]:
    for page in PAGES:
        for number, document in enumerate(yaml_blocks(page)):
            yield f"{page.relative_to(ROOT)}[{number}]", document
    for file in EXAMPLES:
        for number, document in enumerate(yaml.safe_load_all(file.read_text(encoding="utf-8"))):
            yield f"{file.relative_to(ROOT)}[{number}]", document


OURS = [
    (where, found)
    for where, found in manifests()
    if isinstance(found, dict) and str(found.get("apiVersion", "")).startswith(f"{GROUP}/")
]
BENCHMARKS = [pytest.param(found, id=where) for where, found in OURS if found["kind"] == KIND]
COMPARISONS = [pytest.param(found, id=where) for where, found in OURS if found["kind"] != KIND]


def test_generated_pages_are_current() -> None:
    stale = [name for name, text in pages().items() if (ROOT / "docs" / name).read_text(encoding="utf-8") != text]
    assert not stale, f"run `make generate`: {stale}"


def test_every_field_is_in_the_reference() -> None:
    text = pages()["reference.md"]
    for field in (*BenchmarkSpec.model_fields.values(), *ComparisonSpec.model_fields.values()):
        assert field.description
        assert field.description.split(".")[0].split("\n")[0] in text


def test_no_field_is_without_a_meaning() -> None:
    rows = [line for line in pages()["reference.md"].splitlines() if line.startswith("| `")]
    assert rows
    assert not [row for row in rows if row.rstrip().endswith("|  |")]


def test_every_reason_is_explained() -> None:
    text = pages()["reasons.md"]
    assert all(f"## {reason}\n" in text for reason in Reason)


def test_every_reason_for_which_a_block_does_not_count_is_explained() -> None:
    text = (ROOT / "docs" / "comparisons.md").read_text(encoding="utf-8")
    assert [each for each in BlockReason if f"| `{each}` | {each.sentence} |\n" not in text] == []


def test_reasons_in_the_prose_exist() -> None:
    known = {str(reason) for reason in Reason}
    table = (
        (ROOT / "docs" / "concepts.md")
        .read_text()
        .partition("## What must be true")[2]
        .partition("## What is measured")[0]
    )
    named = {word for row in re.findall(r"^\|.*\|(.*)\|$", table, re.M) for word in re.findall(r"`(\w+)`", row)}
    assert named
    assert named <= known


def test_there_are_benchmarks_and_comparisons_to_check() -> None:
    assert len(BENCHMARKS) >= 5 and len(COMPARISONS) >= 8


@pytest.mark.parametrize("found", BENCHMARKS)
def test_benchmarks_are_valid(found: dict[str, Any]) -> None:
    assert (found["apiVersion"], found["kind"]) == (API_VERSION, KIND)
    meta = found["metadata"]
    name = meta.get("name") or f"{meta['generateName']}xxxxx"
    assert len(name) <= MAX_NAME
    check_spec(BenchmarkSpec.model_validate(found["spec"]))


def check_spec(spec: BenchmarkSpec) -> None:
    assert objections(spec, SETTINGS) == []
    cluster = spec.elasticsearch
    assert cluster is None or not (
        cluster.index and cluster.index.replicas is not None and cluster.index.replicas >= cluster.nodes
    )


@pytest.mark.parametrize("found", COMPARISONS)
def test_comparisons_are_valid(found: dict[str, Any]) -> None:
    assert (found["apiVersion"], found["kind"]) == (API_VERSION, COMPARISON_KIND)
    meta = found["metadata"]
    name = meta.get("name") or f"{meta['generateName']}xxxxx"
    assert len(name) <= MAX_COMPARISON_NAME
    for variant in expand(ComparisonSpec.model_validate(found["spec"])):
        check_spec(BenchmarkSpec.model_validate(variant.spec))


def test_the_inline_track_has_its_files_and_documents() -> None:
    (track,) = yaml.safe_load_all((ROOT / "examples" / "inline-track" / "1-track.yaml").read_text())
    benchmark = yaml.safe_load((ROOT / "examples" / "inline-track" / "2-benchmark.yaml").read_text())
    assert benchmark["spec"]["race"]["track"]["configMap"]["name"] == track["metadata"]["name"]
    text = track["data"]["track.json"]
    for named in re.findall(r'"(?:body|source-file)": "([^"]+)"', text):
        assert named in track["data"]
    (count,) = re.findall(r'"document-count": (\d+)', text)
    assert len(track["data"]["documents.json"].splitlines()) == int(count)
    for parameter in benchmark["spec"]["race"]["params"]:
        assert re.search(rf"{{{{ *{parameter} ", text)


@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.S | re.M)):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{page.name}: {target}"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{page.name}: {target}"


def anchors(page: Path) -> set[str]:
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    made = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a id="([^"]+)">', text))


def test_install_page_lists_every_value() -> None:
    values = yaml.safe_load((ROOT / "charts" / "fairlap" / "values.yaml").read_text())
    text = (ROOT / "docs" / "install.md").read_text()
    missing = [name for name in values if not re.search(rf"`{name}[`.]", text)]
    assert not missing


def test_install_page_lists_the_rules_of_the_chart() -> None:
    helper = (ROOT / "charts" / "fairlap" / "templates" / "_helpers.tpl").read_text()
    text = (ROOT / "docs" / "install.md").read_text()
    rules = re.findall(r"  resources: \[(.*)\]\n  verbs: \[(.*)\]", helper)
    assert len(rules) > 8
    for resources, verbs in rules:
        assert f"| {resources} | {verbs} |" in text, resources


def test_example_readmes_are_short() -> None:
    for page in (ROOT / "examples").rglob("README.md"):
        assert len(page.read_text().splitlines()) <= 30, page
