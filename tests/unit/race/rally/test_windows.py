"""Throughput at the edges of a task: cases worked out by hand, and any race against counting it moment by moment."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.rally.windows import LEAST_REQUESTS, Pace, parts_of, quantile


class Request(NamedTuple):
    client: int
    start: float
    seconds: float
    units: float


def pace(requests: Iterable[Request], warming: Iterable[int] = ()) -> Pace:
    found = Pace()
    for client in warming:
        found.join(client)
    for it in requests:
        found.add(it.client, it.start, it.start + it.seconds, it.units)
    return found


def back_to_back(client: int, begin: float, end: float, seconds: float, units: float) -> list[Request]:
    return [Request(client, begin + n * seconds, seconds, units) for n in range(round((end - begin) / seconds))]


def planned(client: int, per_second: float, count: int, begin: float = 0.0, seconds: float = 0.01) -> list[Request]:
    return [Request(client, begin + n / per_second, seconds, 1) for n in range(count)]


def clients(count: int, begin: float, end: float, seconds: float, units: float) -> list[Request]:
    return [it for client in range(count) for it in back_to_back(client, begin, end, seconds, units)]


RAGGED = [it for client, end in enumerate((10, 12, 14, 30)) for it in back_to_back(client, 0.0, end, 0.1, 100)]
LATE = [it for client, begin in enumerate((0.3, 4.2, 9.9)) for it in back_to_back(client, begin, 20.3, 0.1, 10)]


@pytest.mark.parametrize(
    ("requests", "median", "count"),
    [
        pytest.param(RAGGED, 4000, 10, id="clients that end at 10, 12, 14 and 30 s"),
        pytest.param(LATE, 300, 10, id="clients that begin at 0.3, 4.2 and 9.9 s"),
        pytest.param(clients(1, 0.5, 10.5, 0.1, 50), 500, 9, id="one client"),
        pytest.param(clients(80, 0.3, 30.3, 5.0, 500), 8000, 29, id="80 clients with bulks of 5 s"),
    ],
)
def test_windows_are_of_the_time_in_which_all_measured(requests: list[Request], median: float, count: int) -> None:
    found = pace(requests).windows()
    assert found is not None and found.left_out == ""
    assert found.count == count
    for value in (found.median, found.p10, found.p90, *found.over_time):
        assert value == pytest.approx(median, rel=0.01)


@pytest.mark.parametrize(
    ("requests", "requests_a_window", "rate"),
    [
        pytest.param(planned(0, 0.2, 30), 0.2, 0.2, id="a request every five seconds"),
        pytest.param(planned(0, 0.5, 30), 0.5, 0.5, id="a search every two seconds"),
        pytest.param(planned(0, 3.7, 200), 3.7, 3.7, id="3.7 a second"),
        pytest.param(clients(8, 0.2, 60.2, 5.0, 500), 1.6, 800, id="8 clients with bulks of five seconds at 800/s"),
    ],
)
def test_fewer_than_ten_requests_a_window_have_no_throughput_of_windows(
    requests: list[Request], requests_a_window: float, rate: float
) -> None:
    it = pace(requests)
    found = it.windows()
    assert found is not None and found.requests is not None
    assert found.median is found.p10 is found.p90 is None
    assert found.requests / found.count == pytest.approx(requests_a_window, rel=0.1)
    assert found.left_out.endswith("requests in a window on average, and fewer than 10 tell nothing")
    # What was done over the time says it all the same.
    assert it.rate(planned=requests[0].units == 1) == pytest.approx(rate, rel=1e-6)


def test_ten_requests_a_window_are_enough() -> None:
    it = pace(back_to_back(0, 0.5, 20.5, 0.1, 1)).windows()
    assert it is not None and (it.requests, it.count, it.median) == (190, 19, 10)
    none = pace(back_to_back(0, 0.5, 20.5, 0.102, 1)).windows()
    assert none is not None and none.median is None


def test_units_over_the_time_have_the_ragged_ends_in_them() -> None:
    assert pace(RAGGED).rate(planned=False) == pytest.approx(66_000 / 30)
    assert pace(RAGGED).duration() == pytest.approx(30)


def test_of_clients_that_end_by_the_clock_a_late_answer_takes_its_own_time_alone() -> None:
    """Seven of eight send ten a second for 30 seconds; the last request of the eighth is answered a minute later."""
    found = [it for client in range(7) for it in back_to_back(client, 0, 30, 0.1, 1)]
    found += [*back_to_back(7, 0, 29.5, 0.1, 1), Request(7, 29.5, 60.0, 0)]
    assert pace(found).rate(planned=False) == pytest.approx(2395 / 89.5, rel=0.01), "as a bulk's would be"
    assert pace(found).rate(planned=False, timed=True) == pytest.approx(70 + 295 / 89.5, rel=0.01)
    assert pace(found).client_seconds() == pytest.approx(7 * 30 + 89.5)
    slow = [it for client in range(8) for it in back_to_back(client, client / 4, 30, 2.0, 1)]
    service, clients = 2.0 * len(slow), pace(slow).client_seconds()
    assert service / clients == pytest.approx(1.0), "the gaps at begin and end are nobody's waiting"


def test_clients_hang_that_are_in_a_request_of_the_warm_up_for_longer_than_any_measured_one_takes() -> None:
    found = pace(clients(2, 10.0, 40.0, 0.1, 1) + back_to_back(2, 25.0, 40.0, 0.1, 1))
    found.join(1).warm = (9.0, 10.2)
    found.join(2).warm = (9.5, 25.0)
    found.join(3).warm = (9.5, 70.0)
    assert found.hung(0.1) == pytest.approx([15.0, 29.9]) and found.hung(8.0) == pytest.approx([29.9])
    # Others had done their warm-up long before it had done its own, request by request.
    found.join(4).warm = (24.9, 25.0)
    assert len(found.hung(0.1)) == 2 and Pace().hung(0.0) == []


@pytest.mark.parametrize(("until", "told"), [(10.4, False), (13.0, True)])
def test_what_hangs_for_little_of_the_time_of_all_clients_is_not_told(until: float, told: bool) -> None:
    found = pace(clients(2, 10.0, 40.0, 0.1, 1))
    found.join(0).warm = found.join(1).warm = (9.0, until)
    assert bool(found.hung(0.1)) is told


def test_a_planned_rate_is_that_of_its_intervals() -> None:
    eight = [it for client in range(8) for it in planned(client, 0.5, 10, begin=client / 4)]
    assert pace(eight).rate(planned=True) == pytest.approx(4.0)


@pytest.mark.parametrize("timed", [False, True])
def test_a_planned_request_alone_has_no_interval(timed: bool) -> None:
    """A hundred clients at 10/s: ten seconds have one request of each, and how long it took is no rate."""
    hundred = [Request(client, 10 + client / 10, 0.05, 1) for client in range(100)]
    assert pace(hundred).rate(planned=True, timed=timed) is None
    more = [Request(client, 20 + client / 10, 0.05, 1) for client in range(30)]
    assert pace([*hundred, *more]).rate(planned=True, timed=timed) == pytest.approx(10)
    assert pace([Request(0, 1.0, 2.0, 1)]).rate(planned=True, timed=timed) is None


def test_a_client_that_hangs_in_its_only_request_does_not_count_at_the_rate_of_the_others() -> None:
    seven = [it for client in range(7) for it in planned(client, 10, 300)]
    assert pace([*seven, Request(7, 0.0, 30.0, 1)]).rate(planned=True, timed=True) == pytest.approx(70 + 1 / 30)
    assert pace([*seven, Request(7, 29.95, 0.05, 1)]).rate(planned=True, timed=True) == pytest.approx(80)


def test_bursts_of_all_clients_have_no_throughput_of_windows() -> None:
    """Fifty clients at 20/s by Rally's own schedule: all of them at once, every 2.5 s."""
    bursts = [it for client in range(50) for it in planned(client, 0.4, 12)]
    found = pace(bursts).windows(planned=True)
    assert found is not None and found.median is found.p10 is found.p90 is None and found.count == 27
    assert found.left_out == "20 requests in a window on average, and fewer than one of each of 50 clients tell nothing"
    assert found.over_time and min(found.over_time) > 0 and pace(bursts).rate(planned=True) == pytest.approx(20)
    # Not planned, a pause of all clients is what happened.
    asked = pace(bursts).windows()
    assert asked is not None and asked.median == 0


