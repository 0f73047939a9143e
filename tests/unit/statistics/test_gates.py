"""What may be said of a gate: by table, by properties, and by a small simulation of what is promised."""

import math
import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.statistics.distributions import t_quantile
from fairlap.statistics.gates import (
    MOST_MORE_BLOCKS,
    SEQUENTIAL,
    USUAL_ALPHA,
    Gate,
    GateFinding,
    GateVerdict,
    Look,
    blocks_to_rule_out,
    fixed,
    is_flat,
    is_futile,
    is_open,
    judge_as_seen,
    more_blocks,
    over_all_blocks,
    smallest_visible,
)
from fairlap.statistics.moderation import Prior
from fairlap.statistics.paired import LARGEST_CHANGE, Estimate, paired
from fairlap.statistics.sentences import about_so_many, all_blocks_words, change_of, describe
from fairlap.wording.numerals import figure
from fairlap.wording.percentages import signed

FIVE = Gate(0.05)
MIRROR = {
    GateVerdict.IMPROVED: GateVerdict.REGRESSED,
    GateVerdict.IMPROVED_WITHIN_MARGIN: GateVerdict.REGRESSED_WITHIN_MARGIN,
    GateVerdict.REGRESSED_WITHIN_MARGIN: GateVerdict.IMPROVED_WITHIN_MARGIN,
    GateVerdict.REGRESSED: GateVerdict.IMPROVED,
}
SERIES = st.integers(3, 12).flatmap(
    lambda blocks: st.lists(st.lists(st.floats(-0.5, 0.5), min_size=blocks, max_size=blocks), min_size=1, max_size=4)
)


def spread(mean: float, by: float, blocks: int) -> list[float]:
    """Return so many log ratios around a mean, evenly spread, with exactly the standard deviation `by`."""
    raw = [number - (blocks - 1) / 2 for number in range(blocks)]
    scale = by / math.sqrt(sum(value * value for value in raw) / (blocks - 1))
    return [mean + value * scale for value in raw]


def judge(
    ratios: Sequence[Sequence[float]],
    gates: Sequence[Gate],
    looks: Sequence[Look],
    priors: Mapping[str, Prior] | None = None,
) -> list[GateFinding]:
    """Return the finding of each gate where every look that is reached has seen the first of the same blocks."""
    seen = [{look: series[: look.blocks] for look in looks if look.blocks <= len(series)} for series in ratios]
    found = judge_as_seen(seen, gates, priors)
    return [found[number] for number in range(len(gates))]


def one(series: Sequence[float], looks: Sequence[Look] | None = None, **prior: Prior) -> GateFinding:
    (found,) = judge([series], [Gate(0.05, "f")], looks or fixed(len(series)), prior)
    return found


@pytest.mark.parametrize(
    ("mean", "by", "verdict"),
    [
        (0.10, 0.02, GateVerdict.REGRESSED),
        (-0.10, 0.02, GateVerdict.IMPROVED),
        (0.045, 0.02, GateVerdict.REGRESSED_WITHIN_MARGIN),
        (-0.045, 0.02, GateVerdict.IMPROVED_WITHIN_MARGIN),
        (0.0, 0.02, GateVerdict.NO_DIFFERENCE),
        (0.02, 0.01, GateVerdict.NO_DIFFERENCE),  # real, and it does not matter
        (0.0, 0.08, GateVerdict.INCONCLUSIVE),
        (0.06, 0.08, GateVerdict.INCONCLUSIVE),
        (0.2, 0.0, GateVerdict.REGRESSED),
        (0.01, 0.0, GateVerdict.NO_DIFFERENCE),
        (0.0, 0.0, GateVerdict.NO_DIFFERENCE),
    ],
)
def test_the_verdict_of_five_blocks(mean: float, by: float, verdict: GateVerdict) -> None:
    assert one(spread(mean, by, 5)).verdict == verdict


def test_not_worse_is_more_than_not_shown_to_be_worse() -> None:
    assert one(spread(0.0, 0.02, 5)).not_worse
    assert not one(spread(0.0, 0.08, 5)).not_worse
    assert one(spread(-0.3, 0.2, 5)).not_worse, "inconclusive, and all the same no worse"


