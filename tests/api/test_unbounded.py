"""Inputs without measure: each ends in its own Benchmark, and those beside it are raced meanwhile."""

import json

import pytest

from .manifests import benchmark
from .operator_process import Operator
from .stage import Stage

pytestmark = pytest.mark.independent
LEVELS = 5000
"""Python reads a thousand, the API server ten thousand."""
BENCHMARKS = "/apis/fairlap.dev/v1alpha1/namespaces/{}/benchmarks"


@pytest.mark.usefixtures("operator")
def test_a_spec_that_is_nested_deeper_than_python_reads(stage: Stage, namespace: str) -> None:
    stage.apply(benchmark(namespace, "before"))
    text = json.dumps(benchmark(namespace, "deep", race__params={"a": "@"})).replace('"@"', "[" * LEVELS + "]" * LEVELS)
    done = stage.plane.kubectl("create", "--raw", BENCHMARKS.format(namespace), "-f-", stdin=text)
    assert done.returncode == 0, done.stderr[:2000]

    def told(path: str) -> str:
        # The test's own client is in Python.
        return stage.plane.kubectl("get", "bm", "deep", "-n", namespace, "-o", f"jsonpath={{{path}}}").stdout

    try:
        stage.until(lambda: told(".status.phase") == "Failed", "a Benchmark that is nested too deeply is refused")
        assert told(".status.reason") == "InvalidSpec"
        assert told(".status.message") == "race.params is nested more than 20 levels deep: write it flatter"
        stage.apply(benchmark(namespace, "after"))
        for name in ("before", "after"):
            assert stage.ends(namespace, name)["phase"] == "Succeeded"
    finally:
        stage.plane.kubectl("delete", "bm", "deep", "-n", namespace, "--timeout=240s")


def test_records_without_measure(stage: Stage, namespace: str, operator: Operator) -> None:
    for fault in ("pipelines", "hostile"):
        stage.behave(namespace, fault, race=fault)
        stage.apply(benchmark(namespace, fault))
    cut, odd = (stage.ends(namespace, name) for name in ("pipelines", "hostile"))
    assert cut["phase"] == "Succeeded", cut
    assert len(cut["results"]["ingestPipelines"]) == 100
    remarks = {remark["reason"]: remark["message"] for remark in cut["races"][-1]["remarks"]}
    assert "100 of 101 ingest pipelines, and 1 were left out" in remarks["RecordCut"]
    assert odd["phase"] == "Succeeded", odd
    assert "startedAt" not in odd["races"][-1]
    assert "Traceback" not in operator.log.read_text(errors="replace")
