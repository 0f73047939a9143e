"""What a Comparison will take, and what finished ones have shown of noise."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest
from block_world import BASELINE, OTHER, a_spec, drawn
from hypothesis import given
from hypothesis import strategies as st
from statuses import benchmark

from fairlap.api.block_record import BlockRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.machine_status import MachineEvidence
from fairlap.api.status import BenchmarkStatus, Environment, RaceStatus
from fairlap.comparison.facts.race_facts import facts, record_facts
from fairlap.comparison.noise.expectation import calibrated_every, expect
from fairlap.comparison.noise.noise_store import (
    KEY_NOISE,
    MOST_ENTRIES,
    MOST_KEYS,
    Shown,
    decode_noise,
    encode_noise,
    learn,
    learnt,
    noise_key,
    priors,
    priors_for,
    race_seconds,
    race_seconds_for,
)
from fairlap.statistics.moderation import Prior
from fairlap_race.contract.recorded.record import EnvironmentRecord, LoadGeneratorHost, Node, Record

NOW = datetime(2026, 11, 1, tzinfo=UTC)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


class Subject(NamedTuple):
    spec: ComparisonSpec


class Seen(NamedTuple):
    subject: Subject
    records: dict[int, BlockRecord | None] | None
    now: datetime


def raced(seed: int, machine: str = "m", noise: float = 0.02) -> list[BlockRecord]:
    blocks = drawn(random.Random(seed), 5, {BASELINE: 0.0, OTHER: 0.1}, noise=noise)
    for race in (race for block in blocks for race in block.races):
        race.facts["ran: load generator's kernel"] = machine
    return blocks


def test_what_it_will_take() -> None:
    found = expect(a_spec(), ["a", "b"], 60.0, {"throughput mean": Prior(0.0004, 4), "storeBytes": Prior(1e-8, 4)})
    assert found.blocks == [3, 5, 7, 10] and found.races == 2 * 10 + 10 and found.minutes == 30
    assert found.smallest_change == pytest.approx(2.91, abs=0.01)
    rough = expect(a_spec(), ["a", "b"], None, None)
    assert rough.minutes is None and rough.smallest_change is None
    long = expect(a_spec(design={"stop": "fixed", "blocks": 4}), ["a", "b", "c"], 3600.0, {})
    assert long.blocks == [4] and long.races == 3 * 4 + 2
    together = expect(a_spec(design={"kind": "Duet", "stop": "fixed", "blocks": 4}), ["a", "b", "c"], 600.0, {})
    assert (together.races, together.minutes) == (3 * 4 + 4, 40), "those of a block take as long as one"


GATES = ({"metric": "serviceTimeP50", "task": "search", "margin": 5}, {"metric": "storeBytes", "margin": 2},
         {"metric": "segments"})  # fmt: skip
STORE = {"storeBytes": Prior(1e-10, 4)}


@pytest.mark.parametrize(
    ("gates", "known", "change"),
    [
        (GATES, STORE, None),
        (GATES, STORE | {"serviceTimeP50": Prior(1e-12, 4)}, 0.00128),
        (GATES[1:], STORE, 0.00114),
        ((), STORE, 0.00143),
    ],
)
def test_no_change_is_promised_for_a_declared_gate_of_unknown_noise_and_a_small_one_is_not_none(
    gates: Sequence[Mapping[str, Any]], known: Mapping[str, Prior], change: float | None
) -> None:
    """Default gates that nothing is known of are left out, as of a verdict."""
    assert expect(a_spec(gates), ["a", "b"], None, known).smallest_change == change


@pytest.mark.parametrize(
    ("more", "seconds", "every"),
    [({}, 60, 1), ({}, 1000, 3), ({}, None, 1), ({"calibrate": False}, 60, 0), ({"calibrateEvery": 2}, 5000, 2)],
)
def test_how_often_the_baseline_meets_itself(more: dict[str, Any], seconds: float | None, every: int) -> None:
    assert calibrated_every(a_spec(**more), seconds) == every


def test_noise_is_learnt_and_found_again() -> None:
    data: dict[str, Any] = {}
    spec = a_spec()
    for number in range(4):
        kept = learnt(data, Seen(Subject(spec), dict(enumerate(raced(number))), NOW + timedelta(days=number)))
        assert kept is not None
        data = dict(kept)
    later = NOW + timedelta(days=5)
    found = priors(data, Seen(Subject(spec), dict(enumerate(raced(9))), later))
    assert found["throughput"].variance == pytest.approx(2 * 0.02**2, rel=0.7) and found["throughput"].df <= 4
    assert found["throughput mean"].variance < found["throughput"].variance
    assert priors(data, Seen(Subject(spec), None, later)) == found, "before the first race: what was raced on last"
    assert priors(data, Seen(Subject(spec), dict(enumerate(raced(9, "other"))), later)) == {}
    assert priors(data, Seen(Subject(a_spec(design={"stop": "fixed", "blocks": 3})), None, later)) == found
    assert priors(data, Seen(Subject(spec), None, NOW + timedelta(days=40))) == {}


def test_a_rate_that_was_asked_for_teaches_nothing_of_what_runs_as_fast_as_it_can() -> None:
    """Its throughput has hardly any noise, and shares a family with the others'."""
    chosen = random.Random(1)
    blocks = drawn(chosen, 5, {BASELINE: 0.0, OTHER: 0.0}, metrics=["throughput"], tasks=["bulk"], noise=0.03)
    for race in (race for block in blocks for race in block.races):
        (bulk,) = race.numbers
        kept = {f"search{number}": 50 * chosen.lognormvariate(0, 0.0003) for number in range(5)}
        race.numbers.extend(replace(bulk, task=task, value=rate) for task, rate in kept.items())
        race.target_throughput.update(dict.fromkeys(kept, 50.0))
        race.facts["ran: load generator's kernel"] = "6.1"
    (entries,) = learn({}, a_spec(), blocks, NOW).values()
    (shown,) = [each for each in entries if each.family == "throughput"]
    assert len(shown.variances) == 1 and shown.variances[0] > 1e-4


