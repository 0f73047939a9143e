"""The record: round trips, and tolerance where it is safe."""

import base64
import gzip
import json
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.verdict.checks import first_violation, remarks
from fairlap_race.contract.config_maps import compressed, packed, text_of
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.extended_warmup import ExtendedWarmup
from fairlap_race.contract.recorded.record import (
    MAX_ARTIFACT_BYTES,
    MAX_RECORD_BYTES,
    Counts,
    EnvironmentRecord,
    Fresh,
    IndexRecord,
    Node,
    Outcome,
    Pipeline,
    Progress,
    Rally,
    RallyNumbers,
    Record,
    Shard,
    TargetReport,
    Task,
    Throughput,
    Windows,
    timestamp,
)
from fairlap_race.contract.recorded.track_record import TrackRecord, TrackTask
from fairlap_race.contract.untrusted import MAX_JSON_CHARACTERS
from fairlap_race.runner.telling.bounds import bounded, packed_tail, scrub, shorten

ROOM = 8 * 1024
"""Bytes: what repeats itself compresses well, so little room is enough to see what is left out."""
FULL = Record(
    mode="race",
    race_id="x",
    outcome=Outcome(Reason.REQUEST_ERRORS, "no"),
    fresh=Fresh(("a",), 12),
    indices=(IndexRecord(name="a", shards=1),),
    pipelines=(),
    track=TrackRecord(
        params={"a": [1, {"b": None}]}, tasks=(TrackTask("t", reported=True),), expected_documents={"a": 3}
    ),
    tasks=(
        Task(
            task="t",
            samples=Counts(1, 2),
            rally=RallyNumbers(Throughput(1.0, 2.0, 3.0, 4.0), {"p99.9": 3.5}),
            windows=Windows(1.0, 3, 1.5, 1.0, 2.0),
            support={"p99.9": 1},
        ),
    ),
)


def test_round_trip():
    assert Record.from_json(FULL.to_json()) == FULL
    assert Record.from_json(Record().to_json()) == Record()
    assert '"serviceTimeMillis":{"p99.9":3.5}' in FULL.to_json()


@pytest.mark.parametrize("text", [None, "", "nonsense", "[]", "{}", '{"format":2}'])
def test_what_is_no_record(text):
    assert Record.from_json(text) is None


def test_reading_keeps_what_it_can():
    data = {"format": 1, "outcome": {"reason": None}, "mode": 7, "tasks": [{"task": "a"}, 3, {"task": "b", "new": 1}]}
    found = Record.from_json(json.dumps(data))
    assert found.mode == ""
    assert [task.task for task in found.tasks] == ["a", "b"]


@pytest.mark.parametrize("outcome", [{"reason": "FromTheFuture", "message": "m"}, 3, None, []])
def test_an_unknown_reason_is_never_success(outcome):
    found = Record.from_json(json.dumps({"format": 1, "outcome": outcome}))
    assert found.outcome.reason is Reason.RALLY_FAILED


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(sorted(json.loads(FULL.to_json()))), json_values))
def test_reading_never_raises(data):
    Record.from_json(json.dumps({**data, "format": 1}))


@pytest.mark.parametrize("number", [10**400, float("inf"), float("nan")])
def test_a_number_that_is_no_measure_is_unknown(number):
    data = {"format": 1, "tasks": [{"clients": number, "unitsDone": number}]}
    (task,) = Record.from_json(json.dumps(data)).tasks
    assert task.units_done is None and task.clients in (None, 10**400)


def test_of_a_record_of_before_it_is_unknown_why_a_warm_up_was_not_judged():
    data = {"format": 1, "tasks": [{"task": "t", "extendedWarmup": {"mostSeconds": 300, "settled": False}}]}
    (task,) = Record.from_json(json.dumps(data)).tasks
    assert task.extended_warmup == ExtendedWarmup(300.0) and task.extended_warmup.unjudged == ""
    known = Record(tasks=(replace(task, extended_warmup=ExtendedWarmup(300.0, unjudged="2 requests in 36 s")),))
    assert Record.from_json(known.to_json()) == known


def test_progress_round_trip():
    progress = Progress(timestamp(0), "racing", "bulk", 43, 3, 7, timestamp(1.5))
    assert Progress.from_json(progress.to_json()) == progress
    assert progress.first_request_at == "1970-01-01T00:00:01.500Z"
    assert Progress.from_json("{") is None


def test_a_record_is_kept_within_its_bound():
    big = Record(
        outcome=Outcome(Reason.RALLY_FAILED, "x" * 10_000),
        tasks=tuple(Task(task=f"t{i}" * 50, first_error="e" * 5000) for i in range(2000)),
        indices=tuple(IndexRecord(name=f"i{i}" * 50) for i in range(2000)),
        track=TrackRecord(exposed_params=tuple("p" * 100 for _ in range(2000))),
    )
    small = bounded(big, ROOM)
    assert len(compressed(small.to_json())) <= ROOM
    assert small.outcome.reason is Reason.RALLY_FAILED and len(small.outcome.message) <= 2000
    assert bounded(FULL) == FULL


