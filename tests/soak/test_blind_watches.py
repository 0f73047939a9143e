"""The watch of one kind goes blind and stays so: the operator ends every race with the truth, only later."""

import time
from collections.abc import Iterator

import pytest
from tests.api.controlplane import ControlPlane
from tests.api.every_spec import loud
from tests.api.manifests import benchmark, comparison
from tests.api.operator_process import Operator
from tests.api.stage import Stage

from .blind_proxy import BlindProxy

NAMES = ("one", "two", "three")
KINDS = ("benchmarks", "configmaps", "elasticsearches", "endpointslices", "jobs", "pods")


@pytest.fixture(params=KINDS)
def proxy(request: pytest.FixtureRequest, stage: Stage, plane: ControlPlane) -> Iterator[BlindProxy]:
    """A proxy that is blind for one kind."""
    proxy = BlindProxy(plane, {request.param})
    stage.do(proxy.start())
    yield proxy
    stage.do(proxy.close())


def test_one_kind_is_not_seen(stage: Stage, plane: ControlPlane, namespace: str, proxy: BlindProxy) -> None:
    operator = Operator(plane, namespace, maxActive=len(NAMES))
    proxy.stand_before(plane.folder / f"operator-{namespace}.kubeconfig")
    operator.environment["FAIRLAP_RESYNC_SECONDS"] = "20"
    operator.start()
    try:
        operator.wait_ready()
        stage.apply(*(benchmark(namespace, name, smokeTest=False) for name in NAMES))
        # What no event tells of is noticed by a resync after the other, and listed anew.
        ends = {name: stage.ends(namespace, name, seconds=300) for name in NAMES}
        assert proxy.stalled, "the watch was blind"
        told = {name: (status["phase"], status.get("reason"), status.get("message")) for name, status in ends.items()}
        assert {phase for phase, _, _ in told.values()} == {"Succeeded"}, told
        stage.is_clean(namespace, 120)
        anew = "tells of nothing: listed anew" in operator.log.read_text()
        assert anew == ("benchmarks" in proxy.blind), "of the other kinds what decides is read when it is needed"
        assert not loud(operator.log)
    finally:
        operator.lives()
        operator.stop()


@pytest.mark.parametrize("proxy", ["comparisons", "benchmarks"], indirect=True)
def test_a_comparison_ends_although_it_or_its_races_are_not_seen(
    stage: Stage, plane: ControlPlane, namespace: str, proxy: BlindProxy
) -> None:
    operator = Operator(plane, namespace)
    proxy.stand_before(plane.folder / f"operator-{namespace}.kubeconfig")
    operator.environment["FAIRLAP_RESYNC_SECONDS"] = "20"
    operator.start()
    try:
        operator.wait_ready()
        stage.apply(comparison(namespace, design={"stop": "fixed", "blocks": 2}))
        began = time.monotonic()
        # Of each of its writes the operator is told by a new list, at a resync.
        status = stage.compares(namespace, "cmp", seconds=1800)
        print(proxy.blind, f"{time.monotonic() - began:.0f} s")
        assert proxy.stalled, "the watch was blind"
        assert status["phase"] == "Complete", (status.get("reason"), status.get("message"))
        assert (status["costRaces"], [block["valid"] for block in status["blocks"]]) == (4, [True] * 3)
        assert not loud(operator.log)
    finally:
        operator.lives()
        operator.stop()
