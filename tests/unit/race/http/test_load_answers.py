"""The lines of k6's script, folded into what a task's record says."""

import math
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.specification.http_spec import HttpLoad, HttpSpec
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec
from fairlap_race.http.k6 import make_plan
from fairlap_race.http.load_answers import LineError, LoadAnswers, percentiles, words_of
from fairlap_race.rally.histograms import bucket

HOSTS = ("one:80", "two:80")
SPEC = RaceSpec(Mode.RACE, "ns", "r", "id", hosts=HOSTS)
EPOCH = 1_700_000_000_000


def line(
    start: float, service: float, status: int = 200, *, client=0, host=0, code=0, number=0, more=0.05, opened=0
) -> str:
    """Return a line; times in milliseconds."""
    at = EPOCH + int(start)
    return f"{client},{host},{at},{start},{service},{service + more},{status},{code},{number},{opened}"


def closed(clients: int = 2, seconds: float = 4.0, warmup: float = 1.0) -> LoadAnswers:
    """Return the answers of clients that wait 10 ms for each."""
    found = LoadAnswers(HttpLoad("c", seconds, clients, None, warmup), HOSTS)
    for number in range(int((seconds + warmup) * 100)):
        for client in range(clients):
            found.add(line(number * 10.0 + client, 10.0, client=client, host=(client + number) % 2, number=number))
    return found


def test_a_closed_loop_has_the_numbers_of_its_measured_requests():
    task = closed().task()
    assert (task.task, task.type, task.unit, task.clients) == ("c", "http-request", "ops/s", 2)
    assert (task.samples.warmup, task.samples.normal) == (200, 800)
    assert task.rally is not None and task.rally.error_rate == 0
    for name in ("p50", "p90", "p99"):
        assert task.rally.service_time_millis[name] == pytest.approx(10.0, rel=0.001)
    assert task.rally.service_time_millis["mean"] == pytest.approx(10.0)
    assert task.rally.processing_time_millis["mean"] == pytest.approx(10.05)
    assert task.rate == pytest.approx(200, rel=0.01) and task.windows is not None
    assert task.windows.median == pytest.approx(200, rel=0.01)
    assert task.support == {"p50": 400, "p90": 80, "p99": 8, "p100": 1}
    assert task.schedule_share is None and task.schedule is None and task.histogram is not None
    assert task.http is not None and task.http.statuses == {"200": 800} and task.http.dropped is None
    assert [(it.host, it.requests, it.errors) for it in task.http.hosts] == [("one:80", 400, 0), ("two:80", 400, 0)]


def test_it_goes_into_a_record_and_out_of_it():
    record = Record(tasks=(closed().task(),))
    assert Record.from_json(record.to_json()) == record


def test_errors_are_counted_by_status_and_host_and_those_of_the_warmup_apart():
    found = LoadAnswers(HttpLoad("c", 4, 1, None, 1), HOSTS)
    found.add(line(0, 5, 503, host=1))
    found.add(line(1000, 5, 404))
    found.add(line(1100, 5, 302))
    found.add(line(1200, 1000, 0, code=1050, host=1))
    found.add(line(2300, 1, 0, code=1212, host=1))
    found.add(line(2400, 5, 204))
    task = found.task()
    assert (task.errors.warmup, task.errors.normal, task.first_error) == (1, 4, "HTTP 503 (two:80)")
    assert task.http is not None and task.http.statuses == {"0": 2, "204": 1, "302": 1, "404": 1}
    assert task.http.timeouts == 1 and task.http.shares["0"] == pytest.approx(0.4)
    assert [(it.requests, it.errors, it.unanswered) for it in task.http.hosts] == [(3, 2, 0), (2, 2, 2)]
    assert task.rally is not None and task.rally.error_rate == pytest.approx(0.8) and task.units_done == 1


def opened(rate: float = 100.0, *, late: float = 0.0, missing: int = 0, clients: int = 5) -> LoadAnswers:
    """Return the answers, after 20 ms each, of a plan in which every second request begins `late` (in ms)."""
    found = LoadAnswers(HttpLoad("r", 4, clients, rate, 1), HOSTS)
    for number in range(int(5 * rate) - missing):
        start = 3 + number * 1000 / rate + (late if number % 2 else 0)
        found.add(line(start, 20, client=number % clients, host=number % 2, number=number))
    return found