def test_without_a_look_that_was_reached_nothing_is_known() -> None:
    assert judge_as_seen([{}, {}], [FIVE, FIVE]) == {}


def test_what_one_look_settles_stays_settled() -> None:
    early = spread(0.3, 0.01, 3)
    assert one(early, SEQUENTIAL).verdict == GateVerdict.REGRESSED
    later = one([*early, -0.4, -0.4], SEQUENTIAL)
    assert (later.verdict, later.blocks) == (GateVerdict.REGRESSED, 3)


SHOWN, OF_LITTLE_NOISE = [0.040, 0.028, 0.038], {"f": Prior(0.0001, 4)}


@pytest.mark.parametrize(
    ("later", "to_rule_out", "verdict", "blocks"),
    [
        ([0.026, 0.031], False, GateVerdict.REGRESSED_WITHIN_MARGIN, 3),
        ([0.026, 0.031], True, GateVerdict.NO_DIFFERENCE, 5),
        ([0.036, 0.050], True, GateVerdict.REGRESSED_WITHIN_MARGIN, 5),
        ([0.080, 0.085], True, GateVerdict.REGRESSED, 5),
        ([0.3, 0.3], True, GateVerdict.REGRESSED_WITHIN_MARGIN, 3),  # shows nothing more, and takes nothing back
        ([-0.06] * 7, True, GateVerdict.INCONCLUSIVE, 10),  # the margin is ruled out
    ],
)
def test_a_worsening_within_the_margin_is_open_where_the_margin_is_to_be_ruled_out(
    later: list[float], to_rule_out: bool, verdict: GateVerdict, blocks: int
) -> None:
    gate = Gate(0.05, "f", to_rule_out)
    (early,) = judge([SHOWN], [gate], SEQUENTIAL, OF_LITTLE_NOISE)
    assert early.verdict == GateVerdict.REGRESSED_WITHIN_MARGIN and not early.not_worse
    assert is_open(early, gate) == to_rule_out
    (found,) = judge([[*SHOWN, *later]], [gate], SEQUENTIAL, OF_LITTLE_NOISE)
    assert (found.verdict, found.blocks) == (verdict, blocks)


RULED_OUT = [-0.0475, -0.03, -0.0125]


@pytest.mark.parametrize(
    ("later", "verdict", "blocks", "not_worse"),
    [
        ([], GateVerdict.INCONCLUSIVE, 3, True),
        ([0.045, 0.04], GateVerdict.INCONCLUSIVE, 5, True),
        ([0.08] * 7, GateVerdict.REGRESSED_WITHIN_MARGIN, 10, True),
        ([0.3] * 7, GateVerdict.REGRESSED, 10, False),
    ],
)
def test_a_margin_that_one_look_rules_out_stays_so_unless_a_worsening_of_as_much_is_shown(
    later: list[float], verdict: GateVerdict, blocks: int, not_worse: bool
) -> None:
    gate = Gate(0.05, to_rule_out=True)
    (found,) = judge([[*RULED_OUT, *later]], [gate], SEQUENTIAL)
    assert (found.verdict, found.blocks, found.not_worse) == (verdict, blocks, not_worse)
    assert is_open(found, gate) == (verdict == GateVerdict.INCONCLUSIVE), "nothing is left to be ruled out"


@given(SERIES)
def test_no_later_look_takes_a_pass_back_that_shows_no_worsening_of_the_margin(series: list[list[float]]) -> None:
    gates = [Gate(0.05, to_rule_out=True)] * len(series)
    looks = [look for look in SEQUENTIAL if look.blocks <= len(series[0])]
    for reached in range(1, len(looks)):
        earlier, later = (judge(series, gates, looks[:count]) for count in (reached, reached + 1))
        for before, now, each in zip(earlier, later, series, strict=True):
            if is_flat(each[: looks[reached - 1].blocks]):
                continue  # what had shown no noise yet is not judged there afterwards
            assert now.not_worse or not before.not_worse or now.verdict == GateVerdict.REGRESSED


