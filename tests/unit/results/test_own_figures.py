"""Own figures over several races: what is left out is None with a reason, and a percentile says what it stands on."""

import pytest

from fairlap.results.aggregate import aggregate
from fairlap_race.contract.recorded.http_record import HostAnswers, HttpAnswers
from fairlap_race.contract.recorded.record import Counts, RallyNumbers, Record, Task, Throughput, Windows
from fairlap_race.contract.recorded.schedule_record import ScheduleRecord
from fairlap_race.contract.recorded.settling import Settling
from fairlap_race.contract.request_files.probe import ProbeReading, ProbeRecord
from fairlap_race.contract.specification.turns import TaskTurns

FEW = "0.5 requests in a window on average, and fewer than 10 tell nothing"
KEPT = Windows(1.0, 60, 20.0, 19.0, 21.0, (), 1200)
LEFT_OUT = Windows(1.0, 60, over_time=(0.5,), requests=30, left_out=FEW)


def race(windows: Windows | None, samples: int = 100, **changes: object) -> Record:
    times = {"p50": 5.0, "p99": 9.0} if samples >= 100 else {"p50": 5.0}
    numbers = RallyNumbers(service_time_millis=times)
    task = Task("search", samples=Counts(0, samples), rally=numbers, windows=windows, **changes)  # type: ignore[arg-type]
    return Record(tasks=(task,))


def test_windows_that_are_left_out_are_none_and_say_why() -> None:
    (found,) = aggregate([race(LEFT_OUT, rate=0.5), race(LEFT_OUT, rate=0.6)]).tasks
    assert found.window_throughput is None and found.windows_left_out == FEW
    assert (found.windows, found.window_requests) == (60, 30)
    assert found.overall_throughput is not None and found.overall_throughput.median == 0.55


def test_a_race_without_windows_is_no_zero_among_those_that_have_some() -> None:
    (found,) = aggregate([race(LEFT_OUT), race(KEPT), race(None)]).tasks
    assert found.window_throughput is not None
    assert (found.window_throughput.min, found.window_throughput.races) == (20.0, 1)
    assert found.windows_left_out == FEW and found.window_requests == 30
    (without,) = aggregate([race(None)]).tasks
    assert without.window_throughput is without.windows is without.overall_throughput is None


@pytest.mark.parametrize("turns", [None, TaskTurns("search", 510, 0)], ids=["alone", "in turn"])
def test_in_turn_a_task_has_service_times_alone(turns: TaskTurns | None) -> None:
    times = {"p50": 5.0}
    numbers = RallyNumbers(Throughput(mean=66.0, median=66.0), times, times)
    task = Task("search", samples=Counts(10, 500), rate=66.0, rally=numbers, target_throughput=70.0, turns=turns)
    (found,) = aggregate([Record(tasks=(task,))]).tasks
    assert found.service_time_millis["p50"].median == 5.0
    rates = [it and it.median for it in (found.throughput, found.overall_throughput, found.latency_millis.get("p50"))]
    assert rates == ([None] * 3 if turns else [66.0, 66.0, 5.0])


@pytest.mark.parametrize(
    ("races", "settled", "seconds", "why"),
    [
        ([Settling(30, 0.0), Settling(30, 0.0)], True, None, ""),
        ([Settling(30, 0.0), Settling(30, 8.0, "throughput", 0.5), Settling(30, 4.0, "throughput", 0.3)], False, 8, ""),
        ([Settling(30, 0.0), Settling(9, left_out="9 windows")], None, None, "9 windows"),
        ([Settling(30, 8.0, "throughput", 0.5), Settling(9, left_out="9 windows")], False, 8, "9 windows"),
        ([None], None, None, ""),
    ],
)
def test_a_task_is_as_settled_as_in_its_worst_race(
    races: list[Settling | None], settled: bool | None, seconds: float | None, why: str
) -> None:
    (found,) = aggregate([race(KEPT, settling=each) for each in races]).tasks
    assert (found.settled, found.unsettled_seconds, found.settled_left_out) == (settled, seconds, why)


