"""`fairlap compare`: two variants beside each other, from Benchmarks or from files of Rally."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fairlap.api.names import is_race
from fairlap.cli.edge import benchmarks as bm
from fairlap.cli.edge.exits import SUCCEEDED, CliError, UsageError
from fairlap.cli.edge.printable import print_text
from fairlap.cli.tables import report
from fairlap.cli.tables.compare_text import FORMATS, Compared
from fairlap.comparison.facts.fairness_table import is_condition
from fairlap.comparison.facts.race_facts import answer_facts, facts, listed_facts, record_facts
from fairlap.comparison.judging.side_by_side import is_workload, judge_side_by_side
from fairlap.comparison.numbers.benchmark_numbers import RALLYS_RATES, recorded_race
from fairlap.comparison.numbers.race_numbers import NotARaceError, Raced, read_race, untold
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.recorded.record import KEY_RACE, KEY_RECORD, Record
from fairlap_race.contract.untrusted import MAX_UNPACKED_BYTES, unpacked
from fairlap_race.contract.watched_machines.resources import KEY_RESOURCES, MachineTable

if TYPE_CHECKING:
    from fairlap.cli.edge.connection import Connection

_UNKNOWN = (
    "from race.json alone it is not known whether Java and its options, machines, index settings, documents and the "
    "load generator were the same"
)


class _Source(NamedTuple):
    races: list[Raced]
    of_benchmark: str = ""
    """its name; "" for files"""

    @property
    def by_name(self) -> dict[str, Raced]:
        """The races of a Benchmark by their names in it."""
        return {race.name.removeprefix(f"{self.of_benchmark} "): race for race in self.races}


def compare(connect: Callable[[], Connection], baseline: str, contender: str, in_blocks: bool, output: str) -> int:
    """Print what the races of both say in the format `output`; return the exit code. Raises CliError.

    `connect` opens the cluster; it is called only when a Benchmark is named.
    """
    words = [[word for word in text.split(",") if word] for text in (baseline, contender)]
    if not all(words):
        raise UsageError("give two: a Benchmark, a race.json or a folder of them each")
    files = any(_is_file(word) for group in words for word in group)
    ours, theirs = ([_load(connect, word, beside_files=files) for word in group] for group in words)
    notes = list[str]()
    if in_blocks and not files and len(ours) == len(theirs):
        ours, theirs, alone = _pairs(ours, theirs)
        notes += [f"left out, since the other has no valid race of that name: {', '.join(alone)}"] if alone else []
    one, two = ([race for source in group for race in source.races] for group in (ours, theirs))
    notes += _unknown([*one, *two]) if files else []
    try:
        found = judge_side_by_side(one, two, in_blocks=in_blocks, names=(baseline, contender))
    except ValueError as error:
        raise UsageError(str(error)) from error
    print_text(FORMATS[output](Compared(baseline, contender, (len(one), len(two)), in_blocks, found, tuple(notes))))
    return SUCCEEDED


def _unknown(races: Sequence[Raced]) -> Iterator[str]:
    """Yield what race.json files leave open: what none of them tells, and what not every one of these does."""
    yield _UNKNOWN
    if lacking := untold(races):
        yield f"unknown, since not every race.json tells it (look whether it was the same): {', '.join(lacking)}"


def _pairs(ours: Sequence[_Source], theirs: Sequence[_Source]) -> tuple[list[_Source], list[_Source], list[str]]:
    """Return Benchmarks with the races of the same names alone, in the same order, and what the other races are called.

    Raises UsageError where no race is left.
    """
    one, two, alone = list[_Source](), list[_Source](), list[str]()
    for this, that in zip(ours, theirs, strict=True):
        both = [name for name in this.by_name if name in that.by_name]
        one.append(this._replace(races=[this.by_name[name] for name in both]))
        two.append(that._replace(races=[that.by_name[name] for name in both]))
        alone += [race.name for source in (this, that) for name, race in source.by_name.items() if name not in both]
    if not any(source.races for source in one):
        raise UsageError(f"no two valid races have the same name ({', '.join(alone)}): leave --in-blocks out")
    return one, two, alone


def _is_file(word: str) -> bool:
    return "/" in word or word.endswith(".json")


def _load(connect: Callable[[], Connection], word: str, *, beside_files: bool) -> _Source:
    if _is_file(word):
        return _Source(_in_order_of_time([_of_file(file) for file in _files(Path(word))]))
    return _Source(_races_of(*_benchmark(connect, word), word, beside_files=beside_files), word)


def _files(path: Path) -> list[Path]:
    # Not Path.is_dir(), which raises where a folder above may not be entered.
    files = sorted(path.rglob("*.json")) if os.path.isdir(path) else [path]  # noqa: PTH112
    if not files:
        raise UsageError(f"{path} has no file that ends in .json")
    return files


def _of_file(file: Path) -> Raced:
    try:
        if file.stat().st_size > MAX_UNPACKED_BYTES:
            raise UsageError(f"{file} is larger than {MAX_UNPACKED_BYTES >> 20} MiB: no race.json is")
        return read_race(str(file), file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except NotARaceError as error:
        raise UsageError(str(error)) from error


def _in_order_of_time(races: list[Raced]) -> list[Raced]:
    """Return the races of a folder as they were raced: Rally names each one's folder by lot."""
    return sorted(races, key=lambda race: race.began) if all(race.began for race in races) else races


