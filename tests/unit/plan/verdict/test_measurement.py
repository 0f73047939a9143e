"""Was there a measurement: each doubt by the smallest record that must raise it, beside its good neighbour."""

from dataclasses import replace

import pytest
from tests.fixtures.message_form import looks_like
from world import good_record, spec

from fairlap.plan.verdict import measurement
from fairlap.plan.verdict.checks import first_violation, remarks
from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded import record as rec
from fairlap_race.contract.recorded.extended_warmup import ExtendedWarmup
from fairlap_race.contract.recorded.schedule_record import ScheduleRecord
from fairlap_race.contract.recorded.settling import Settling
from fairlap_race.contract.recorded.task_load import TaskLoad
from fairlap_race.contract.recorded.track_record import TrackTask
from fairlap_race.contract.specification.capacity_search import CapacitySearch
from fairlap_race.contract.specification.sweep import SweepSpec, SweepStep

GOOD = good_record()
START = 1_767_225_600.0
SLOW = replace(GOOD.tasks[0].rally, service_time_millis={"p50": 5000.0, "p100": 8000.0})  # type: ignore[type-var]
DOUBTS = (
    Reason.FEW_SAMPLES,
    Reason.SHORT_MEASUREMENT,
    Reason.NO_WARMUP,
    Reason.NOT_SETTLED,
    Reason.WARMUP_TOO_SHORT,
)


def task(
    name: str = "bulk", *, warm: float = 30.0, seconds: float = 60.0, samples: tuple[int, int] = (100, 1000),
    begin: float = 0.0, **changes: object,
) -> rec.Task:  # fmt: skip
    """A task that began so many seconds after the first, was warmed up for some, and measured for some."""
    at, measured = START + begin, START + begin + warm
    return replace(
        GOOD.tasks[0], task=name, started_at=rec.timestamp(at), measured_from=rec.timestamp(measured),
        ended_at=rec.timestamp(measured + seconds), duration_seconds=seconds, samples=rec.Counts(*samples), **changes,
    )  # type: ignore[arg-type]  # fmt: skip


def raced(*tasks: rec.Task, **changes: object) -> rec.Record:
    planned = tuple(TrackTask(it.task, reported=True) for it in tasks)
    return replace(GOOD, tasks=tasks, track=replace(GOOD.track, tasks=planned), **changes)  # type: ignore[arg-type]


def said(record: rec.Record) -> list[RaceRemark]:
    return [remark for remark in remarks(record, [], "") if remark.reason in DOUBTS]


@pytest.mark.parametrize("name", ["create-index", "refresh"])
def test_a_race_of_nothing_that_is_reported_is_none(name: str) -> None:
    ran = replace(task(name, samples=(0, 1)), rally=None, type=name)
    record = replace(GOOD, tasks=(ran,), track=replace(GOOD.track, tasks=(TrackTask(name),), pipelines=()))
    violation = first_violation(record, spec())
    assert violation is not None and violation.reason is Reason.NO_TASKS
    assert f"Rally reports on none of its 1 tasks ({name})" in violation.message


def test_a_search_whose_every_rate_drowned_says_what_to_write() -> None:
    """Rally reports on all of them; to put another task into the schedule would be no cure."""
    probes = ("search@5", "search@20")
    drowned = [replace(task(name, samples=(100, 0)), rally=None) for name in probes]
    search = SweepSpec("search", steps=tuple(SweepStep(it, kept=False) for it in probes), search=CapacitySearch())
    record = raced(*drowned)
    found = measurement.violation(replace(record, track=replace(record.track, sweep=search)), spec())
    assert found is not None and found.reason is Reason.NO_TASKS
    assert "(search@5, search@20): begin with a lower race.capacity.targetThroughput.from" in found.message


def test_one_measured_task_is_enough() -> None:
    beside = replace(task("create-index", samples=(0, 1)), rally=None)
    tasks = (TrackTask("create-index"), TrackTask("bulk", reported=True))
    record = replace(GOOD, tasks=(beside, task()), track=replace(GOOD.track, tasks=tasks))
    assert first_violation(record, spec()) is None and said(record) == []


