"""Hostile records, machine tables and progress texts, and what must hold whatever a race's pod has written.

Each number stands for one such set of texts: the same number always gives the same.
"""

import base64
import copy
import dataclasses
import gzip
import itertools
import json
import random
import types
import typing
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from functools import cache
from typing import Any

from openapi import problems
from world import START, cluster, good_record, job, pod, seen, spec

from fairlap.api.crd import crd
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus, Step
from fairlap.plan.basis.conditions import stamp
from fairlap.plan.basis.seen import Children
from fairlap.plan.benchmark import plan
from fairlap.results.machine_table import rows
from fairlap_race.contract.codec import camel
from fairlap_race.contract.recorded.record import MAX_PROGRESS_CHARACTERS, Progress, Record
from fairlap_race.contract.recorded.task_spans import race_span, task_spans
from fairlap_race.contract.untrusted import unpacked
from fairlap_race.contract.watched_machines.resources import MachineTable

STEPS = ("race-1", "race-1", "race-1", "race-2", "smoke", "check", "probe")
MOST_STATUS_BYTES = 1_000_000
"""Of a status: etcd takes 1.5 MiB of a whole object."""


def _deep(levels: int, opening: str, closing: str) -> str:
    return f"{opening * levels}1{closing * levels}"


class Raw(str):
    """A text that is JSON already."""


HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 7, -5, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**18, 10**30, 10**401, Raw("9" * 5000),
    1.5, -0.0, 5e-324, 1e308, -1e308, Raw("1e999"), float("nan"), float("inf"), float("-inf"),
    "", "x", "0", "-1", "NaN", "1e999", "9" * 4500, "x" * 63, "x" * 64, "x" * 5000, "é" * 5000, "\ud800", "a\udfffb",
    "\x00", "\x1b[31m", "\u202e", "𝄞" * 4096, "\n" * 300, "%s{}$(X)", "../..", "9.0.0", "99999999999.9.9", "21.0.8",
    "-Xmx" + "9" * 4000, "2026-01-01T00:00:00.000Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59", "99999-01-01T00:00:00Z", "2026-01-01", "2026-01-01T00:00:00", "x" * 41,
    "RaceStalled", "RecordMissing", "FromTheFuture", "best_compression", "STARTED", "UNASSIGNED", "es-0", "logs",
    "bulk",
    [], {}, [[]], [{}], {"": None}, {"a": {"b": {"c": 1}}}, [None, 1, "x"], {"\ud800": "\ud800"}, {"x" * 5000: 1},
    [{}] * 101, ["x"] * 300, {f"k{n}": n for n in range(300)}, [{"name": f"p{n}", "count": 1} for n in range(101)],
    Raw(_deep(19, '{"a":', "}")), Raw(_deep(25, "[", "]")), Raw(_deep(400, "[", "]")), Raw(_deep(990, '{"a":', "}")),
)  # fmt: skip
LONG: tuple[Any, ...] = (
    Raw(_deep(100_000, "[", "]")), "x" * 100_000, Raw("[" + ",".join(["{}"] * 12_000) + "]"),
    Raw("[" + ",".join(f'{{"task":"t{n}","rally":{{}}}}' for n in range(2_000)) + "]"), Raw("7" * 100_000),
)  # fmt: skip
"""Those that take long are rare."""


def _filled(hint: Any, name: str, depth: int = 0) -> Any:
    """Return JSON for a type: every field has a value, so that a mutation can meet each of them."""
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return {"a": [1, {"b": "c"}]}
    if origin in (typing.Union, types.UnionType):
        return _filled(next(option for option in of if option is not type(None)), name, depth)
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        return {camel(field.name): _filled(hints[field.name], field.name) for field in dataclasses.fields(hint)}
    if origin is tuple:
        return [_filled(of[0], name)]
    if origin is not None and issubclass(origin, Mapping):
        return {"p50": _filled(of[1], name), "p99": _filled(of[1], name)}
    if issubclass(hint, Enum):
        return None
    if hint is str:
        return "2026-01-01T00:00:30.000Z" if name.endswith(("_at", "from")) or name == "at" else name
    return {bool: False, int: 3, float: 2.5}[hint]


@cache
def _sources() -> tuple[str, ...]:
    """Return the texts that are mutated, as JSON."""
    good = json.loads(good_record().to_json())
    full = {**_filled(Record, "record"), "format": 1}
    # Two that get past the first checks, so that what comes after them is met, too.
    passing = {
        **full,
        **{key: good[key] for key in ("outcome", "rally", "fresh", "nodesRestarted", "tasks", "indices")},
    }
    passing |= {"track": {**full["track"], **good["track"], "params": full["track"]["params"]}}
    passing |= {"environment": {**full["environment"], **good["environment"]}, "pipelines": good["pipelines"]}
    rich = {**full["tasks"][0], **{key: value for key, value in good["tasks"][0].items() if value}}
    passing["tasks"] = [rich]
    return tuple(json.dumps(it) for it in (good, full, passing, passing))


@cache
def _table() -> str:
    return json.dumps({**_filled(MachineTable, "table"), "format": 1})


