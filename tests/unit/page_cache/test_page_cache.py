"""What the operator asks of the machines' helpers, and what they do."""

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.kube.api_error import ApiError
from fairlap.page_cache import dropping, helper
from fairlap.page_cache.dropping import Dropping, answer, asked_of, drop_page_cache

Data = dict[str, str]
Merged = Mapping[str, str | None]
PLACE = "system/fairlap-page-cache"
DROPPED, KEPT = "the page cache was dropped on ", "the page cache was not dropped on "
NAME = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?", fullmatch=True)
REQUEST = st.from_regex(r"[-_a-z0-9]{1,20}", fullmatch=True)


class OneConfigMap:
    """An API server with one ConfigMap, whose helpers answer when they are looked for."""

    def __init__(self, helpers: Callable[[Data], Merged] = lambda _: {}, refused: int = 0) -> None:
        self.data: Data = {}
        self.helpers, self.refused = helpers, refused

    def merge(self, changes: Merged) -> None:
        for key, value in changes.items():
            if value is None:
                self.data.pop(key, None)
            else:
                self.data[key] = value

    async def patch(self, kind: str, namespace: str, name: str, body: Any) -> None:
        assert (kind, f"{namespace}/{name}") == ("ConfigMap", PLACE)
        if self.refused:
            raise ApiError(self.refused, "no")
        self.merge(body["data"])

    async def read(self, *_: str) -> Any:
        self.merge(self.helpers(self.data))
        return {"data": dict(self.data)} if self.data else {}


def ask(server: OneConfigMap, *machines: str, request: str = "r1") -> Dropping:
    return asyncio.run(drop_page_cache(server, PLACE, machines, request))  # type: ignore[arg-type]


def drop(server: OneConfigMap, *machines: str, request: str = "r1") -> str:
    return ask(server, *machines, request=request).sentence


def serve(server: OneConfigMap, machine: str = "a") -> bool:
    return asyncio.run(helper.serve_once(server, PLACE, machine))  # type: ignore[arg-type]


def works(*machines: str, why_not: str = "") -> Callable[[Data], Merged]:
    """Helpers of some machines that do at once what is asked."""

    def look(data: Data) -> Merged:
        done: dict[str, str | None] = {}
        for machine in machines:
            done |= answer(machine, asked_of(data, machine), why_not)
        return done

    return look


def test_it_was_dropped_on_all_machines_and_nothing_is_left_behind() -> None:
    server = OneConfigMap(works("a", "b", "c"))
    assert drop(server, "a", "b") == f"{DROPPED}a, b"
    assert server.data == {}
    assert drop(server, "a", request="r2") == f"{DROPPED}a" and server.data == {}
    assert drop(server, "a", request="r2") == f"{DROPPED}a", "asked again after a crash"


def test_why_it_was_not_dropped_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dropping, "_PATIENCE_SECONDS", 0.0)
    assert drop(OneConfigMap(works("a")), "a", "b") == f"{KEPT}b: no answer of its helper in 0 s"
    kernel = works("a", why_not="/proc/sys/vm/drop_caches: Read-only file system")
    assert drop(OneConfigMap(kernel), "a") == f"{KEPT}a: /proc/sys/vm/drop_caches: Read-only file system"
    assert drop(OneConfigMap(refused=403), "a").endswith(f"ConfigMap {PLACE} could not be used: no")


@pytest.mark.parametrize(
    ("server", "outcome"),
    [
        (OneConfigMap(works("a", "b")), "dropped"),
        (OneConfigMap(works("a")), "kept"),
        (OneConfigMap(works("a", "b", why_not="the page cache was dropped on neither")), "kept"),
        (OneConfigMap(refused=403), "kept"),
    ],
    ids=["both", "one is silent", "both failed", "no ConfigMap"],
)
def test_whether_it_was_dropped_everywhere_is_told_beside_the_sentence(
    server: OneConfigMap, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dropping, "_PATIENCE_SECONDS", 0.0)
    assert ask(server, "a", "b").outcome == outcome


def test_a_helper_that_comes_up_late_has_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dropping, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(helper, "drop", lambda: pytest.fail("in the middle of a race"))
    server = OneConfigMap()
    assert drop(server, "a").startswith(KEPT)
    assert server.data == {} and not serve(server)