def test_planned_bursts_have_windows_from_one_of_each_client_in_a_second() -> None:
    found = pace([it for client in range(50) for it in planned(client, 1.0, 30, 0.98, 0.05)]).windows(planned=True)
    assert found is not None and found.median == pytest.approx(50) and found.left_out == ""


@pytest.mark.parametrize(
    ("requests", "warming", "words"),
    [
        ([Request(0, 0.2, 0.5, 1)], (), "all clients measured together for 0.5 s, in which there is no full window"),
        (back_to_back(0, 0, 30, 0.1, 1), (1,), "all together: 1 of 2 clients measured nothing"),
        ([Request(0, 0.0, 2.0, 1), Request(1, 3.0, 2.0, 1)], (), "all together: one ended before the last began"),
    ],
)
def test_without_windows_it_says_why(requests: list[Request], warming: tuple[int, ...], words: str) -> None:
    found = pace(requests, warming).windows()
    assert found is not None and found.median is None and found.count == 0
    assert found.left_out.endswith(words)


def test_nothing_measured_has_nothing() -> None:
    assert pace([]).windows() is None and pace([], warming=(0, 1)).windows() is None
    assert pace([], warming=(0,)).rate(planned=False) is None and pace([]).duration() is None


def test_a_long_request_is_spread_over_its_windows() -> None:
    assert pace([Request(0, 0.0, 4.0, 400)]).units == pytest.approx({0: 100, 1: 100, 2: 100, 3: 100, 4: 0})


