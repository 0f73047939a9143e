"""The operator is killed right before and right after each single write of a Benchmark's life, and started again."""

import pytest
from tests.api.controlplane import ControlPlane
from tests.api.kill_points import counted, kill_points, killed, until_killed_or
from tests.api.manifests import benchmark
from tests.api.operator_process import Operator
from tests.api.stage import Stage

from .progress import Progress


@pytest.mark.timeout(7200)
def test_killed_at_each_write(stage: Stage, plane: ControlPlane, namespace: str, progress: Progress) -> None:
    operator = Operator(plane, namespace)
    stage.behave(namespace, eck=(0.0, 0.1), run=(0.1, 0.2))
    whole = list(operator.command)
    operator.start()
    one_life(stage, operator, namespace, "whole")
    points = kill_points(counted(plane, operator, namespace))
    assert len(points) > 20, "a Benchmark's life has some writes"
    for chunk in progress.chunks(most=len(points)):
        at, when = points[chunk - progress.seed]
        operator.command = killed(whole[0], at, when)
        operator.start()
        stage.apply(benchmark(namespace, f"k{at}-{when}"))
        assert operator.process is not None
        name = f"k{at}-{when}"
        over = until_killed_or(lambda name=name: "completionTime" in stage.status(namespace, name), operator)  # type: ignore[misc]
        stage.until(over, f"it is killed {when} write {at}", 60)
        was_killed = operator.process.poll() is not None
        if was_killed:
            operator.process = None
        else:
            operator.stop()
        operator.command = whole
        operator.start()
        one_life(stage, operator, namespace, f"k{at}-{when}", made=True)
        progress.passed(chunk, {"kills": int(was_killed)})


def one_life(stage: Stage, operator: Operator, namespace: str, name: str, *, made: bool = False) -> None:
    """Let a Benchmark succeed, remove it, and end the operator; nothing may be left."""
    if not made:
        stage.apply(benchmark(namespace, name))
    status = stage.ends(namespace, name, seconds=60)
    assert status["phase"] == "Succeeded", (name, status.get("reason"), status.get("message"))
    stage.delete("benchmarks", namespace, name)
    stage.until(lambda: stage.find("benchmarks", namespace, name) is None, f"{name} is gone", 30)
    stage.is_clean(namespace)
    stage.promises_kept(namespace)
    operator.lives()
    operator.stop()
    assert not operator.refused(), operator.refused()[:3]