def test_a_better_number_within_the_margin_is_no_worse_and_settled() -> None:
    gate, better = Gate(0.05, "f", to_rule_out=True), [-each for each in SHOWN]
    (found,) = judge([[*better, -0.026, -0.031]], [gate], SEQUENTIAL, OF_LITTLE_NOISE)
    assert (found.verdict, found.not_worse, found.blocks) == (GateVerdict.IMPROVED_WITHIN_MARGIN, True, 3)


def test_a_gate_that_is_raced_on_leaves_its_share_to_the_others_as_one_that_ended_does() -> None:
    """Also where the later look alone would not show it."""
    shown, other = [*SHOWN, 0.3, 0.3], [0.1, -0.1, 0.02, 0.05, 0.03]
    for to_rule_out in (False, True):
        gates = [Gate(0.05, "f", to_rule_out), Gate(0.05, "g")]
        one_gate, found = judge([shown, other], gates, SEQUENTIAL, OF_LITTLE_NOISE)
        assert (one_gate.verdict, one_gate.blocks) == (GateVerdict.REGRESSED_WITHIN_MARGIN, 3)
        assert (found.verdict, found.confidence) == (GateVerdict.INCONCLUSIVE, pytest.approx(1 - 0.0125))


@given(SERIES)
def test_racing_on_passes_what_ending_passes_and_takes_back_no_difference_that_matters(
    series: list[list[float]],
) -> None:
    first, *_ = series
    (ended,), (raced_on,) = (judge([first], [Gate(0.05, "", each)], SEQUENTIAL) for each in (False, True))
    if ended.verdict != GateVerdict.REGRESSED_WITHIN_MARGIN:
        assert raced_on == ended
    elif raced_on.verdict != GateVerdict.REGRESSED:
        assert raced_on.not_worse or raced_on.verdict == GateVerdict.REGRESSED_WITHIN_MARGIN
    assert raced_on.not_worse or not ended.not_worse


def test_blocks_between_two_looks_wait_for_the_next_one() -> None:
    noisy = spread(0.0, 0.1, 3)
    assert one([*noisy, 0.0], SEQUENTIAL).blocks == 3
    assert one([*noisy, 0.0, 0.0], SEQUENTIAL).blocks == 5


def test_what_was_settled_early_is_known_better_when_others_were_raced_on() -> None:
    early, late = [*spread(-0.2, 0.02, 3), -0.22, -0.18], spread(0.03, 0.03, 5)
    gates = [Gate(0.05), Gate(0.05)]
    found = judge([early, late], gates, SEQUENTIAL)
    assert [each.blocks for each in found] == [3, 5]
    all_of_it, _ = over_all_blocks([early, late], gates, SEQUENTIAL[1], tests=2)
    assert (all_of_it.blocks, all_of_it.estimate) == (5, paired(early))
    assert all_of_it.confidence == pytest.approx(1 - 0.0125 / 2), "both gates share the level of the look"
    assert found[0].low < all_of_it.low < -0.2 < all_of_it.high < found[0].high
    assert all_blocks_words(all_of_it, more_is_better=False) == (
        "; all 5 together: -18.1 % (99.4 % interval -21.9 % to -14.2 %)"
    )
    assert "+22.1 %" in all_blocks_words(all_of_it, more_is_better=True)
    assert all_blocks_words(None, more_is_better=True) == ""


@given(SERIES)
def test_what_all_blocks_say_holds_their_mean(series: list[list[float]]) -> None:
    gates = [Gate(0.05, to_rule_out=True)] * len(series)
    last = max(look for look in SEQUENTIAL if look.blocks <= len(series[0]))
    for more in over_all_blocks(series, gates, last, tests=len(series)):
        assert more.low <= more.estimate.mean <= more.high and more.blocks == last.blocks


@given(SERIES)
def test_every_gate_that_was_seen_has_a_finding_in_whatever_order_the_looks_are_given(
    series: list[list[float]],
) -> None:
    gates = [Gate(0.05)] * len(series)
    backwards = [
        {look: each[: look.blocks] for look in reversed(SEQUENTIAL) if look.blocks <= len(each)} for each in series
    ]
    assert judge_as_seen(backwards, gates) == dict(enumerate(judge(series, gates, SEQUENTIAL)))


