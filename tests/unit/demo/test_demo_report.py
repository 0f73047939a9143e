"""The demo's texts, from statuses made with the API's own models, so that a renamed field fails here."""

import base64
import gzip
import io
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairlap.api.comparison_status import Block, ComparisonStatus, ContenderStatus, RaceOfBlock

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "examples"))

import demo  # noqa: E402
import demo_report as report  # noqa: E402

COMPLETE = ComparisonStatus(
    phase="Complete",
    verdict="Inconclusive",
    contenders=[ContenderStatus(name="9.0.0", verdict="Inconclusive", sentence="9.0.0: cannot tell")],
)


def comparison(name: str, status: ComparisonStatus | None) -> dict[str, Any]:
    found = status.model_dump(mode="json", by_alias=True, exclude_none=True) if status else {}
    return {"metadata": {"name": name}, "status": found}


def test_the_verdict_is_that_of_the_command_line() -> None:
    text = report.verdict(comparison("demo", COMPLETE))
    assert text.splitlines() == ["demo: Inconclusive", "* 9.0.0: cannot tell"]
    assert report.compared(comparison("demo", COMPLETE))
    assert not report.compared(comparison("new", None))
    assert not report.compared(comparison("demo", ComparisonStatus(phase="Complete", verdict="NotComparable")))


def test_failure_names_reason_message_and_log() -> None:
    lost = RaceOfBlock(
        variant="9.0.0", benchmark="demo-1b-2", valid=False, reason="ErrorRate", message="3 of 9 requests failed"
    )
    counted = RaceOfBlock(variant="8.11.0", benchmark="demo-1a-2", valid=True)
    status = ComparisonStatus(
        phase="Failed", reason="RacesInvalid", message="9.0.0 lost 4 of 4 races",
        blocks=[Block(number=1, attempt=2, races=[counted, lost], valid=False)],
    )  # fmt: skip
    text = report.failure(comparison("demo", status), "perf")
    assert "demo compared nothing: RacesInvalid" in text
    assert "9.0.0 lost 4 of 4 races" in text and "3 of 9 requests failed" in text
    assert r"kubectl -n perf get configmap demo-1b-2-race-1 -o jsonpath='{.binaryData.rally\.log\.gz}'" in text
    assert "kubectl -n perf describe cmp demo" in text


def test_three_commands_to_try_next() -> None:
    commands = [
        line for line in report.next_commands([comparison("demo", None)], "perf").splitlines() if "# " not in line
    ]
    assert len(commands) == 3
    assert all(line.strip().startswith("kubectl -n perf ") for line in commands)


def test_the_commands_at_the_end_can_be_typed_without_a_kubectl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What stands below "Try next" is run as it is, by a shell that finds no kubectl on its PATH."""
    (tmp_path / "bin").mkdir()
    record = base64.b64encode(gzip.compress(b"{}")).decode()
    answer = f'case "$*" in *binaryData*) echo "{record}";; *) echo "{{}}";; esac'
    (tmp_path / "bin" / "kubectl").write_text(f'#!/bin/sh\necho "$KUBECONFIG: $*" >&2\n{answer}\n')
    (tmp_path / "bin" / "kubectl").chmod(0o755)
    told = {"kubeconfig": f'export KUBECONFIG="{tmp_path}/a file" PATH="$PATH":{tmp_path}/bin\n'}
    monkeypatch.delenv("CLUSTER", raising=False)
    monkeypatch.setattr(demo, "localkube", lambda *words: told.get(words[0], "/nonexistent\n"))
    monkeypatch.setattr(demo, "install", lambda *_: None)
    monkeypatch.setattr(demo, "start", lambda *_, **__: ["demo"])
    monkeypatch.setattr(demo, "follow", lambda *_: [comparison("demo", COMPLETE)])
    monkeypatch.setattr(demo, "save_report", lambda *_: "")
    assert demo.find_tools().environ["KUBECONFIG"] == f"{tmp_path}/a file"
    assert demo.demo(demo.arguments([])) == 0
    commands = capsys.readouterr().out.partition("Try next:\n")[2]
    (tmp_path / "python3").symlink_to(sys.executable)
    for program in ("base64", "gunzip", "gzip"):
        (tmp_path / program).symlink_to(shutil.which(program) or "")
    shell = ["/bin/bash", "-ec", commands]
    done = subprocess.run(shell, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    called = done.stderr.splitlines()
    assert len(called) == 3 and all(line.startswith(f"{tmp_path}/a file: -n fairlap ") for line in called)


def test_progress_line_is_cut_to_the_terminal() -> None:
    found = comparison("demo", ComparisonStatus(phase="Racing", progress="block 1 of 3 · 9.0.0 races 43 %"))
    assert " ".join(report.progress_line(found).split()) == "demo Racing block 1 of 3 · 9.0.0 races 43 %"
    assert len(report.progress_line(found, 30)) == 30
    assert report.progress_line(comparison("new", None)).endswith("not seen by the operator yet")


def test_without_a_terminal_only_changes_are_printed() -> None:
    out = io.StringIO()
    said: list[str] = []
    screen = demo.Screen(out, ["demo"])
    patch = pytest.MonkeyPatch()
    patch.setattr(demo, "log", said.append)
    try:
        for percent in (1, 2, 50):
            text = f"block 1 of 3 · 9.0.0 races {percent} %"
            screen.show([comparison("demo", ComparisonStatus(phase="Racing", progress=text))])
        screen.show([comparison("demo", COMPLETE)])
    finally:
        patch.undo()
    assert [line.split()[1] for line in said] == ["Racing", "Complete"]


def test_on_a_terminal_lines_are_redrawn() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    screen = demo.Screen(out, ["a", "b"])
    both = [comparison("a", None), comparison("b", None)]
    screen.show(both)
    screen.show(both)
    assert out.getvalue().count("\n") == 4
    assert out.getvalue().count("\x1b[2A") == 1
