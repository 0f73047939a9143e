"""The numbers of blocks, pair by pair: ratios inside a block, and geometric means over its tasks, by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.api.block_record import BlockRecord, Measured, RaceRecord
from fairlap.api.comparison_spec import GateSpec
from fairlap.comparison.judging.gate_words import gate_title, left_out_sentence
from fairlap.comparison.numbers.block_numbers import BlockNumbers, Pairs, are_alike


def block(number: int, baseline: tuple[float, ...], contender: tuple[float, ...]) -> BlockRecord:
    """Return a block with the service times of tasks 0, 1 …"""
    races = [
        RaceRecord(
            variant=name,
            benchmark=name,
            numbers=[Measured(task=str(task), metric="serviceTimeP50", value=ms) for task, ms in enumerate(values)],
        )
        for name, values in (("a", baseline), ("b", contender))
    ]
    return BlockRecord(number=number, races=races)


def test_a_ratio_is_taken_inside_each_block() -> None:
    pairs = BlockNumbers([block(1, (100,), (110,)), block(2, (8.0,), (4.0,))], "a").pairs("b", "0", "serviceTimeP50")
    assert pairs.cost_ratios(more_is_better=False) == pytest.approx([math.log(1.1), -math.log(2)])
    assert pairs.cost_ratios(more_is_better=True) == pytest.approx([-math.log(1.1), math.log(2)])


def test_geometric_means_are_taken_inside_each_block() -> None:
    blocks = [
        block(1, (1.0, 10.0), (math.exp(0.1), 10 * math.exp(0.3))),
        block(2, (2.0, 7.0), (2 * math.exp(0.2), 7.0)),
    ]
    pairs = BlockNumbers(blocks, "a").pairs("b", "", "serviceTimeP50")
    assert pairs.cost_ratios(more_is_better=False) == pytest.approx([0.2, 0.1]) and pairs.tasks == ("0", "1")


@pytest.mark.parametrize(("baseline", "contender"), [(0, 1), (1, 0), (-1, 2), (math.nan, 1), (1, math.inf)])
def test_what_has_no_ratio(baseline: float, contender: float) -> None:
    pairs = BlockNumbers([block(1, (baseline,), (contender,))], "a").pairs("b", "0", "serviceTimeP50")
    assert pairs.obstacle and not pairs.cost_ratios(more_is_better=False)


def used(*sources: tuple[str, str]) -> BlockNumbers:
    """Return blocks in which two variants wrote to the disk as sources tell, "" for none."""
    of_race, written = {"task": "", "metric": "diskWriteBytes"}, {"a": 1e6, "b": 2e6}
    blocks = [
        BlockRecord(
            number=number,
            races=[
                RaceRecord(
                    variant=name, benchmark=name, numbers=[Measured(value=written[name], **of_race)],
                    sources={"disk": source} if source else {},
                )
                for name, source in zip(written, told, strict=True)
            ],
        )
        for number, told in enumerate(sources, 1)
    ]  # fmt: skip
    return BlockNumbers(blocks, "a")


def test_numbers_of_two_sources_are_not_compared() -> None:
    """A device's bytes beside a container's are a factor of many that no variant has made."""
    mixed = used(("prometheus", "nodeStats"), ("prometheus", "prometheus")).pairs("b", "", "diskWriteBytes")
    assert not mixed.baseline and "told by prometheus in some races and by nodeStats in others" in mixed.obstacle
    old = used(("prometheus", "prometheus"), ("", "")).pairs("b", "", "diskWriteBytes")
    assert len(old.baseline) == 2 and not old.obstacle, "a record from before does not say whose its numbers are"


def counted(**units: tuple[str, str]) -> BlockNumbers:
    """Return two blocks with the throughput of each task, told in a unit by each variant."""
    races = [
        RaceRecord(
            variant=name,
            benchmark=name,
            numbers=[
                Measured(task=task, metric="throughput", value=10.0, unit=told[place]) for task, told in units.items()
            ],
        )
        for place, name in enumerate("ab")
    ]
    return BlockNumbers([BlockRecord(number=number, races=races) for number in (1, 2)], "a")


def test_throughputs_of_two_units_are_not_compared() -> None:
    numbers = counted(bulk=("docs/s", "MB/s"), search=("pages/s", "pages/s"))
    alone = numbers.pairs("b", "bulk", "throughput")
    assert not alone.baseline and "told in docs/s in some races and in MB/s in others: have" in alone.obstacle
    mean = numbers.pairs("b", "", "throughput")
    assert (mean.tasks, mean.unit, mean.left_out) == (("search",), "pages/s", {"bulk": "units"})
    gate = GateSpec(metric="throughput", margin=5)
    assert left_out_sentence(gate, mean, ()).endswith("leaves out: bulk (told in different units)")
    none = counted(bulk=("docs/s", "MB/s"), search=("pages/s", "ops/s")).pairs("b", "", "throughput")
    assert not none.baseline and "in docs/s in some races" in none.obstacle


@pytest.mark.parametrize(
    ("rates", "tasks", "left_out"),
    [
        (({}, {}), ("bulk", "search"), {}),
        (({"search": 50.0}, {"search": 50.0}), ("bulk",), {"search": "paced"}),
        (({"search": 50.0}, {"search": 60.0}), ("bulk", "search"), {}),
        (({"search": 50.0}, {}), ("bulk", "search"), {}),
    ],
)
def test_a_rate_that_was_asked_for_in_all_races_is_in_no_mean_throughput(
    rates: tuple[dict[str, float], ...], tasks: tuple[str, ...], left_out: dict[str, str]
) -> None:
    races = [
        RaceRecord(
            variant=name, benchmark=name, target_throughput=asked,
            numbers=[Measured(task=task, metric=metric, value=10.0) for task in ("bulk", "search")
                     for metric in ("throughput", "serviceTimeP50")],
        )
        for name, asked in zip("ab", rates, strict=True)
    ]  # fmt: skip
    numbers = BlockNumbers([BlockRecord(number=1, races=races)], "a")
    mean = numbers.pairs("b", "", "throughput")
    assert (mean.tasks, mean.left_out) == (tasks, left_out)
    assert numbers.pairs("b", "search", "throughput").baseline == (10.0,), "by its name it is told"
    assert numbers.pairs("b", "", "serviceTimeP50").tasks == ("bulk", "search")


RATES = st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=5)


@given(RATES, st.floats(0.01, 1.0))
def test_a_rate_is_kept_where_both_kept_it_alike_in_the_mean(kept: list[float], by: float) -> None:
    slower = [by * each for each in kept]
    for both in ((kept, slower), (slower, kept)):
        assert are_alike(*both) == (by > 0.98) or by == pytest.approx(0.98)


def test_what_was_not_measured_in_both_kept_no_rate() -> None:
    assert not are_alike([], []) and not are_alike([1.0], []) and not are_alike([1.0], [0.0])


def test_a_record_that_tells_no_unit_is_compared_in_that_of_the_others() -> None:
    pairs = counted(bulk=("", "docs/s")).pairs("b", "bulk", "throughput")
    assert pairs.baseline == (10.0, 10.0) and pairs.unit == "docs/s"
    assert counted(bulk=("docs/s", "docs/s"), search=("", "")).pairs("b", "", "throughput").unit == "ops/s"


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("prometheus", "bytes written to disk"), ("", "bytes written to disk"),
        ("nodeStats", "bytes written to disk (the whole device, whoever wrote)"),
    ],
)  # fmt: skip
def test_what_a_device_wrote_is_called_so(source: str, title: str) -> None:
    pairs = used((source, source), (source, source)).pairs("b", "", "diskWriteBytes")
    assert pairs.baseline == (1e6, 1e6) and not pairs.obstacle
    assert gate_title(GateSpec(metric="diskWriteBytes", margin=5), pairs) == title


def test_what_a_device_wrote_in_turn_has_its_cure() -> None:
    without = [RaceRecord(variant=name, benchmark=name) for name in "ab"]
    nothing = BlockNumbers([BlockRecord(number=1, races=without)], "a").pairs("b", "", "diskWriteBytes")
    assert "prometheus.url of the chart knows" in nothing.obstacle


def test_a_gate_on_the_cpu_of_a_task_in_parallel_says_why_there_is_none() -> None:
    pairs = BlockNumbers([block(1, (1.0,), (1.0,))], "a").pairs("b", "0", "cpuSecondsPerOperation")
    assert "task 0 does not have it in every race of both" in pairs.obstacle
    assert "other tasks ran at the same time" in pairs.obstacle and "a step of its own in the track" in pairs.obstacle
    gate = GateSpec.model_validate({"metric": "cpuSecondsPerOperation", "margin": 5})
    left_out = left_out_sentence(gate, Pairs(tasks=("1",), left_out={"0": "absent"}), ())
    assert left_out.endswith("leaves out: 0 (not measured in every race of both, or beside other tasks)")


def test_the_share_of_failed_requests_is_that_of_blocks_in_which_both_tell_it() -> None:
    told: list[tuple[dict[str, float] | None, dict[str, float] | None]] = [
        (None, None), ({"t": 0.5}, None), ({}, {"t": 0.04}), ({"t": 0.02}, {"t": 0.06}),
    ]  # fmt: skip
    blocks = [
        BlockRecord(
            number=number,
            races=[
                RaceRecord(variant=name, benchmark=name, failed_shares=it) for name, it in zip("ab", both, strict=True)
            ],
        )
        for number, both in enumerate(told, 1)
    ]
    assert BlockNumbers(blocks, "a").failed_shares("b", "t") == pytest.approx((0.01, 0.05))
    assert BlockNumbers(blocks[:2], "a").failed_shares("b", "t") == (0.0, 0.0)
    assert BlockNumbers(blocks, "a").failed_shares("c", "t") == (0.0, 0.0)
    assert BlockNumbers([], "a").failed_shares("b", "t") == (0.0, 0.0)