def test_a_pause_that_began_in_the_warm_up_is_seen_by_how_late_the_first_measured_request_is():
    found = LoadAnswers(HttpLoad("c", 30.0, 1, None, 10.0), HOSTS)
    starts = [*range(0, 9500, 100), 9500, *range(17500, 40000, 100)]
    for number, start in enumerate(starts):
        found.add(line(start, 8000 if start == 9500 else 100, number=number))
    task = found.task()
    assert (task.warmup_seconds, task.planned_warmup_seconds) == (pytest.approx(17.5), 10.0)
    assert task.duration_seconds == pytest.approx(22.5) and task.rate == pytest.approx(10.0, rel=0.01)
    assert opened().task().planned_warmup_seconds is None, "there the plan tells what is missing"


def test_an_open_loop_has_latency_from_the_planned_moment():
    task = opened(late=8.0).task()
    assert task.rally is not None and task.http is not None
    assert task.rally.service_time_millis["p90"] == pytest.approx(20, rel=0.001)
    assert task.rally.latency_millis["p90"] == pytest.approx(28, rel=0.001)
    assert task.rally.latency_millis["mean"] == pytest.approx(24, rel=0.001)
    assert task.schedule_share == 1 and task.http.dropped == 0 and task.http.latency_left_out == ""
    assert task.rate == pytest.approx(100, rel=0.01) and task.client_busy_share == pytest.approx(0.4, rel=0.01)
    assert task.keeps_schedule and task.histogram is not None and task.histogram.latency is not None
    assert task.schedule is not None and task.schedule.late_requests == 0 and not task.http.fell_behind


@pytest.mark.parametrize(
    ("rate", "seconds", "warmup", "service", "slow"),
    [
        pytest.param(50, 30, 5, 5, {1700: 45_000}, id="one answer of 45 s"),
        pytest.param(20, 10, 20, 5000, {}, id="all answers in 5 s"),
    ],
)
def test_how_late_answers_come_takes_nothing_from_an_open_loops_rate(rate, seconds, warmup, service, slow):
    found = LoadAnswers(HttpLoad("r", seconds, 1000, rate, warmup), HOSTS)
    for number in range(rate * (warmup + seconds)):
        found.add(line(number * 1000 / rate, slow.get(number, service), number=number))
    task = found.task()
    assert task.rally is not None and task.rally.throughput is not None and task.windows is not None
    assert (task.rally.throughput.median, task.rally.throughput.mean) == pytest.approx((rate, rate))
    assert (task.windows.p10, task.windows.p90, task.windows.count) == (rate, rate, seconds)
    assert task.settling is not None and task.settling.of_seconds == seconds


def test_what_an_open_loop_no_longer_sends_is_in_its_windows():
    found = LoadAnswers(HttpLoad("r", 10, 5, 50, 0), HOSTS)
    for number in range(200):
        found.add(line(number * 20, 5, number=number))
    found.dropped_any = True
    windows = found.task().windows
    assert windows is not None and (windows.count, windows.median, windows.p90) == (10, 0, 50)


@pytest.mark.parametrize("dropped", [False, True])
def test_a_latency_that_grows_has_not_settled_where_no_request_was_dropped(dropped):
    found = LoadAnswers(HttpLoad("r", 30, 1, 20, 0), HOSTS)
    for number in range(600):
        found.add(line(number * 50 + number, 20, number=number))
    found.dropped_any = dropped
    settling = found.task().settling
    assert settling is not None
    assert (settling.settled, settling.measure) == ((True, "") if dropped else (False, "latency"))


def test_what_k6_begins_late_is_counted():
    task = opened(late=25.0).task()
    assert task.schedule is not None and task.schedule.late_requests == 201, "every second one of the measured"