def facts_of_a_race(
    cpu: str = "Xeon", kernel: str = "6.1", generator: str = "Xeon", others: str = "6.1", turned: bool = False
) -> dict[str, str]:
    """Return facts as they are read of a Benchmark and its record."""
    machines = [
        MachineEvidence(node="es-0", machine="m-1", cpu_model=cpu, kernel=others),
        MachineEvidence(node="load generator", machine="m-2", cpu_model="Xeon", kernel="6.1"),
    ]
    status = BenchmarkStatus(
        races=[RaceStatus(name="race-1", id="a", valid=True, elasticsearch_on=["m-1"], load_generator_on="m-2")],
        environment=Environment(version="9.0.0", machines=machines[::-1] if turned else machines),
    )
    host = LoadGeneratorHost(cores=2, kernel="6.1", cpu_model=generator)
    record = Record(environment=EnvironmentRecord(nodes=(Node(name="es-0", kernel=kernel),), load_generator=host))
    return {**facts(benchmark("es", status)), **record_facts(record)}


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"cpu": "EPYC"}, False), ({"kernel": "6.2"}, False), ({"generator": "EPYC"}, False),
        ({"others": "6.2"}, False), ({"turned": True}, True), ({}, True),
    ],
)  # fmt: skip
def test_noise_belongs_to_the_machines_that_a_race_tells_of(change: dict[str, Any], same: bool) -> None:
    blocks = raced(0)
    one, other = (
        [block.model_copy(update={"races": [race.model_copy(update={"facts": told}) for race in block.races]})
         for block in blocks]
        for told in (facts_of_a_race(), facts_of_a_race(**change))
    )  # fmt: skip
    assert (noise_key(a_spec(), one) == noise_key(a_spec(), other)) == same


def test_how_long_a_race_takes_is_learnt_and_found_again() -> None:
    spec, data = a_spec(), {}
    for number, took in enumerate((None, 100.0, 300.4321)):
        kept = learnt(data, Seen(Subject(spec), dict(enumerate(raced(number))), NOW + timedelta(days=number)), took)
        assert kept is not None
        data = dict(kept)
    later = NOW + timedelta(days=5)
    assert race_seconds(data, Seen(Subject(spec), None, later)) == pytest.approx(200.2, abs=0.01)
    assert race_seconds(data, Seen(Subject(spec), dict(enumerate(raced(9, "other"))), later)) is None
    assert race_seconds(data, Seen(Subject(spec), None, NOW + timedelta(days=40))) is None


@pytest.mark.parametrize("odd", [None, True, "60", -1, 0, 1e99, float("nan"), []])
def test_entries_without_a_time_that_is_one_keep_their_noise(odd: Any) -> None:
    """As those of an older operator."""
    entry = {"at": NOW.isoformat(), "family": "f", "df": 4, "variances": [1e-4]}
    for each in (entry, entry | {"raceSeconds": odd}):
        store = decode_noise({KEY_NOISE: json.dumps({"k/m": [each]})})
        assert store == {"k/m": (Shown(NOW, "f", (1e-4,), 4),)} and race_seconds_for(store, "k/m", NOW) is None
    timed = decode_noise({KEY_NOISE: json.dumps({"k/m": [entry | {"raceSeconds": 60}]})})
    assert race_seconds_for(timed, "k/m", NOW) == 60 and decode_noise(encode_noise(timed)) == timed


