"""What probes and Prometheus are told of the operator."""

from typing import Any

import pytest

from fairlap.runtime.metrics_server import Answers, readiness

READS = "namespace a: its objects are being listed"
GONE = "namespace b is left out: 403: forbidden"


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
    found = {
        "leads": True,
        "missing": [],
        "left_out": [],
        "phases": [],
        "comparison_phases": [],
        "namespaces": {},
    } | answers
    asked = Answers(**{name: lambda value=value: value for name, value in found.items()})
    assert readiness(asked) == (code, text)
