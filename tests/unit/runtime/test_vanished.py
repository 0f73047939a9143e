"""Benchmarks that went while nobody watched: found out by asking the API server itself."""

import asyncio
from collections.abc import Iterable

from fairlap.kube.api_error import ApiError
from fairlap.queue.places import Places
from fairlap.queue.summary import Summary
from fairlap.runtime.vanished import look_for_vanished


class Server:
    """Has some Benchmarks, and makes one while it answers."""

    def __init__(self, places: Places, *uids: str) -> None:
        self.places, self.uids = places, uids

    async def list_uids(self, kind: str, namespaces: Iterable[str]) -> set[str]:
        assert kind in ("Benchmark", "Comparison") and tuple(namespaces) == ("ns",)
        self.places.observe(Summary("new", "ns/new", "2026", "Queued", False, True))
        return {uid for uid in self.uids if uid.startswith("c") is (kind == "Comparison")}


def test_who_is_gone_loses_its_place_and_who_is_new_stays() -> None:
    woken: list[str] = []
    places = Places(1, woken.append, lambda: woken.append("everyone"))
    places.observe(Summary("a", "ns/a", "2025", "Racing", True, False))
    places.observe(Summary("b", "ns/b", "2025", "Queued", False, True))
    asyncio.run(look_for_vanished(Server(places, "a", "b"), places, ["ns"]))  # type: ignore[arg-type]
    assert places.holders() == {"a"} and not woken
    asyncio.run(look_for_vanished(Server(places, "b", "new"), places, ["ns"]))  # type: ignore[arg-type]
    assert {found.uid for found in places.benchmarks()} == {"b", "new"}
    assert places.assume("b") and woken == ["everyone"]


def test_a_comparison_that_is_there_has_not_vanished() -> None:
    places = Places(1, str, lambda: None)
    places.observe(Summary("c", "ns/c", "2025", "Racing", True, False, kind="Comparison"))
    asyncio.run(look_for_vanished(Server(places, "c", "new"), places, ["ns"]))  # type: ignore[arg-type]
    assert places.holders() == {"c"}
    asyncio.run(look_for_vanished(Server(places, "new"), places, ["ns"]))  # type: ignore[arg-type]
    assert not places.holders()


def test_of_a_namespace_that_cannot_be_read_nothing_new_is_known() -> None:
    """Neither those that are there vanish, nor does one come back that had vanished."""

    class Lost:
        trouble = False

        async def list_uids(self, kind: str, namespaces: Iterable[str]) -> set[str]:
            (namespace,) = namespaces
            if namespace == "lost" and self.trouble:
                raise ApiError(403, "forbidden")
            return {"there"} if namespace == "lost" else set()

    places, server = Places(1, lambda _: None, lambda: None), Lost()
    for uid, name in (("there", "lost/a"), ("gone", "lost/b"), ("other", "ns/c")):
        places.observe(Summary(uid, name, "2025", "Queued", False, True))
    asyncio.run(look_for_vanished(server, places, ["lost"]))  # type: ignore[arg-type]
    assert places.vanished() == {"gone"}
    server.trouble = True
    asyncio.run(look_for_vanished(server, places, ["lost", "ns"]))  # type: ignore[arg-type]
    assert places.vanished() == {"gone", "other"}