def _benchmark(connect: Callable[[], Connection], name: str) -> tuple[Connection, dict[str, Any]]:
    """Return the cluster and a Benchmark in it. Raises CliError, which says where a path has that name, too."""
    try:
        connection = connect()
        return connection, connection.benchmark(name)
    except CliError as error:
        if not (kind := _kind_of_path(name)):
            raise
        raise CliError(f"{error}; {name} is a {kind} here, too: write ./{name}", error.code) from error


def _kind_of_path(name: str) -> str:
    path = Path(name)
    try:
        return "folder" if path.is_dir() else "file" if path.is_file() else ""
    except OSError:  # too long for one
        return ""


def _races_of(connection: Connection, benchmark: dict[str, Any], name: str, *, beside_files: bool) -> list[Raced]:
    known = facts(benchmark)
    kept = {what: value for what, value in known.items() if is_condition(what, known)}
    found = []
    for race in bm.status(benchmark).get("races") or ():
        if not (race.get("valid") and race.get("record") and is_race(race["name"])):
            continue
        config_map = _config_map(connection, f"{name} {race['name']}", str(race["record"]))
        found.append(_race_of(config_map, f"{name} {race['name']}", None if beside_files else kept))
    if not found:
        raise CliError(f"Benchmark {name} has no valid race to compare: {report.verdict(benchmark)}")
    return found


def _config_map(connection: Connection, label: str, record: str) -> dict[str, Any]:
    there: dict[str, Any] | None = connection.config_map(record)
    if there is None:
        raise CliError(f"the record of {label} is gone: there is no ConfigMap {record}")
    return there


def _race_of(config_map: dict[str, Any], label: str, known: dict[str, str] | None) -> Raced:
    """Return a race of a Benchmark with the numbers of its record, those of race.json where it cannot be read.

    `known`: what is known of the Benchmark; None where files stand beside it: then of all only race.json tells.
    """
    read = Record.from_json(text_of(config_map, KEY_RECORD))
    if read is not None and known is not None:
        table = MachineTable.from_json(text_of(config_map, KEY_RESOURCES))
        return recorded_race(label, read, {**known, **_found(read)}, table)
    told = _of_race_json(config_map, label, read)
    if read is None:
        return replace(told, facts=told.facts if known is None else known, judged=True, sources=RALLYS_RATES)
    # Files tell no other tasks than their race.json, so neither does a Benchmark beside them.
    return replace(recorded_race(label, read, told.facts, rates_of_rally=True), tasks=told.tasks)


def _found(read: Record) -> dict[str, str]:
    """Return what a race was raced over, on which plugins, and what its requests found: answers come before speed."""
    of_http = {what: value for what, value in record_facts(read).items() if is_workload(what)} if read.http else {}
    return {**listed_facts(read), **answer_facts(read), **of_http}


def _of_race_json(config_map: dict[str, Any], label: str, read: Record | None) -> Raced:
    if read is not None and read.http:
        raise CliError(f"{label} was raced over HTTP: there is no race.json of it that files could be compared with")
    packed = (config_map.get("binaryData") or {}).get(KEY_RACE)
    if not packed:
        why = ": it was too large to be kept" if read else f", nor a {KEY_RECORD} that can be read"
        raise CliError(f"the record of {label} has no {KEY_RACE}{why}")
    text = unpacked(str(packed))
    if text is None:
        raise CliError(f"the record of {label} cannot be read: its {KEY_RACE} is no gzip in base64")
    try:
        return read_race(label, text)
    except NotARaceError as error:
        raise CliError(str(error)) from error
