"""An operator that is killed right before or right after one of its writes."""

import random
from collections.abc import Callable, Iterator

from .controlplane import ControlPlane
from .operator_process import Operator

NOT_COUNTED = ("leases", "events")
# Each write of the operator and of kopf counts; events and the Lease are no part of anybody's life.
_KILLED = """
import os, signal, sys
import aiohttp

at, after, seen = int(sys.argv[1]), sys.argv[2] == "after", 0
send = aiohttp.ClientSession._request

async def request(self, method, url, **options):
    global seen
    parts = set(str(url).split("?")[0].split("/"))
    counts = method in ("POST", "PUT", "PATCH", "DELETE") and not {"leases", "events"} & parts
    seen += counts
    mine = counts and seen == at
    if mine and not after:
        os.kill(os.getpid(), signal.SIGKILL)
    answer = await send(self, method, url, **options)
    if mine:
        os.kill(os.getpid(), signal.SIGKILL)
    return answer

aiohttp.ClientSession._request = request
from fairlap.__main__ import main
sys.exit(main())
"""


def killed(python: str, at: int, when: str) -> list[str]:
    """Return the command of an operator that is killed `when` (before, after) its write number `at`."""
    return [python, "-c", _KILLED, str(at), when]


def counted(plane: ControlPlane, operator: Operator, namespace: str) -> int:
    """Return how many writes there were."""
    entries = plane.writes(operator.account, namespace)
    return sum(entry["objectRef"]["resource"] not in NOT_COUNTED for entry in entries)


def kill_points(writes: int) -> list[tuple[int, str]]:
    """Return each write, before and after; some more than there were: when an answer is late, there is a write more."""
    return [(at, when) for at in range(1, writes + 4) for when in ("before", "after")]


def sample(points: list[tuple[int, str]], most: int, dice: random.Random) -> Iterator[tuple[int, str]]:
    """Yield some of them, spread over the whole life."""
    step = max(1, len(points) // most)
    yield from points[dice.randrange(step) :: step][:most]


def until_killed_or(over: Callable[[], bool], operator: Operator) -> Callable[[], bool]:
    """Return the question whether an operator has been killed, or what it works for is over."""
    process = operator.process
    assert process is not None
    return lambda: process.poll() is not None or over()
