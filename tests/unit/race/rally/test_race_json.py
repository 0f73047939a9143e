"""Rally's race.json as it is, and joined with the samples."""

from fairlap_race.contract.recorded.track_record import TrackTask
from fairlap_race.contract.specification.turns import TaskTurns
from fairlap_race.rally.race_json import is_complete, rally_numbers, tasks
from fairlap_race.rally.samples import tally

ENTRY = {
    "task": "bulk",
    "operation": "bulk-op",
    "throughput": {"min": 1.0, "mean": 2, "median": 3.5, "max": 4.0, "unit": "docs/s"},
    "service_time": {"50_0": 1.5, "99_9": 9.0, "100_0": 10.0, "mean": 2.0, "unit": "ms"},
    "latency": {},
    "processing_time": {"100_0": 11.0, "unit": "ms"},
    "error_rate": 0.25,
    "duration": 1000,
}
SAMPLES = [
    '#[0, {"task": "search", "operation": "s", "type": "search", "clients": 1, "target": null}]\n',
    "0,1,1,1000.0,1.0,0.1,0.1,0.0,0,1,ops\n",
]


def test_numbers_stay_as_they_are():
    found = rally_numbers(ENTRY)
    assert (found.throughput.min, found.throughput.mean, found.throughput.median) == (1.0, 2.0, 3.5)
    assert found.service_time_millis == {"p50": 1.5, "p99.9": 9.0, "p100": 10.0, "mean": 2.0}
    assert found.latency_millis == {} and found.error_rate == 0.25


def test_what_is_no_finite_number_is_missing():
    inf, nan = float("inf"), float("nan")
    found = rally_numbers({**ENTRY, "service_time": {"50_0": nan, "mean": True, "99_0": 10**400}, "error_rate": inf})
    assert (dict(found.service_time_millis), found.error_rate) == ({}, None)


def test_missing_numbers_stay_missing():
    found = rally_numbers({"throughput": {"min": None, "mean": None, "median": None, "max": None}})
    assert found.throughput.median is None and found.error_rate is None


def test_tasks_are_in_the_order_of_the_schedule():
    planned = (TrackTask("bulk"), TrackTask("search"))
    found = tasks({"results": {"op_metrics": [ENTRY]}}, tally(SAMPLES), planned)
    assert [(task.task, task.rally is not None, task.samples.normal) for task in found] == [
        ("bulk", True, 0),
        ("search", False, 1),
    ]


def test_what_is_sent_in_turn_has_no_throughput_of_its_own():
    taken = {"search": TaskTurns("search", 1, 0), "bulk": TaskTurns("bulk", 9, 1)}
    planned = (TrackTask("bulk"), TrackTask("search"))
    bulk, search = tasks({"results": {"op_metrics": [ENTRY]}}, tally(SAMPLES), planned, taken)
    assert (bulk.turns, search.turns) == (taken["bulk"], taken["search"])
    assert search.windows is not None and "in turn" in search.windows.left_out
    (alone,) = tasks(None, tally(SAMPLES), planned)
    assert alone.turns is None and alone.windows is not None and "in turn" not in alone.windows.left_out


def test_without_results():
    assert tasks(None, [], ()) == ()
    assert not is_complete(None) and not is_complete({"race-id": "x"}) and is_complete({"results": {}})
