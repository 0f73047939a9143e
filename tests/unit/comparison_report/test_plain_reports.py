"""Markdown, CSV and JUnit XML of Comparisons: what stands first, and that no name leaves its place."""

from __future__ import annotations

import csv
import io
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.comparison_report.synthetic import CASES, Made, condition, made_once

from fairlap.comparison_report.guarded_text import csv_cell, markdown_text
from fairlap.comparison_report.plain_reports import report_csv, report_junit, report_markdown
from fairlap.wording.percentages import interval, percent

every = pytest.mark.parametrize("name", CASES)


def markdown(name: str) -> str:
    return report_markdown(made_once(name).comparison, made_once(name).blocks)


def junit(name: str) -> ET.Element:
    return ET.fromstring(report_junit(made_once(name).comparison, made_once(name).blocks))  # noqa: S314 - our own


def decides(made: Made, holds: bool, reason: str, message: str) -> None:
    """Let GatePassed be this."""
    status, told = made.comparison["status"], condition("GatePassed", holds, reason, message)
    status["conditions"] = [told if each["type"] == "GatePassed" else each for each in status["conditions"]]


@pytest.mark.parametrize(
    ("name", "word"),
    [("regressed", "▼ Regressed"), ("three", "◆ Mixed"), ("not-comparable", "⊘ NotComparable"), ("failed", "✕ Failed")],
)
def test_markdown_has_the_verdict_in_its_first_line(name: str, word: str) -> None:
    assert markdown(name).splitlines()[0].startswith(f"**{word}**: ")


@every
def test_markdown_is_short_and_folds_the_rest(name: str) -> None:
    text = markdown(name)
    shown = text[: text.index("<details>")]
    assert len(shown.splitlines()) <= 30
    assert text.count("<details>") == text.count("</details>") == text.count("<summary>")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} <= {7}


def test_markdown_shows_names_as_they_are() -> None:
    text = markdown("hostile")
    outside = re.sub(r"`{3,}yaml\n.*?\n`{3,}", "", text, flags=re.DOTALL)
    assert not re.search(r"(?<!\\)<(?!/?details>|/?summary>)|@(?!\u2060)|(?<!\\)\]\(", outside)
    assert r"\<script\>" in text


def test_markdown_names_what_was_unfair() -> None:
    shown = markdown("not-comparable").split("<details>")[0]
    assert "**java**" in shown and "17.0.9" in shown and "21.0.1" in shown


@every
def test_csv_has_a_row_for_each_number_of_each_race(name: str) -> None:
    made = made_once(name)
    rows = list(csv.DictReader(io.StringIO(report_csv(made.comparison, made.blocks))))
    assert len(rows) == sum(len(race.numbers) for block in made.blocks for race in block.races)
    assert not any(str(row[key]).startswith(("=", "+", "@")) for row in rows for key in ("variant", "task"))
    if rows:
        assert ",".join(rows[0]) == "block,attempt,position,variant,task,metric,value,valid,reason,unit"


def test_csv_has_the_unit_of_each_number() -> None:
    made = made_once("regressed")
    rows = list(csv.DictReader(io.StringIO(report_csv(made.comparison, made.blocks))))
    units = {(row["task"], row["metric"]): row["unit"] for row in rows}
    assert (units["bulk-index", "throughput"], units["search-term", "throughput"]) == ("docs/s", "ops/s")
    assert (units["bulk-index", "serviceTimeP50"], units["", "storeBytes"]) == ("ms", "bytes")


def test_csv_has_void_races_as_such() -> None:
    made = made_once("regressed")
    rows = list(csv.DictReader(io.StringIO(report_csv(made.comparison, made.blocks))))
    void = [row for row in rows if row["valid"] == "false"]
    assert {(row["block"], row["attempt"]) for row in void} == {("3", "1")}
    first = made.blocks[0].races[0]
    assert float(rows[0]["value"]) == first.numbers[0].value and rows[0]["position"] == "1"


HOW = "the load generator's machine was disturbed: the hypervisor took 9 % of its processors' time in a task"


@pytest.mark.parametrize(("name", "block", "reason"), [("regressed", "3", "RaceInvalid"),
                                                       ("disturbed", "2", "MachineDisturbed")])  # fmt: skip
def test_csv_says_why_a_block_does_not_count(name: str, block: str, reason: str) -> None:
    made = made_once(name)
    rows = list(csv.DictReader(io.StringIO(report_csv(made.comparison, made.blocks))))
    found = {(row["block"], row["attempt"], row["valid"], row["reason"]) for row in rows if row["reason"]}
    assert found == {(block, "1", "false", reason)}
    assert {row["reason"] for row in rows if row["valid"] == "true"} == {""}


