"""What is said of pairs of races, and which of them count."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parts import lines, pairs, quiet

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


@pytest.mark.parametrize(
    ("others", "seconds", "disturbed"),
    [(4.9, 10, False), (5.1, 10, True), (5.1, 80, True), (6.0, 120, False), (8, 120, True)],
)
def test_a_longer_race_allows_more_of_what_an_idle_machine_does(others: float, seconds: float, disturbed: bool) -> None:
    assert quiet.is_disturbed(others, seconds) == disturbed


def test_a_machine_that_is_never_quiet_is_given_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(quiet.time, "sleep", lambda seconds: now.append(now[-1] + seconds))
    monkeypatch.setattr(quiet.time, "monotonic", lambda: now[-1])
    monkeypatch.setattr(quiet, "busy_seconds", lambda: now[-1] * quiet.CPUS)
    with pytest.raises(SystemExit, match="end what else runs here, or give --disturbed"):
        quiet.Load(1).wait_for_quiet()
    assert now[-1] < quiet.PATIENCE_SECONDS + 2 * quiet.QUIET_SECONDS
    assert capsys.readouterr().out.count("is waited for") == 1, "told once"
    monkeypatch.setattr(quiet, "busy_seconds", lambda: 0.0)
    quiet.Load(1).wait_for_quiet()


def test_pairs_that_are_all_disturbed_are_given_up() -> None:
    quiet.once_more(quiet.MOST_DISTURBED - 1)
    with pytest.raises(SystemExit, match="3 pairs in a row were disturbed"):
        quiet.once_more(quiet.MOST_DISTURBED)