def large(nodes=1, shards=1, indices=1, tasks=1, arguments=70):
    """A race that counts, on `nodes` nodes, with two copies of each shard."""
    options = ("-Xms8g", *(f"-Des.some.longer.option.{n}=its-value-is-long-too" for n in range(arguments)))
    return Record(
        mode="race",
        rally=Rally(exit_code=0),
        environment=EnvironmentRecord(
            version="9.0.0",
            nodes=tuple(
                Node(f"bm-race-1-es-default-{n}", version="9.0.0", jvm_arguments=(*options, "-XX:+UseZGC", "-Xmx8g"))
                for n in range(nodes)
            ),
        ),
        fresh=Fresh(),
        indices=tuple(IndexRecord(f"logs-{n}", shards=shards, replicas=1, documents=1000) for n in range(indices)),
        shards=tuple(
            Shard(f"logs-{index}", number, primary, "STARTED", f"bm-race-1-es-default-{number % nodes}", 1, 250_000)
            for index in range(indices)
            for number in range(shards)
            for primary in (True, False)
        ),
        pipelines=(Pipeline("logs", 1000 * indices),),
        nodes_restarted=(),
        track=TrackRecord(
            tasks=tuple(TrackTask(f"t{n}", reported=True) for n in range(tasks)),
            expected_documents={f"logs-{n}": 1000 for n in range(indices)},
            pipelines=("logs",),
        ),
        tasks=tuple(
            Task(f"t{n}", samples=Counts(0, 9), rally=RallyNumbers(Throughput(1.0, 1.0, 1.0, 1.0)))
            for n in range(tasks)
        ),
    )


