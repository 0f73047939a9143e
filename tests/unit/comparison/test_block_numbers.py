"""The numbers of blocks, pair by pair: ratios inside a block, and geometric means over its tasks, by hand."""

from __future__ import annotations

import math

import pytest

from fairlap.api.block_record import BlockRecord, Measured, RaceRecord
from fairlap.comparison.block_numbers import BlockNumbers


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