@pytest.mark.parametrize(
    ("rate", "seconds"), [(1 / 3, 3600), (0.4567, 900), (33.3333, 60), (7000 / 3, 20), (29_999.0, 2)]
)
def test_what_k6_sends_when_it_planned_it_did_not_wait(rate, seconds):
    """Rates were told to k6 in thousandths: at a third a second the last of an hour seemed to wait 3.6 s."""
    load = HttpLoad("r", seconds, 5, rate, 0)
    apart = make_plan(SPEC, HttpSpec((load,)), load, Path("/r"), 1)["nanoseconds"]
    found = LoadAnswers(load, HOSTS)
    for number in range(load.planned_before(seconds)):
        found.add(line(number * apart / 1e6, 20, number=number))
    task = found.task()
    assert task.rally is not None and task.rally.latency_millis["p100"] == pytest.approx(20, abs=1e-3)
    assert task.http is not None and task.http.latency_left_out == "" and task.keeps_schedule


@pytest.mark.parametrize(("missing", "latency"), [(2, True), (40, True), (60, False)])
def test_what_k6_leaves_at_the_clock_takes_no_latency(missing, latency):
    """At 2,000 a second a millisecond before its end is two requests; 20 ms are within what is on time."""
    load = HttpLoad("r", 2, 50, 2000, 0)
    found = LoadAnswers(load, HOSTS)
    for number in range(4000 - missing):
        found.add(line(number / 2, 5, client=number % 50, number=number))
    task = found.task()
    assert task.http is not None and task.rally is not None
    assert bool(task.rally.latency_millis) is latency is not task.http.fell_behind


@pytest.mark.parametrize("warned", [False, True])
def test_where_requests_were_dropped_there_is_no_latency(warned):
    found = opened(missing=40)
    found.dropped_any = warned
    task = found.task()
    assert task.rally is not None and task.http is not None and task.rally.latency_millis == {}
    assert task.rally.service_time_millis["p50"] == pytest.approx(20, rel=0.001)
    assert "planned requests were not sent" in task.http.latency_left_out
    assert task.histogram is not None and task.histogram.latency is None
    assert task.schedule_share == 0.9 and task.fell_behind
    assert task.http.dropped == 40 and task.http.fell_behind is not warned


def with_drops(load: HttpLoad, dropped: Collection[int], late: float = 0.0) -> LoadAnswers:
    """Return the answers, after 5 ms each, of a load of which k6 dropped these of its planned requests."""
    found, number = LoadAnswers(load, HOSTS), 0
    for planned in range(load.planned_before(load.warmup_seconds + load.seconds)):
        if planned in dropped:
            found.dropped_any = True
            continue
        start = planned * load.nanoseconds / 1e6 + 0.1 + (late if planned % 2 else 0)
        found.add(line(start, 5, client=number % load.clients, number=number))
        number += 1
    return found


@pytest.mark.parametrize("rate", [0.5, 3, 7, 50, 200])
@pytest.mark.parametrize("late", [0.0, 0.4])
def test_what_was_dropped_in_the_warm_up_costs_nothing_that_was_measured(rate, late):
    load = HttpLoad("r", 20, 4, rate, 10)
    at = range(1, max(2, int(rate * 3)), 2)
    task, all_sent = with_drops(load, at, late).task(), with_drops(load, (), late).task()
    assert task.http is not None and task.rally is not None and all_sent.rally is not None
    assert (task.http.latency_left_out, task.http.dropped) == ("", 0)
    assert task.schedule_share == (1 if load.measured_requests >= 10 else None)
    assert task.rally.latency_millis == pytest.approx(all_sent.rally.latency_millis, abs=2 * late + 0.01)
    assert task.rate == all_sent.rate and task.keeps_schedule
    assert late or task.histogram == all_sent.histogram


@pytest.mark.parametrize("rate", [0.5, 3, 7, 40, 200, 400, 5000])
@pytest.mark.parametrize("before", [(), (1,), (1, 2, 3)])
@pytest.mark.parametrize("at", [0.0, 0.01, 0.5, 0.97, 1.0])
def test_one_that_was_dropped_while_it_was_measured_takes_the_latency(rate, before, at):
    load = HttpLoad("r", 5 if rate > 50 else 20, 4, rate, 1 if rate > 50 else 10)
    ends = load.warmup_seconds + load.seconds
    first, last = load.planned_before(load.warmup_seconds), load.planned_before(ends - 0.02) - 1
    task = with_drops(load, {*before, first + int(at * (last - first))}).task()
    assert task.http is not None and task.rally is not None and task.http.latency_left_out
    assert task.rally.latency_millis == {} and task.http.dropped == 1


