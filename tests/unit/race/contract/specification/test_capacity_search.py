"""A search finds the capacity that it was made for, says when there is none, and errs as seldom as it says."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlap_race.contract.specification.capacity_search import (
    MOST_TRIES,
    CapacityFound,
    CapacitySearch,
    End,
    ProbeOutcome,
    RateProbe,
    find_wrong_search,
    is_kept,
    next_rate,
    what_is_found,
)

WIDE = CapacitySearch(lowest=100.0, highest=1000.0, resolution=0.1)


def searched(
    search: CapacitySearch, capacity: float, spread: float, draw: random.Random
) -> tuple[list[RateProbe], CapacityFound]:
    """Return the probes of a search for `capacity`, whose noise is so many resolutions, and what they found."""
    probes: list[RateProbe] = []
    while (rate := next_rate(search, probes)) is not None:
        distance = math.log(capacity / rate) / search.width
        chance = 0.5 * (1 + math.erf(distance / spread / math.sqrt(2))) if spread else float(distance >= 0)
        probes.append(RateProbe(rate, draw.random() < chance))
    return probes, what_is_found(search, probes)


@settings(max_examples=30)
@given(capacity=st.floats(110, 900), resolution=st.sampled_from([0.02, 0.05, 0.2]))
def test_without_noise_the_capacity_is_within_the_resolution(capacity: float, resolution: float) -> None:
    search = CapacitySearch(lowest=100.0, highest=1000.0, resolution=resolution)
    probes, found = searched(search, capacity, 0.0, random.Random(0))
    assert found.end is End.FOUND and found.low is not None and found.high is not None
    assert found.low <= capacity <= found.high <= found.low * (1 + resolution) * 1.0001
    assert len(probes) <= 24 and all(100.0 <= it.rate <= 1000.0 for it in probes)


@pytest.mark.parametrize(
    ("spread", "least"),
    [(0.2, 36), pytest.param(1.0, 34, marks=pytest.mark.long), pytest.param(2.0, 32, marks=pytest.mark.long)],
)
def test_the_interval_holds_the_capacity_whatever_the_noise(spread: float, least: int) -> None:
    """Nine in ten are meant: with 40 searches, 31 or fewer are seen once in a hundred then."""
    draw, held = random.Random(7), 0
    for _ in range(40):
        capacity = math.exp(draw.uniform(math.log(130), math.log(770)))
        _, found = searched(WIDE, capacity, spread, draw)
        held += (found.low or 0.0) <= capacity <= (found.high or math.inf)
    assert held >= least


def test_a_capacity_below_the_rates_is_said_after_a_few_probes() -> None:
    probes, found = searched(WIDE, 40.0, 0.5, random.Random(1))
    assert found == CapacityFound(End.NEVER_KEPT, high=100.0) and len(probes) <= 5
    assert {probe.rate for probe in probes} == {100.0}, "nothing above is tried"


@pytest.mark.parametrize(
    ("highest", "resolution"),
    [(2.0, 0.5), (10.0, 0.02), (100.0, 0.05), (1e4, 0.01)],
)
def test_nothing_above_the_lowest_rate_is_tried_until_it_is_kept(highest: float, resolution: float) -> None:
    """Accidents at one probe of a hundred weigh more than what lies just below, where the rates are far apart."""
    search, probes = CapacitySearch(lowest=1.0, highest=highest, resolution=resolution), []
    while (rate := next_rate(search, probes)) is not None:
        probes.append(RateProbe(rate, False))
    assert {probe.rate for probe in probes} == {1.0} and len(probes) <= 5
    assert what_is_found(search, probes).end is End.NEVER_KEPT


def test_a_capacity_above_the_rates_is_said() -> None:
    probes, found = searched(WIDE, 4000.0, 0.5, random.Random(1))
    assert found == CapacityFound(End.NEVER_BROKEN, low=1000.0) and len(probes) <= 10


@pytest.mark.long
@settings(max_examples=60)
@given(resolution=st.sampled_from([0.01, 0.05, 0.1, 0.5]), further=st.floats(0, 3), place=st.floats(0.02, 0.98))
def test_between_any_two_rates_that_may_be_written_the_capacity_is_found(
    resolution: float, further: float, place: float
) -> None:
    """Rates that are no further apart than the resolution ended in NeverBroken after half of the probes had broken."""
    search = CapacitySearch(lowest=100.0, highest=100 * (1 + resolution) * 10**further, resolution=resolution, millis=1)
    assert not list(find_wrong_search(search))
    capacity = search.lowest * (search.highest / search.lowest) ** place
    _, found = searched(search, capacity, 0.0, random.Random(0))
    assert found.end is End.FOUND and (found.low or 0.0) <= capacity <= (found.high or math.inf)


def test_probes_that_contradict_each_other_leave_a_wide_interval() -> None:
    fine = CapacitySearch(lowest=100.0, highest=1000.0, resolution=0.02)
    probes, found = searched(fine, 300.0, 8.0, random.Random(3))
    assert len(probes) == MOST_TRIES and found.end is End.WIDE
    assert found.low and found.high and found.high / found.low > 1.02


def test_an_early_error_is_found_out() -> None:
    """The first probes say that 100 is too much, and all later ones that 500 is not."""
    probes = [RateProbe(100.0, False)]
    while (rate := next_rate(WIDE, probes)) is not None:
        probes.append(RateProbe(rate, rate <= 500.0))
    found = what_is_found(WIDE, probes)
    assert found.rate == pytest.approx(500.0, rel=0.1)


@pytest.mark.parametrize(
    ("outcome", "kept"),
    [
        (ProbeOutcome(50.0), True),
        (ProbeOutcome(50.1), False),
        (ProbeOutcome(None), False),
        (ProbeOutcome(10.0, failed_share=0.01), True),
        (ProbeOutcome(10.0, failed_share=0.011), False),
        (ProbeOutcome(10.0, keeps_schedule=False), False),
    ],
)
def test_what_keeps_an_objective(outcome: ProbeOutcome, kept: bool) -> None:
    assert is_kept(CapacitySearch(millis=50.0, error_rate=0.01), outcome) is kept


@given(kept=st.lists(st.booleans(), max_size=MOST_TRIES), ratio=st.floats(1.001, 1e4), wide=st.floats(0.01, 0.5))
def test_any_answers_lead_to_an_end(kept: list[bool], ratio: float, wide: float) -> None:
    search, probes = CapacitySearch(lowest=1.0, highest=ratio, resolution=max(wide, math.log(ratio) / 50)), []
    for answer in kept:
        if (rate := next_rate(search, probes)) is None:
            break
        assert search.lowest <= rate <= search.highest
        probes.append(RateProbe(rate, answer))
    if probes:
        found = what_is_found(search, probes)
        assert found.low is None or found.high is None or found.low <= found.high


@pytest.mark.parametrize(
    "wrong",
    [
        CapacitySearch(lowest=2.0, highest=1.0, millis=1.0),
        CapacitySearch(lowest=0.0, millis=1.0),
        CapacitySearch(resolution=0.0, millis=1.0),
        CapacitySearch(lowest=100.0, highest=104.9, millis=1.0),
        CapacitySearch(percentile="p42", millis=1.0),
        CapacitySearch(millis=0.0),
        CapacitySearch(millis=1.0, error_rate=1.0),
        CapacitySearch(millis=1.0, clients=0),
    ],
)
def test_what_cannot_be_looked_for(wrong: CapacitySearch) -> None:
    assert list(find_wrong_search(wrong))
    assert not list(find_wrong_search(CapacitySearch(millis=1.0)))


def test_nothing_follows_from_nothing() -> None:
    with pytest.raises(ValueError, match="no probe"):
        what_is_found(WIDE, [])
