"""Results of Benchmarks side by side: texts, tables, CSV and JSON from their statuses and the clock."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from fairlap.api.names import is_race
from fairlap.cli.edge import benchmarks as bm
from fairlap.cli.edge.benchmarks import Benchmark
from fairlap.cli.tables.main_figures import main_rows
from fairlap.cli.tables.rows import EVIDENCE, Row, answer_of, evidence_rows, machine_rows, result_rows
from fairlap.cli.tables.text_table import align
from fairlap.comparison.facts.race_facts import effective
from fairlap.comparison_report.guarded_text import csv_cell, markdown_text
from fairlap.wording.counts import counted
from fairlap_race.contract.some_of import some_of


def rows(benchmarks: Sequence[Benchmark]) -> list[Row]:
    """Return all rows: results, machines, verdict and environment."""
    return [*result_rows(benchmarks), *machine_rows(benchmarks), *evidence_rows(benchmarks)]


def table(benchmarks: Sequence[Benchmark]) -> str:
    """Return all rows as a table for a terminal, one column a Benchmark."""
    return _table(benchmarks, rows(benchmarks))


def main_table(benchmarks: Sequence[Benchmark]) -> str:
    """Return the main figures as a table for a terminal: what to look at first, and what is not the same."""
    return _table(benchmarks, main_rows(benchmarks))


def _table(benchmarks: Sequence[Benchmark], shown: Sequence[Row]) -> str:
    head = ["", *(bm.name(b) for b in benchmarks)]
    return align([head, *([row.label, *row.texts()] for row in shown)], rule=True)


def markdown(benchmarks: Sequence[Benchmark]) -> str:
    """Return the rows as a Markdown table, and the sentences below it."""
    head = ["", *(bm.name(b) for b in benchmarks)]
    lines = [_md_line([*map(markdown_text, head)]), _md_line(["---", *("---:" for _ in benchmarks)])]
    lines += [_md_line([*map(markdown_text, [row.label, *row.texts()])]) for row in rows(benchmarks)]
    said = [*sentences(benchmarks), *answers(benchmarks)]
    below = "".join(f"\n* {markdown_text(sentence)}" for sentence in said)
    return "\n".join(lines) + (f"\n{below}" if below else "")


def _md_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def comma_separated(benchmarks: Sequence[Benchmark]) -> str:
    """Return the rows as CSV with plain numbers: five columns a Benchmark, the last what a percentile stands on."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [bm.name(b) for b in benchmarks]
    parts = ("", " min", " max", " races", " requests beyond")
    writer.writerow(["subject", "what", "unit", *(name + part for name in names for part in parts)])
    for row in rows(benchmarks):
        cells = (row.subject, row.what, row.unit, *(cell for value in row.cells for cell in _csv(value)))
        writer.writerow([csv_cell(cell) if isinstance(cell, str) else cell for cell in cells])
    return out.getvalue().rstrip("\n")


def _csv(cell: Any) -> list[Any]:
    if isinstance(cell, Mapping):
        return [cell.get("median"), cell.get("min"), cell.get("max"), cell.get("races"), cell.get("support")]
    return ["" if cell is None else cell, "", "", "", ""]


def as_json(benchmarks: Sequence[Benchmark]) -> str:
    """Return everything as JSON: verdict, results, environment, races and resources as in the statuses."""
    data = {
        "benchmarks": [_json(benchmark) for benchmark in benchmarks],
        "differences": [
            {"what": what, "values": dict(zip(map(bm.name, benchmarks), values, strict=True))}
            for what, values in differences(benchmarks)
        ],
        "remarks": remarks(benchmarks),
    }
    return json.dumps(data, indent=2, ensure_ascii=False)


def _json(benchmark: Benchmark) -> dict[str, Any]:
    found = bm.status(benchmark)
    keys = ("reason", "message", "racesDone", "track", "challenge", "startTime", "completionTime", "results", "noise")
    meta = {
        "name": bm.name(benchmark),
        "namespace": benchmark["metadata"].get("namespace"),
        "phase": bm.phase(benchmark),
    }
    rest = ("environment", "resources", "races")
    return meta | {key: found[key] for key in (*keys, *rest) if key in found}


def sentences(benchmarks: Sequence[Benchmark], *, brief: bool = False) -> list[str]:
    """Return what is to be said beside the numbers: verdicts, the reading, remarks, and what is not the same.

    `brief`: of remarks of one reason the first alone, and how many there are.
    """
    verdicts = [
        verdict(benchmark)
        for benchmark in benchmarks
        if bm.phase(benchmark) != "Succeeded" or bm.is_rehearsal(benchmark)
    ]
    differ = [f"not the same: {what}: {_beside(benchmarks, values)}" for what, values in _unseen(benchmarks)]
    remarked = brief_remarks(benchmarks) if brief else remarks(benchmarks)
    beside = (reading(benchmarks), in_turn(benchmarks), *noise(benchmarks), *remarked)
    return [sentence for sentence in (*verdicts, *beside, *differ) if sentence]


def answers(benchmarks: Sequence[Benchmark]) -> list[str]:
    """Return what searches for a capacity and sweeps found, in words; a table has that below each one's curve."""
    found = ((bm.name(benchmark), answer_of(benchmark).get("sentences") or ()) for benchmark in benchmarks)
    return [f"{name}: {sentence}" for name, said in found for sentence in said]