def test_where_requests_are_too_close_to_tell_which_were_dropped_any_takes_the_latency():
    answers = with_drops(HttpLoad("r", 3, 4, 1000, 1), {100}).task().http
    assert answers is not None and answers.latency_left_out and answers.dropped == 1


@pytest.mark.parametrize("at_the_clock", [False, True])
def test_one_more_at_the_clock_is_none_of_those_that_were_planned(at_the_clock):
    """k6 may send the request that is planned for the very end, which is no part of the time."""
    load = HttpLoad("r", 6, 1, 2, 2)
    found = with_drops(load, {4})
    if at_the_clock:
        found.add(line(8000, 5, number=15))
    task = found.task()
    assert task.http is not None and task.http.latency_left_out and task.http.dropped == 1
    assert task.schedule_share == pytest.approx(11 / 12, abs=1e-4) and task.fell_behind


def test_what_is_sent_behind_the_end_by_a_clock_that_stands_makes_no_other_request_late():
    """A machine that stalls ends a load 50 ms late: five more are sent, and all of them seem to begin at its end."""
    load = HttpLoad("r", 2, 20, 100, 0)
    found = LoadAnswers(load, HOSTS)
    for number in [*range(190), *range(200, 206), *range(190, 200)]:
        found.add(line(min(2000, number * 10 + 0.1), 5, client=number % 20, number=number))
    task = found.task()
    assert task.rally is not None and task.rally.latency_millis["p100"] == pytest.approx(5, abs=0.2)
    assert task.schedule_share == 1 and task.schedule is not None and not task.schedule.late_requests


@pytest.mark.parametrize("late", [{79}, {77, 79}, {20}])
def test_a_late_request_is_no_dropped_one(late):
    load, found, number = HttpLoad("r", 30, 2, 2, 10), None, 0
    found = LoadAnswers(load, HOSTS)
    found.dropped_any = True
    for planned in range(80):
        if planned != 3:
            found.add(line(planned * 500 + (300 if planned in late - {20} else 0.2), 5, number=number))
            number += 1
    answers = found.task().http
    assert answers is not None and (answers.latency_left_out, answers.dropped) == ("", 0)


def test_of_few_planned_requests_too_it_is_told_that_some_were_dropped():
    task = with_drops(HttpLoad("r", 5, 1, 1, 0), {2}).task()
    assert task.fell_behind and task.schedule_share == 0.8 and task.http.dropped == 1
    assert with_drops(HttpLoad("r", 5, 1, 1, 0), ()).task().schedule_share is None, "nothing to tell"


@pytest.mark.parametrize(("hangs", "rate"), [((5, 30), 100 / 6), ((0, 15), 50.0), ((20, 29), 70.0)])
def test_an_engine_that_hangs_has_no_throughput_of_the_time_in_which_it_did_not(hangs, rate):
    """All clients wait for it, and what was planned meanwhile is dropped."""
    load = HttpLoad("r", 30, 10, 100, 5)
    found, number = LoadAnswers(load, HOSTS), 0
    begin, end = (1000 * (5 + it) for it in hangs)
    for planned in range(35 * 100):
        at = planned * 10.0
        if at < begin or at >= end:
            found.add(line(at, 5, client=number % 10, number=number))
        elif at < begin + 100:
            found.add(line(at, 60_000, 0, code=1050, client=number % 10, number=number))
        else:
            found.dropped_any = True
            continue
        number += 1
    task = found.task()
    assert task.rate == pytest.approx(rate, rel=0.01) and task.rally is not None
    assert task.rally.throughput.mean == task.rate


def test_a_load_that_was_ended_early_has_the_rate_of_the_time_that_it_had():
    found = LoadAnswers(HttpLoad("r", 300, 10, 100, 5), HOSTS)
    for number in range(3500):
        found.add(line(number * 10, 5, client=number % 10, number=number))
    assert found.task().rate == pytest.approx(100, rel=0.01) and found.longest_wait == 0.005


