"""Histograms: what HdrHistogram's library reads of them again, against the values themselves; and their bound."""

import random
from collections import Counter

from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.recorded.kept_samples import MAX_HISTOGRAM_CHARACTERS
from fairlap_race.rally.histograms import MOST, Times, bucket, encoded


def whole(seconds: list[float], digits: int = 3) -> HdrHistogram:
    found = HdrHistogram(1, MOST, digits)
    for each in seconds:
        found.record_value(min(MOST, max(1, round(each * 1e6))))
    return found


@given(st.lists(st.floats(0, 200_000), min_size=1, max_size=50))
def test_a_bucket_loses_nothing_that_the_histogram_would_keep(seconds):
    ours = HdrHistogram.decode(encoded(Counter(map(bucket, seconds)), 3))
    theirs = whole(seconds)
    assert ours.get_total_count() == len(seconds)
    for percentile in (0, 50, 90, 99, 99.9, 100):
        assert ours.get_value_at_percentile(percentile) == theirs.get_value_at_percentile(percentile)


def test_histograms_of_two_races_merge_to_that_of_both():
    first, second = [0.001 * n for n in range(1, 500)], [0.002 * n for n in range(1, 900)]
    merged = HdrHistogram.decode(encoded(Counter(map(bucket, first)), 3))
    merged.add(HdrHistogram.decode(encoded(Counter(map(bucket, second)), 3)))
    for percentile in (50, 90, 99, 100):
        assert merged.get_value_at_percentile(percentile) == whole(first + second).get_value_at_percentile(percentile)


def test_latency_is_left_out_where_it_is_the_service_time():
    times = Times()
    times.add(0.01, 0.01)
    found = times.record()
    assert found is not None and found.latency is None and found.digits == 3
    times.add(0.01, 0.5)
    found = times.record()
    assert found is not None and found.latency is not None
    assert abs(HdrHistogram.decode(found.latency).get_max_value() / 500_000 - 1) < 0.001


def test_times_that_scatter_over_everything_still_fit_with_fewer_digits():
    times, scattered = Times(), random.Random(1)
    for _ in range(100_000):
        seconds = 10 ** scattered.uniform(-6, 5)
        times.add(seconds, seconds * 2)
    found = times.record()
    assert found is not None and found.service_time and found.latency and 1 <= found.digits < 3
    assert max(len(found.service_time), len(found.latency)) <= MAX_HISTOGRAM_CHARACTERS
    assert HdrHistogram.decode(found.service_time).get_total_count() == 100_000


def test_nothing_measured_has_no_histogram():
    assert Times().record() is None
