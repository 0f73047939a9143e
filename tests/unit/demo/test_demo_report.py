"""The demo's texts, from statuses made with the API's own models, so that a renamed field fails here."""

import base64
import gzip
import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from statuses import benchmark, succeeded

from fairlap.api.status import BenchmarkStatus, RaceStatus

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "examples"))

import demo  # noqa: E402
import demo_report as report  # noqa: E402


def test_table_is_that_of_the_command_line() -> None:
    text = report.main_table([benchmark("es-8", succeeded("8.11.0")), benchmark("es-9", succeeded("9.0.0", 9000.0))])
    assert text.splitlines()[0].split() == ["es-8", "es-9"]
    assert "bulk-index: throughput, docs/s" in text
    assert report.has_numbers(benchmark("es-8", succeeded()))
    assert not report.has_numbers(benchmark("new", None))


def test_failure_names_reason_message_and_log() -> None:
    status = BenchmarkStatus(
        phase="Failed", reason="ErrorRate", message="race-1: task bulk-index: 3 of 9 requests failed",
        races=[RaceStatus(name="race-1", id="a", valid=False, reason="ErrorRate", record="es-9-race-1")],
    )  # fmt: skip
    text = report.failure(benchmark("es-9", status), "perf")
    assert "es-9 failed: ErrorRate" in text
    assert "3 of 9 requests failed" in text
    assert r"kubectl -n perf get configmap es-9-race-1 -o jsonpath='{.binaryData.rally\.log\.gz}'" in text
    assert "kubectl -n perf describe bm es-9" in text


def test_three_commands_to_try_next() -> None:
    commands = [
        line for line in report.next_commands([benchmark("es-9", None)], "perf").splitlines() if "# " not in line
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
    monkeypatch.setattr(demo, "start", lambda *_, **__: ["es-9"])
    monkeypatch.setattr(demo, "follow", lambda *_: [benchmark("es-9", succeeded())])
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
    found = benchmark("es-9-0-0", BenchmarkStatus(phase="Racing", progress="race 1/2 · bulk-index 43 %"))
    assert " ".join(report.progress_line(found).split()) == "es-9-0-0 Racing race 1/2 · bulk-index 43 %"
    assert len(report.progress_line(found, 30)) == 30
    assert report.progress_line(benchmark("new", None)).endswith("not seen by the operator yet")


def test_without_a_terminal_only_changes_are_printed() -> None:
    out = io.StringIO()
    said: list[str] = []
    screen = demo.Screen(out, ["es"])
    patch = pytest.MonkeyPatch()
    patch.setattr(demo, "log", said.append)
    try:
        for percent in (1, 2, 50):
            text = f"race 1/2 · bulk-index {percent} %"
            screen.show([benchmark("es", BenchmarkStatus(phase="Racing", progress=text))])
        screen.show([benchmark("es", succeeded())])
    finally:
        patch.undo()
    assert [line.split()[1] for line in said] == ["Racing", "Succeeded"]


def test_on_a_terminal_lines_are_redrawn() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    screen = demo.Screen(out, ["a", "b"])
    both = [benchmark("a", None), benchmark("b", None)]
    screen.show(both)
    screen.show(both)
    assert out.getvalue().count("\n") == 4
    assert out.getvalue().count("\x1b[2A") == 1