@pytest.mark.parametrize(("clients", "until", "told"), [(1, 10.2, None), (3, 20, 10), (2, 100, 30)])
def test_clients_that_hang_from_the_warm_up_on_are_told(clients, until, told):
    """No request of theirs is measured meanwhile, so that the time is in no figure."""
    found = LoadAnswers(HttpLoad("c", 30, 8, None, 10), HOSTS)
    for client in range(8):
        hangs, start, number = client < clients, 0.0, 0
        while start < 40_000:
            takes = until * 1000 - start if hangs and 9500 <= start < 9600 else 100
            found.add(line(start, takes, client=client, number=number))
            start, number = start + takes, number + 1
    task = found.task()
    assert task.hung_clients == (told and clients)
    assert task.hung_seconds == (told and pytest.approx(told, abs=0.2))


def test_every_sample_is_handed_on_as_rallys_are():
    kept: list[tuple[str, tuple[str, ...]]] = []
    found = LoadAnswers(HttpLoad("r", 4, 2, 10, 0), HOSTS, lambda task, parts: kept.append((task, tuple(parts))))
    found.add(line(0, 20, number=0))
    found.add(line(105, 20, 500, client=1, host=1, number=1))
    assert [task for task, _ in kept] == ["r", "r"]
    number, kind, ok, wall, start, service, processing, wait, client, units, unit = kept[1][1]
    assert (number, kind, ok, client, units, unit) == ("0", "1", "0", "1", "0", "ops")
    assert [float(it) for it in (wall, start, service, processing, wait)] == pytest.approx(
        [(EPOCH + 105) / 1000, 0.105, 0.02, 0.02005, 0.005]
    )


@pytest.mark.parametrize("set_by", [-90.0, 0.4, 3600.0])
def test_a_clock_that_was_set_before_a_load_moves_none_of_its_times(set_by):
    load = HttpLoad("c", 4, 1)
    as_it_is, after = LoadAnswers(load, HOSTS), LoadAnswers(load, HOSTS, None, lambda: set_by)
    for number in range(5):
        text = line(number * 1000, 10, number=number)
        as_it_is.add(text)
        after.add(text.replace(str(EPOCH + number * 1000), str(EPOCH + number * 1000 + int(1000 * set_by))))
    seen, expected = after.task(), as_it_is.task()
    moved = 400 if abs(set_by) < 1 else 0
    assert after.first_at == pytest.approx((EPOCH + moved) / 1000)
    assert seen.clock_set_seconds == (None if moved else set_by) and seen.clock_shift_seconds is None
    assert moved or (seen.started_at, seen.ended_at) == (expected.started_at, expected.ended_at)


@pytest.mark.parametrize("hour", [3600.0, -3600.0])
@pytest.mark.parametrize("set_in_it", [False, True])
def test_a_clock_that_is_set_before_or_while_the_first_request_is_under_way_moves_no_time(hour, set_in_it):
    """A request of ten seconds; the race clock goes on, and a line comes 20 ms after its request has ended."""
    clock = {"set": 0.0, "now": EPOCH / 1000}
    found = LoadAnswers(HttpLoad("c", 20, 1), HOSTS, None, lambda: clock["set"], lambda: clock["now"])
    for number, (start, took) in enumerate([(0, 10_000), (11_000, 20)]):
        wall = EPOCH + start + (0 if set_in_it and not number else int(hour * 1000))
        clock |= {"set": hour, "now": (EPOCH + start + took + 20) / 1000}
        found.add(line(start, took, number=number).replace(str(EPOCH + start), str(wall)))
    task = found.task()
    assert (task.started_at, task.ended_at) == ("2023-11-14T22:13:20.000Z", "2023-11-14T22:13:31.020Z")


def test_a_clock_that_is_set_in_a_load_moves_none_of_its_times():
    found = LoadAnswers(HttpLoad("c", 20, 1), HOSTS)
    for number in range(20):
        text = line(number * 1000, 10, number=number)
        found.add(text if number < 10 else text.replace(str(EPOCH + number * 1000), str(EPOCH + number * 1000 - 5000)))
    task = found.task()
    assert (task.started_at, task.ended_at) == ("2023-11-14T22:13:20.000Z", "2023-11-14T22:13:39.010Z")
    assert task.clock_shift_seconds == pytest.approx(5, abs=0.1) and task.clock_set_seconds is None


