"""What nobody foresaw stops one Benchmark and no other: errors, statuses refused or not stored, blind watches."""

import json
import re
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.fixtures.message_form import looks_like

from fairlap_race.contract.reasons import Reason

from .controlplane import ControlPlane, as_json
from .manifests import Json, benchmark
from .operator_process import Operator
from .stage import Stage

pytestmark = pytest.mark.independent
CRD = "benchmarks.fairlap.dev"
DEPTH = 700
"""levels of JSON that a usual Python can read but not copy"""
SCHEMAS = "/openapi/v3/apis/fairlap.dev/v1alpha1"

ODD = """
import runpy
from dataclasses import replace
from fairlap.plan import unforeseen
from fairlap.runtime.reconcilers import benchmark_reconciler

plan, unforeseen.PAUSES = benchmark_reconciler.plan, (0.2, 0.4)

def odd(seen):
    todo, name, step = plan(seen), seen.subject.name, seen.status.step
    if name == "odd" and step and step.stage == "Running":
        raise OverflowError("date value out of range\\nsecond line")
    if name == "refused" and step and seen.children.elasticsearch:
        return replace(todo, status=todo.status.model_copy(update={"version": "9" * 5000}))
    return todo

benchmark_reconciler.plan = odd
runpy.run_module("fairlap", run_name="__main__")
"""

BLIND = """
import runpy
from dataclasses import replace
from fairlap.runtime.reconcilers import look

select_children = look.select_children
look.select_children = lambda *arguments: replace(select_children(*arguments), job=None)
runpy.run_module("fairlap", run_name="__main__")
"""


@contextmanager
def running(plane: ControlPlane, namespace: str, program: str = "", **environment: str) -> Iterator[Operator]:
    """An operator in whose process a program may change something before it begins."""
    operator = Operator(plane, namespace)
    if program:
        operator.command[1:] = ["-c", program]
    operator.environment |= environment
    operator.start()
    operator.wait_ready()
    yield operator
    operator.lives()
    assert operator.stop() == 0
    assert not operator.refused(), operator.refused()[:3]


def metric(operator: Operator, line: str) -> float:
    """Return the sum of all values whose line begins so."""
    with urllib.request.urlopen(f"http://127.0.0.1:{operator.port}/metrics", timeout=120) as answer:
        text: str = answer.read().decode()
    return sum(float(value) for value in re.findall(rf"^{line}[^ ]* (\S+)$", text, re.MULTILINE))


def told(stage: Stage, namespace: str, name: str) -> list[tuple[str, str]]:
    """Return the reasons and messages of the warnings about a Benchmark."""
    events = stage.all("events", namespace)
    return [
        (e["reason"], e["message"]) for e in events if (e["involvedObject"]["name"], e["type"]) == (name, "Warning")
    ]


@pytest.mark.produces(Reason.INTERNAL_ERROR)
def test_what_was_not_foreseen_ends_in_a_status(stage: Stage, plane: ControlPlane, namespace: str) -> None:
    """One ends in an exception while its race runs, the next in a status that is refused; the third wants its turn."""
    stage.behave(namespace, "odd", race="hangs")
    with running(plane, namespace, ODD) as operator:
        deep = json.dumps(benchmark(namespace, "deep", smokeTest=False, race__params={"a": "DEEP"}))
        deep = deep.replace('"DEEP"', '{"a":' * DEPTH + "1" + "}" * DEPTH)
        if plane.kubectl("create", "--filename=-", stdin=deep).returncode == 0:  # or it is refused
            stage.until(lambda: stage.status(namespace, "deep").get("phase"), "it is looked at", 30)
            stage.delete("benchmarks", namespace, "deep")
        for name in ("odd", "refused", "fine"):
            stage.apply(benchmark(namespace, name, smokeTest=False))
        expected = {"odd": "OverflowError: date value out of range", "refused": "ApiError: 422: "}
        for name, words in expected.items():
            status = stage.ends(namespace, name)
            assert (status["phase"], status["reason"]) == ("Failed", "InternalError"), status
            assert looks_like(Reason.INTERNAL_ERROR.example, status["message"])
            assert words in status["message"] and "second line" not in status["message"]
            assert status["track"] == "log_ingest" and "step" not in status, "what is known is kept"
            failed = next(c for c in status["conditions"] if c["type"] == "Failed")
            assert failed["status"] == "True" and "What to do" in failed["message"]
            stage.until(
                lambda name=name: any(reason == "Failed" for reason, _ in told(stage, namespace, name)),  # type: ignore[misc]
                "the event",
                20,
            )
        assert stage.ends(namespace, "fine")["phase"] == "Succeeded"
        assert metric(operator, "fairlap_internal_errors_total") == 6
        stage.is_clean(namespace)
    log = operator.log.read_text()
    assert "Traceback" in log and log.count("date value out of range\\nsecond line") >= 3


