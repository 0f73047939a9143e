"""Whatever a cluster says, no command prints what steers a terminal, and tables keep their columns."""

from __future__ import annotations

import ast
import base64
import gzip
import io
import json
import re
import unicodedata
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statuses import benchmark, succeeded

from fairlap.cli import main
from fairlap.cli.commands import logs_command, results_command, run_command
from fairlap.cli.edge.exits import CliError
from fairlap.cli.edge.printable import one_line, printable
from fairlap.cli.edge.screen import Screen
from fairlap.cli.tables.text_table import align, columns
from fairlap.comparison_report.guarded_text import markdown_text
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import KEY_LOG, KEY_RECORD, Outcome, Record

Json = dict[str, Any]
CLI = Path(main.__file__).parent
EVIL = ("\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\u202e", "\u2066", "\r", "\x00", "\ud800", "\u2028", "\x7f", "\b")
evil_texts = st.lists(st.one_of(st.sampled_from(EVIL), st.characters(), st.just("a")), max_size=6).map("".join)
RACES = [{"name": "race-1", "record": "bm-race-1", "valid": True, "remarks": [{"message": "remark", "reason": "X"}]}]
COMPARED = {
    "phase": "Complete", "verdict": "Mixed", "findings": ["finding"],
    "contenders": [{"name": "b", "sentence": "worse", "gates": [{"sentence": "less"}]}],
    "differences": [{"what": "java", "fair": False, "values": {"a": "17", "b": "21"}, "message": "write 21"}],
    "conditions": [{"type": "GatePassed", "status": "False", "message": "b"}],
}  # fmt: skip