def test_an_answer_that_comes_too_late_is_not_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    server = OneConfigMap()
    server.data = {"asked.a.r1": "open", "asked.a.r2": "open"}

    def slow() -> str:
        server.data.pop("asked.a.r1")  # who asked waits no longer
        return ""

    monkeypatch.setattr(helper, "drop", slow)
    assert serve(server) and server.data == {"done.a.r2": "dropped"}


def test_what_was_done_before_it_was_asked_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator that ended left it behind, or the same cluster was raced before."""
    monkeypatch.setattr(dropping, "_PATIENCE_SECONDS", 0.0)
    server = OneConfigMap()
    server.data = {"done.a.r1": "dropped"}
    assert drop(server, "a") == f"{KEPT}a: no answer of its helper in 0 s"


def test_two_races_that_ask_for_one_machine_are_each_told_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dropping, "_PATIENCE_SECONDS", 0.0)
    server = OneConfigMap()
    server.data = {"asked.a.r2": "open"}
    assert drop(server, "a", request="r1").startswith(KEPT)
    assert server.data == {"asked.a.r2": "open"}, "the other one's is left alone"
    server = OneConfigMap(lambda data: answer("a", ["r2"]) if "asked.a.r2" in data else {})
    server.data = {"asked.a.r2": "open"}
    assert drop(server, "a", request="r1").startswith(KEPT), "what was done for another one is no answer"
    assert server.data == {"done.a.r2": "dropped"}


def test_what_cannot_be_withdrawn_ends_no_race(monkeypatch: pytest.MonkeyPatch) -> None:
    server = OneConfigMap(works("a"))
    merge = server.patch

    async def patch(kind: str, namespace: str, name: str, body: Any) -> None:
        if None in body["data"].values() and "open" not in body["data"].values():
            raise ApiError(0, "cut off")
        await merge(kind, namespace, name, body)

    monkeypatch.setattr(server, "patch", patch)
    assert drop(server, "a") == f"{DROPPED}a"


@given(st.lists(st.tuples(NAME, REQUEST), unique=True, max_size=6), NAME, REQUEST, st.text(max_size=400))
def test_each_helper_finds_its_own_requests(
    others: list[tuple[str, str]], machine: str, request: str, why_not: str
) -> None:
    asked = {f"asked.{of}.{it}": "open" for of, it in (*others, (machine, request))}
    assert all(re.fullmatch(r"[-._a-zA-Z0-9]+", key) for key in asked), "what a ConfigMap takes as a key"
    mine = sorted({it for of, it in (*others, (machine, request)) if of == machine})
    assert asked_of(asked, machine) == mine
    server = OneConfigMap()
    server.data = asked
    server.merge(answer(machine, mine, why_not))
    assert asked_of(server.data, machine) == []
    assert sum(key.startswith("done.") for key in server.data) == len(mine)


def test_the_helper_does_all_that_is_asked_at_once_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    dropped = list[int]()

    def note() -> str:
        dropped.append(1)
        return ""

    server = OneConfigMap()
    monkeypatch.setattr(os, "sync", lambda: None)
    monkeypatch.setattr(helper, "drop", note)
    assert not serve(server)
    server.data = {"asked.a.r1": "open", "asked.a.r2": "open", "asked.b.r1": "open", "asked.x.a.r1": "open"}
    assert serve(server) and not serve(server)
    assert server.data == {
        "asked.b.r1": "open", "asked.x.a.r1": "open", "done.a.r1": "dropped", "done.a.r2": "dropped",
    }  # fmt: skip
    assert dropped == [1]


def test_what_was_withdrawn_while_it_was_written_back_is_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    server = OneConfigMap()
    server.data = {"asked.a.r1": "open"}
    monkeypatch.setattr(os, "sync", server.data.clear)
    monkeypatch.setattr(helper, "drop", lambda: pytest.fail("in the middle of a race"))
    assert not serve(server) and server.data == {}


def test_the_kernel_is_told_to_drop_all_of_it(tmp_path: Path) -> None:
    assert helper.drop(tmp_path / "drop_caches") == "" and (tmp_path / "drop_caches").read_text() == "3\n"
    assert helper.drop(tmp_path / "not" / "there").endswith("No such file or directory")
