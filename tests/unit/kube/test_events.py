"""Events arrive although the API server is away for a moment, once each, and hold nothing up."""

import asyncio
from typing import Any

import pytest

from fairlap.kube import events
from fairlap.kube.api_error import ApiError

ABOUT = {"metadata": {"name": "bm", "namespace": "n", "uid": "u", "resourceVersion": "7"}}


class Server:
    def __init__(self, *errors: ApiError) -> None:
        self.errors, self.created = list(errors), []  # type: ignore[var-annotated]
        self.requests = 0

    async def create(self, event: dict[str, Any]) -> None:
        self.requests += 1
        if self.errors:
            raise self.errors.pop(0)
        self.created.append(event)


@pytest.mark.parametrize(
    ("errors", "requests", "created"),
    [
        ((), 1, 1),
        ((ApiError(0, "no answer"), ApiError(500, "busy")), 3, 1),
        ((ApiError(422, "invalid"),), 1, 0),
        ((ApiError(0, "no answer"), ApiError(409, "exists")), 2, 0),
        (tuple(ApiError(0, "no answer") for _ in range(9)), 7, 0),
    ],
    ids=["taken", "taken in the end", "refused", "was taken although no answer came", "given up"],
)
def test_an_event_is_sent_until_it_is_taken(
    monkeypatch: pytest.MonkeyPatch, errors: tuple[ApiError, ...], requests: int, created: int
) -> None:
    monkeypatch.setattr(events, "_PAUSES", (0.001,) * 7)
    server = Server(*errors)

    async def play() -> None:
        sender = events.Events(lambda: server)  # type: ignore[arg-type, return-value]
        sender.post(ABOUT, "Normal", "Racing", "race 1/1")
        await sender.flush(5)

    asyncio.run(play())
    assert (server.requests, len(server.created)) == (requests, created)
    for event in server.created:
        assert event["involvedObject"]["uid"] == "u" and event["reason"] == "Racing"