def test_what_a_look_has_settled_stays_when_later_ones_do_not_see_it() -> None:
    shown, noisy = spread(0.3, 0.01, 3), spread(0.02, 0.2, 5)
    gates, (first, second, *_) = [Gate(0.05), Gate(0.05)], SEQUENTIAL
    found = judge_as_seen([{first: shown}, {first: noisy[:3], second: noisy}], gates)
    assert (found[0].verdict, found[0].blocks, found[1].blocks) == (GateVerdict.REGRESSED, 3, 5)
    assert found[0] == judge([shown, noisy[:3]], gates, [first])[0], "as it was told then"


def test_what_a_later_look_does_not_see_and_none_has_settled_takes_its_share_of_the_level() -> None:
    open_yet, series = spread(0.0, 0.5, 3), spread(0.1, 0.04, 5)
    gates, (first, second, *_) = [Gate(0.05), Gate(0.05)], SEQUENTIAL
    found = judge_as_seen([{first: open_yet}, {first: series[:3], second: series}], gates)
    assert found[0].blocks == 3 and found[0].verdict is GateVerdict.INCONCLUSIVE
    both = judge([[*open_yet, 0.9, -0.9], series], gates, SEQUENTIAL)
    assert found[1] == both[1], "as if it had been raced on"
    assert judge_as_seen([{}, {first: series[:3]}], gates).keys() == {1}


def test_the_intervals_of_all_looks_hold_together() -> None:
    """At each look's level they leave the true mean out in 5 % of comparisons at most, whenever one looks."""
    chosen, missed = random.Random(7), 0
    for _ in range(1500):
        series = [chosen.gauss(0.1, 0.05) for _ in range(10)]
        ends = [paired(series[: look.blocks]).interval(look.alpha) for look in SEQUENTIAL]
        missed += any(not low < 0.1 < high for low, high in ends)
    assert missed / 1500 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1500)


def test_with_more_gates_each_needs_more() -> None:
    series = spread(0.06, 0.045, 5)
    assert one(series).verdict == GateVerdict.REGRESSED
    noise = spread(0.0, 0.2, 5)
    among_eight = judge([series, *[noise] * 7], [FIVE] * 8, fixed(5))
    assert among_eight[0].verdict == GateVerdict.INCONCLUSIVE
    assert among_eight[0].confidence == pytest.approx(1 - 0.05 / 8)


def test_a_gate_without_a_difference_keeps_its_share_of_the_alarms() -> None:
    equal, series = spread(0.0, 0.001, 5), [0.0, 0.1, -0.1, 0.02, 0.01]
    found = judge([equal, series], [FIVE, FIVE], SEQUENTIAL)
    assert found[0].blocks == 3 and found[1].blocks == 5
    assert found[1].confidence == pytest.approx(1 - 0.0125 / 2)


def test_a_prior_settles_what_three_blocks_alone_cannot() -> None:
    series = spread(0.08, 0.02, 3)
    assert one(series, fixed(3)).verdict == GateVerdict.REGRESSED
    assert one(series, SEQUENTIAL).verdict == GateVerdict.INCONCLUSIVE
    assert one(series, SEQUENTIAL, f=Prior(0.00041, 4)).verdict == GateVerdict.REGRESSED


def test_a_prior_that_the_blocks_contradict_makes_nothing_surer() -> None:
    series = [0.06, 0.10, 0.14]
    assert one(series, SEQUENTIAL).verdict == GateVerdict.INCONCLUSIVE
    assert one(series, SEQUENTIAL, f=Prior(0.0001, 4)) == one(series, SEQUENTIAL)


def test_a_prior_adds_no_noise_to_a_number_without_any() -> None:
    assert one([0.03] * 3, fixed(3), f=Prior(0.1, 4)).verdict == GateVerdict.NO_DIFFERENCE