@pytest.mark.parametrize(
    ("ran", "reason", "words"),
    [
        (task(samples=(500, 1), seconds=60.0), Reason.FEW_SAMPLES, "few requests were measured: bulk 1 request"),
        (task(samples=(1, 35)), Reason.FEW_SAMPLES, "few requests were measured: bulk 35 requests"),
        (task(samples=(1, 36)), None, ""),
        (task(warm=5, seconds=9.99), Reason.SHORT_MEASUREMENT,
         "measured for a short time: bulk for 9.99 s (after 5 s of warm-up)"),
        (task(warm=5, seconds=10), None, ""),
        (task(warm=61, seconds=60), Reason.SHORT_MEASUREMENT,
         "measured for a short time: bulk for 60 s (after 61 s of warm-up)"),
        (task(warm=60, seconds=60), None, ""),
        # Whoever asks for race.steady asks for a longer warm-up, and not for a longer measurement.
        (task(warm=45, seconds=30, extended_warmup=ExtendedWarmup(300.0, settled=True)), None, ""),
        (task(warm=45, seconds=9, extended_warmup=ExtendedWarmup(300.0, settled=True)), Reason.SHORT_MEASUREMENT,
         "measured for a short time: bulk for 9 s (after 45 s of warm-up)"),
        (task(warm=0, samples=(0, 1000), type="search"), None, ""),
        (task(warm=0, samples=(0, 1000), seconds=9, type="search"), Reason.SHORT_MEASUREMENT,
         "measured for a short time: bulk for 9 s"),
        (task(warm=0, samples=(0, 1), seconds=2.0, type="index-stats"), Reason.FEW_SAMPLES,
         "few requests were measured: bulk 1 request"),
        (task(warm=0, samples=(0, 1000)), Reason.NO_WARMUP, "measured without a warm-up on a cold JVM: bulk"),
        (task(warm=0.2, samples=(1, 1000)), None, ""),
        (task(settling=Settling(30.0, 7.5, "throughput", 0.534)), Reason.NOT_SETTLED,
         "had not settled when they were measured: bulk for 7.5 of 30.0 s (throughput +53 % from its beginning to its "
         "end)"),
        (task(settling=Settling(30.0, 7.5, "throughput", -0.0004)), Reason.NOT_SETTLED,
         "had not settled when they were measured: bulk for 7.5 of 30.0 s (throughput -0.04 % from its beginning to "
         "its end)"),
        (task(settling=Settling(30.0, 0.0)), None, ""),
        (task(warm=15.2, extended_warmup=ExtendedWarmup(15.0)), Reason.WARMUP_TOO_SHORT,
         "race.steady.maxWarmup 15 s was over before it had settled: bulk warmed up for 15.2 s"),
        (task(warm=15.2, extended_warmup=ExtendedWarmup(300.0, settled=True)), None, ""),
        (task(warm=300.1, extended_warmup=ExtendedWarmup(300.0, unjudged="36 requests in 36 s: it takes 80")),
         Reason.WARMUP_TOO_SHORT,
         "race.steady.maxWarmup 300 s was over before it could be judged whether it had settled: bulk warmed up for "
         "300.1 s (36 requests in 36 s: it takes 80)"),
        (task(settling=Settling(8.0, left_out="8 windows")), None, ""),
        # What ends by the clock has less of it where a pause began in the warm-up.
        (task(warm=17.5, seconds=22.5, planned_warmup_seconds=10.0), Reason.SHORT_MEASUREMENT,
         "measured for a short time: bulk for 22.5 s (after 17.5 s of warm-up, which was to be 10 s)"),
        (task(warm=11.4, seconds=28.6, planned_warmup_seconds=10.0), None, ""),
        (task(warm=17.5, seconds=22.5, planned_warmup_seconds=10.0, rally=SLOW), None, ""),
        (task(clients=8, hung_clients=3, hung_seconds=10.04), Reason.SHORT_MEASUREMENT,
         "measured for a short time: bulk for up to 10 s less by 3 of 8 clients, which hung in a request of the "
         "warm-up"),
        (task(warm=17.5, seconds=30, extended_warmup=ExtendedWarmup(300.0, settled=True), planned_warmup_seconds=10.0),
         None, ""),
    ],
)  # fmt: skip
def test_each_doubt_and_its_good_neighbour(ran: rec.Task, reason: Reason | None, words: str) -> None:
    found = said(raced(ran))
    assert found == ([] if reason is None else [RaceRemark(reason, words)])
    assert first_violation(raced(ran), spec()) is None