def _mutated(source: str, chosen: random.Random) -> str:
    """Return the JSON text with some of its values replaced, removed, repeated or moved."""
    data = json.loads(source)
    raw: list[str] = []
    for _ in range(chosen.choice((1, 1, 2, 3, 8))):
        places = list(itertools.islice(_places(data), 5000))
        holder, key = chosen.choice(places)
        kind = chosen.random()
        if kind < 0.75:
            pool = LONG if chosen.random() < 0.004 else HOSTILE
            value = chosen.choice(pool)
            if isinstance(value, Raw):
                raw.append(value)
                value = f"\u0001{len(raw) - 1}\u0001"
            holder[key] = copy.deepcopy(value)
        elif kind < 0.85:
            holder.pop(key) if isinstance(holder, dict) else holder.__delitem__(key)
        elif isinstance(holder, list):
            holder[key:key] = [copy.deepcopy(holder[key])] * chosen.choice((1, 20, 120))
        else:
            holder[chosen.choice(("", "x" * 300, "\ud800", f"{key} "))] = copy.deepcopy(holder[key])
    text = json.dumps(data)
    for number, value in enumerate(raw):
        text = text.replace(json.dumps(f"\u0001{number}\u0001"), value)
    return text


def _places(data: Any) -> typing.Iterator[tuple[Any, Any]]:
    todo = [data]
    while todo:
        holder = todo.pop()
        items = list(holder.items()) if isinstance(holder, dict) else list(enumerate(holder))
        for key, value in items[:60]:
            yield holder, key
            if isinstance(value, dict | list):
                todo.append(value)


def _damaged(text: str, chosen: random.Random) -> str:
    """Return a text of which some bytes are others."""
    content = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(chosen.randint(1, 5)):
        at = chosen.randrange(len(content) + 1)
        content[at : at + chosen.randint(0, 9)] = chosen.randbytes(chosen.randint(0, 9))
    return content[: chosen.choice((len(content), chosen.randrange(len(content) + 1)))].decode("utf-8", "replace")


def _text(source: str, chosen: random.Random) -> str:
    kind = chosen.random()
    if kind < 0.03:
        return chosen.randbytes(chosen.randint(0, 60)).decode("latin1")
    text = _mutated(source, chosen) if kind < 0.97 else source
    return _damaged(text, chosen) if kind > 0.9 else text


@cache
def _schema() -> dict[str, Any]:
    (version,) = crd()["spec"]["versions"]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["status"]
    return found


@cache
def _specs() -> tuple[BenchmarkSpec, ...]:
    wanted = {"shards": 1, "replicas": 0, "codec": "default", "settings": {"refresh_interval": ["1s", "2"]}}
    target = {"hosts": ["http://es:9200"], "index": wanted}
    plain = spec(repetitions=2)
    return (
        plain,
        plain,
        spec(elasticsearch={"index": wanted, "heap": "1g", "java": 21, "jvmOptions": ["-XX:+UseZGC"]}),
        BenchmarkSpec.model_validate({"target": target, "race": {"track": {"builtin": "log_ingest"}}}),
    )


def check(number: int) -> str:
    """Assert that the texts of this number are read and judged; return what came of the record."""
    chosen = random.Random(number)
    of, step = chosen.choice(_specs()), chosen.choice(STEPS)
    record = Record.from_json(_text(chosen.choice(_sources()), chosen))
    table = MachineTable.from_json(_text(_table(), chosen))
    _read_alone(record, table, chosen)
    if step == "probe" and of.target is None:
        step = "race-1"
    text = json.dumps({"stage": "done"}) if chosen.random() < 0.8 else _progress(chosen)
    status = plan(_seen(of, step, text, record, table)).status
    written = status.to_json()
    wrong = problems(written, _schema(), "status")
    assert not wrong, wrong[:5]
    size = len(json.dumps(written, allow_nan=False, ensure_ascii=False).encode())
    assert size <= MOST_STATUS_BYTES, f"a status of {size} bytes"
    BenchmarkStatus.model_validate(written)
    if record is None:
        return "no record"
    return f"{step}: {status.reason or 'goes on'}"


def _seen(of: BenchmarkSpec, step: str, progress: str, record: Record | None, table: MachineTable | None) -> Any:
    there = Children(cluster(), job(), progress, [pod("es-0"), pod("lg", "load-generator")])
    at = Step(name=step, stage="Running", since=stamp(START), job_uid="job-1")
    begun = BenchmarkStatus(phase="Racing", step=at, finished_step="smoke", start_time=stamp(START))
    records = {"race-1": good_record(), step: record} if step == "race-2" else {step: record}
    now = seen(begun, of, children=there, records=records, resources={step: table}, evictions={}, logs={})
    if step == "race-2":
        first = plan(_seen(of, "race-1", progress, good_record(), None)).status.races
        now = replace(now, status=begun.model_copy(update={"races": first}))
    return now


def _read_alone(record: Record | None, table: MachineTable | None, chosen: random.Random) -> None:
    if record is not None:
        race_span(record.tasks), task_spans(record.tasks)
        if chosen.random() < 0.1:
            record.to_json()
    if table is not None:
        if chosen.random() < 0.1:
            table.to_json()
        rows(table, "bm-race-1")
    packed = base64.b64encode(gzip.compress(chosen.randbytes(30))).decode()
    unpacked(_damaged(packed, chosen))


def _progress(chosen: random.Random) -> str:
    text = _text(Progress("2026-01-01T00:00:00Z", "racing", "bulk", 3, 1, 2).to_json(), chosen)
    found = Progress.from_json(text)
    assert found is None or (len(text) <= MAX_PROGRESS_CHARACTERS and len(found.task or "") <= 300)
    return text
