"""What share of its target throughput a task reached, on plans and drifts worked out by hand and at random."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.recorded.http_record import HttpAnswers
from fairlap_race.contract.recorded.record import LoadGenerator, Task
from fairlap_race.contract.recorded.schedule_record import ScheduleRecord
from fairlap_race.contract.recorded.task_load import TaskLoad
from fairlap_race.rally.schedule import ON_TIME, Drift, judge_lateness, with_lateness


def drift(starts, planned, busy=0.01, client=0, into=None, warmed_up=None):
    found = Drift() if into is None else into
    if warmed_up is not None:
        found.join(client, warmed_up)
    for start, due in zip(starts, planned, strict=True):
        found.add(client, start, start - due, busy)
    return found


def even(count, per_second, begin=0.0):
    return [begin + n / per_second for n in range(count)]


def test_on_time():
    found = drift([n / 10 for n in range(100)], [n / 10 for n in range(100)])
    assert found.share() == 1.0 and found.busy_share(1) == pytest.approx(1 / 9.9, abs=1e-3)


def test_half_as_fast_as_planned():
    found = drift([n / 5 for n in range(100)], [n / 10 for n in range(100)], busy=0.2)
    assert found.share() == 0.5 and found.busy_share(1) == 1.0 and found.busy_share(2) == pytest.approx(0.505, abs=1e-3)


def test_a_constant_delay_is_no_drift():
    assert drift([1 + n / 10 for n in range(100)], [n / 10 for n in range(100)]).share() == 1.0


def test_random_arrivals_that_are_kept_are_kept():
    dice, planned = random.Random(3), [0.0]
    while len(planned) < 60:
        planned.append(planned[-1] + dice.expovariate(10))
    assert drift(planned, planned).share() == 1.0


def test_too_little_to_tell():
    assert drift([0, 10], [0, 1]).share() is None
    assert drift([n / 1000 for n in range(100)], [0.0] * 100).busy_share(1) is None
    assert Drift().share() is None


def test_one_request_of_each_client_has_no_rate_and_no_share():
    found = Drift()
    for client in range(20):
        drift([client / 2], [client / 2], client=client, into=found)
    assert found.share() is None and found.record() is not None
    # All planned for one moment and sent one after the other.
    assert drift(even(20, 2), [0.0] * 20).share() == 0.0


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1e4), st.floats(0, 1e3), st.floats(0, 100)), max_size=50))
def test_shares_are_shares(requests):
    found = Drift()
    for client, start, wait, busy in requests:
        found.add(client, start, wait, busy)
    for share in (found.share(), found.busy_share(4)):
        assert share is None or 0 <= share <= 1
    record = found.record()
    if record is not None:
        assert record.sent <= record.planned and 0 <= record.slow_clients <= record.clients
        assert 0 <= record.backlog_requests <= record.sent


@pytest.mark.parametrize(
    ("share", "busy", "saturated"),
    [(None, None, False), (1.0, 0.1, False), (0.98, 0.1, False), (0.9, 0.95, False), (0.9, 0.1, True)],
)
def test_late_although_free(share, busy, saturated):
    task = Task("search", schedule_share=share, client_busy_share=busy)
    assert task.keeps_schedule is (share is None or share >= 0.98)
    found = judge_lateness(LoadGenerator(), [task])
    assert found.saturated is saturated
    assert ("search (10 % busy)" in found.why) is saturated
    already = judge_lateness(LoadGenerator(saturated=True, why="used 99 %"), [task])
    assert already.saturated and already.why.startswith("used 99 %")
    (marked,) = with_lateness([task])
    assert (marked.load is not None) is saturated, "a step in which it was late is marked, and not the race alone"
    if marked.load:
        assert marked.load.saturated and marked.load.why.endswith("although its clients were free (10 % busy)")


@pytest.mark.parametrize(
    ("answers", "late", "how"),
    [
        (HttpAnswers(), 0, ""),
        (HttpAnswers(), 19, ""),
        (HttpAnswers(), 20, "2 % of them by more than 20 ms"),
        # What was dropped found no free client, however idle they were on the whole; how late the rest is, is unknown.
        (HttpAnswers(dropped=100, latency_left_out="not sent"), 900, ""),
        (HttpAnswers(dropped=100, latency_left_out="not sent", fell_behind=True), 0, "some were not sent at all"),
    ],
)
def test_whose_fault_it_is_that_k6_is_late(answers, late, how):
    plan = ScheduleRecord(1000, 1100, 8, late_requests=late)
    task = Task(
        "r", schedule_share=0.9, client_busy_share=0.05, schedule=plan, http=answers, load=TaskLoad(cpu_share=0.3)
    )
    found = judge_lateness(LoadGenerator(), [task])
    assert found.why == (f"sent requests late although its clients were free: r ({how})" if how else "")
    (marked,) = with_lateness([task])
    assert marked.load and marked.load.saturated is found.saturated is bool(how) and marked.load.cpu_share == 0.3


def test_a_standing_backlog_of_the_warm_up_is_seen() -> None:
    """Three seconds too late each, and just enough capacity to stay so: the rate is kept, the latencies are not."""
    planned = even(400, 20.0)
    found = drift([due + 3.0 for due in planned], planned, warmed_up=3.0)
    record = found.record()
    assert found.share() == 1.0
    assert record is not None and record.has_backlog and not record.has_slow_client
    assert (record.backlog_requests, record.sent, record.backlog_seconds) == (400, 400, pytest.approx(3.0))
    assert not Task("search", schedule_share=1.0, schedule=record).keeps_schedule


@pytest.mark.parametrize(("drained", "said"), [(300, True), (40, True), (39, False), (0, False)])
def test_a_backlog_that_is_worked_off_counts_as_long_as_it_lasts(drained: int, said: bool) -> None:
    planned = even(400, 20.0)
    waits = [2.0 * (drained - n) / drained if n < drained else 0.0 for n in range(400)]
    record = drift([due + wait for due, wait in zip(planned, waits, strict=True)], planned, warmed_up=2.0).record()
    assert record is not None and record.backlog_requests <= drained
    assert record.has_backlog is said or drained - record.backlog_requests == 1


def test_a_wait_that_arises_while_it_is_measured_is_latency_not_backlog() -> None:
    planned = even(400, 20.0)
    record = drift([due + (3.0 if n > 20 else 0.0) for n, due in enumerate(planned)], planned, warmed_up=0.0).record()
    assert record is not None and record.backlog_requests == 0


def test_without_a_warm_up_nothing_waits_for_it() -> None:
    planned = even(400, 20.0)
    record = drift([due + 3.0 for due in planned], planned).record()
    assert record is not None and record.backlog_requests == 0


def test_clients_that_begin_all_at_once_have_no_backlog() -> None:
    """A hundred with one request a second each, which one process sends one after the other, 0.36 ms apart."""
    found = Drift()
    for client in range(100):
        planned = even(30, 1.0, 5.0)
        found.join(client, 4.05)
        drift([due + client * 0.00036 for due in planned], planned, client=client, into=found)
    record = found.record()
    assert record is not None and record.backlog_requests == 0 and not record.has_backlog
    assert Task("search", schedule_share=found.share(), schedule=record).keeps_schedule


def eight(slow: float, seconds: float = 60.0, per_second: float = 5.0) -> Drift:
    """Seven clients that keep their plan for a time, and one that sends `slow` of its requests in it."""
    found = Drift()
    for client in range(7):
        planned = even(int(seconds * per_second), per_second)
        drift(planned, planned, client=client, into=found)
    count = int(seconds * per_second * slow)
    return drift(
        even(count, per_second * slow), even(count, per_second), busy=1 / (per_second * slow), client=7, into=found
    )


def test_one_slow_client_of_eight_is_seen() -> None:
    found = eight(0.25)
    record = found.record()
    assert record is not None
    assert found.share() == pytest.approx(0.906, abs=0.002)
    assert (record.sent, record.planned) == (7 * 300 + 75, pytest.approx(8 * 300, abs=5))
    assert (record.clients, record.slow_clients) == (8, 1)
    assert record.slowest_share == pytest.approx(0.25, abs=0.001)
    # It was that client that had too much to do, not the load generator.
    task = Task("search", schedule_share=found.share(), client_busy_share=found.busy_share(8), schedule=record)
    assert not task.keeps_schedule and not judge_lateness(LoadGenerator(), [task]).saturated


def test_eight_clients_that_keep_their_plan() -> None:
    found = eight(1.0)
    record = found.record()
    assert record is not None and found.share() == 1.0 and record.sent == record.planned == 2400
    assert record.slow_clients == 0 and not record.has_slow_client and not record.has_backlog
    assert Task("search", schedule_share=1.0, schedule=record).keeps_schedule


def test_a_client_that_hangs_in_one_request_is_slow() -> None:
    found = Drift()
    for client in range(7):
        drift(even(300, 5.0), even(300, 5.0), client=client, into=found)
    found.add(7, 0.0, 0.0, 0.1)
    found.add(7, 0.2, 0.0, 59.5)
    record = found.record()
    assert record is not None and record.slow_clients == 1 and record.has_slow_client
    assert (record.sent, record.planned) == (2102, pytest.approx(2400, abs=5))
    assert record.slowest_busy_share == pytest.approx(1.0, abs=0.01)


def seven_and_one_of_the_warm_up(end: float) -> Drift:
    """Seven clients that keep their plan for a minute from 10 on, and one with a request of the warm-up until `end`."""
    found = Drift()
    for client in range(7):
        found.join(client, 9.9)
        drift(even(300, 5.0, 10.0), even(300, 5.0, 10.0), client=client, into=found)
    found.join(7, 1.0)
    found.join(7, end)
    return found


@pytest.mark.parametrize(("end", "planned"), [(69.8, 2400), (500.0, 2400), (40.0, 2250)])
def test_a_client_that_hangs_since_the_warm_up_is_slow(end: float, planned: int) -> None:
    found = seven_and_one_of_the_warm_up(end)
    record = found.record()
    assert record is not None and found.share() == pytest.approx(2100 / planned, abs=0.002)
    assert (record.sent, record.planned, record.clients) == (2100, pytest.approx(planned, abs=3), 8)
    assert (record.slow_clients, record.slowest_share, record.slowest_busy_share) == (1, 0.0, 1.0)
    task = Task("search", schedule_share=found.share(), client_busy_share=found.busy_share(8), schedule=record)
    assert not task.keeps_schedule and not judge_lateness(LoadGenerator(), [task]).saturated


@pytest.mark.parametrize("end", [2.0, 10.1])
def test_a_client_that_was_done_in_the_warm_up_is_none_of_them(end: float) -> None:
    found = seven_and_one_of_the_warm_up(end)
    record = found.record()
    assert record is not None and found.share() == 1.0 and record.clients == 7 and not record.has_slow_client
    assert Drift(warmed_up={0: 99.0}).record() is None and Drift(warmed_up={0: 99.0}).share() is None


@given(
    st.lists(
        st.tuples(st.integers(10, 60), st.integers(1, 20), st.integers(0, 1 << 32)),
        min_size=1, max_size=5,
    )
)  # fmt: skip
def test_any_plan_against_counting_it_request_by_request(clients: list[tuple[int, int, int]]) -> None:
    """Plans with an even interval (in hundredths of a second), how long requests take, and by how much all are late."""
    found, sent, due, behind = Drift(), 0, 0, 0
    for client, (count, interval, seed) in enumerate(clients):
        dice, slowness, late = random.Random(seed), seed % 3 * 0.1, seed % 4 * 0.0123
        planned = [n * interval / 100 for n in range(count)]
        starts, free, waits = [], dice.uniform(-1, 1), True
        found.join(client, free)
        for at in planned:
            start, busy = max(at + late, free), dice.uniform(0, slowness)
            waits = waits and at < free and start - at > ON_TIME
            behind += waits
            found.add(client, start, start - at, busy)
            starts.append(start)
            free = start + busy
        sent += count
        # Its plan goes on beyond its last request: each moment of it until then counts, the first is the first start.
        until = starts[-1] - starts[0] + 1e-9
        due += max(count, sum(n * interval / 100 <= until for n in range(int(100 * until) + 2)))
    record = found.record()
    if record is None:
        return
    assert record.sent == sent
    assert abs(record.planned - due) <= len(clients)
    assert abs(record.backlog_requests - behind) <= len(clients)


@pytest.mark.parametrize(("busy", "saturated"), [(0.1, True), (0.95, False)])
def test_a_slow_client_that_was_free_is_the_load_generators_fault(busy: float, saturated: bool) -> None:
    plan = ScheduleRecord(1000, 1100, 8, 1, 0.25, busy)
    task = Task("search", schedule_share=0.99, client_busy_share=0.2, schedule=plan)
    assert judge_lateness(LoadGenerator(), [task]).saturated is saturated