def test_a_pause_is_a_window_of_zero() -> None:
    found = pace([*back_to_back(0, 0.0, 1.0, 0.01, 1), *back_to_back(0, 2.0, 3.0, 0.01, 1)]).windows()
    assert found is not None and (found.count, found.p10, found.p90) == (3, pytest.approx(20, abs=0.1), 100)


def test_throughput_over_time_is_of_parts_of_ten_requests_or_more() -> None:
    assert parts_of([1.0, 3.0, 5.0, 7.0], 2) == [2.0, 6.0]
    assert parts_of([1.0, 2.0], 60) == [1.0, 2.0] and parts_of([], 60) == [] and parts_of([1.0], 0) == []
    assert len(parts_of([1.0] * 1000)) == 60
    few = pace(planned(0, 0.5, 31)).windows()
    assert few is not None and few.over_time == pytest.approx((0.5, 0.5, 0.5), abs=0.05)


RACES = st.lists(
    st.builds(
        Request,
        client=st.integers(0, 3),
        start=st.integers(0, 6000).map(lambda n: n / 1000),
        seconds=st.integers(0, 3000).map(lambda n: n / 1000),
        units=st.integers(0, 100).map(float),
    ),
    min_size=1,
    max_size=80,
)


@given(RACES, st.sets(st.integers(0, 4)))
def test_any_race_against_counting_it_moment_by_moment(requests: list[Request], warming: set[int]) -> None:
    it, found = pace(requests, warming), pace(requests, warming).windows()
    assert found is not None
    measured = {
        client: [r for r in requests if r.client == client] for client in {r.client for r in requests} | warming
    }
    if not all(measured.values()):
        assert found.median is None and found.left_out
        return
    # Whole windows at whose every moment each client is between its first start and its last end.
    firsts = [min(r.start for r in of) for of in measured.values()]
    ends = [max(r.start + r.seconds for r in of) for of in measured.values()]
    whole = [n for n in range(12) if all(first <= n and n + 1 <= end for first, end in zip(firsts, ends, strict=True))]
    rates = [sum(r.units * inside(r, n) for r in requests) for n in whole]
    count = sum(inside(r, n) for r in requests for n in whole)
    assert found.count == len(whole)
    if not whole or count < LEAST_REQUESTS * len(whole) * (1 - 1e-5):
        assert found.median is None and found.left_out
    if found.median is not None:
        assert found.median == pytest.approx(quantile(sorted(rates), 0.5), abs=0.01)
        assert found.p10 is not None and found.p90 is not None and found.p10 <= found.median <= found.p90
        assert count >= LEAST_REQUESTS * len(whole) * (1 - 1e-5)
    seconds = max(ends) - min(firsts)
    if seconds > 0:
        assert it.rate(planned=False) == pytest.approx(sum(r.units for r in requests) / seconds)


def inside(request: Request, window: int) -> float:
    """The share of a request that lies in a window, counted in thousandths of a second."""
    steps = round(request.seconds * 1000)
    if steps == 0:
        return float(math.floor(request.start) == window)
    begin = round(request.start * 1000)
    return sum(1000 * window <= at < 1000 * (window + 1) for at in range(begin, begin + steps)) / steps


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50), st.floats(0, 1))
def test_quantile_lies_between_its_neighbours(values: list[float], share: float) -> None:
    ordered = sorted(values)
    found = quantile(ordered, share)
    assert ordered[0] <= found * (1 + 1e-12) and found <= ordered[-1] * (1 + 1e-12)