def test_a_percentile_has_the_support_of_the_race_with_the_fewest() -> None:
    few, many = race(KEPT, 100, support={"p50": 50, "p99": 1}), race(KEPT, 400, support={"p50": 200, "p99": 4})
    (found,) = aggregate([many, few]).tasks
    assert found.support == {"p50": 50, "p99": 1}
    # A percentile that the first race was too short for is there all the same.
    (found,) = aggregate([race(KEPT, 50, support={"p50": 25}), many]).tasks
    assert found.service_time_millis["p99"].races == 1 and found.support == {"p50": 25, "p99": 4}


def test_schedules_are_those_of_the_worst_race() -> None:
    kept = ScheduleRecord(400, 400, 8, 0, 1.0, 0.5)
    late = ScheduleRecord(400, 400, 8, 1, 0.25, 1.0, 400, 3.0)
    (found,) = aggregate([race(KEPT, schedule=late), race(KEPT, schedule=kept)]).tasks
    assert (found.slowest_client_share, found.backlog_millis) == (0.25, 3000.0)
    (found,) = aggregate([race(KEPT, schedule=kept)]).tasks
    assert (found.slowest_client_share, found.backlog_millis) == (1.0, None)


def test_conditions_of_several_races_and_hosts() -> None:
    def raced(*own: float, combined: float | None = None) -> Record:
        hosts = tuple(ProbeReading(f"h:{number}", None, 2 * it, it) for number, it in enumerate(own))
        return Record(probes=(ProbeRecord("rate", hosts, combined),))

    (rate,) = aggregate([raced(40, 60, combined=50), raced(40, 80, combined=60)]).probes
    assert (rate.name, rate.hosts, rate.before) == ("rate", 2, None)
    assert (rate.value.median, rate.value.min, rate.value.max, rate.value.races) == (55, 50, 60, 2)
    assert rate.after is not None and (rate.after.min, rate.after.max, rate.after.races) == (80, 160, 2)
    (each,) = aggregate([raced(40, 60)]).probes
    assert (each.value.median, each.value.min, each.value.max, each.value.races) == (50, 40, 60, 1)
    assert aggregate([Record()]).probes == []


def test_answers_over_http_are_shares_of_all_races_and_sums_by_host() -> None:
    one = HttpAnswers({"200": 90, "503": 10}, 0, (HostAnswers("a:1", 50), HostAnswers("b:1", 50)), 3)
    two = HttpAnswers({"200": 98, "0": 2}, 2, (HostAnswers("a:1", 50), HostAnswers("b:1", 50)), 4, "dropped some")
    (found,) = aggregate([race(None, http=one), race(None, http=two)]).tasks
    assert found.http is not None
    assert found.http.status_shares == {"200": 0.94, "503": 0.05, "0": 0.01}
    assert (found.http.timeouts, found.http.dropped) == (2, 7)
    assert found.http.requests_by_host == {"a:1": 100, "b:1": 100}
    assert found.http.latency_left_out == "dropped some"
    (by_rally,) = aggregate([race(None)]).tasks
    assert by_rally.http is None


def test_a_host_that_is_named_twice_was_sent_both() -> None:
    twice = HttpAnswers({"200": 90}, 0, (HostAnswers("a:1", 30), HostAnswers("b:1", 30), HostAnswers("a:1", 30)))
    (found,) = aggregate([race(None, http=twice)]).tasks
    assert found.http is not None and found.http.requests_by_host == {"a:1": 60, "b:1": 30}


def test_connections_opened_over_http_are_a_sum_of_the_races_that_tell() -> None:
    tells, older = HttpAnswers({"200": 90}, opened=3), HttpAnswers({"200": 90})
    (found,) = aggregate([race(None, http=it) for it in (tells, tells, older)]).tasks
    assert found.http is not None and found.http.connections_opened == 6
    (found,) = aggregate([race(None, http=older)]).tasks
    assert found.http is not None and found.http.connections_opened is None