def schema(plane: ControlPlane) -> Json:
    """Return what the API server publishes of a Benchmark's status."""
    published = as_json(plane.kubectl("get", "--raw", SCHEMAS))["components"]["schemas"]  # type: ignore[index]
    return next(s for name, s in published.items() if name.endswith(".Benchmark"))["properties"]["status"]  # type: ignore[no-any-return]


@contextmanager
def older_crd(stage: Stage) -> Iterator[None]:
    """The CustomResourceDefinition as it was before there was status.step.jobStarted."""
    plane = stage.plane
    found = as_json(plane.kubectl("get", "crd", CRD, "-o", "json"))
    for key in ("status", "metadata"):
        part = found.pop(key)
    found["metadata"] = {"name": part["name"]}  # type: ignore[index]
    ours = json.dumps(found)
    step = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["step"]  # type: ignore[index]
    del step["properties"]["jobStarted"]

    def serves(text: str, *, started: bool) -> None:
        done = plane.kubectl("replace", "--filename=-", stdin=text)
        assert done.returncode == 0, done.stderr
        stage.until(
            lambda: ("jobStarted" in schema(plane)["properties"]["step"]["properties"]) is started, "the schema", 30
        )

    try:
        serves(json.dumps(found), started=False)
        yield
    finally:
        serves(ours, started=True)


@pytest.mark.produces(Reason.CRD_OUTDATED)
def test_an_older_definition_is_said_and_is_no_flood(stage: Stage, plane: ControlPlane, namespace: str) -> None:
    stage.behave(namespace, run=(3.0, 3.0))
    with older_crd(stage), running(plane, namespace) as operator:
        stage.until(lambda: metric(operator, "fairlap_crd_missing_fields") == 1, "it is known from the start", 20)
        stage.apply(benchmark(namespace, smokeTest=False))
        stage.reaches(namespace, "bm", "Racing")
        stage.until(lambda: "CRDOutdated" in dict(told(stage, namespace, "bm")), "the event", 20)
        status = stage.ends(namespace, "bm")
        assert status["phase"] == "Succeeded", status
        said = dict(told(stage, namespace, "bm"))["CRDOutdated"]
        assert "status.step.jobStarted" in said and "kubectl apply" in said
        assert looks_like(Reason.CRD_OUTDATED.example, said.partition(". What to do")[0])
        assert any(c["type"] == "CRDOutdated" and c["status"] == "True" for c in status["conditions"])
        writes = metric(operator, 'fairlap_api_requests_total{code="200",method="PUT",resource="benchmarks"')
        assert 0 < writes < 40
        assert metric(operator, "fairlap_status_pruned_total") > 0
        stage.is_clean(namespace)
    assert "CRDOutdated: the CustomResourceDefinition in the cluster does not know status.step.jobStarted" in (
        operator.log.read_text()
    )


@pytest.mark.long
def test_a_blind_watch_on_jobs_is_survived(stage: Stage, plane: ControlPlane, namespace: str) -> None:
    with running(plane, namespace, BLIND, FAIRLAP_RESYNC_SECONDS="2"):
        stage.apply(benchmark(namespace, smokeTest=False))
        status = stage.ends(namespace, "bm")
        assert status["phase"] == "Succeeded", (status.get("reason"), status.get("message"))
        assert stage.runs(namespace) == ["bm-race-1"]
        stage.is_clean(namespace)