@pytest.mark.parametrize(
    ("took", "around", "service"),
    [
        pytest.param(10, 10.05, 10, id="never"),
        pytest.param(30_010, 10.05, 10.05, id="forward"),
        pytest.param(-29_990, 10.05, 10.05, id="back"),
        pytest.param(3000, 8000.05, 8000.05, id="back by less than the request took"),
        pytest.param(10, 400, 10, id="k6 was held up beside it"),
    ],
)
def test_who_sets_the_clock_makes_no_request_longer_or_shorter(took, around, service):
    found = LoadAnswers(HttpLoad("c", 20, 1), HOSTS)
    found.add(f"0,0,{EPOCH},0,{took},{around},200,0,0,0")
    task = found.task()
    assert task.rally is not None and task.rally.service_time_millis["p100"] == pytest.approx(service)


def test_who_sets_the_clock_forward_takes_nothing_from_the_throughput():
    """Half a minute, when two thirds of a load are over: what is under way is as long by k6's own times."""
    found = LoadAnswers(HttpLoad("c", 30, 8), HOSTS)
    for number in range(300):
        wall, took = EPOCH + number * 100 + 30_000 * (number > 200), 99.9 + 30_000 * (number == 200)
        for client in range(8):
            found.add(f"{client},0,{wall},{number * 100},{took},99.95,200,0,{number},0")
    task = found.task()
    assert task.rate == pytest.approx(80, rel=0.01) and task.duration_seconds == pytest.approx(30, rel=0.01)
    assert task.clock_shift_seconds == pytest.approx(30, abs=0.1)


def test_requests_that_open_a_connection_are_counted_and_those_that_open_one_again():
    found = LoadAnswers(HttpLoad("c", 4, 2, None, 1), HOSTS)
    warmup = [(0, 0, 0, 1), (10, 1, 1, 1)]
    measured = [(1000, 0, 0, 0), (1010, 1, 0, 1), (1100, 1, 1, 1), (1200, 1, 0, 1), (1300, 0, 1, 0)]
    for at, client, host, opened in warmup + measured:
        found.add(line(at, 5, client=client, host=host, opened=opened))
    answers = found.task().http
    assert answers is not None and (answers.opened, answers.opened_again) == (3, 2)


def test_a_line_without_connections_is_that_of_an_older_script():
    found = LoadAnswers(HttpLoad("c", 4, 1), HOSTS)
    found.add(line(0, 5).rpartition(",")[0])
    task = found.task()
    assert task.samples.normal == 1 and task.http is not None
    assert (task.http.opened, task.http.opened_again) == (None, 0)


@pytest.mark.parametrize(
    "text",
    ["", "1,2", "a,0,1,1,1,1,200,0,0", "0,9,1,1,1,1,200,0,0", "0,0,1,nan,1,1,200,0,0", "0,0,1,1,1,1,200,0,0,0,0",
     "0,-1,1,1,1,1,200,0,0"],
)  # fmt: skip
def test_a_line_that_is_none_of_the_scripts(text):
    with pytest.raises(LineError):
        LoadAnswers(HttpLoad("c", 1, 1), HOSTS).add(text)


def test_nothing_sent_is_no_number():
    task = LoadAnswers(HttpLoad("c", 1, 1), HOSTS).task()
    assert task.rally is None and task.rate is None and task.http is not None and task.http.statuses == {}


@given(st.lists(st.floats(0.00001, 100), min_size=1, max_size=300))
def test_a_percentile_is_that_of_the_sorted_times_within_three_digits(times):
    found = percentiles(Counter(bucket(it) for it in times), max(times), sum(times))
    ordered = sorted(times)
    for name, value in found.items():
        if name not in ("mean", "p100"):
            true = ordered[max(1, math.ceil(len(times) * float(name[1:]) / 100 - 1e-9)) - 1]
            assert value / 1000 == pytest.approx(true, rel=0.001, abs=1e-6)
    assert found["p100"] == pytest.approx(ordered[-1] * 1000, abs=1e-6)  # six decimals are kept
    assert set(found) - {"mean"} == {name for name in found if name != "mean"}
    assert ("p90" in found) is (len(times) >= 10) and ("p99" in found) is (len(times) >= 100)


def test_a_failure_is_told_in_words_that_no_server_chose():
    assert words_of(503, 1503) == "HTTP 503"
    assert words_of(0, 1050) == "no answer: timeout"
    assert words_of(0, 1220) == "no answer: the connection was reset"
    assert words_of(0, 1000) == "no answer: k6's error 1000"