def steers(text: str) -> list[str]:
    text = re.sub("(?<=[@#])\u2060|(?<=[a-z])\u2060(?=://|[.])", "", text, flags=re.IGNORECASE)
    return [c for c in text if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


def poisoned(value: Any, with_: str) -> Any:
    """The same, with a text put before every text but those that the code takes for keys of its own."""
    if isinstance(value, dict):
        own = ("phase", "name", "record", "startTime", "completionTime")
        return {key: each if key in own else poisoned(each, with_) for key, each in value.items()}
    if isinstance(value, list):
        return [poisoned(each, with_) for each in value]
    return with_ + value if isinstance(value, str) else value


class Cluster:
    """A connection to a cluster that says `evil` wherever it says anything."""

    namespace, context = "ns", ""

    def __init__(self, evil: str) -> None:
        self.evil = evil
        there = benchmark("bm", succeeded("9.0.0"))
        status = {**there["status"], "races": RACES, "progress": "now", "message": "failed", "reason": "X"}
        self.there: Json = poisoned({**there, "apiVersion": "v1", "kind": "Benchmark", "status": status}, evil)
        self.failed: Json = {**self.there, "status": {**self.there["status"], "phase": "Failed"}}
        self.compared: Json = poisoned({**there, "status": COMPARED}, evil)

    def command(self, verb: str, names: Any) -> str:
        return f"fairlap {verb} {' '.join(names)}"

    def benchmark(self, name: str) -> Json:
        return self.failed if name == "failed" else self.there

    def benchmarks(self) -> list[Json]:
        return [self.there]

    def config_map(self, name: str) -> Json:
        record = Record(mode="race", race_id=self.evil, outcome=Outcome(Reason.RALLY_FAILED, self.evil)).to_json()
        log = gzip.compress(f"one\n{self.evil}\r\ntwo".encode("utf-8", "replace"))
        return {"data": {KEY_RECORD: record}, "binaryData": {KEY_LOG: base64.b64encode(log).decode()}}

    def apply(self, manifest: Json, dry_run: bool = False) -> tuple[Json, str]:
        return self.there, f"changed{self.evil}"

    def changes(self, stop: Any, kinds: Any, known: Any) -> Iterator[Json]:
        for kind in kinds:
            yield {**(self.failed if kind == "Benchmark" else self.compared), "kind": kind}


def printed(work: Any) -> str:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            work()
        except CliError as error:
            main.print_text(f"fairlap: {error}")
    return out.getvalue() + err.getvalue()


@settings(max_examples=40, deadline=None)
@given(evil_texts)
def test_no_command_prints_what_steers_a_terminal(evil: str) -> None:
    cluster: Any = Cluster(evil)
    said = [
        printed(lambda form=form: results_command.results(cluster, ["bm", "failed"], form, everything=True))
        for form in ("table", "json", "csv", "md", "machines")
    ]
    said.append(printed(lambda: results_command.results(cluster, ["failed"], "table")))
    said.append(printed(lambda: logs_command.logs(cluster, "bm", None, follow=False)))
    said.append(printed(lambda: run_command._follow(cluster, [("Benchmark", "bm")], None)))
    said.append(printed(lambda: run_command._follow(cluster, [("Comparison", "bm")], None)))
    said.append(printed(lambda: run_command._apply(cluster, cluster.there)))
    assert all(said) and not [steers(text) for text in said if steers(text)]
    assert json.loads(said[1])["benchmarks"][0]["track"] == cluster.there["status"]["track"], "JSON says what there is"


@pytest.mark.parametrize("evil", EVIL)
def test_a_terminal_is_steered_by_the_screen_alone(evil: str) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    Screen(out).show([{"metadata": {"name": "bm"}, "status": {"phase": "Racing", "progress": f"a{evil}b" * 60}}])
    assert not steers(out.getvalue().removeprefix("\r\x1b[2K").removesuffix("\n"))
    assert len(out.getvalue()) <= 80 + len("\r\x1b[2K\n")


@given(st.lists(st.tuples(evil_texts, evil_texts), min_size=1, max_size=5))
def test_a_table_keeps_its_lines_and_columns(lines: list[tuple[str, str]]) -> None:
    shown = align([("x", "y"), *lines], rule=True).split("\n")
    assert len(shown) == len(lines) + 2 and not steers("".join(shown)) and "\t" not in "".join(shown)
    width = max(columns(one_line(first)) for first, _ in [("x", ""), *lines])
    assert shown[0] == f"{'x':<{width}}  y"


@given(st.text())
def test_what_is_printable_stays(text: str) -> None:
    assert printable(printable(text)) == printable(text)
    kept = "".join(c for c in text if not steers(c))
    assert printable(kept) == kept


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("search@\u20608, #\u20603 https\u2060://x www\u2060.x", None),
        ("a\u2060b", "a\\u2060b"), ("@\u2060\u2060", "@\u2060\\u2060"), ("\u2060@", "\\u2060@"),
        ("x\u2060:", "x\\u2060:"), ("9\u2060.", "9\\u2060."), ("@\u2066", "@\\u2066"), ("#\u200b", "#\\u200b"),
        ("@\ufeff", "@\\ufeff"), ("#\u200f", "#\\u200f"), ("https\u202e://", "https\\u202e://"),
        ("\u202e\u2060.", "\\u202e\\u2060."),
    ],
)  # fmt: skip
def test_what_guards_names_in_markdown_is_printed_where_it_does_and_nowhere_else(text: str, shown: str | None) -> None:
    """A reader of Markdown would show what JSON writes; a word joiner neither steers a terminal nor turns a text."""
    assert printable(text) == (text if shown is None else shown)
    assert "\u2060" not in one_line(text), "cells keep their columns"


@given(st.text(st.characters() | st.sampled_from("@#wps:/.\u2060\u202e")))
def test_markdown_is_printed_as_it_was_made(text: str) -> None:
    made = markdown_text(text.replace("\u2060", ""))
    assert printable(made).count("\u2060") == made.count("\u2060") and not steers(printable(made))


def test_nothing_else_of_the_command_line_prints() -> None:
    """A second place would be one that forgets it."""
    found = set()
    for path in CLI.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if name in ("print", "echo", "secho", "write"):
                    found.add((path.name, name))
    assert found == {("printable.py", "print"), ("command_words.py", "echo")}
