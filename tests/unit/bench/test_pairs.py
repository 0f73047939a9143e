"""What is said of pairs of races, and which of them count."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parts import lines, pairs

RATIOS = st.lists(st.floats(0.5, 2.0), min_size=2, max_size=30)


@given(RATIOS)
def test_the_mean_is_inside_its_interval_and_more_confidence_is_wider(ratios: list[float]) -> None:
    mean, low, high = pairs.interval(ratios, pairs.T_90)
    _, lower, higher = pairs.interval(ratios, pairs.T_95)
    assert lower <= low <= mean <= high <= higher
    assert min(ratios) * 0.999 <= mean <= max(ratios) * 1.001


def test_an_interval_as_in_a_textbook() -> None:
    """Student's t of 2.02 for five degrees of freedom and 90 %; a mean of logarithms 0 and a deviation of 0.01."""
    ratios = [math.exp(step) for step in (-0.01, 0.01) * 3]
    mean, low, high = pairs.interval(ratios, pairs.T_90)
    half = 2.02 * math.sqrt(6 * 0.01**2 / 5) / math.sqrt(6)
    assert (mean, low, high) == pytest.approx((1, math.exp(-half), math.exp(half)))


def test_of_one_pair_no_interval_is_known() -> None:
    assert pairs.interval([1.5], pairs.T_90) == (1.5, 0.0, math.inf)


def test_what_some_races_lack_is_named() -> None:
    both, one = {"p50": 2.0}, {"p50": 1.0, "p99": 9.0}
    assert pairs.in_all([(both, one)]) == (["p50"], ["p99"])
    assert pairs.not_compared(["p99"])[-1] == "not compared, since not every race has it: p99"
    assert pairs.not_compared([]) == []


def test_a_stopped_run_goes_on_with_the_pairs_it_has(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "found.jsonl"
    assert lines.read(path) == []
    lines.append(path, {"pair": 1})
    with path.open("a") as out:
        out.write('{"pair": 2, "cut o')
    lines.append(path, {"pair": 3})
    assert lines.read(path) == [{"pair": 1}, {"pair": 3}]
