"""Manifests as users write them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from fairlap.cli.exits import UsageError
from fairlap.cli.manifest_files import load, title

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
        ("", "no Benchmark"),
        pytest.param(f"kind: {'9' * 5000}", "is not YAML that can be read", id="a number of 5000 digits"),
        pytest.param("kind: 2026-13-45", "is not YAML that can be read", id="a day that there is not"),
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
    with pytest.raises(UsageError, match=r"there is no Benchmark of fairlap\.dev"):
        load([str(tmp_path / "m.yaml")], "Benchmark")
