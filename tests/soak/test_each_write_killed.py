"""The operator is killed right before and right after each single write of a Benchmark's life, and started again."""

import pytest
from tests.api.controlplane import ControlPlane
from tests.api.manifests import benchmark
from tests.api.operator_process import Operator
from tests.api.stage import Stage

from .progress import Progress

# Each write of the operator and of kopf counts; events and the Lease are no part of a Benchmark's life.
KILLED = """
import os, signal, sys
import aiohttp
from fairlap.__main__ import main

at, after, seen = int(sys.argv[1]), sys.argv[2] == "after", 0
send = aiohttp.ClientSession._request

async def request(self, method, url, **options):
    global seen
    counts = method in ("POST", "PUT", "PATCH", "DELETE") and not {"leases", "events"} & set(str(url).split("/"))
    seen += counts
    mine = counts and seen == at
    if mine and not after:
        os.kill(os.getpid(), signal.SIGKILL)
    answer = await send(self, method, url, **options)
    if mine:
        os.kill(os.getpid(), signal.SIGKILL)
    return answer

aiohttp.ClientSession._request = request
sys.exit(main())
"""
NOT_COUNTED = ("leases", "events")


def counted(plane: ControlPlane, operator: Operator, namespace: str) -> int:
    """Return how many writes there were."""
    entries = plane.writes(operator.account, namespace)
    return sum(entry["objectRef"]["resource"] not in NOT_COUNTED for entry in entries)


@pytest.mark.timeout(7200)
def test_killed_at_each_write(stage: Stage, plane: ControlPlane, namespace: str, progress: Progress) -> None:
    operator = Operator(plane, namespace)
    stage.behave(namespace, eck=(0.0, 0.1), run=(0.1, 0.2))
    whole = list(operator.command)
    operator.start()
    one_life(stage, operator, namespace, "whole")
    # Some more than it took: when an answer is late, there is a write more.
    points = [(at, when) for at in range(1, counted(plane, operator, namespace) + 4) for when in ("before", "after")]
    assert len(points) > 20, "a Benchmark's life has some writes"
    for chunk in progress.chunks(most=len(points)):
        at, when = points[chunk - progress.seed]
        operator.command = [whole[0], "-c", KILLED, str(at), when]
        operator.start()
        stage.apply(benchmark(namespace, f"k{at}-{when}"))
        assert operator.process is not None

        def killed_or_over(process=operator.process, name=f"k{at}-{when}") -> bool:
            return process.poll() is not None or "completionTime" in stage.status(namespace, name)

        stage.until(killed_or_over, f"it is killed {when} write {at}", 60)
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
