"""Samples: what is computed from them, on cases worked out by hand and on properties of any race."""

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.rally.samples import support, tally, task_record

TASK = '#[0, {"task": "bulk", "operation": "bulk-op", "type": "bulk", "clients": 4, "target": null}]\n'


def line(kind=1, ok=1, start=0.0, seconds=0.1, units=100, unit="docs", task=0, client=0):
    return f"{task},{kind},{ok},1000.0,{start:.6f},{seconds:.6f},{seconds:.6f},0.0,{client},{units},{unit}\n"


samples = st.builds(
    line,
    kind=st.integers(0, 1),
    ok=st.integers(0, 1),
    start=st.floats(0, 60),
    seconds=st.floats(0, 20),
    units=st.integers(0, 10_000),
)


def test_warm_up_errors_are_counted_apart():
    lines = [TASK, line(kind=0, ok=0, units=0), '![0, "HTTP 429: full"]\n', line(kind=0), line(kind=1), line(kind=1)]
    record = task_record(tally(lines)[0], None)
    assert (record.samples.warmup, record.samples.normal) == (2, 2)
    assert (record.errors.warmup, record.errors.normal) == (1, 0)
    assert record.first_error == "HTTP 429: full"
    assert record.units_done == 200


def test_the_first_error_is_kept():
    lines = [TASK, line(ok=0), '![0, "first"]\n', line(ok=0), '![0, "second"]\n']
    assert tally(lines)[0].first_error == "first"


def test_a_failed_request_does_not_name_the_unit():
    assert tally([TASK, line(ok=0, unit="ops", units=0), line(unit="docs")])[0].unit == "docs"


def test_a_cut_off_last_line_is_ignored():
    whole = tally([TASK, line(), line()])[0].samples
    assert tally([TASK, line(), line(), "0,1,1,10"])[0].samples == whole


def test_a_client_that_hangs_since_the_warm_up_is_in_the_plan():
    quick = [line(kind=int(n >= 10), start=n * 0.1, seconds=0.01) for n in range(110)]
    hanging = line(kind=0, start=0.5, seconds=10.4, client=1)
    task = TASK.replace("null", "20")
    assert task_record(tally([task, *quick])[0], None).keeps_schedule
    record = task_record(tally([task, *quick, hanging])[0], None)
    assert record.schedule is not None and record.schedule.slowest_share == 0.0 and not record.keeps_schedule


def test_a_planned_rate_is_never_that_of_one_request():
    task = TASK.replace("}", ', "timed": true}')
    one_each = [line(start=10 + client / 10, seconds=0.05, units=1, client=client) for client in range(100)]
    record = task_record(tally([task.replace("null", "10"), *one_each])[0], None)
    assert record.rate is None and record.schedule_share is None and record.keeps_schedule
    own = task.replace("}", ', "own_schedule": true}')
    rare = [line(start=10.0 * n, seconds=0.05, units=1) for n in range(1, 4)]
    assert task_record(tally([own, *rare])[0], None).rate == 0.1
    assert task_record(tally([own, *rare[:1]])[0], None).rate is None


def test_planned_bursts_leave_windows_out():
    bursts = [line(start=2.5 * n, seconds=0.05, units=1, client=client) for n in range(12) for client in range(50)]
    for task in (TASK.replace("null", "20"), TASK.replace("}", ', "own_schedule": true}')):
        windows = task_record(tally([task, *bursts])[0], None).windows
        assert windows is not None and windows.median is None and "one of each of 50 clients" in windows.left_out


def test_support_of_percentiles():
    assert support(0) == {}
    assert support(1) == {"p100": 1}
    assert support(9) == {"p50": 4, "p100": 1}
    assert support(100) == {"p50": 50, "p90": 10, "p99": 1, "p100": 1}
    assert support(10_000) == {"p50": 5000, "p90": 1000, "p99": 100, "p99.9": 10, "p99.99": 1, "p100": 1}


@given(st.lists(samples, max_size=60))
def test_nothing_is_lost_or_invented(lines):
    it = tally([TASK, *lines])[0]
    rows = [row.rstrip("\n").split(",") for row in lines]
    normal = [row for row in rows if row[1] == "1"]
    assert it.samples == [len(rows) - len(normal), len(normal)]
    assert sum(it.errors) == sum(1 for row in rows if row[2] == "0")
    assert math.isclose(it.units_done, sum(float(row[9]) for row in normal), abs_tol=1e-6)
    assert math.isclose(sum(it.pace.units.values()), it.units_done, rel_tol=1e-6, abs_tol=1e-6)
    assert math.isclose(sum(it.pace.requests.values()), len(normal), rel_tol=1e-6, abs_tol=1e-6)


@given(st.integers(0, 10**7))
def test_support_is_never_more_than_the_samples(count):
    assert all(1 <= value <= count for value in support(count).values())


def test_two_tasks_side_by_side():
    other = (
        "#"
        + json.dumps([1, {"task": "search", "operation": "s", "type": "search", "clients": 1, "target": 5.0}])
        + "\n"
    )
    found = tally([TASK, line(), other, line(task=1, unit="ops", units=1), line()])
    assert [(it.about["task"], it.samples[1]) for it in found] == [("bulk", 2), ("search", 1)]
    assert task_record(found[1], None).target_throughput == 5.0