@given(SERIES)
def test_exchanging_the_arms_mirrors_the_verdicts(series: list[list[float]]) -> None:
    gates = [Gate(0.05, str(number % 2)) for number in range(len(series))]
    priors = {"0": Prior(0.001, 4)}
    there = judge(series, gates, SEQUENTIAL, priors)
    back = judge([[-ratio for ratio in each] for each in series], gates, SEQUENTIAL, priors)
    for one_way, other in zip(there, back, strict=True):
        assert other.verdict == MIRROR.get(one_way.verdict, one_way.verdict)
        assert (other.low, other.high) == pytest.approx((-one_way.high, -one_way.low))


@given(SERIES)
def test_what_a_verdict_says_is_what_its_interval_says(series: list[list[float]]) -> None:
    margin = math.log1p(0.05)
    for found in judge(series, [FIVE] * len(series), SEQUENTIAL):
        assert found.low <= found.estimate.mean <= found.high
        match found.verdict:
            case GateVerdict.NO_DIFFERENCE:
                assert -margin < found.low and found.high < margin and found.not_worse
            case GateVerdict.INCONCLUSIVE:
                assert found.low <= 0 <= found.high and found.more_blocks >= 1
            case GateVerdict.REGRESSED | GateVerdict.REGRESSED_WITHIN_MARGIN:
                assert found.low >= 0
            case _:
                assert found.high <= 0


@pytest.mark.parametrize(("mean", "by"), [(0.0, 0.06), (0.03, 0.05), (-0.08, 0.15)])
def test_so_many_more_blocks_would_settle_it(mean: float, by: float) -> None:
    before = one(spread(mean, by, 5))
    assert before.verdict == GateVerdict.INCONCLUSIVE
    more = before.more_blocks
    assert one(spread(mean, by, 5 + more)).verdict != GateVerdict.INCONCLUSIVE
    assert one(spread(mean, by, 5 + more - 1)).verdict == GateVerdict.INCONCLUSIVE


def test_the_count_of_more_blocks_is_bounded() -> None:
    assert more_blocks(paired(spread(0.0, 50.0, 5)), 5, 0.001, 0.05, 0.05) == 999


@pytest.mark.parametrize(
    ("mean", "by", "tests", "futile"),
    [(0.0, 0.4, 1, True), (0.0, 0.04, 1, False), (0.3, 0.4, 1, False), (0.3, 0.4, 8, True), (0.1, 0.4, 1, True)],
)
def test_it_ends_early_where_not_even_the_last_look_would_settle_it(
    mean: float, by: float, tests: int, futile: bool
) -> None:
    found = one(spread(mean, by, 5), SEQUENTIAL)
    assert found.verdict == GateVerdict.INCONCLUSIVE
    assert is_futile(found, 0.05, SEQUENTIAL[-1], tests) == futile


@pytest.mark.parametrize(("mean", "futile"), [(0.034, False), (0.044, False), (0.047, True)])
def test_it_ends_early_where_the_last_look_would_not_rule_the_margin_out(mean: float, futile: bool) -> None:
    (found,) = judge([spread(mean, 0.01, 5)], [Gate(0.05, "", to_rule_out=True)], [Look(5, 0.0125)])
    assert found.verdict == GateVerdict.REGRESSED_WITHIN_MARGIN
    assert is_futile(found, 0.05, SEQUENTIAL[-1], 0) == futile


def test_the_smallest_visible_change_shrinks_with_blocks_and_grows_with_noise() -> None:
    seen = [smallest_visible(0.02, blocks) for blocks in (3, 5, 7, 10)]
    assert seen == sorted(seen, reverse=True) and seen[1] == pytest.approx(0.0342, abs=0.0001)
    assert smallest_visible(0.08, 5) > smallest_visible(0.04, 5)


@pytest.mark.parametrize(("blocks", "tests"), [(2, 1), (2, 4), (3, 1), (3, 4), (3, 8), (5, 4), (10, 4)])
def test_the_smallest_visible_change_is_found_four_times_in_five(blocks: int, tests: int) -> None:
    """By races that are drawn: their mean has a normal error, their variance is chi-squared."""
    alpha, runs, draw = USUAL_ALPHA / tests, 20_000, np.random.default_rng(blocks)
    ratios = draw.normal(math.log1p(smallest_visible(0.04, blocks, alpha)), 0.04, (runs, blocks))
    t = ratios.mean(1) / (ratios.std(1, ddof=1) / math.sqrt(blocks))
    found = float((np.abs(t) > t_quantile(alpha, blocks - 1)).mean())
    assert found == pytest.approx(0.8, abs=4 * math.sqrt(0.8 * 0.2 / runs))