def test_what_had_not_settled_and_what_could_not_be_judged_are_told_apart() -> None:
    changing = task("search", warm=300.2, extended_warmup=ExtendedWarmup(300.0))
    rare = task("rare", warm=300.4, extended_warmup=ExtendedWarmup(300.0, unjudged="36 requests in 36 s: it takes 80"))
    (found,) = said(raced(changing, rare))
    assert found.text == (
        "race.steady.maxWarmup 300 s was over before it had settled: search warmed up for 300.2 s; "
        "before it could be judged whether it had settled: rare warmed up for 300.4 s (36 requests in 36 s: it takes "
        "80)"
    )
    assert "fewer clients" in Reason.WARMUP_TOO_SHORT.cure, "no longer warm-up helps there"


@pytest.mark.parametrize(
    ("kept", "measure", "change", "told"),
    [
        (False, "latency", 9.0, False),
        (False, "latency", -0.9, True),
        (False, "service time", 9.0, True),
        (True, "latency", 9.0, True),
        (None, "latency", 9.0, True),
    ],
)
def test_a_latency_that_grows_is_no_news_of_a_probe_beyond_what_can_be_carried(
    kept: bool | None, measure: str, change: float, told: bool
) -> None:
    record = raced(task("search@5", settling=Settling(30.0, 30.0, measure, change)))
    swept = SweepSpec("search", steps=(SweepStep("search@5", kept=kept),))
    found = said(replace(record, track=replace(record.track, sweep=swept)))
    assert [it.reason for it in found] == ([Reason.NOT_SETTLED] if told else [])


def test_only_the_first_bulks_meet_a_cold_jvm() -> None:
    cold = {"warm": 0.0, "samples": (0, 1000)}
    one, beside, later = (task(name, begin=at, **cold) for name, at in (("one", 0), ("beside", 30), ("later", 90)))  # type: ignore[arg-type]
    (found,) = said(raced(one, beside, later))
    assert found.text == "measured without a warm-up on a cold JVM: one, beside"
    assert said(raced(task("warmed"), task("later", begin=100, **cold))) == []  # type: ignore[arg-type]
    # What warms up need not be reported on.
    planned = (TrackTask("warms"), TrackTask("later", reported=True))
    warmed = raced(task("warms", **cold), task("later", begin=100, **cold))  # type: ignore[arg-type]
    assert said(replace(warmed, track=replace(warmed.track, tasks=planned))) == []
    # A cluster that was there before the race is not cold.
    assert said(raced(one, target=rec.TargetReport())) == []


def test_a_smoke_test_measures_nothing_and_says_nothing() -> None:
    assert said(raced(task(samples=(0, 1), seconds=0.1), mode="smoke")) == []


def test_many_tasks_are_counted() -> None:
    found = said(raced(*(task(f"t{n}", samples=(1, 2)) for n in range(9))))
    assert found[0].text.endswith("t3 2 requests, t4 2 requests, and 4 more")


