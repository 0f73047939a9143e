"""`fairlap report`: from a cluster, from an archive, from a report, and from a Comparison with a folder of records."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.comparison_report.synthetic import Made

from fairlap.cli import main as program
from fairlap.cli.edge.exits import UnknownNameError
from fairlap.comparison.numbers.block_pack import pack_block

MADE = Made({"9.0.0": {"throughput": 0.9}}, blocks=3, noise=0.01)
for number, block in enumerate(MADE.comparison["status"]["blocks"]):
    block["record"] = f"upgrade-block-{number + 1}"
PACKED = {f"upgrade-block-{block.number}": pack_block(block) for block in MADE.blocks}


def config_map(name: str) -> dict[str, Any]:
    data = base64.b64encode(PACKED[name]).decode()
    return {"kind": "ConfigMap", "metadata": {"name": name}, "binaryData": {"block.json.gz": data}}


class Cluster:
    """One Comparison and its records."""

    namespace, context = "n", ""

    def __init__(self) -> None:
        self.records: dict[str, dict[str, Any]] = {name: config_map(name) for name in PACKED}

    def comparison(self, name: str) -> dict[str, Any]:
        if name != "upgrade":
            raise UnknownNameError(f"there is no Comparison {name} in the namespace n; there are upgrade")
        return MADE.comparison

    def comparisons(self) -> list[dict[str, Any]]:
        return [MADE.comparison]

    def config_map(self, name: str) -> dict[str, Any] | None:
        return self.records.get(name)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cluster:
    found = Cluster()
    monkeypatch.setattr("fairlap.cli.edge.connection.Connection.open", lambda context, namespace: found)
    monkeypatch.chdir(tmp_path)
    return found


def out(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    assert program.main(["report", *words]) == code
    found = capsys.readouterr()
    return found.out, found.err


def test_html_goes_to_a_file_of_its_name_and_the_path_is_told(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said, err = out(capsys, "upgrade")
    file = tmp_path / "upgrade.html"
    assert (said, err) == (f"report: {file}\n", "")
    assert file.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("words", "first"),
    [(("-o", "md"), "**▼ Regressed**"), (("-o", "csv"), "block,attempt,position"), (("-o", "junit"), "<?xml"),
     (("-o", "json"), "{")],
)  # fmt: skip
def test_other_formats_go_to_standard_output(
    cluster: Cluster, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], first: str
) -> None:
    assert out(capsys, "upgrade", *words)[0].startswith(first)


def test_output_names_the_file(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "upgrade", "-o", "junit", "--output", "x.xml")[0] == f"report: {tmp_path / 'x.xml'}\n"
    assert (tmp_path / "x.xml").read_text(encoding="utf-8").startswith("<?xml")
    _, err = out(capsys, "upgrade", "--output", "no/such/folder.html", code=1)
    assert "cannot be written" in err


def test_every_way_back_gives_the_same_report(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out(capsys, "upgrade")
    html = (tmp_path / "upgrade.html").read_bytes()
    out(capsys, "upgrade", "-o", "json", "--output", "kept.json")
    (tmp_path / "cmp.json").write_text(json.dumps(MADE.comparison))
    for folder in ("packed", "maps", "list"):
        (tmp_path / folder).mkdir()
    for name, packed in PACKED.items():
        (tmp_path / "packed" / f"{name}.json.gz").write_bytes(packed)
        (tmp_path / "maps" / f"{name}.json").write_text(json.dumps(config_map(name)))
    items = [config_map(name) for name in PACKED] + [{"kind": "ConfigMap", "data": {}}]
    (tmp_path / "list" / "all.json").write_text(json.dumps({"kind": "ConfigMapList", "items": items}))
    ways = [["-f", "kept.json"], ["-f", "upgrade.html"]]
    ways += [["-f", "cmp.json", "--blocks", folder] for folder in ("packed", "maps", "list")]
    for way in ways:
        out(capsys, *way, "--output", "again.html")
        assert (tmp_path / "again.html").read_bytes() == html, way


@pytest.mark.parametrize("blocks", [None, [], [{"number": 1, "attempt": 1}]])
def test_a_comparison_that_ended_before_its_first_record_needs_no_folder(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], blocks: Any
) -> None:
    status = {"phase": "Failed", "message": "it was refused", **({} if blocks is None else {"blocks": blocks})}
    (tmp_path / "cmp.json").write_text(json.dumps({**MADE.comparison, "status": status}))
    assert "it was refused" in out(capsys, "-f", "cmp.json", "-o", "md")[0]
    unborn = {key: value for key, value in MADE.comparison.items() if key != "status"}
    (tmp_path / "cmp.json").write_text(json.dumps(unborn))
    out(capsys, "-f", "cmp.json", "-o", "csv")


def test_a_record_that_is_gone_or_broken_is_said(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    del cluster.records["upgrade-block-1"]
    cluster.records["upgrade-block-2"]["binaryData"]["block.json.gz"] = "AAAA"
    said, err = out(capsys, "upgrade", "-o", "csv")
    assert "the record upgrade-block-1 is gone" in err and "the record upgrade-block-2 cannot be read" in err
    assert {line.split(",")[0] for line in said.splitlines()[1:]} == {"3"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say which Comparison: its NAME, or -f"),
        (("upgrade", "-f", "x.json"), "say which Comparison"),
        (("upgrade", "--blocks", "x"), "--blocks is for -f"),
        (("-f", "none.json"), "none.json cannot be read: No such file"),
        (("-f", "text.json"), "text.json holds no JSON object"),
        (("-f", "cmp.yaml"), "cmp.yaml is YAML: write it as JSON (kubectl get cmp NAME -o json)"),
        (("-f", "any.json", "-o", "json"), "any.json: this is no Comparison"),
        (("-f", "list.json"), "list.json is a List: write one of them (kubectl get cmp NAME -o json)"),
        (("-f", "list.json", "--blocks", "good"), "list.json is a List: write one of them"),
        (("-f", "race.json"), "race.json: this is no Comparison"),
        (("-f", "cmp.json"), "cmp.json has no blocks in it: say with --blocks"),
        (("-f", "cmp.json", "--blocks", "none"), "none is no directory"),
        (("-f", "cmp.json", "--blocks", "empty"), "has no file that ends in .json or .json.gz"),
        (("-f", "cmp.json", "--blocks", "bomb"), "bomb/x.json.gz is no record of a block"),
        (("-f", "archive.json"), "this is no archive of a Comparison"),
        (("-f", "archive.json", "--blocks", "empty"), "has its blocks in it"),
        (("-f", "page.html"), "page.html is no report of a Comparison"),
        (("-f", "bm.json", "--blocks", "good"), "this is no Comparison"),
        (("upgrade", "-o", "pdf"), "'pdf' is not one of"),
    ],
)
def test_wrong_usage_is_a_sentence(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "text.json").write_text("[]")
    (tmp_path / "cmp.yaml").write_text("apiVersion: fairlap.dev/v1alpha1\nkind: Comparison\nspec: {}\n")
    (tmp_path / "any.json").write_text("{}")
    (tmp_path / "list.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [MADE.comparison]}))
    (tmp_path / "race.json").write_text(json.dumps({"race-id": "x", "results": {}}))
    (tmp_path / "page.html").write_text("<html></html>")
    (tmp_path / "cmp.json").write_text(json.dumps(MADE.comparison))
    (tmp_path / "bm.json").write_text(json.dumps({"kind": "Benchmark", "spec": {}}))
    (tmp_path / "archive.json").write_text(json.dumps({"format": "other", "comparison": {}, "blocks": []}))
    for folder in ("empty", "bomb", "good"):
        (tmp_path / folder).mkdir()
    if "bomb" in words:  # it takes a while to make
        (tmp_path / "bomb" / "x.json.gz").write_bytes(gzip.compress(b" " * (64 << 20)))
    (tmp_path / "good" / "x.json").write_text(json.dumps({"number": 1, "races": []}))
    _, err = out(capsys, *words, code=2)
    assert said in err and err.count("\n") == 1


def test_a_folder_that_one_may_not_enter_is_told(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may enter any, so it is the system that is made to refuse."""
    (tmp_path / "cmp.json").write_text(json.dumps(MADE.comparison))
    real = Path.stat

    def stat(path: Path, **more: Any) -> Any:
        if "locked" in path.parts:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, **more)

    monkeypatch.setattr(Path, "stat", stat)
    _, err = out(capsys, "-f", "cmp.json", "--blocks", "locked/in", code=2)
    assert err == "fairlap: locked/in is no directory that can be read\n"


def test_an_unknown_name_is_one_sentence(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = out(capsys, "other", code=1)
    assert err == "fairlap: there is no Comparison other in the namespace n; there are upgrade\n"