def test_no_noise_is_too_large_to_be_told() -> None:
    """Two blocks, twelve variants and eight gates: an interval of ten to the power of 700 is no float."""
    tests = 88
    found = judge([[0.0, 3.0]] * tests, [FIVE] * tests, fixed(2))[0]
    for more_is_better in (True, False):
        assert change_of(found, more_is_better=more_is_better)[1:] == (-1.0, LARGEST_CHANGE)
        assert "p99: cannot tell: " in describe("p99", found, 0.05, more_is_better=more_is_better)
    assert smallest_visible(10.0, 2, 0.05 / tests) == LARGEST_CHANGE


def test_false_alarms_and_missed_worsenings_stay_at_5_percent() -> None:
    """A thousand comparisons, which is what a unit test can afford; bench/error_rates.py makes many more."""
    chosen, runs = random.Random(11), 1000
    alarms = misses = raced_on = 0
    for _ in range(runs):
        same = [[chosen.gauss(0, 0.03) for _ in range(10)] for _ in range(3)]
        worse = [[chosen.gauss(math.log1p(0.05), 0.03) for _ in range(10)]]
        alarms += any(found.verdict in MIRROR for found in judge(same, [FIVE] * 3, SEQUENTIAL))
        misses += judge(worse, [FIVE], SEQUENTIAL)[0].not_worse
        raced_on += judge(worse, [Gate(0.05, to_rule_out=True)], SEQUENTIAL)[0].not_worse
    # 5 % of 1,000 is 50; above 71 in one of 1,000 runs (binomial).
    assert alarms <= 71 and misses <= 71 and raced_on <= 71


@pytest.mark.parametrize("share", [0.1, 0.01])
def test_a_history_of_far_too_little_noise_raises_no_more_alarms_than_promised(share: float) -> None:
    chosen, prior = random.Random(12), {"f": Prior(share * 0.08**2, 4)}
    same = ([chosen.gauss(0, 0.08) for _ in range(10)] for _ in range(1000))
    alarms = sum(one(series, SEQUENTIAL, **prior).verdict in MIRROR for series in same)
    assert alarms <= 71, "as above"


@pytest.mark.parametrize(
    ("mean", "by", "better_when_more", "words"),
    [
        (0.0823, 0.02, True, "x is 7.9 % lower (95 % interval -10.2 % to -5.6 %, 5 pairs)"),
        (0.0823, 0.02, False, "x is 8.6 % higher (95 % interval +5.9 % to +11.3 %, 5 pairs)"),
        (-0.7, 0.02, False, "x is 50.3 % lower (95 % interval -51.6 % to -49.1 %, 5 pairs)"),
        (
            0.045, 0.02, False,
            "x is 4.6 % higher (95 % interval +2.0 % to +7.2 %, 5 pairs): "
            "real, its size about the margin of 5 % or below",
        ),
        (
            0.0, 0.02, False,
            "x: no difference that matters: within 5 % either way (90 % interval -1.9 % to +1.9 %, 5 pairs)",
        ),
        (
            0.0, 0.06, True,
            "x: cannot tell: 0.0 % (95 % interval -7.2 % to +7.7 %, 5 pairs); "
            "about 2 more would settle it at this noise",
        ),
    ],
)  # fmt: skip
def test_sentences(mean: float, by: float, better_when_more: bool, words: str) -> None:
    assert describe("x", one(spread(mean, by, 5)), 0.05, more_is_better=better_when_more) == words


