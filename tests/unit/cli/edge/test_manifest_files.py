"""Manifests as users write them."""

from __future__ import annotations

import io
import json
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
        pytest.param(f"kind: {'9' * 5000}", "no metadata.name", id="a number of 5000 digits"),
        ("kind: List\nitems: [{metadata: {name: x}, apiVersion: v1}]", "m.yaml: an object in it, x, has no kind"),
        ("kind: List\nitems: [{metadata: {name: x}, apiVersion: v1, kind: 5}]", "an object in it, x, has no kind"),
        ("kind: List\nitems: 5", "m.yaml: items of a List in it is no list"),
        ("kind: List\nitems: {a: 1}", "m.yaml: items of a List in it is no list"),
        ("kind: X\nspec: {a: .inf}", r"m.yaml:2: is not YAML of Kubernetes: \.inf is no number that JSON has"),
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


def test_json_that_is_indented_by_tabs_is_read_as_kubectl_does(tmp_path: Path) -> None:
    found = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Benchmark", "metadata": {"name": "t"}, "a": 0}
    text = json.dumps(found, indent="\t").replace('"a": 0', '"a": 1e3')
    for start in ("", "\n", "\ufeff"):
        (tmp_path / "m.json").write_text(f"{start}{text}", encoding="utf-8")
        (found,) = load([str(tmp_path / "m.json")])
        assert (title(found), found["a"]) == ("benchmark/t", 1000)
    (tmp_path / "m.yaml").write_text("{apiVersion: fairlap.dev/v1alpha1, kind: Benchmark, metadata: {name: flow}}")
    assert [title(each) for each in load([str(tmp_path / "m.yaml")])] == ["benchmark/flow"]


def test_a_file_in_a_folder_that_one_may_not_enter_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may enter any, so it is the system that is made to refuse."""

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "stat", refuse)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UsageError, match=r"m\.yaml: Permission denied$"):
        load([str(tmp_path / "m.yaml")])


def test_a_folder_that_one_may_not_list_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(UsageError, match=rf"^{tmp_path}: Permission denied$"):
        load([str(tmp_path)])


def test_an_empty_standard_input_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(UsageError, match=r"^standard input: there is no Benchmark"):
        load(["-"])


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_standard_input_that_is_no_utf_8_is_told_as_of_a_file(errors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the locale is C, Python reads what is no text as half characters."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff"), encoding="utf-8", errors=errors))
    with pytest.raises(UsageError, match=r"^standard input: is not UTF-8 text$"):
        load(["-"])


def test_standard_input_that_is_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe"), encoding="utf-8"))
    with pytest.raises(UsageError, match=r"^standard input: is not UTF-8 text"):
        load(["-"])