def test_learning_twice_is_learning_once() -> None:
    seen = Seen(Subject(a_spec()), dict(enumerate(raced(1))), NOW)
    once = learnt({}, seen)
    assert once is not None and learnt(once, seen) is None
    assert learnt({}, Seen(Subject(a_spec()), None, NOW)) is None


def test_learning_again_a_little_later_does_not_count_twice() -> None:
    """As an operator does that was killed after it had written the noise, and before it wrote the status."""
    key, again = noise_key(a_spec(), raced(1)), NOW + timedelta(seconds=20)
    once = learn({}, a_spec(), raced(0), NOW - timedelta(days=1))
    store = learn(learn(once, a_spec(), raced(1), NOW, 60.0), a_spec(), raced(1), again, 60.0)
    one, other = (len(each[key]) for each in (once, learn({}, a_spec(), raced(1), again)))
    assert len(store[key]) == one + other
    assert priors_for(store, key, again) == priors_for(learn(once, a_spec(), raced(1), again), key, again)


def test_noise_of_other_work_or_of_kept_clusters_is_another() -> None:
    """Kept clusters show less of it: as a history of fresh ones it would make too much sure."""
    template = {"elasticsearch": {"version": "9.0.0"}, "race": {"track": {"builtin": "log_ingest"}}}
    some = {**template, "race": {**template["race"], "includeTasks": ["search-request"]}}
    replays = [
        {**template, "race": {"track": {"builtin": "replay"}, "requests": {"configMap": {"name": name}}}}
        for name in ("mine", "yours")
    ]
    settled = {**template, "race": {**template["race"], "steady": {"maxWarmup": "5m"}}}
    kept = {"stop": "fixed", "blocks": 5, "state": "Kept"}
    specs = [
        a_spec(),
        a_spec(template=some),
        *(a_spec(template=replay) for replay in replays),
        a_spec(design={**kept, "tasks": ["search-request"]}),
        a_spec(design={**kept, "tasks": ["search-request", "search-response"]}),
        a_spec(design={"stop": "fixed", "blocks": 5, "kind": "Duet"}),
        a_spec(design={**kept, "tasks": ["search-request"], "kind": "Duet"}),
        a_spec(template=settled),
        a_spec(
            template={**template, "race": {**template["race"], "sweep": {"task": "search-request", "clients": [1]}}}
        ),
        a_spec(template={"race": {"requests": {"configMap": {"name": "mine"}}, "load": {"clients": 4}}}),
        a_spec(template={"race": {"requests": {"configMap": {"name": "mine"}}, "load": {"clients": 8}}}),
    ]
    assert len({noise_key(spec, raced(0)) for spec in specs}) == len(specs)
    store = learn(learn({}, specs[4], raced(0), NOW), specs[4], raced(1), NOW)
    assert priors_for(store, noise_key(specs[4], ()), NOW) and not priors_for(store, noise_key(specs[0], ()), NOW)


def test_the_store_is_bounded() -> None:
    store: Any = {}
    for number in range(30):
        store = learn(store, a_spec(), raced(number, f"m{number}"), NOW + timedelta(minutes=number))
    assert len(store) == MOST_KEYS and noise_key(a_spec(), raced(0, "m29")) in store
    assert noise_key(a_spec(), raced(0, "m0")) not in store
    for number in range(30):
        store = learn(store, a_spec(), raced(number), NOW + timedelta(minutes=number))
    assert len(store[noise_key(a_spec(), raced(0))]) == MOST_ENTRIES
    assert decode_noise(encode_noise(store)) == store


@given(ANYTHING, ANYTHING, ANYTHING)
def test_a_forged_store_is_read_without_harm(one: Any, two: Any, three: Any) -> None:
    entry = {"at": NOW.isoformat(), "family": "f", "df": 4, "variances": [one, 1e-4]}
    for text in (
        one,
        json.dumps(one),
        json.dumps({"k/m": [entry, entry | {"df": two}, entry | {"at": three, "raceSeconds": two}, one]}),
    ):
        found = decode_noise({KEY_NOISE: text})
        assert all(isinstance(each, Shown) for shown in found.values() for each in shown)
        priors_for(found, "k/m", NOW)
        assert (race_seconds_for(found, "k/m", NOW) or 1) > 0
