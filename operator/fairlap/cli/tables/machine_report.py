"""`fairlap results -o machines`: what each machine did in the last race of a Benchmark, task by task."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from fairlap.cli.edge import benchmarks as bm
from fairlap.cli.edge.connection import Connection
from fairlap.cli.tables.text_table import align
from fairlap.plan.lifetimes import expiry
from fairlap.results.machine_table import header, rows, watched_header, watched_rows
from fairlap.results.machine_use import short_name
from fairlap.wording.numerals import NOTHING
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.watched_machines.machine_settings import describe
from fairlap_race.contract.watched_machines.resources import KEY_RESOURCES, Machine, MachineTable

Json = dict[str, Any]


def machines(connection: Connection, benchmark: Json) -> str:
    """Return the table of the last race that is recorded, a valid one if there is one. Raises CliError."""
    raced = [race for race in bm.status(benchmark).get("races") or () if race.get("record")]
    chosen = next((race for race in reversed(raced) if race.get("valid")), raced[-1] if raced else None)
    if chosen is None:
        return f"{bm.name(benchmark)}: no race is recorded"
    table = MachineTable.from_json(text_of(connection.config_map(chosen["record"]), KEY_RESOURCES))
    title = f"{bm.name(benchmark)}, {chosen['name']}"
    expired = expiry.describe(benchmark, datetime.now(UTC))
    return (
        f"{title}: {expired or 'what the machines did was not recorded'}"
        if table is None
        else f"{title}\n{text(table, chosen['record'])}"
    )


def text(table: MachineTable, record: str) -> str:
    """Return the tables for a terminal, without columns that nobody knows, and below the first what must be known."""
    shown = [_known([header(), *rows(table, record)], left=2), *(f"* {it}" for it in sentences(table, record))]
    if table.watch and (watched := watched_rows(table.watch)):
        shown += ["", "The load generator's machine as a whole:", _known([watched_header(), *watched], left=1)]
    return "\n".join(shown)


def _known(lines: Sequence[Sequence[str]], left: int) -> str:
    kept = [column for column in range(len(lines[0])) if any(line[column] != NOTHING for line in lines[1:])]
    return align([[line[column] for column in kept] for line in lines], left=left)


def sentences(table: MachineTable, record: str) -> list[str]:
    """Return what must be known of the numbers: sources, notes, and what could not be had."""
    found = [sentence for machine in table.machines for sentence in _sentences_of(machine, short_name(machine, record))]
    if table.dropped_tasks:
        found.append(f"{table.dropped_tasks} short tasks were left out: the table would have been too large")
    return [*found, *table.remarks]


def _sentences_of(machine: Machine, name: str) -> list[str]:
    by_source: dict[str, list[str]] = {}
    for group, source in machine.sources.items():
        by_source.setdefault(source, []).append(group)
    sources = "; ".join(f"{', '.join(groups)} from {source}" for source, groups in by_source.items())
    said = [sources or "nothing is known", describe(machine.settings), *machine.notes]
    return [f"{name}: {sentence}" for sentence in said]
