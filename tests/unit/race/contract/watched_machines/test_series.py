"""Rates, totals, peaks and levels from samples: cases worked out by hand, and properties of any samples."""

import math

from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.recorded.record import Task
from fairlap_race.contract.recorded.task_spans import race_span, task_spans
from fairlap_race.contract.watched_machines.series import Points, Span, added, grown, increase, level, peak_rate, usage


def points(*pairs):
    found = Points()
    for at, value in pairs:
        found.add(at, value)
    return found


def steady(rate, start=0, end=60, step=5):
    return points(*((at, at * rate) for at in range(start, end + 1, step)))


def test_a_steady_counter_gives_its_rate_wherever_the_span_begins():
    for start, end in ((10, 40), (11.3, 38.9), (0, 60), (2.5, 9.9)):
        grew, seconds = increase(steady(3), Span(start, end))
        assert math.isclose(grew, 3 * (end - start)) and math.isclose(seconds, end - start)


def test_a_reset_is_no_negative_growth():
    restarted = grown(points((0, 100), (5, 150), (10, 20), (15, 30)))
    assert list(restarted.value) == [0, 50, 70, 80]
    assert increase(restarted, Span(0, 15)) == (80, 15)


def test_a_span_that_is_mostly_outside_of_its_samples_is_not_guessed():
    assert increase(steady(3), Span(11, 12)) is None  # the samples around it are 5 s apart
    assert increase(steady(3), Span(50, 100)) is None  # only a fifth of it was sampled
    assert increase(steady(3), Span(100, 200)) is None
    assert increase(points((0, 1)), Span(0, 1)) is None
    assert increase(Points(), Span(0, 1)) is None


def test_a_span_that_is_sampled_for_the_most_part_tells_of_that_part():
    assert increase(steady(2, end=60), Span(40, 70)) == (40, 20)


def test_the_peak_is_the_steepest_step_and_not_a_moments_noise():
    track = points((0, 0), (5, 5), (10, 20), (10.1, 21), (15, 26), (20, 31))
    assert peak_rate(track, Span(0, 20)) == 3.0
    assert peak_rate(track, Span(14, 20)) == 1.0
    assert peak_rate(Points(), Span(0, 1)) is None


def test_the_level_of_a_gauge():
    gauge = points((0, 10), (5, 20), (10, 60), (15, 0))
    assert level(gauge, Span(0, 10)) == (30, 60)
    assert level(gauge, Span(1, 4)) == (15, 18)  # no sample inside: the line between those around it
    assert level(gauge, Span(1, 2)) is None


def test_devices_are_added_up_though_one_appears_later():
    sda, sdb = points((0, 1000), (5, 1100), (10, 1200)), points((5, 50), (10, 70))
    assert list(added([sda, sdb]).value) == [0, 100, 220]
    assert list(added([sda]).value) == [0, 100, 200]
    assert not added([]).at


def test_usage_has_minor_faults_without_the_major_ones_and_shares_below_one():
    signals = {
        "cpu_seconds": steady(1.5),
        "faults": steady(10),
        "major_faults": steady(2),
        "io_waiting": steady(1.01),
        "heap_bytes": points(*((at, 100 + at) for at in range(0, 61, 5))),
        "young_gc_count": steady(0.2),
    }
    found = usage(signals, Span(0, 60))
    assert (found.cpu_mean_cores, found.cpu_peak_cores) == (1.5, 1.5)
    assert (found.minor_faults_per_minute, found.major_faults_per_minute) == (480, 120)
    assert found.io_waiting_share == 1.0
    assert (found.heap_mean_bytes, found.heap_peak_bytes, found.young_gc_count) == (130, 160, 12)
    assert (found.seconds, found.samples) == (60, 13)
    assert found.disk_reads is None and found.throttled_periods is None and found.page_cache_mean_bytes is None


def test_a_total_is_only_told_of_a_span_that_was_sampled_nearly_as_a_whole():
    """A rate of a part is that of the whole if nothing changed; a total of a part never is."""
    signals = {"cpu_seconds": steady(1.5), "disk_write_bytes": steady(3), "throttled_seconds": steady(0.5)}
    part, nearly = usage(signals, Span(0, 72)), usage(signals, Span(0, 62))
    assert (part.cpu_mean_cores, part.disk_write_bytes, part.throttled_seconds) == (1.5, None, None)
    assert (nearly.cpu_mean_cores, nearly.disk_write_bytes, nearly.throttled_seconds) == (1.5, 180, 30)


@given(
    st.lists(st.tuples(st.floats(0.1, 20), st.floats(0, 1e6)), min_size=2, max_size=30),
    st.floats(0, 100),
    st.floats(0.1, 200),
)
def test_growth_is_never_negative_nor_more_than_everything(steps, start, seconds):
    track, at, value = Points(), 0.0, 0.0
    for pause, more in steps:
        at, value = at + pause, value + more
        track.add(at, value)
    span = Span(start, start + seconds)
    found = increase(track, span)
    if found is not None:
        grew, covered = found
        assert -1e-6 <= grew <= value * (1 + 1e-9) + 1e-6
        assert 0 < covered <= span.seconds + 1e-9
        peak = peak_rate(track, span)
        if peak is not None:
            assert peak >= 0


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=40))
def test_a_grown_counter_never_falls(values):
    track = grown(points(*((float(at), value) for at, value in enumerate(values))))
    assert all(later >= earlier for earlier, later in zip(track.value, track.value[1:], strict=False))


@given(st.lists(st.floats(0, 1e6), min_size=4, max_size=40), st.integers(1, 38))
def test_two_halves_add_up_to_the_whole(values, cut):
    cut = min(max(1, cut), len(values) - 2)
    track = grown(points(*((float(at), value) for at, value in enumerate(values))))
    last = float(len(values) - 1)
    left, right, whole = (increase(track, Span(*ends)) for ends in ((0.0, cut), (cut, last), (0.0, last)))
    assert math.isclose(left[0] + right[0], whole[0], rel_tol=1e-9, abs_tol=1e-6)


def test_not_a_number_and_the_past_are_ignored():
    track = points((1, 1), (1, 2), (0, 3), (2, math.nan), (3, 4))
    assert list(track.at) == [1, 3]


def at(second):
    return f"2026-01-01T00:00:{second:02d}.000Z"


def test_spans_are_of_the_measured_part_and_of_the_whole_race():
    tasks = (
        Task("bulk", started_at=at(1), measured_from=at(5), ended_at=at(9)),
        Task("refresh", started_at=at(10), ended_at=at(11)),
        Task("nothing"),
        Task("odd", started_at="soon", ended_at=at(12)),
    )
    assert [(s.task, s.started_at, s.span.seconds) for s in task_spans(tasks)] == [
        ("bulk", at(5), 4),
        ("refresh", at(10), 1),
    ]
    assert race_span(tasks).seconds == 11
    assert race_span(()) is None
