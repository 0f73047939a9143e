"""Texts that anybody may have written are read within bounds, and never raise."""

import base64
import gzip
import json
import random
import tracemalloc

import pytest

from fairlap_race.contract.codec import Bounds
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import MAX_PROGRESS_CHARACTERS, Progress, Record, Shard, Task
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.untrusted import (
    MAX_JSON_CHARACTERS,
    MAX_JSON_VALUES,
    parse_time,
    read_object,
    unpacked,
    value_count,
)
from fairlap_race.contract.watched_machines.resources import MachineTable
from fairlap_race.runner.telling.bounds import bounded

DEEP = "[" * 100_000


def record(**fields):
    return Record.from_json(json.dumps({"format": 1, "outcome": {"reason": None}, **fields}))


@pytest.mark.parametrize("text", [DEEP, '{"a":' * 100_000, "9" * 5000, '{"a":' + "9" * 5000 + "}", "\ud800", "\x00"])
def test_what_python_cannot_decode_is_no_object(text):
    assert read_object(text) is Record.from_json(text) is MachineTable.from_json(text) is None
    assert read_object(None) is read_object(7) is read_object(" " * (MAX_JSON_CHARACTERS + 1) + "{}") is None


@pytest.mark.parametrize("entry", ["[]", "{}", "[[[[{}]]]]", '{"a":{}}', '"ł"', "257", '"@":0'])
def test_a_small_text_never_becomes_much_memory(entry):
    """A record of some KiB, compressed, that would be 300 MB of empty lists: the operator may have 256."""
    count = MAX_JSON_CHARACTERS // (len(entry) + 1) - 100
    if "@" in entry:
        inner = ",".join(entry.replace("@", f"{number:x}") for number in range(MAX_JSON_VALUES + 1))
        text = f'{{"format":1,"outcome":{{"reason":null}},"left":{{{inner}}}}}'
    else:
        text = f'{{"format":1,"outcome":{{"reason":null}},"left":[{",".join([entry] * count)}]}}'
    assert len(text) <= MAX_JSON_CHARACTERS
    tracemalloc.start()
    try:
        assert Record.from_json(text) is MachineTable.from_json(text) is None
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_what_is_read_takes_bounded_memory():
    """What has the most memory a value: keys that are all different."""
    many = {f"{number:x}": 0 for number in range(MAX_JSON_VALUES - 10)}
    text = json.dumps({"format": 1, "outcome": {"reason": None}, "left": many}, separators=(",", ":"))
    del many
    tracemalloc.start()
    try:
        assert Record.from_json(text) is not None
        assert tracemalloc.get_traced_memory()[1] < 130 << 20
    finally:
        tracemalloc.stop()


def test_the_runner_writes_no_more_values_than_are_read():
    made = bounded(Record(track=TrackRecord(name="t", exposed_params=("p",) * MAX_JSON_VALUES)))
    assert made.left_out == ("the names of the track's parameters and challenges",)
    assert value_count(made.to_json()) < MAX_JSON_VALUES
    assert Record.from_json(made.to_json()) == made


@pytest.mark.parametrize("percent", [10**400, -1, 101, 1e308, float("nan"), float("inf"), "9", None])
def test_a_percentage_that_is_none_is_not_shown(percent):
    assert Progress.from_json(json.dumps({"stage": "racing", "percent": percent})).percent is None


def test_a_progress_is_short():
    assert len(Progress.from_json(json.dumps({"task": "x" * 4000})).task) == 300
    assert Progress.from_json(json.dumps({"task": "x" * MAX_PROGRESS_CHARACTERS})) is None


@pytest.mark.parametrize("letter", ["x", "é", "𝄞", "\ud800"])
def test_what_the_runner_writes_of_a_long_task_is_read(letter):
    now = "2026-01-01T00:00:00.000Z"
    found = Progress.from_json(Progress(now, "done", letter * 9000, 100, 9999, 9999, now).to_json())
    assert found.stage == "done" and len(found.task) == 200


@pytest.mark.parametrize("what", ["tasks", "shards"])
def test_the_runner_writes_no_list_that_is_not_read(what):
    entry = {"tasks": Task(), "shards": Shard()}[what]
    found = Record.from_json(bounded(Record(**{what: (entry,) * 10_001})).to_json())
    assert (found.outcome.reason is None) == (what == "shards") and found.shards is None
    assert what == "tasks" or found.left_out


