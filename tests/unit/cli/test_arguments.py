"""What the command line understands, completes and refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.cli import main as program
from fairlap.cli.arguments import parser, track_params
from fairlap.cli.completion import SCRIPTS, complete
from fairlap.cli.exits import UsageError
from fairlap.cli.logs import step_name


def completed(*words: str) -> list[str]:
    return complete(parser("fairlap"), words, lambda _: ["es-8", "es-9"])


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ([""], ["run", "rerun", "results", "logs", "track", "completion"]),
        (["re"], ["rerun", "results"]),
        (["track", ""], ["check", "generate", "new", "list"]),
        (["track", "check", ""], [":files"]),
        (["track", "check", "a", ""], [":files"]),
        (["results", ""], ["es-8", "es-9"]),
        (["results", "es-8", "es-9"], ["es-9"]),
        (["results", "-o", ""], ["table", "json", "csv", "md", "machines"]),
        (["results", "-o", "json", "es-8", ""], ["es-8", "es-9"]),
        (["logs", "es-8", ""], []),
        (["logs", "es-8", "--f"], ["--follow"]),
        (["run", "-f", ""], [":files"]),
        (["run", "--wait", "-f", "x", "--dr"], ["--dry-run"]),
        (["completion", "z"], ["zsh"]),
        ([], ["run", "rerun", "results", "logs", "track", "completion"]),
    ],
)
def test_completion(words: list[str], answer: list[str]) -> None:
    assert completed(*words) == answer


@given(st.lists(st.sampled_from(["run", "-f", "track", "check", "-o", "--param=x", "x", "", "-"]), max_size=6))
def test_completion_never_fails(words: list[str]) -> None:
    completed(*words)


@pytest.mark.parametrize("shell", sorted(SCRIPTS))
def test_completion_scripts(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert "fairlap __complete" in text
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["fly"],
        ["run"],
        ["run", "-f", "x", "--timeout", "soon"],
        ["run", "-f", "x", "--timeout", "3m"],
        ["run", "-f", "/nonexistent.yaml"],
        ["results"],
        ["rerun", "x", "--timeout", "3m"],
        ["results", "x", "-o", "pdf"],
        ["logs", "x", "--race", "0"],
        ["track", "check", "/nonexistent"],
        ["track", "check", "x", "--param", "novalue"],
        ["track", "generate", "nosuch", "/nonexistent"],
    ],
)
def test_wrong_usage_ends_with_2_and_one_sentence(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], "
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}], users: [{name: u, user: {token: secret}}]}"
    )
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.setenv("FAIRLAP_RALLY_PYTHON", sys.executable)
    monkeypatch.setattr("fairlap.cli.rally_python._version", lambda _: "2.13.0")
    try:
        code: Any = program.main(words)
    except SystemExit as end:
        code = end.code
    assert code == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert said.strip()


def test_no_cluster_is_one_sentence_without_secrets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], "
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}], users: [{name: u, user: {token: s3cret}}]}"
    )
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    assert program.main(["results", "x"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("fairlap: the API server at http://127.0.0.1:9 does not answer")
    assert len(said.splitlines()) == 1
    assert "s3cret" not in said
    assert program.main(["results", "x", "--context", "nosuch"]) == 1
    assert "nosuch" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        program.main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("fairlap ")


def test_track_params(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("bulk_size: 5\nclients: 2\n")
    pairs = ["bulk_size=100", "name=geo", "flag=true", 'index_settings={"a": 1}', "empty="]
    assert track_params(pairs, str(tmp_path / "p.yaml")) == {
        "bulk_size": 100, "clients": 2, "name": "geo", "flag": True, "index_settings": {"a": 1}, "empty": "",
    }  # fmt: skip
    (tmp_path / "list.yaml").write_text("[1]")
    with pytest.raises(UsageError):
        track_params([], str(tmp_path / "list.yaml"))


@pytest.mark.parametrize(
    ("text", "name"),
    [("2", "race-2"), ("race-50", "race-50"), ("smoke", "smoke"), ("check", "check"), ("race-0", None)],
)
def test_step_name(text: str, name: str | None) -> None:
    if name is None:
        with pytest.raises(UsageError):
            step_name(text)
    else:
        assert step_name(text) == name


def test_timeout_is_read_in_kubernetes_manner() -> None:
    options = parser("fairlap").parse_args(["run", "-f", "x", "--wait", "--timeout", "1h30m"])
    assert options.timeout == 5400


def test_an_unforeseen_failure_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> int:
        raise RuntimeError("oops")

    monkeypatch.setattr("fairlap.cli.builtin.list_tracks", fail)
    assert program.main(["track", "list"]) == 1
    said = capsys.readouterr().err
    assert "oops" in said
    assert "Traceback" not in said
    assert len(said.splitlines()) == 1
