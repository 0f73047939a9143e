"""What is done before a race's Job is made."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from world import READY, SETTINGS, START, seen

from fairlap.api.names import PAGE_CACHE_ANNOTATION, PAGE_CACHE_OUTCOME_ANNOTATION
from fairlap.api.status import BenchmarkStatus
from fairlap.plan.basis.conditions import stamp
from fairlap.plan.basis.seen import Plan
from fairlap.runtime.reconcilers.perform import perform

Json = dict[str, Any]
BESIDE_OTHERS = "the page cache was not dropped: others race at the same time, maybe on the same machines"


class Server:
    """An API server whose helpers answer at once."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.made: list[Json] = []

    async def patch(self, _kind: str, _namespace: str, _name: str, body: Json) -> None:
        self.asked += [key for key, value in body["data"].items() if value == "open"]

    async def read(self, *_: str) -> Json:
        return {"data": {key.replace("asked.", "done.", 1): "dropped" for key in self.asked}}

    async def create(self, manifest: Json) -> Json:
        self.made.append(manifest)
        return manifest


@pytest.mark.parametrize(
    ("others", "asked", "outcome", "sentence"),
    [
        ({}, ["asked.n1.0123456789ab-race-1"], "dropped", "the page cache was dropped on n1"),
        ({"others_race": True}, ["asked.n1.0123456789ab-race-1"], "dropped", "the page cache was dropped on n1"),
        ({"others_race": True, "strangers_race": True}, [], "kept", BESIDE_OTHERS),
    ],
)
def test_no_page_cache_is_dropped_under_the_races_of_others(
    others: dict[str, bool], asked: list[str], outcome: str, sentence: str
) -> None:
    step = {"name": "race-1", "stage": "Starting", "since": stamp(START)}
    status = BenchmarkStatus.model_validate({"phase": "Provisioning", "step": step})
    settings = replace(SETTINGS, page_cache="system/fairlap-page-cache")
    at = seen(status, children=READY, settings=settings, **others)
    server = Server()
    assert asyncio.run(perform(server, at, Plan(status, create=("job",)))) == ""  # type: ignore[arg-type]
    (job,) = server.made
    noted = job["metadata"]["annotations"]
    assert server.asked == asked
    assert (noted[PAGE_CACHE_OUTCOME_ANNOTATION], noted[PAGE_CACHE_ANNOTATION]) == (outcome, sentence)
