"""What the command line understands, completes and refuses."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.cli import main as program
from fairlap.cli.command_words import SHELLS, fairlap
from fairlap.cli.commands.logs_command import step_name
from fairlap.cli.completion import kubectl_answer, suggest
from fairlap.cli.edge.exits import CliError, UsageError
from fairlap.cli.option_values import TimeOption, track_params
from fairlap.settings import BUILTIN_TRACKS

ROOT = Path(__file__).parents[3]
COMMANDS = [
    "run",
    "plan",
    "rerun",
    "results",
    "compare",
    "gate",
    "report",
    "logs",
    "doctor",
    "track",
    "requests",
    "completion",
]


class FakeConnection:
    """A cluster with two Benchmarks and a Comparison."""

    def benchmarks(self) -> list[dict[str, Any]]:
        return [{"metadata": {"name": name}} for name in ("es-8", "es-9")]

    def comparisons(self) -> list[dict[str, Any]]:
        return [{"metadata": {"name": "upgrade"}}]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str | None, str | None]]:
    """Context and namespace of each connection that a command opens."""
    found: list[tuple[str | None, str | None]] = []

    def open_connection(context: str | None, namespace: str | None) -> FakeConnection:
        found.append((context, namespace))
        return FakeConnection()

    monkeypatch.setattr("fairlap.cli.edge.connection.Connection.open", open_connection)
    return found


def completed(*words: str) -> list[str]:
    return [f":{item.type}" if item.type != "plain" else item.value for item in suggest(fairlap, words)]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ([""], COMMANDS),
        (["re"], ["rerun", "results", "report", "requests"]),
        (["track", ""], ["check", "generate", "new", "list"]),
        (["track", "check", ""], [":file"]),
        (["track", "check", "a", ""], [":file"]),
        (["results", ""], ["es-8", "es-9"]),
        (["results", "es-8", "es-9"], ["es-9"]),
        (["results", "-o", ""], ["table", "json", "csv", "md", "machines", "drnbench", "svg"]),
        (["results", "-o", "json", "es-8", ""], ["es-8", "es-9"]),
        (["compare", ""], [":file", "es-8", "es-9"]),
        (["compare", "es-8", "es-9"], [":file", "es-9"]),
        (["report", ""], ["upgrade"]),
        (["report", "upgrade", "-o", ""], ["html", "md", "csv", "junit", "json"]),
        (["gate", "up"], ["upgrade"]),
        (["gate", "es"], []),
        (["gate", ""], ["upgrade"]),
        (["logs", "es-8", ""], []),
        (["logs", "es-8", "--f"], ["--follow"]),
        (["run", "-f", ""], [":file"]),
        (["plan", "-f", ""], [":file"]),
        (
            ["plan", "-f", "x", "--"],
            ["--filename", "--server", "--race-time", "--noise", "--namespace", "--context", "--help"],
        ),
        (["run", "--wait", "-f", "x", "--dr"], ["--dry-run"]),
        (["completion", "z"], ["zsh"]),
        ([], COMMANDS),
        (["-n", "perf", "re"], ["rerun", "results", "report", "requests"]),
        (["-n", "perf", "results", ""], ["es-8", "es-9"]),
        (["rerun", "es-"], ["es-8", "es-9"]),
        (["logs", "nosuch"], []),
        (["track", "generate", ""], list(BUILTIN_TRACKS)),
        (["track", "check", "page"], [":file", "page_cache"]),
        (["requests", ""], ["from-access-log", "from-search-results", "from-slowlog", "same-hits"]),
        (["requests", "from-slowlog", ""], [":file"]),
        (["track", "new", ""], [":dir"]),
    ],
)
@pytest.mark.usefixtures("opened")
def test_completion(words: list[str], answer: list[str]) -> None:
    assert completed(*words) == answer


@given(st.lists(st.sampled_from(["run", "-f", "track", "check", "-o", "--param=x", "x", "", "-"]), max_size=6))
def test_completion_never_fails(words: list[str]) -> None:
    completed(*words)


def test_completion_without_a_cluster_has_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: str | None) -> None:
        raise CliError("no cluster")

    monkeypatch.setattr("fairlap.cli.edge.connection.Connection.open", refuse)
    assert completed("results", "") == []


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["results", ""], (None, None)),
        (["-n", "a", "results", ""], (None, "a")),
        (["-n", "a", "--context", "c", "results", "--namespace", "b", ""], ("c", "b")),
    ],
)
def test_completion_asks_the_cluster_that_the_words_name(
    words: list[str], asked: tuple[str | None, str | None], opened: list[tuple[str | None, str | None]]
) -> None:
    completed(*words)
    assert opened == [asked]


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_scripts(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert f"_FAIRLAP_COMPLETE={shell}_complete" in text
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)


@pytest.mark.parametrize(
    ("shell", "line", "answer"),
    [
        (
            "bash",
            "COMP_WORDS=(fairlap track l); COMP_CWORD=2; _fairlap_completion fairlap; echo ${COMPREPLY[@]}",
            "list\n",
        ),
        ("fish", 'complete -C "fairlap track l"', "list\tList the builtin tracks.\n"),
    ],
)
def test_a_shell_completes_words_by_its_script(
    shell: str, line: str, answer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    assert program.main(["completion", shell]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    (tmp_path / "fairlap").write_text(f'#!/bin/sh\nexec {sys.executable} -m fairlap.cli "$@"\n')
    (tmp_path / "fairlap").chmod(0o755)
    environ = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    argv = [shell, "-c", f"source {tmp_path / 'script'}; {line}"]
    done = subprocess.run(argv, env=environ, cwd=ROOT / "operator", capture_output=True, text=True, check=False)
    assert done.stdout == answer, done.stderr


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["res"], ["results", ":4"]),
        (["track", "check", ""], [":0"]),
        (["track", "check", "perc"], ["percolator", ":0"]),
        (["results", "es-"], ["es-8", "es-9", ":4"]),
        (["logs", "es-8", ""], [":4"]),
    ],
)
@pytest.mark.usefixtures("opened")
def test_kubectl_is_answered_in_its_own_manner(words: list[str], lines: list[str]) -> None:
    assert kubectl_answer(fairlap, words) == lines


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["results", "x"], (None, None)),
        (["results", "x", "-n", "a"], (None, "a")),
        (["-n", "a", "results", "x"], (None, "a")),
        (["-n", "a", "results", "x", "-n", "b"], (None, "b")),
        (["--context", "c", "--namespace", "a", "logs", "x"], ("c", "a")),
        (["--context", "c", "rerun", "x", "--context", "d"], ("d", None)),
        (["doctor", "-n", "a", "noise"], (None, "a")),
        (["doctor", "noise", "-n", "a"], (None, "a")),
        (["-n", "a", "--context", "c", "doctor", "-n", "b", "noise"], ("c", "b")),
    ],
)
def test_the_cluster_is_chosen_before_or_after_the_command(
    words: list[str],
    asked: tuple[str | None, str | None],
    opened: list[tuple[str | None, str | None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("results_command.results", "logs_command.logs", "run_command.rerun", "doctor_command.noise"):
        monkeypatch.setattr(f"fairlap.cli.commands.{name}", lambda *_: 0)
    assert program.main(words) == 0
    assert opened == [asked]


def test_a_group_takes_the_options_that_choose_a_cluster_where_its_commands_do() -> None:
    def options(command: click.Command) -> set[str]:
        return {parameter.name for parameter in command.params if parameter.name in ("namespace", "context")}

    for group in (each for each in fairlap.commands.values() if isinstance(each, click.Group)):
        assert options(group) == set().union(*map(options, group.commands.values())), group.name


def test_what_takes_long_to_import_is_imported_late() -> None:
    code = (
        "import sys, fairlap.cli.main; print(*sorted({'kubernetes', 'yaml', 'jinja2', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_what_needs_no_cluster_does_not_wait_for_its_client() -> None:
    modules = ", ".join(f"fairlap.cli.commands.{each}_command" for each in ("plan", "compare", "report"))
    code = f"import sys, {modules}; print('kubernetes' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["fly"],
        ["run"],
        ["run", "-f", "x", "--timeout", "soon"],
        ["run", "-f", "x", "--timeout", "3m"],
        ["run", "-f", "/nonexistent.yaml"],
        ["plan"],
        ["plan", "-f", "/nonexistent.yaml"],
        ["plan", "-f", "x", "--noise", "0"],
        ["plan", "-f", "x", "--noise", "nan"],
        ["plan", "-f", "x", "--race-time", "soon"],
        ["results"],
        ["rerun", "x", "--timeout", "3m"],
        ["results", "x", "-o", "pdf"],
        ["logs", "x", "--race", "0"],
        ["logs", "x", "--race", ""],
        ["plan", "-f", "x", "--race-time", "0s"],
        ["plan", "-f", "x", "--race-time", "0h0.0m"],
        ["track", "check", ""],
        ["track", "new", ""],
        ["track", "generate", "", "x"],
        ["track", "generate", "log_ingest", ""],
        ["track", "generate", "log_ingest", "/dev/null/x", "--documents", "-5"],
        ["track", "generate", "log_ingest", "/dev/null/x", "--documents", "0"],
        ["track", "generate", "log_ingest", "/dev/null/x", "--seed", "-1"],
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
    monkeypatch.setattr("fairlap.cli.edge.rally_python._version", lambda _: "2.13.0")
    assert program.main(words) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert said.strip()
    if words:  # else there is the help, which is longer
        assert said.startswith("fairlap: ") and len(said.splitlines()) == 1


def test_paths_are_looked_at_before_rally_is_installed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def install(_: object) -> Path:
        raise AssertionError("it takes a minute")

    monkeypatch.setattr("fairlap.cli.edge.rally_python.python_with_rally", install)
    (tmp_path / "other.json").write_text("{}")
    for path, words in (("/nonexistent", "no such directory"), (str(tmp_path / "other.json"), "name the track's")):
        assert program.main(["track", "check", "log_ingest", path]) == 2
        assert words in capsys.readouterr().err


@pytest.mark.parametrize("there", [False, True], ids=["a new directory", "an empty one"])
def test_a_track_that_cannot_be_generated_leaves_nothing(
    there: bool, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = tmp_path / "g"
    if there:
        target.mkdir()
    words = ["track", "generate", "log_ingest", str(target), "--documents"]
    assert program.main([*words, "1"]) == 1
    assert "at least 5 are needed, not 1" in capsys.readouterr().err
    assert [each.name for each in tmp_path.rglob("*")] == (["g"] if there else [])
    assert program.main([*words, "10"]) == 0
    assert (target / "track.json").is_file() and not (target / "tracks").exists()


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
    assert program.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("fairlap ")


def test_track_params(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("bulk_size: 5\nclients: 2\n")
    pairs = ["bulk_size=100", "name=geo", "flag=true", 'index_settings={"a": 1}', "empty="]
    assert track_params(pairs, str(tmp_path / "p.yaml")) == {
        "bulk_size": 100, "clients": 2, "name": "geo", "flag": True, "index_settings": {"a": 1}, "empty": "",
    }  # fmt: skip
    (tmp_path / "day.yaml").write_text("since: 2024-01-01\n")
    assert track_params([], str(tmp_path / "day.yaml")) == {"since": "2024-01-01"}
    (tmp_path / "list.yaml").write_text("[1]")
    with pytest.raises(UsageError):
        track_params([], str(tmp_path / "list.yaml"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("2", "race-2"),
        ("race-50", "race-50"),
        ("smoke", "smoke"),
        ("check", "check"),
        ("probe", "probe"),
        ("race-0", None),
    ],
)
def test_step_name(text: str, name: str | None) -> None:
    if name is None:
        with pytest.raises(UsageError):
            step_name(text)
    else:
        assert step_name(text) == name


def test_timeout_is_read_in_kubernetes_manner() -> None:
    words = ["-f", "x", "--wait", "--timeout", "1h30m"]
    assert fairlap.commands["run"].make_context("run", words).params["timeout"] == 5400
    assert TimeOption().convert("0.5m", None, None) == 30


def test_a_time_of_zero_is_one_for_waiting_alone() -> None:
    with pytest.raises(click.BadParameter, match="is no time at all: write for example 4m"):
        TimeOption(some=True).convert("0s", None, None)
    assert TimeOption().convert("0s", None, None) == 0


@pytest.mark.parametrize(
    "words", [["track", "list"], ["completion", "bash"], ["--version"], ["--help"], ["gate", "--help"]]
)
def test_a_full_disk_under_standard_output_is_one_sentence(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        argv = [sys.executable, "-m", "fairlap.cli", *words]
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT / "operator", check=False)
    assert (done.returncode, done.stderr) == (1, "fairlap: standard output: No space left on device\n")


def test_a_full_disk_under_standard_error_is_borne() -> None:
    with Path("/dev/full").open("w") as full:
        argv = [sys.executable, "-m", "fairlap.cli", "track", "nosuch"]
        assert subprocess.run(argv, stderr=full, cwd=ROOT / "operator", check=False).returncode == 2


def test_an_unforeseen_failure_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> int:
        raise RuntimeError("oops")

    monkeypatch.setattr("fairlap.cli.commands.track_commands.list_tracks", fail)
    assert program.main(["track", "list"]) == 1
    said = capsys.readouterr().err
    assert "oops" in said
    assert "Traceback" not in said
    assert len(said.splitlines()) == 1
