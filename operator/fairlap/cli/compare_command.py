"""`fairlap compare`: two variants beside each other, from Benchmarks or from files of Rally."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fairlap.cli import benchmarks as bm
from fairlap.cli import report
from fairlap.cli.compare_text import FORMATS, Compared
from fairlap.cli.connection import Connection
from fairlap.cli.exits import SUCCEEDED, CliError, UsageError
from fairlap.cli.printable import print_text
from fairlap.comparison.beside import put_beside
from fairlap.comparison.fairness_table import is_condition
from fairlap.comparison.race_facts import answer_facts, facts
from fairlap.comparison.raced import NotARaceError, Raced, read_race
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.record import KEY_RACE, KEY_RECORD, Record
from fairlap_race.contract.untrusted import MAX_UNPACKED_BYTES, unpacked

_UNKNOWN = (
    "from race.json alone it is not known whether Java and its options, machines, index settings, documents and the "
    "load generator were the same"
)


class _Source(NamedTuple):
    races: list[Raced]
    from_benchmark: bool


def compare(connect: Callable[[], Connection], baseline: str, contender: str, in_blocks: bool, output: str) -> int:
    """Print what the races of both say in the format `output`; return the exit code. Raises CliError.

    `connect` opens the cluster; it is called only when a Benchmark is named.
    """
    sources = [[_load(connect, word) for word in text.split(",") if word] for text in (baseline, contender)]
    if not all(sources):
        raise UsageError("give two: a Benchmark, a race.json or a folder of them each")
    all_benchmarks = all(source.from_benchmark for group in sources for source in group)
    one, two = ([race for source in group for race in source.races] for group in sources)
    if not all_benchmarks:
        one, two = _known_by_files(one), _known_by_files(two)
    try:
        found = put_beside(one, two, in_blocks=in_blocks)
    except ValueError as error:
        raise UsageError(str(error)) from error
    notes = () if all_benchmarks else (_UNKNOWN,)
    print_text(FORMATS[output](Compared(baseline, contender, (len(one), len(two)), in_blocks, found, notes)))
    return SUCCEEDED


def _load(connect: Callable[[], Connection], word: str) -> _Source:
    if "/" in word or word.endswith(".json"):
        return _Source(list(_files(Path(word))), from_benchmark=False)
    return _Source(_races_of(connect(), word), from_benchmark=True)


def _files(path: Path) -> Iterator[Raced]:
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    if not files:
        raise CliError(f"{path} has no file that ends in .json")
    for file in files:
        try:
            if file.stat().st_size > MAX_UNPACKED_BYTES:
                raise CliError(f"{file} is larger than {MAX_UNPACKED_BYTES >> 20} MiB: no race.json is")
            yield read_race(str(file), file.read_bytes())
        except OSError as error:
            raise CliError(f"{file} cannot be read: {error.strerror}") from error
        except NotARaceError as error:
            raise CliError(str(error)) from error


def _known_by_files(races: list[Raced]) -> list[Raced]:
    """Return races with only what race.json says of them, so that files and Benchmarks speak of the same."""
    return [race.by_race_json() for race in races]


def _races_of(connection: Connection, name: str) -> list[Raced]:
    benchmark = connection.benchmark(name)
    kept = {what: value for what, value in facts(benchmark).items() if is_condition(what)}
    found = []
    for race in bm.status(benchmark).get("races") or ():
        if not (race.get("valid") and race.get("record") and race["name"].startswith("race-")):
            continue
        found.append(_race_of(connection, f"{name} {race['name']}", str(race["record"]), kept))
    if not found:
        raise CliError(f"Benchmark {name} has no valid race to compare: {report.verdict(benchmark)}")
    return found


def _race_of(connection: Connection, label: str, record: str, facts: dict[str, str]) -> Raced:
    there: dict[str, Any] | None = connection.config_map(record)
    if there is None:
        raise CliError(f"the record of {label} is gone: there is no ConfigMap {record}")
    packed = (there.get("binaryData") or {}).get(KEY_RACE)
    if not packed:
        raise CliError(f"the record of {label} has no {KEY_RACE}: it was too large to be kept")
    text = unpacked(str(packed))
    if text is None:
        raise CliError(f"the record of {label} cannot be read: its {KEY_RACE} is no gzip in base64")
    read = Record.from_json(text_of(there, KEY_RECORD))
    try:
        return read_race(label, text, {**facts, **(answer_facts(read) if read else {})})
    except NotARaceError as error:
        raise CliError(str(error)) from error
