"""cAdvisor's series: which of them count, and what they add up to."""

import json
from itertools import pairwise
from typing import Any

import pytest

from fairlap.results.cadvisor import AnswerError, Collected, chunks, machines, query
from fairlap_race.contract.recorded.task_spans import TaskSpan
from fairlap_race.contract.watched_machines.series import Span

ES, LOAD = "bm-race-1-es-default-0", "bm-race-1-x7b2c"
RACE = Span(100, 160)


def series(name: str, rate: float, pod: str = ES, step: int = 5, **labels: str) -> dict[str, Any]:
    container = {"container": "elasticsearch" if pod == ES else "rally"}
    return {
        "metric": {"__name__": name, "pod": pod, **container, **labels},
        "values": [[at, str(rate * at)] for at in range(90, 171, step)],
    }


def answer(*result: dict[str, Any]) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": "matrix", "result": list(result)}}


def collect(*result: dict[str, Any]) -> Collected:
    found = Collected()
    found.add(answer(*result))
    return found


def test_the_question_names_pods_and_quotes_what_it_is_given() -> None:
    text = query("ns", "a.b-0", {"cluster": 'x"y'}, 900)
    assert text.endswith("}[900s]") and 'namespace="ns"' in text
    assert 'pod="a.b-0"' in text
    assert 'cluster="x\\"y"' in text and "container_pressure_io_stalled_seconds_total" in text


def test_a_long_race_is_asked_for_in_pieces_without_gaps() -> None:
    found = chunks(Span(0, 86400))
    assert len(found) == 13 and all(piece.seconds <= 7200 for piece in found)
    assert all(before.end == after.start for before, after in pairwise(found))
    assert found[0].start < 0 and found[-1].end > 86400


def test_counters_of_containers_and_the_network_of_the_pod() -> None:
    found = collect(
        series("container_cpu_usage_seconds_total", 1.5, cpu="total"),
        series("container_cpu_usage_seconds_total", 0.7, cpu="cpu00"),
        series("container_cpu_usage_seconds_total", 9, container=""),  # the pod's own control group: all containers
        series("container_cpu_usage_seconds_total", 9, container="elastic-internal-init-filesystem"),
        series("container_network_receive_bytes_total", 10, container="", interface="eth0"),
        series("container_network_receive_bytes_total", 10, container="POD", interface="eth1"),
        series("container_network_receive_bytes_total", 99, container="", interface="lo"),
        series("container_fs_writes_bytes_total", 2, device="/dev/vda"),
        series("container_fs_writes_bytes_total", 3, device="/dev/vdb"),
        series("container_cpu_usage_seconds_total", 0.25, pod=LOAD),
        series("container_start_time_seconds", 1),
    )
    node, own = machines(found, RACE, [TaskSpan("bulk", "t", Span(110, 130))])
    assert (node.role, own.role) == ("elasticsearch", "load-generator")
    assert (node.race.cpu_mean_cores, own.race.cpu_mean_cores) == (1.5, 0.25)
    assert node.race.network_received_bytes == 20 * 60 and node.race.disk_write_bytes == 5 * 60
    assert node.tasks[0].usage.disk_write_bytes == 5 * 20 and node.tasks[0].task == "bulk"
    assert node.sources == {"cpu": "prometheus", "disk": "prometheus", "network": "prometheus"}


def test_two_scrapers_of_one_kubelet_do_not_count_twice() -> None:
    found = collect(
        series("container_fs_reads_total", 4, device="/dev/vda", job="kubelet"),
        series("container_fs_reads_total", 4, device="/dev/vda", job="cadvisor", step=10),
        series("container_memory_working_set_bytes", 7, job="kubelet"),
        series("container_memory_working_set_bytes", 7, job="cadvisor"),
        series("container_cpu_usage_seconds_total", 1),
    )
    (node,) = machines(found, RACE, [])
    assert node.race.disk_reads == 240 and node.race.working_set_peak_bytes == 7 * 160


def test_answers_in_pieces_are_one_series() -> None:
    whole = series("container_cpu_usage_seconds_total", 2)
    found = Collected()
    for part in (whole["values"][:8], whole["values"][7:]):  # the pieces share a sample
        found.add(answer({**whole, "values": part}))
    (node,) = machines(found, RACE, [])
    assert (node.race.cpu_mean_cores, node.race.samples) == (2.0, 13)


def test_pressure_that_is_nothing_but_zero_is_unknown() -> None:
    names = [f"container_pressure_{kind}_seconds_total" for kind in ("cpu_waiting", "io_waiting", "io_stalled")]
    cpu = series("container_cpu_usage_seconds_total", 1)
    (node,) = machines(collect(cpu, *(series(name, 0) for name in names)), RACE, [])
    assert node.race.io_waiting_share is None and "pressure" not in node.sources
    (node,) = machines(collect(cpu, series(names[0], 0.25), *(series(name, 0) for name in names[1:])), RACE, [])
    assert (node.race.cpu_waiting_share, node.race.io_waiting_share) == (0.25, 0.0)


def test_the_usual_gap() -> None:
    (node,) = machines(collect(series("container_cpu_usage_seconds_total", 1, step=10)), RACE, [])
    assert node.notes == ("prometheus: its samples are 10 s apart, more than 5 s",)
    (node,) = machines(collect(series("container_cpu_usage_seconds_total", 1)), RACE, [])
    assert node.notes == ()


@pytest.mark.parametrize("odd", [None, [], {}, {"status": "error", "error": "bad"}, answer() | {"data": None}])
def test_another_answer_is_an_error(odd: Any) -> None:
    with pytest.raises(AnswerError):
        Collected().add(json.loads(json.dumps(odd)))