@pytest.mark.parametrize("kept", [True, False], ids=["with its record", "without"])
def test_a_block_that_was_disturbed_stays_with_its_reason(kept: bool) -> None:
    made = made_once("disturbed")
    blocks = made.blocks if kept else [each for each in made.blocks if each.number != 2]
    variant = made.told[1]["races"][1]["variant"].replace("*", r"\*")
    text = report_markdown(made.comparison, blocks)
    assert f"(void: MachineDisturbed: {variant}: {HOW})" in text
    suite = ET.fromstring(report_junit(made.comparison, blocks))  # noqa: S314 - our own
    (told,) = (each for each in suite.iter("property") if each.attrib["name"].startswith("block "))
    assert told.attrib["value"].startswith("void: MachineDisturbed: ") and told.attrib["value"].endswith(HOW)


@pytest.mark.parametrize(
    ("changes", "added"),
    [({}, False), ({"sentence": "in other words"}, False), ({"sentence": ""}, True), ({"confidence": None}, True)],
    ids=["judged", "judged in other words", "without a sentence", "not judged"],
)
def test_noise_is_added_where_a_gate_was_not_judged_with_it_whatever_its_sentence(
    changes: dict[str, Any], added: bool
) -> None:
    made = CASES["regressed"]()
    (contender,) = made.comparison["status"]["contenders"]
    contender["gates"] = [{**contender["gates"][0], "noise": 2.0, **changes}]
    text = report_markdown(made.comparison, made.blocks)
    assert ("; the baseline against itself: 2" in text) is added


def test_junit_has_the_findings() -> None:
    found = [each.attrib["value"] for each in junit("regressed").iter("property") if each.attrib["name"] == "finding"]
    assert found == made_once("regressed").comparison["status"]["findings"] != []


@every
def test_junit_counts_what_it_has(name: str) -> None:
    suite = junit(name).find("testsuite")
    assert suite is not None
    found = suite.findall("testcase")
    gates = sum(len(each["gates"]) for each in made_once(name).comparison["status"].get("contenders", ()))
    more = name == "one-block"  # its gates are not passed, and it has none
    assert len(found) == gates + 1 + more == int(suite.attrib["tests"])
    for kind, key in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert len(suite.findall(f"testcase/{kind}")) == int(suite.attrib[key])


@pytest.mark.parametrize(
    ("name", "failures", "errors"),
    [("regressed", 3, 0), ("not-comparable", 1, 0), ("failed", 0, 1), ("one-block", 1, 0)],
)
def test_junit_fails_for_gates_that_are_not_passed(name: str, failures: int, errors: int) -> None:
    assert (junit(name).attrib["failures"], junit(name).attrib["errors"]) == (str(failures), str(errors))


def test_junit_calls_no_failure_no_difference() -> None:
    made = CASES["one-block"]()
    gate = {"metric": "throughput", "policy": "failOnAnyRegression", "verdict": "NoDifference", "passed": False}
    made.comparison["status"]["contenders"] = [{"name": "9.0.0", "verdict": "NoDifference", "gates": [gate]}]
    found = ET.fromstring(report_junit(made.comparison, made.blocks))  # noqa: S314 - our own
    assert [each.attrib["type"] for each in found.iter("failure")] == ["GateNotPassed"]


def test_junit_fails_where_no_gate_was_judged_and_none_is_passed() -> None:
    made = CASES["one-block"]()
    decides(made, False, "Inconclusive", "the deadline of 1h was reached after 1 of 10 blocks")
    found = ET.fromstring(report_junit(made.comparison, made.blocks))  # noqa: S314 - our own
    case = found.find(".//testcase[@name='gates passed']/failure")
    assert case is not None and case.attrib == {
        "message": "the deadline of 1h was reached after 1 of 10 blocks",
        "type": "Inconclusive",
    }


@pytest.mark.parametrize(
    ("holds", "reason", "counts"),
    [(False, "NotComparable", ("1", "0")), (True, "NothingToDecide", ("0", "1"))],
)
def test_junit_has_a_case_for_who_cannot_be_compared(holds: bool, reason: str, counts: tuple[str, str]) -> None:
    made = Made({"9.0.0": {}}, noise=0.001)
    status = made.comparison["status"]
    status["contenders"].append({"name": "odd", "verdict": "NotComparable", "sentence": "odd differs in 2 variables"})
    decides(made, holds, reason, "not comparable: odd")
    found = ET.fromstring(report_junit(made.comparison, made.blocks))  # noqa: S314 - our own
    case = found.find(".//testcase[@classname='upgrade.odd']")
    assert case is not None and case[0].attrib["message"] == "odd differs in 2 variables"
    assert (found.attrib["failures"], found.attrib["skipped"]) == counts
    assert found.find(".//testcase[@name='gates passed']") is None


