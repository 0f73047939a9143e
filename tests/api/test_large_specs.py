"""Specs of a megabyte in great number: the operator refuses each, and has the memory for it that its chart gives it."""

import json
from collections.abc import Callable

import pytest

from .controlplane import ControlPlane
from .manifests import benchmark
from .operator_process import Operator
from .stage import Stage

pytestmark = pytest.mark.long
BENCHMARKS = "/apis/fairlap.dev/v1alpha1/namespaces/{}/benchmarks"
MANY = 24
"""as many as a page of kopf's first list has, or nearly"""
MOST_MEMORY = 256 << 20
"""the chart's limit"""


def create(plane: ControlPlane, namespace: str, numbers: range) -> None:
    """Create Benchmarks whose parameters are a megabyte of lists in lists, which is 35 in Python."""
    text = json.dumps(benchmark(namespace, "@", race__params={"a": "@@"}))
    text = text.replace('"@@"', f"[{','.join(['[[{}]]'] * 140_000)}]")
    for number in numbers:
        body = text.replace('"@"', f'"many-{number}"')
        done = plane.kubectl("create", "--raw", BENCHMARKS.format(namespace), "-f-", stdin=body)
        assert done.returncode == 0, done.stderr[:2000]


def refused(plane: ControlPlane, namespace: str) -> int:
    """How many have failed, as the API server's own table has it: a client in Python would need as much memory."""
    return plane.kubectl("get", "bm", "-n", namespace, "--no-headers").stdout.count(" Failed ")


def test_specs_of_many_values_leave_the_operator_its_memory(
    stage: Stage, plane: ControlPlane, namespace: str, install: Callable[..., Operator]
) -> None:
    """Some are there when it starts, and meet it in one page; the others come later."""
    create(plane, namespace, range(MANY))
    operator = install(namespace)
    try:
        stage.until(lambda: refused(plane, namespace) == MANY, "all are refused")
        create(plane, namespace, range(MANY, 2 * MANY))
        stage.until(lambda: refused(plane, namespace) == 2 * MANY, "those that came later, too")
        asked = ("get", "bm", "many-1", "-n", namespace, "-o", "jsonpath={.status.message}")
        words = "race.params is larger than 64 KiB: write less, and keep what is large in the track"
        assert plane.kubectl(*asked).stdout == words
        operator.lives()
        assert operator.memory("VmHWM") < MOST_MEMORY, f"{operator.memory('VmHWM') >> 20} MiB"
    finally:
        plane.kubectl("delete", "bm", "--all", "-n", namespace, "--timeout=240s")