@pytest.mark.parametrize(
    "text",
    ["x", "", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T00:00:00Z", "99999-01-01T00:00:00Z",
     "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T00:00:00.000Z" + " " * 20, 7, None],
)  # fmt: skip
def test_a_time_that_no_clock_has_is_none(text):
    assert parse_time(text) is None
    found = record(startedAt=text, tasks=[{"startedAt": text}])
    assert found.started_at is found.tasks[0].started_at is None


def test_a_time_is_kept_as_it_is():
    assert record(finishedAt="2026-01-01T00:00:00.000Z").finished_at == "2026-01-01T00:00:00.000Z"


def test_texts_numbers_and_depths_are_cut():
    deep = []
    for _ in range(500):
        deep = [deep]
    found = record(raceId="x" * 10_000, mode="\ud800", track={"params": {"deep": deep, "n": 10**401, "f": 1e308}})
    assert len(found.race_id) == Bounds().text and found.mode == "?"
    assert found.track.params["n"] is found.track.params["f"] is None
    depth, value = 0, found.track.params["deep"]
    while value:
        depth, value = depth + 1, value[0]
    assert depth <= Bounds().depth


def test_a_list_that_is_too_long_cannot_be_judged_by():
    found = record(tasks=[{}] * 12_000)
    assert found.outcome.reason is Reason.RECORD_MISSING and len(found.tasks) == 10_000
    assert (
        found.outcome.message == "the record is too large to be judged by: tasks has 12000 entries, and 10000 are read"
    )
    shards = record(shards=[{}] * 12_000)
    assert shards.outcome.reason is None and shards.shards is None and shards.left_out
    failed = record(tasks=[{}] * 12_000, outcome={"reason": "RaceStalled", "message": "stood"})
    assert failed.outcome.reason is Reason.RACE_STALLED
    table = MachineTable.from_json(json.dumps({"format": 1, "machines": [{}] * 12_000}))
    assert table.remarks == ("machines has 12000 entries, and 10000 are read",)


def test_of_what_has_no_type_so_many_values_are_kept_altogether():
    """Else 590,000 of them stay in memory for as long as the race is judged: 100 MB of one tenant's record."""
    params = {f"g{group}": {f"{number:x}": 1 for number in range(9900)} for group in range(30)}
    found = record(track={"params": params})
    assert sum(len(group or ()) for group in found.track.params.values()) <= Bounds().free
    assert found.track.params["g0"] == params["g0"] and found.track.params["g29"] is None
    assert found.outcome.reason is Reason.RECORD_MISSING
    assert found.outcome.message == (
        "the record is too large to be judged by: track.params.g10 has 9900 entries, and 0 are read"
    )
    fitting = dict(list(params.items())[:10])
    assert record(track={"params": fitting}).track.params == fitting


def test_of_all_texts_so_many_characters_are_kept_together():
    """Else one record holds 32 MiB for as long as it is judged: Python may hold a text at 4 bytes a character."""
    text = "x" * 4095 + "\U0001f600"
    fits = Bounds().texts // len(text)
    found = record(leftOut=[text] * fits)
    assert found.left_out == (text,) * fits and found.outcome.reason is None
    found = record(leftOut=[text] * (fits + 9))
    assert sum(map(len, found.left_out)) <= Bounds().texts and len(found.left_out) == fits + 9
    assert found.outcome.message == (
        "the record is too large to be judged by: leftOut[1024] has 4096 characters, and 0 are read"
    )
    keys = {f"{number}{text}"[:4096]: 1 for number in range(fits + 9)}
    assert sum(map(len, record(track={"params": keys}).track.params)) <= Bounds().texts


def test_an_unknown_reason_of_half_characters_is_said_in_whole_ones():
    """Else the API server stores another text than was written, and the status is never as it should be."""
    found = record(outcome={"reason": "\ud800", "message": "m"}).outcome
    assert (found.reason, found.message) == (Reason.RALLY_FAILED, "?: m")


def test_an_unknown_reason_of_any_size_is_said_shortly():
    assert len(record(outcome={"reason": ["x"] * 9000}).outcome.message) < 99
    assert len(record(outcome={"reason": "x" * 9000}).outcome.message) < 99


def test_what_is_packed_is_unpacked_within_its_bound():
    packed = base64.b64encode(gzip.compress(b"x" * 1000)).decode()
    assert unpacked(packed) == b"x" * 1000 == unpacked(packed, 1000)
    assert unpacked(packed, 999) is None
    bomb = base64.b64encode(gzip.compress(bytes(100 << 20))).decode()
    assert unpacked(bomb, 1 << 20) is None
    noise = base64.b64encode(random.Random(1).randbytes(99)).decode()
    for bad in ("", "§", "AAAA", packed[:-8], packed.replace("H", "I", 1), noise):
        assert unpacked(bad) is None
