"""What the machines did: from Prometheus when it answers, and a race that never fails when it does not.

A small HTTP server speaks for a Prometheus here, since a real one cannot be made to have nothing, or to fail, at will.
The real one is asked in the end-to-end tests.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import pytest
from tests.fixtures.message_form import looks_like

from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.reasons import Reason

from .controlplane import free_port
from .manifests import benchmark
from .operator_process import Operator
from .stage import Stage

pytestmark = pytest.mark.independent
Install = Callable[..., Operator]
Answer = Callable[[str, float], tuple[int, Any]]
NOTHING = {"status": "success", "data": {"resultType": "matrix", "result": []}}


class FakePrometheus:
    """Answers `/api/v1/query` with what `answer(query, time)` says."""

    def __init__(self) -> None:
        self.answer: Answer = lambda _query, _at: (200, NOTHING)
        self.asked: list[str] = []
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                given = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                fake.asked.append(given["query"][0])
                status, body = fake.answer(given["query"][0], float(given["time"][0]))
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def prometheus() -> Iterator[FakePrometheus]:
    fake = FakePrometheus()
    yield fake
    fake.server.shutdown()
    fake.server.server_close()


def said(status: dict[str, Any]) -> list[str]:
    """Return what is remarked on the machines of the first race."""
    found = status["races"][0].get("remarks", [])
    return [it["message"] for it in found if it["reason"] == "MachineFiguresIncomplete"]


def race(stage: Stage, namespace: str, **spec: Any) -> dict[str, Any]:
    stage.apply(benchmark(namespace, smokeTest=False, **spec))
    status = stage.ends(namespace, "bm")
    assert status["phase"] == "Succeeded", status
    return status


def table(stage: Stage, namespace: str) -> dict[str, Any]:
    found = stage.find("configmaps", namespace, "bm-race-1")
    assert found is not None
    kept: dict[str, Any] = json.loads(text_of(found, "resources.json") or "")
    return kept


def test_without_prometheus_there_is_what_elasticsearch_and_the_pod_tell(
    stage: Stage, namespace: str, install: Install
) -> None:
    install(namespace)
    status = race(stage, namespace)
    node, own = status["resources"]
    assert (node["name"], node["cpuMeanCores"], node["heapPeakBytes"]) == ("es-default-0", 0.5, 5e8)
    assert own["role"] == "load-generator"
    assert "faults" in node["missing"] and "pressure" in node["missing"] and "cpu" not in node["missing"]
    (storage,) = status["environment"]["storage"]
    assert (storage["kind"], storage["fileSystem"], storage["fill"]) == ("emptyDir", "ext4", 0.1)
    assert any("mount options" in text for text in storage["remarks"])
    assert table(stage, namespace)["completed"]


@pytest.mark.parametrize("kind", ["nobody", "empty", "error", "nonsense"])
def test_a_prometheus_without_answers_never_fails_a_race(
    stage: Stage, namespace: str, install: Install, prometheus: FakePrometheus, kind: str
) -> None:
    url = f"http://127.0.0.1:{free_port()}" if kind == "nobody" else prometheus.url
    if kind == "error":
        prometheus.answer = lambda _query, _at: (503, {"status": "error", "error": "starting up"})
    elif kind == "nonsense":
        prometheus.answer = lambda _query, _at: (200, {"status": "success", "data": {"resultType": "vector"}})
    install(namespace, prometheus__url=url)
    status = race(stage, namespace)
    (remark,) = [text for text in said(status) if "Prometheus" in text]
    assert url in remark
    assert ("has no cAdvisor series" in remark) if kind == "empty" else ("could not be used" in remark)
    assert "starting up" in remark or kind != "error"
    node = status["resources"][0]
    assert node["cpuMeanCores"] == 0.5 and node["sources"] == ["nodeStats"]


def series(query: str, at: float) -> tuple[int, Any]:
    """A pod that uses one core and takes ten page faults a second, two of them major, sampled every 5 s."""
    (pod,) = re.findall(r'pod="([^"]+)"', query)
    (seconds,) = re.findall(r"\[(\d+)s\]$", query)
    moments = [at - back for back in range(int(seconds) // 5 * 5, 0, -5)]

    def track(name: str, rate: float, **labels: str) -> dict[str, Any]:
        container = "elasticsearch" if "-es-" in pod else "rally"
        return {
            "metric": {"__name__": name, "pod": pod, "container": container, "namespace": "n", **labels},
            "values": [[moment, str(moment * rate)] for moment in moments],
        }

    faults = "container_memory_failures_total"
    result = [
        track("container_cpu_usage_seconds_total", 1.0, cpu="total"),
        track(faults, 10, failure_type="pgfault", scope="container"),
        track(faults, 2, failure_type="pgmajfault", scope="container"),
        track(faults, 99, failure_type="pgfault", scope="hierarchy"),
        track("container_fs_reads_total", 3, device="/dev/sda"),
        track("container_fs_reads_total", 4, device="/dev/sdb"),
    ]
    return 200, {"status": "success", "data": {"resultType": "matrix", "result": result}}


def test_prometheus_numbers_come_before_the_others(
    stage: Stage, namespace: str, install: Install, prometheus: FakePrometheus
) -> None:
    prometheus.answer = series
    install(namespace, prometheus__url=prometheus.url, prometheus__labels={"cluster": "perf"})
    status = race(stage, namespace)
    assert not [text for text in said(status) if "Prometheus" in text]
    node, own = status["resources"]
    for machine in (node, own):
        assert (machine["cpuMeanCores"], machine["minorFaultsPerMinute"]) == (1.0, 480.0)
        assert machine["majorFaultsPerMinute"] == 120.0
        assert machine["diskReads"] == pytest.approx(7 * 60, abs=1)
    assert node["heapPeakBytes"] == 5e8 and node["sources"] == ["prometheus", "nodeStats"]
    kept = table(stage, namespace)
    assert [task["task"] for task in kept["machines"][0]["tasks"]] == ["bulk-index", "search-request"]
    assert kept["machines"][0]["tasks"][0]["usage"]["majorFaultsPerMinute"] == 120.0
    assert f'namespace="{namespace}"' in prometheus.asked[0] and 'cluster="perf"' in prometheus.asked[0]
    asked = len(prometheus.asked)
    stage.is_clean(namespace)
    assert len(prometheus.asked) == asked, "the question was asked again"


@pytest.mark.produces(Reason.MACHINE_FIGURES_INCOMPLETE)
def test_a_runner_without_a_table_is_said(stage: Stage, namespace: str, install: Install) -> None:
    install(namespace)
    stage.behave(namespace, race="no-table")
    status = race(stage, namespace)
    assert any(looks_like(Reason.MACHINE_FIGURES_INCOMPLETE.example, text) for text in said(status))
    assert not status.get("resources")
