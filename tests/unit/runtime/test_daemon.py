"""What a Benchmark's daemon tells the others, in the order in which an API server can answer."""

import asyncio
from typing import Any

import pytest

from fairlap.api.status import BenchmarkStatus
from fairlap.kube.cluster import ApiError
from fairlap.plan.seen import Plan, Seen
from fairlap.queue.summary import summary
from fairlap.runtime.daemon import Daemon
from fairlap.runtime.look import Indexes
from fairlap.runtime.state import Operator
from fairlap.settings import Settings

ADMITTED = BenchmarkStatus(phase="Racing", admitted_time="2026-01-01T00:00:00Z")
SUSPENDED = BenchmarkStatus(phase="Pending")


class Cluster:
    """Writes a status, or refuses it; the event of the write comes before the answer."""

    def __init__(self, operator: Operator, error: ApiError | None = None) -> None:
        self.operator, self.error = operator, error
        self.seen_by_the_next: list[bool] = []

    async def say(self, benchmark: dict[str, Any], _: BenchmarkStatus) -> dict[str, Any]:
        self.operator.wake_everyone()
        self.look()
        if self.error:
            raise self.error
        return benchmark

    def look(self) -> None:
        """The next one looks at the queue if it was woken: is the place taken?"""
        waker = self.operator.wakers["next"]
        if waker.is_set():
            waker.clear()
            self.seen_by_the_next.append("first" in self.operator.reserved)


@pytest.mark.parametrize(
    ("before", "after", "error"),
    [(ADMITTED, SUSPENDED, None), (SUSPENDED, ADMITTED, ApiError(409, "changed"))],
    ids=["suspended", "not admitted after all"],
)
def test_who_waits_looks_again_when_a_place_is_really_free(
    before: BenchmarkStatus, after: BenchmarkStatus, error: ApiError | None
) -> None:
    async def play() -> list[bool]:
        operator = Operator(Settings(race_image="race"))
        operator.wakers["next"].clear()
        operator.reserved |= {"first"} if before.admitted_time else set()
        operator.cluster = cluster = Cluster(operator, error)  # type: ignore[assignment]
        daemon = Daemon(operator, {}, "first", Indexes(*[{}] * 5), {}, None)  # type: ignore[arg-type]
        daemon._tell = lambda *_: None  # type: ignore[assignment, method-assign]
        try:
            await daemon._say({}, before, after)
        except ApiError as raised:
            assert raised is error
        cluster.look()
        return cluster.seen_by_the_next

    assert asyncio.run(play()) == [True, False]


class Slow(Daemon):
    """Reads for a while before it decides, as one does that must look at a record first."""

    async def _decide(self, seen: Seen) -> tuple[Seen, Plan]:
        await asyncio.sleep(0.01)
        return seen, Plan(ADMITTED if seen.turn.mine else seen.status)


def test_two_that_decide_at_once_do_not_both_get_the_only_place() -> None:
    spec = {"elasticsearch": {"version": "9.0.0"}, "race": {"track": {"builtin": "log_ingest"}}}

    def body(uid: str) -> dict[str, Any]:
        meta = {"name": uid, "namespace": "n", "uid": uid, "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
        # In its track check it is not in the queue, so the two do not see each other there.
        step = {"name": "check", "stage": "Running", "since": "2026-01-01T00:00:00Z"}
        return {"metadata": meta, "spec": spec, "status": {"phase": "Pending", "step": step}}

    async def play() -> list[str]:
        operator = Operator(Settings(race_image="race"))
        operator.cluster = Cluster(operator)  # type: ignore[assignment]
        bodies = [body("first"), body("next")]
        known = {each["metadata"]["uid"]: [summary(each)] for each in bodies}
        for each in bodies:
            uid = each["metadata"]["uid"]
            daemon = Slow(operator, each, uid, Indexes(*[{}] * 5), known, None)  # type: ignore[arg-type]
            daemon._tell = lambda *_: None  # type: ignore[assignment, method-assign]
            passes.append(daemon._pass(woken=True))
        await asyncio.gather(*passes)
        return sorted(operator.reserved)

    passes: list[Any] = []
    assert len(asyncio.run(play())) == 1