@pytest.mark.parametrize(
    ("plan", "share", "words"),
    [
        (ScheduleRecord(400, 400, 1, 0, 1.0, 0.9, 400, 3.0), 1.0,
         "task bulk: 400 of 400 measured requests waited for what the warm-up had left, 3 s on average, and that wait "
         "is in the latencies"),
        (ScheduleRecord(2175, 2400, 8, 1, 0.25, 1.0), 0.906,
         "task bulk reached 91 % of its target throughput 40; 1 of 8 clients sent less than 90 % of their requests in "
         "time, the slowest 25 %; all of them sent 2175 of 2400 planned"),
        (ScheduleRecord(9925, 10000, 100, 1, 0.25, 1.0), 0.9925,
         "task bulk: 1 of 100 clients sent less than 90 % of their requests in time, the slowest 25 %; all of them "
         "sent 9925 of 10000 planned"),
        (ScheduleRecord(100, 400, 1, 1, 0.25, 1.0, 100, 9.0), 0.25,
         "task bulk reached 25 % of its target throughput 40"),
        (ScheduleRecord(400, 404, 8, 0, 0.95, 0.9, 39, 3.0), 0.99, ""),
        (None, 0.97, "task bulk reached 97 % of its target throughput 40"),
        (None, 0.9799, "task bulk reached 97.99 % of its target throughput 40"),
        (ScheduleRecord(9925, 10000, 100, 1, 0.8999, 1.0), 0.9925,
         "task bulk: 1 of 100 clients sent less than 90 % of their requests in time, the slowest 89.99 %; all of them "
         "sent 9925 of 10000 planned"),
        (None, None, ""),
    ],
)  # fmt: skip
def test_a_schedule_that_was_not_kept(plan: ScheduleRecord | None, share: float | None, words: str) -> None:
    ran = task(target_throughput=40.0, schedule_share=share, schedule=plan)
    found = [it.text for it in remarks(raced(ran), [], "") if it.reason is Reason.SCHEDULE_NOT_KEPT]
    assert found == ([words] if words else [])


@pytest.mark.parametrize(
    ("kind", "reported", "load", "words"),
    [
        ("bulk", True, TaskLoad(throttled_periods=7.0, throttled_seconds=0.2, judged_seconds=30.0),
         "9 periods, 0.3 s in all: bulk 7 periods, 0.2 s"),
        ("bulk", True, TaskLoad(throttled_periods=4.0, throttled_seconds=0.02, judged_seconds=30.0),
         "9 periods, 0.3 s in all: bulk 4 periods, 0.02 s"),
        ("bulk", True, TaskLoad(throttled_periods=3.0, throttled_seconds=0.2, judged_seconds=30.0), ""),
        ("bulk", True, TaskLoad(throttled_periods=0.0, throttled_seconds=0.0, judged_seconds=30.0), ""),
        ("bulk", True, TaskLoad(judged_seconds=30.0), "9 periods, 0.3 s in all"),
        ("bulk", True, None, "9 periods, 0.3 s in all"),
        ("create-index", False, TaskLoad(throttled_periods=7.0, throttled_seconds=0.2, judged_seconds=1.0), ""),
        ("sleep", True, TaskLoad(throttled_periods=7.0, throttled_seconds=0.2, judged_seconds=1.0), ""),
    ],
)  # fmt: skip
def test_throttling_of_the_load_generator_is_said_with_its_task_where_it_matters(
    kind: str, reported: bool, load: TaskLoad | None, words: str
) -> None:
    generator = rec.LoadGenerator(throttled_periods=9, throttled_seconds=0.3, wall_seconds=60.0)
    record = raced(task(type=kind, load=load), load_generator=generator)
    record = replace(record, track=replace(record.track, tasks=(TrackTask("bulk", reported=reported),)))
    found = [it.text for it in remarks(record, [], "") if it.reason is Reason.LOAD_GENERATOR_THROTTLED]
    assert found == ([f"the load generator was throttled in {words}"] if words else [])
    assert not words.endswith("in all") or looks_like(Reason.LOAD_GENERATOR_THROTTLED.example, found[0])


def test_a_race_that_was_throttled_for_a_moment_alone_is_not_remarked_on() -> None:
    generator = rec.LoadGenerator(throttled_periods=6, throttled_seconds=0.6, wall_seconds=60.0)
    assert not remarks(raced(task(), load_generator=generator), [], "")