def in_turn(benchmarks: Sequence[Benchmark]) -> str:
    """Return why some of the Benchmarks have no throughput and no latency; "" where all were raced alone."""
    names = [bm.name(benchmark) for benchmark in benchmarks if bm.tasks(benchmark) and bm.is_in_turn(benchmark)]
    why = "raced in turn: the rate is that of all races together, so none has a throughput or a latency of its own"
    return f"{', '.join(names)}: {why}" if names else ""


def noise(benchmarks: Sequence[Benchmark]) -> list[str]:
    """Return how small a difference could be seen, each sentence once, with the Benchmarks whose status says it."""
    said: dict[str, list[str]] = {}
    for benchmark in benchmarks:
        if message := (bm.status(benchmark).get("noise") or {}).get("message"):
            said.setdefault(message, []).append(bm.name(benchmark))
    return [f"{', '.join(names)}: {message}" for message, names in said.items()]


def verdict(benchmark: Benchmark) -> str:
    """Return in one sentence how the Benchmark stands."""
    found, name = bm.status(benchmark), bm.name(benchmark)
    if bm.phase(benchmark) == "Failed":
        return f"{name} failed: {found.get('reason') or 'no reason given'}: {found.get('message') or ''}".rstrip(": ")
    if bm.is_rehearsal(benchmark):
        return f"{name} was a rehearsal: {found.get('progress') or 'no race was asked for'}."
    if bm.phase(benchmark) == "Succeeded":
        return f"{name} succeeded: {found.get('racesDone') or '?'} races are valid."
    return f"{name} has not ended: {bm.phase(benchmark)}, {bm.progress(benchmark, datetime.now(UTC))}."


def remarks(benchmarks: Sequence[Benchmark]) -> list[str]:
    """Return what a reader must know beside the numbers: each sentence once a Benchmark, with the races it is about."""
    found: dict[tuple[str, str], list[str]] = {}
    for owner, race, _, message in _remarked(benchmarks):
        found.setdefault((owner, message), []).append(race)
    return [f"{owner}, {', '.join(races)}: {remark}" for (owner, remark), races in found.items()]


def brief_remarks(benchmarks: Sequence[Benchmark]) -> list[str]:
    """Return the first remark of each reason with the Benchmarks that have it, and how many others of it there are."""
    found: dict[str, dict[str, list[str]]] = {}
    for owner, _, reason, message in _remarked(benchmarks):
        found.setdefault(reason, {}).setdefault(message, []).append(owner)
    return [_brief(*said.items()) for said in found.values()]


def _brief(first: tuple[str, list[str]], *others: tuple[str, list[str]]) -> str:
    message, owners = first
    rest = sum(len(of_races) for _, of_races in others)
    more = f" (and {counted(rest, 'more remark')} of this kind: --all)" if rest else ""
    return f"{some_of(dict.fromkeys(owners), 3)}: {message}{more}"


def _remarked(benchmarks: Sequence[Benchmark]) -> Iterator[tuple[str, str, str, str]]:
    """Yield each remark on a race: the Benchmark's name, the race's, the reason and the sentence."""
    for benchmark in benchmarks:
        for race in bm.status(benchmark).get("races") or ():
            for remark in race.get("remarks") or () if is_race(race["name"]) else ():
                yield bm.name(benchmark), race["name"], remark.get("reason") or "", remark["message"]


def reading(benchmarks: Sequence[Benchmark]) -> str:
    """Return what the spread allows to say of two Benchmarks' indexing throughput; "" when there is nothing to say."""
    if len(benchmarks) != 2:
        return ""
    one, two = ({task["task"]: task for task in bm.tasks(benchmark)} for benchmark in benchmarks)
    for task in (name for name, found in one.items() if found.get("type") == "bulk" and name in two):
        left, right = (bm.rate(found[task]) for found in (one, two))
        if not left or not right or not left["median"]:
            return ""
        first, second = (bm.name(b) for b in benchmarks)
        ratio = f"{task}: {second} has {right['median'] / left['median']:.2f} times the throughput of {first}."
        if min(left["races"], right["races"]) < 2:
            return f"{ratio} One race has no spread: this says nothing yet about which is faster."
        if left["min"] <= right["max"] and right["min"] <= left["max"]:
            return f"{ratio} Their ranges overlap: these races do not tell the two apart."
        return f"{ratio} Their ranges do not overlap, but one was raced after the other: a Comparison can decide it."
    return ""


def differences(benchmarks: Sequence[Benchmark]) -> list[tuple[str, list[Any]]]:
    """Return what was asked for, or ran, that is not the same in all Benchmarks: its path and each one's value."""
    flat = [dict(effective(benchmark)) for benchmark in benchmarks]
    found = []
    for key in dict.fromkeys(key for each in flat for key in each):
        values = [each.get(key) for each in flat]
        if any(value != values[0] for value in values):
            found.append((key, values))
    return found


def _unseen(benchmarks: Sequence[Benchmark]) -> list[tuple[str, list[Any]]]:
    shown = {f"ran: {key}" for key in EVIDENCE} | {"spec.elasticsearch.version"}
    return [(what, values) for what, values in differences(benchmarks) if what.split("[")[0] not in shown]


def _beside(benchmarks: Sequence[Benchmark], values: Sequence[Any]) -> str:
    named = zip(benchmarks, values, strict=True)
    return ", ".join(f"{bm.name(b)} {'nothing' if value is None else value}" for b, value in named)


FORMATS = {"table": table, "json": as_json, "csv": comma_separated, "md": markdown}
