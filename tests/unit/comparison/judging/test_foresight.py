"""What the first block shows of gates that cannot be judged: what is told, and what ends a Comparison."""

from typing import Any

import pytest
from block_world import BASELINE, OTHER, a_race, a_spec, variants

from fairlap.api.block_record import BlockRecord
from fairlap.comparison.judging.foresight import foresee

LATENCY = {"metric": "latencyP99", "margin": 5}
P99 = {"metric": "serviceTimeP99", "task": "search", "margin": 5}
SEARCHING = {
    "elasticsearch": {"version": "9.0.0"},
    "race": {
        "track": {"builtin": "log_ingest"},
        "capacity": {"task": "search", "objective": {"p99": "50ms"}, "targetThroughput": {"from": 20, "to": 500}},
    },
}
THROUGHPUT = {"metric": "throughput", "task": "search", "margin": 5}


@pytest.mark.parametrize(
    ("gates", "requests", "rates", "told", "ends"),
    [
        ([LATENCY], 1000, ({}, {}), ["full load"], True),
        ([LATENCY | {"task": "search"}], 1000, ({}, {}), ["full load"], True),
        ([LATENCY | {"task": "search"}], 1000, ({"bulk": 5.0}, {"bulk": 5.0}), ["full load"], True),
        ([LATENCY], 1000, ({"search": 5.0}, {"search": 5.0}), [], False),
        ([LATENCY], 1000, ({"search": 5.0}, {"search": 6.0}), ["full load"], False),  # the next block may ask alike
        ([LATENCY], 200, ({"search": 5.0}, {"search": 5.0}), ["368 requests"], False),
        ([LATENCY | {"task": "absent"}], 1000, ({}, {}), ["full load"], False),
        ([P99], 200, ({}, {}), ["368 requests"], False),
        ([P99], 1000, ({}, {}), [], False),
        ([LATENCY, THROUGHPUT], 1000, ({}, {}), ["full load"], False),
        ([LATENCY, THROUGHPUT | {"policy": "reportOnly"}], 1000, ({}, {}), ["full load"], True),
        ([LATENCY | {"policy": "reportOnly"}, THROUGHPUT], 1000, ({}, {}), ["full load"], False),
    ],
)
def test_what_the_first_block_shows(
    gates: list[dict[str, Any]], requests: int, rates: tuple[dict[str, float], ...], told: list[str], ends: bool
) -> None:
    metrics = {"throughput": 100.0, "serviceTimeP99": 5.0}
    races = []
    for name, paced in zip((BASELINE, OTHER), rates, strict=True):
        numbers = {(task, metric): value for metric, value in metrics.items() for task in ("search", "bulk")}
        numbers |= {(task, "latencyP99"): 6.0 for task in paced}  # a race has no latency without a rate
        races.append(a_race(name, numbers, requests=requests, rates=paced))
    found = foresee(a_spec(gates), variants(), [BlockRecord(number=1, races=races)])
    assert len(found.findings) == len(told) and bool(found.hopeless) == ends
    for text, part in zip(found.findings, told, strict=True):
        assert text.startswith("block 1 could not judge ") and part in text
    assert not ends or "full load" in found.hopeless


@pytest.mark.parametrize(
    ("why", "gates", "ends"),
    [
        (("", "the objective is not kept at the lowest rate"), [], True),
        (("the load generator was the bottleneck", ""), [{"metric": "capacity", "margin": 10}], True),
        (("", ""), [], False),
        (("", "x"), [{"metric": "capacity", "margin": 10}, {"metric": "storeBytes", "margin": 1}], False),
        (
            ("", "x"),
            [{"metric": "capacity", "margin": 10, "policy": "reportOnly"}, THROUGHPUT | {"task": "bulk"}],
            False,
        ),
    ],
)
def test_a_capacity_that_one_race_did_not_find_ends_it(
    why: tuple[str, str], gates: list[dict[str, Any]], ends: bool
) -> None:
    """A gate of capacities needs one of every race of every block."""
    races = []
    for name, reason in zip((BASELINE, OTHER), why, strict=True):
        numbers = {("bulk", "throughput"): 100.0, ("", "storeBytes"): 5e6} | (
            {} if reason else {("search", "capacity"): 300.0}
        )
        races.append(a_race(name, numbers).model_copy(update={"no_capacity": reason}))
    spec = a_spec(gates, template=SEARCHING)
    found = foresee(spec, variants(), [BlockRecord(number=1, races=races)])
    assert bool(found.hopeless) == ends and len(found.findings) == any(why)
    for name, reason in zip((BASELINE, OTHER), why, strict=True):
        assert not reason or f"(in 1 of 1 races of {name} {reason}): write rates" in found.findings[0]