def asked(nodes, shards):
    return BenchmarkSpec.model_validate(
        {
            "elasticsearch": {
                "version": "9.0.0", "nodes": nodes, "heap": "8g", "jvmOptions": ["-XX:+UseZGC"],
                "index": {"shards": shards, "replicas": 1},
            },
            "race": {"track": {"builtin": "log_ingest"}},
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sizes", "left_out"),
    [
        ({"nodes": 30, "shards": 10}, False),
        ({"nodes": 30, "shards": 1024}, True),
        ({"nodes": 50, "shards": 1024}, True),
        ({"shards": 2, "indices": 300}, False),
        ({"shards": 5, "indices": 600}, True),
        ({"tasks": 300}, False),
    ],
)
def test_a_large_race_that_counts_still_counts_from_its_record(sizes, left_out):
    big, spec = large(**sizes), asked(sizes.get("nodes", 1), sizes.get("shards", 1))
    assert first_violation(big, spec) is None
    small = Record.from_json(bounded(big, ROOM).to_json())
    assert len(compressed(small.to_json())) <= ROOM
    assert first_violation(small, spec) is None
    assert len(small.environment.nodes) == len(big.environment.nodes)
    said = [remark for remark in remarks(small, [], "") if remark.text.startswith("left out of the record")]
    assert bool(said) == bool(small.left_out) == left_out == (small.shards is None)


@settings(max_examples=25, deadline=None)
@given(
    nodes=st.integers(1, 50), shards=st.integers(1, 1024), indices=st.integers(1, 4), tasks=st.integers(1, 400),
    arguments=st.integers(0, 200), lost=st.booleans(),
)  # fmt: skip
def test_no_bound_gives_a_false_verdict(nodes, shards, indices, tasks, arguments, lost):
    big = large(nodes, min(shards, 1024 // indices), indices, tasks, arguments)
    if lost:  # what is wrong is at the end of a list
        big = replace(big, indices=(*big.indices[:-1], replace(big.indices[-1], documents=999)))
    small, spec = bounded(big, ROOM), asked(nodes, min(shards, 1024 // indices))
    assert len(compressed(small.to_json())) <= ROOM
    if small.outcome.reason is None:
        assert first_violation(small, spec) == first_violation(big, spec)
    else:
        assert small.outcome.reason is Reason.RECORD_MISSING and f"{nodes} nodes" in small.outcome.message


def measured(number, chance):
    """A task with numbers that do not repeat themselves, as Rally gives them."""
    times = {key: chance.lognormvariate(3, 1) for key in ("p50", "p90", "p99", "p100", "mean")}
    return Task(
        f"search-{number}", f"op-{number}", "search", "ops/s", 4,
        started_at=timestamp(number * 60 + chance.random()), ended_at=timestamp(number * 60 + 50 + chance.random()),
        duration_seconds=chance.uniform(40, 50), samples=Counts(50, chance.randint(200, 9999)),
        rally=RallyNumbers(
            Throughput(*(chance.uniform(900, 1100) for _ in range(4))),
            {key: value * chance.random() for key, value in times.items()},
            {key: value * chance.random() for key, value in times.items()}, times, 0.0,
        ),
        units_done=chance.uniform(1e4, 1e6), windows=Windows(1.0, 40, *(chance.uniform(900, 1100) for _ in range(3))),
        support={key: chance.randint(2, 5000) for key in ("p50", "p90", "p99")},
    )  # fmt: skip


def test_a_track_of_two_thousand_tasks_gives_a_record_that_says_what_is_left_out():
    chance = random.Random(1)
    tasks = tuple(measured(number, chance) for number in range(2000))
    about = TrackRecord(tasks=tuple(TrackTask(task.task, task.operation, "search", 4, reported=True) for task in tasks))
    big = replace(large(), tasks=tasks, track=replace(about, pipelines=("logs",), expected_documents={"logs-0": 1000}))
    small, spec = bounded(big), asked(1, 1)
    assert len(compressed(big.to_json())) > MAX_RECORD_BYTES >= len(compressed(small.to_json()))
    assert small.left_out == ("where the copies of the shards were", "digits beyond the sixth of what was measured")
    read = Record.from_json(text_of({"binaryData": packed({"record.json": small.to_json()})}, "record.json"))
    assert read == small and first_violation(read, spec) is first_violation(big, spec) is None
    assert [task.task for task in read.tasks] == [task.task for task in tasks]
    for one, other in zip(read.tasks, tasks, strict=True):
        assert one.rally.service_time_millis == pytest.approx(other.rally.service_time_millis, rel=1e-5)
    assert any("digits beyond the sixth" in remark.text for remark in remarks(read, [], ""))


@settings(deadline=None)
@given(st.one_of(st.binary().map(lambda noise: base64.b64encode(noise).decode()), st.text(), st.none(), st.integers()))
def test_no_entry_of_a_record_raises(entry):
    text = text_of({"binaryData": {"record.json.gz": entry}}, "record.json")
    assert text is None or isinstance(text, str)


def test_a_reader_is_not_filled_by_a_small_record():
    bomb = packed({"record.json": "0" * (MAX_JSON_CHARACTERS + 1)})
    assert text_of({"binaryData": bomb}, "record.json") is None
    whole = "ü" * (MAX_JSON_CHARACTERS // 2)
    assert text_of({"binaryData": packed({"record.json": whole})}, "record.json") == whole
    assert text_of({"data": {"record.json": "{}"}}, "record.json") == "{}", "as earlier race images wrote it"
    assert text_of(None, "record.json") is text_of({"data": {"record.json": 1}}, "record.json") is None


def test_a_record_that_cannot_be_judged_says_so():
    small = bounded(large(indices=2000), ROOM)
    violation = first_violation(small, asked(1, 1))
    assert violation.reason is Reason.RECORD_MISSING
    assert "2000 indices" in violation.message and f"{ROOM} fit" in violation.message


def test_a_targets_many_nodes_are_all_kept():
    small = bounded(replace(large(nodes=300), target=TargetReport(cluster_name="c")), ROOM)
    assert small.outcome.reason is None and len(small.environment.nodes) == 300
    assert small.environment.nodes[0].jvm_arguments and "JVM arguments" in small.left_out[-1]


def test_shorten_keeps_both_ends():
    assert shorten("a" * 50 + "b" * 50, 21) == "a" * 8 + " ... " + "b" * 8
    assert shorten("short", 10) == "short"


def test_the_log_is_scrubbed_and_bounded(tmp_path):
    log = tmp_path / "rally.log"
    chosen = random.Random(1)
    noise = "".join(chosen.choice("0123456789abcdef") for _ in range(1_500_000))
    log.write_text(f"{noise}\nthe password is s3cret! the end\n")
    packed = base64.b64decode(packed_tail(log, ("s3cret!",)))
    assert len(packed) <= MAX_ARTIFACT_BYTES
    text = gzip.decompress(packed).decode()
    assert text.endswith("the password is ***** the end\n") and "s3cret" not in text
    assert packed_tail(tmp_path / "none", ()) is None
    assert scrub("abc", ("",)) == "abc"


def test_a_secret_is_scrubbed_as_an_error_quotes_it_too():
    for secret in ("two\nlines", "a\\b", "t\tb", "it's", "both ' and \""):
        for written in (secret, f"Invalid value {secret!r}", f"{secret}{secret!r}"):
            assert secret not in scrub(written, (secret,)) and repr(secret)[1:-1] not in scrub(written, (secret,))
    assert scrub(r"Invalid header value b'two\nlines'", ("two\nlines",)) == "Invalid header value b'*****'"


def test_settings_that_nobody_set_go_first_and_no_check_misses_them():
    chance = random.Random(2)
    noise = {f"index.key{number}": f"{chance.random()}" for number in range(300)}
    big = large()
    big = replace(
        big, indices=tuple(replace(index, defaults=noise, explicit={"index.a": "b"}) for index in big.indices)
    )
    room = len(compressed(large().to_json())) + 500
    small = bounded(big, room)
    assert small.left_out == ("the settings of the indices that nobody set",)
    assert not small.indices[0].defaults and small.indices[0].explicit == {"index.a": "b"}
    assert first_violation(small, asked(1, 1)) is None
