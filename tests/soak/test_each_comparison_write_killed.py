"""The operator is killed right before and right after each single write of a Comparison's life, and started again."""

import pytest
from tests.api.controlplane import ControlPlane
from tests.api.kill_points import counted, kill_points, killed
from tests.api.manifests import Json
from tests.api.operator_process import Operator
from tests.api.stage import Stage
from tests.api.test_comparison import DUET, FAST, KEPT, TWO_BLOCKS, killed_at, one_comparison

from .progress import Progress


@pytest.mark.timeout(14400)
@pytest.mark.parametrize("design", [TWO_BLOCKS, KEPT, DUET], ids=["fresh", "kept", "duet"])
def test_comparison_killed_at_each_write(
    stage: Stage, plane: ControlPlane, namespace: str, progress: Progress, design: Json
) -> None:
    operator = Operator(plane, namespace)
    stage.behave(namespace, **FAST)
    whole = operator.command[0]
    operator.start()
    one_comparison(stage, operator, namespace, "whole", design)
    operator.stop()
    points = kill_points(counted(plane, operator, namespace))
    assert len(points) > 100, "a Comparison's life, its Benchmarks' included, has many writes"
    for chunk in progress.chunks(most=len(points)):
        at, when = points[chunk - progress.seed]
        command = killed(whole, at, when)
        was_killed = killed_at(stage, operator, namespace, f"k{at}-{when[0]}", command, design)
        progress.passed(chunk, {"kills": int(was_killed)})
