"""What a quota refuses of a Benchmark's own objects is told while it waits and where it ends for that."""

from typing import Any

import pytest
from test_benchmark_reconciler import IN_CHECK, SINCE, Json, Server, play

from fairlap.kube.api_error import ApiError
from fairlap.settings import Settings

FULL = 'configmaps "x" is forbidden: exceeded quota: full, requested: count/configmaps=1, used: count/configmaps=9'
TOLD = "quota exceeded (raise it, or delete what is over): full"
BUILDS = {"phase": "Pending", "finishedStep": "smoke", "admittedTime": SINCE}


def step(name: str, stage: str) -> Json:
    return {**BUILDS, "step": {"name": name, "stage": stage, "since": "2099-01-01T00:00:00Z"}}


def refused(server: Server) -> list[float]:
    asked: list[float] = []

    async def create(manifest: Json) -> Any:
        asked.append(server.writes)
        raise ApiError(403, FULL)

    server.create = create  # type: ignore[method-assign]
    return asked


@pytest.mark.parametrize("status", [IN_CHECK, step("race-1", "Provisioning"), step("race-1", "Starting")])
def test_a_full_quota_is_told_while_it_is_waited_for(status: Json) -> None:
    asked: list[list[float]] = []

    def prepare(server: Server) -> None:
        server.add("first", status)
        asked.append(refused(server))

    server = play(prepare, 0.5, lambda server: TOLD in server.bodies["first"]["status"].get("progress", ""))
    assert TOLD in server.bodies["first"]["status"]["progress"]
    assert server.writes <= 3 and len(asked[0]) <= 4, "no flood of requests"


def test_it_is_told_no_longer_when_there_is_room() -> None:
    def prepare(server: Server) -> None:
        server.add("first", IN_CHECK)
        asked, create = refused(server), server.create

        async def once(manifest: Json) -> Json:
            if len(asked) < 2:
                await create(manifest)
            server.operator.wakers.wake("first")  # the event of what was created
            return manifest

        server.create = once  # type: ignore[method-assign]

    seen: list[str] = []

    def progress(server: Server) -> bool:
        seen.append(server.bodies["first"]["status"].get("progress", ""))
        return any(TOLD in words for words in seen) and TOLD not in seen[-1]

    assert TOLD not in play(prepare, 0.1, progress).bodies["first"]["status"]["progress"]


WAITS = {"phase": "Pending", "progress": "new", "finishedStep": "check"}


@pytest.mark.parametrize("stage", ["Provisioning", "Starting"])
def test_who_holds_a_place_keeps_it_while_a_quota_is_full(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own deadline ends that. Another one got the place, and both raced when the quota had room again."""
    monkeypatch.setattr("fairlap.runtime.loop.attempts.random.uniform", lambda *_: 0.01)
    asked: list[list[float]] = []

    def prepare(server: Server) -> None:
        server.operator.settings = Settings(race_image="race", cleanup_seconds=0)
        server.add("first", step("race-1", stage))
        server.add("next", WAITS)
        asked.append(refused(server))

    server = play(prepare, 0.5, lambda _: len(asked[0]) >= 6)
    assert len(asked[0]) >= 6 and server.holders() == ["first"]
    assert server.operator.places.holders() == {"first"}


def test_one_whose_place_others_got_gives_it_up_when_it_is_not_refused_any_more() -> None:
    def prepare(server: Server) -> None:
        server.add("first", {**BUILDS, "step": {"name": "race-1", "stage": "Starting", "since": SINCE}})
        server.operator.places.set_aside("first")
        server.add("next", {**WAITS, "admittedTime": SINCE})

    def given_up(server: Server) -> bool:
        return server.bodies["first"]["status"]["phase"] == "Queued"

    server = play(prepare, 0.1, given_up)
    said = server.bodies["first"]["status"]
    assert (said["phase"], said["gaveWay"]) == ("Queued", 1) and server.holders() == ["next"]
