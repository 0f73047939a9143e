"""What probes and Prometheus are told of the operator."""

from typing import Any

import pytest
from prometheus_client import REGISTRY

from fairlap.runtime import kopf_handlers
from fairlap.runtime.metrics_server import Answers, _Gauges, readiness

READS = "namespace a: its objects are being listed"
GONE = "namespace b is left out: 403: forbidden"
OF_A_TARGET = {"namespace", "pod", "service", "container", "endpoint", "node", "job", "instance"}
"""labels that the Prometheus operator gives all that it scrapes: one of ours with such a name is renamed"""


def asked(**given: Any) -> Answers:
    found = {
        "leads": True,
        "missing": [],
        "left_out": [],
        "phases": [],
        "comparison_phases": [],
        "namespaces": {},
    } | given
    return Answers(**{name: lambda value=value: value for name, value in found.items()})


@pytest.mark.parametrize(
    ("answers", "code", "text"),
    [
        ({}, 200, "ok\n"),
        ({"leads": False}, 503, "another operator holds the lease: this one waits for it\n"),
        ({"missing": [READS]}, 503, f"{READS}\n"),
        ({"left_out": [GONE]}, 200, f"ok\n{GONE}\n"),
        ({"missing": [READS], "left_out": [GONE]}, 503, f"{READS}\n{GONE}\n"),
    ],
)
def test_readiness_tells_the_truth(answers: dict[str, Any], code: int, text: str) -> None:
    assert readiness(asked(**answers)) == (code, text)


def test_no_label_is_one_that_the_target_has() -> None:
    """All modules that count something are imported by the handlers."""
    assert kopf_handlers
    gauges = _Gauges(asked(namespaces={"team-a": True}, phases=["Racing"], comparison_phases=["Racing"]))
    samples = [it for metric in (*gauges.collect(), *REGISTRY.collect()) for it in metric.samples]
    labels = {it.name: it.labels for it in samples}
    assert labels["fairlap_namespace_ready"] == {"watched": "team-a"} and "fairlap_internal_errors_total" in labels
    assert {name: found for name, found in labels.items() if OF_A_TARGET & found.keys()} == {}