def test_junit_skips_what_is_only_reported() -> None:
    made = CASES["regressed"]()
    for gate in made.comparison["status"]["contenders"][0]["gates"]:
        gate.pop("passed")
        gate["policy"] = "reportOnly"
    decides(made, True, "NothingToDecide", "no gate decides")
    found = ET.fromstring(report_junit(made.comparison, made.blocks))  # noqa: S314 - our own
    assert (found.attrib["skipped"], found.attrib["failures"]) == ("4", "0")


@pytest.mark.parametrize(
    ("holds", "reason", "said"),
    [(True, "NothingToDecide", "Gates: nothing to decide · "), (True, "AllGatesPassed", "Gates: passed · "),
     (False, "GateNotPassed", "Gates: not passed · "), (False, "NothingToDecide", "Gates: not passed · ")],
)  # fmt: skip
def test_where_no_gate_decides_none_is_called_passed(holds: bool, reason: str, said: str) -> None:
    made = CASES["regressed"]()
    decides(made, holds, reason, "no gate decides")
    assert said in report_markdown(made.comparison, made.blocks)


@every
def test_the_same_input_gives_the_same_bytes(name: str) -> None:
    made = made_once(name)
    for write in (report_markdown, report_csv, report_junit):
        assert write(made.comparison, made.blocks) == write(made.comparison, made.blocks[::-1])


@given(st.text(st.characters() | st.sampled_from("=+-@\t\r\n,\"'"), max_size=8))
def test_a_text_is_one_cell_and_no_formula(text: str) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow([csv_cell(text), "end"])
    (line,) = csv.reader(io.StringIO(out.getvalue(), newline=""))
    assert len(line) == 2 and not line[0].startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


@pytest.mark.parametrize("text", ["https://x.example/a", "HTTP://x", "www.x.example", "ftp://x", "a@x.example"])
def test_no_name_becomes_a_link_by_itself(text: str) -> None:
    shown = markdown_text(f"see {text}")
    assert shown.replace("\u2060", "").replace("\\", "") == f"see {text}"
    assert not re.search(r"(?i)(https?|ftp)://|www\.|\w@\w", shown)


def much_that_differs(made: Made, count: int, characters: int, *, fair: bool) -> None:
    made.comparison["status"]["differences"] = [
        {
            "what": f"setting {number}", "rule": "MayFollow" if fair else "MustMatch", "fair": fair,
            "values": dict.fromkeys([made.baseline, *made.effects], "a" * characters), "message": "write it",
        }
        for number in range(count)
    ]  # fmt: skip


def closed(text: str) -> bool:
    marks = re.findall("</?details>", text)
    return marks == ["<details>", "</details>"] * (len(marks) // 2)


@pytest.mark.parametrize("fair", [True, False])
def test_markdown_shows_the_ends_of_long_values(fair: bool) -> None:
    """Twenty of 4,000 characters a side are more than a comment holds."""
    made = CASES["regressed"]()
    much_that_differs(made, 20, 4000, fair=fair)
    text = report_markdown(made.comparison, made.blocks)
    assert (
        "setting 19" in text and "a…a" in text and len(text) < 30_000 and "Left out here" not in text and closed(text)
    )


def test_markdown_leaves_out_what_is_folded_from_the_end_on() -> None:
    made = CASES["three"]()
    much_that_differs(made, 100, 4000, fair=True)
    text = report_markdown(made.comparison, made.blocks)
    assert len(text) <= 60_000 and closed(text) and text.count("<details>") == 1
    assert "<summary>The gates in words, and how far it reaches</summary>" in text
    told = "too long for a comment: What was not the same, and may be; Races; To repeat it"
    assert text.endswith(f"{told}; the HTML report (fairlap report, without -o) has all of it.\n")


def test_markdown_leaves_out_even_what_is_not_folded() -> None:
    made = CASES["three"]()
    much_that_differs(made, 100, 4000, fair=False)
    text = report_markdown(made.comparison, made.blocks)
    assert len(text) <= 60_500 and closed(text) and text.startswith("**◆ Mixed**")
    assert re.search(r"comment: \d+ more lines; the HTML report", text)


@pytest.mark.parametrize(
    ("value", "signed", "plain"),
    [
        (-0.0001, "−0.0001", "0.0001"), (0.012, "+0.012", "0.012"), (0.0, "0.0", "0.0"), (1e-13, "0.0", "0.0"),
        (0.06, "+0.1", "0.1"), (-5.0, "−5.0", "5.0"), (12345.6, "+12,346", "12,346"),
        (-99.88, "−99.9", "99.9"), (99.88, "+100", "100"),
    ],
)  # fmt: skip
def test_a_small_percentage_is_not_none(value: float, signed: str, plain: str) -> None:
    assert (
        percent(value) == f"{signed}\N{NO-BREAK SPACE}%" and percent(value, sign=False) == f"{plain}\N{NO-BREAK SPACE}%"
    )
    assert interval(value, value) == f"{signed} to {signed}\N{NO-BREAK SPACE}%"