@pytest.mark.parametrize(
    ("margin", "words"),
    [
        (0.05, "within 5 % either way ("), (0.1, "within 10 % either way ("), (0.025, "within 2.5 % either way ("),
        (0.125, "within -11.1 % to +12.5 % ("), (0.5, "within -33.3 % to +50.0 % ("),
        (1.0, "within -50.0 % to +100 % ("),
    ],
)  # fmt: skip
def test_a_margin_is_told_as_it_was_written(margin: float, words: str) -> None:
    found = one(spread(0.0, margin / 10, 5))._replace(verdict=GateVerdict.NO_DIFFERENCE)
    assert words in describe("x", found, margin, more_is_better=True)


@pytest.mark.parametrize(
    ("confidence", "words"),
    [(0.95, "95 % interval"), (0.99875, "99.9 % interval"), (1 - 0.01 / 24, "99.96 % interval"),
     (1 - 1e-7, "99.99999 % interval")],
)  # fmt: skip
def test_no_interval_is_certain(confidence: float, words: str) -> None:
    found = one(spread(0.0, 0.02, 5))._replace(confidence=confidence)
    assert f"({words} " in describe("x", found, 0.05, more_is_better=True)


@pytest.mark.parametrize(
    ("value", "digits", "words"),
    [(3.44, 2, "3.4"), (99.4, 2, "99"), (210.4, 2, "210"), (12.5, 4, "12.5"), (1e6, 4, "1000000"),
     (0.00001, 4, "0.00001"), (0.0, 2, "0")],
)  # fmt: skip
def test_a_figure_has_no_exponent(value: float, digits: int, words: str) -> None:
    assert figure(value, digits) == words


@pytest.mark.parametrize(("more", "words"), [(1, "about 1"), (998, "about 998"), (999, "at least 999")])
def test_a_bound_is_not_told_as_a_number(more: int, words: str) -> None:
    assert about_so_many(more) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (-1e-6, "-0.0001 %"), (0.00049, "+0.049 %"), (0.000499, "+0.05 %"), (0.0005, "+0.1 %"), (1e-9, "+0.0000001 %"),
        (0.0, "0.0 %"), (-0.0, "0.0 %"), (3e-16, "0.0 %"), (0.9949, "+99.5 %"), (0.996, "+100 %"), (-0.05, "-5.0 %"),
    ],
)  # fmt: skip
def test_a_change_never_reads_as_none_and_none_has_no_sign(share: float, words: str) -> None:
    assert signed(share) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (-0.994, "-99.4 %"), (-0.995, "-99.5 %"), (-0.9988, "-99.9 %"), (-0.9997, "-99.97 %"),
        (-0.999999, "-99.9999 %"), (-1.0, "-100 %"), (0.9988, "+100 %"), (0.9997, "+100 %"), (9.988, "+999 %"),
    ],
)  # fmt: skip
def test_no_positive_number_falls_by_all_of_it(share: float, words: str) -> None:
    assert signed(share) == words


@given(st.floats(-1, 1e3, exclude_min=True))
def test_a_change_in_words_is_the_change_to_a_tenth_of_a_percent_or_better(share: float) -> None:
    text = signed(share)
    assert abs(float(text.removesuffix(" %")) - share * 100) <= (0.05 if share < 0.99 else 0.5) + 1e-9
    assert text != "-100 %" or share < -1 + 1e-15


@pytest.mark.parametrize(("mean", "by"), [(0.035, 0.02), (0.02, 0.05), (0.045, 0.01)])
def test_so_many_more_blocks_would_rule_a_margin_out(mean: float, by: float) -> None:
    """At the same mean and noise the interval is short enough then, and not one block before."""
    found = one(spread(mean, by, 5))
    more = blocks_to_rule_out(found, 0.05, 0.05)
    noise = found.estimate.error * math.sqrt(5)

    def rules_out(blocks: int) -> bool:
        high = Estimate(mean, noise / math.sqrt(blocks), blocks - 1).interval(0.1)[1]
        return high < math.log1p(0.05)

    assert not found.not_worse and more >= 1
    assert rules_out(5 + more) and (more == 1 or not rules_out(5 + more - 1))


def test_a_mean_next_to_the_margin_is_ruled_out_by_no_number_of_blocks() -> None:
    found = one(spread(math.log1p(0.05) - 1e-6, 0.01, 5))
    assert blocks_to_rule_out(found, 0.05, 0.05) == MOST_MORE_BLOCKS
