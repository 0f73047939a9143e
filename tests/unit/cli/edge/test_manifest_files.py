"""Manifests as users write them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from fairlap.cli.edge.exits import UsageError
from fairlap.cli.edge.manifest_files import load, title

BENCHMARK = "apiVersion: fairlap.dev/v1alpha1\nkind: Benchmark\nmetadata: {name: %s}\nspec: {}\n"
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {}\n"


def test_files_directories_lists_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "1.yaml").write_text(f"---\n{MAP}---\n{BENCHMARK % 'a'}---\n")
    (tmp_path / "d" / "2.yml").write_text(
        "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: X, metadata: {name: x}}]"
    )
    (tmp_path / "d" / "README.md").write_text("no manifest")
    monkeypatch.setattr("sys.stdin", io.StringIO(BENCHMARK % "b"))

    found = [title(each) for each in load([str(tmp_path / "d"), "-"])]

    assert found == ["configmap/m", "benchmark/a", "x/x", "benchmark/b"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kind: X\na: ]", ":2: is not YAML"),
        pytest.param(
            MAP,
            "no Benchmark and no Comparison of fairlap.dev",
            id=f"{MAP}-no Benchmark of fairlap.dev",
        ),
        ("just text", "kind is missing"),
        ("kind: Benchmark\napiVersion: fairlap.dev/v1alpha1\n", "no metadata.name"),
        ("kind: Benchmark\nmetadata: {name: x}\n", "no apiVersion"),
        ("kind: Benchmark\nmetadata: {name: 8.11}\n", "metadata.name 8.11 is no text: write it in quotes"),
        ("kind: Benchmark\nmetadata: {name: b, namespace: 7}\n", "metadata.namespace 7 is no text"),
        ("", "no Benchmark"),
        pytest.param(f"kind: {'9' * 5000}", "is not YAML that can be read", id="a number of 5000 digits"),
        pytest.param("kind: 2026-13-45", "no metadata.name", id="a day that there is not"),
        pytest.param("[" * 3000, "is not YAML", id="3000 levels"),
    ],
)
def test_what_is_no_manifest(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(UsageError, match=says):
        load([str(tmp_path / "m.yaml")])


def test_a_comparison_is_enough(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text((BENCHMARK % "up").replace("Benchmark", "Comparison"))
    assert [title(each) for each in load([str(tmp_path / "m.yaml")])] == ["comparison/up"]
    (tmp_path / "other.yaml").write_text((BENCHMARK % "up").replace("Benchmark", "ConfigMap"))
    with pytest.raises(UsageError, match=r"there is no Benchmark and no Comparison of fairlap\.dev"):
        load([str(tmp_path / "other.yaml")])


def test_a_day_is_the_text_that_it_looks_like(tmp_path: Path) -> None:
    """As for kubectl: JSON has no days, and a track's parameter is one of JSON."""
    (tmp_path / "m.yaml").write_text(BENCHMARK % "up" + "spec: {race: {params: {since: 2024-01-01, count: !!str 1}}}\n")
    (found,) = load([str(tmp_path / "m.yaml")])
    assert found["spec"]["race"]["params"] == {"since": "2024-01-01", "count": "1"}


def test_standard_input_that_is_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe"), encoding="utf-8"))
    with pytest.raises(UsageError, match=r"^standard input: is not UTF-8 text"):
        load(["-"])
