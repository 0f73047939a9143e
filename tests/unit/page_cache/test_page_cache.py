"""What the operator asks of the machines' helpers, and what they do."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.api.names import PAGE_CACHE_DROPPED
from fairlap.kube.api_error import ApiError
from fairlap.page_cache import dropping, helper
from fairlap.page_cache.dropping import answer, asked_of, drop_page_cache

Data = dict[str, str]
PLACE = "system/fairlap-page-cache"


class OneConfigMap:
    """An API server with one ConfigMap, whose helpers answer when they are looked for."""

    def __init__(self, helpers: Callable[[Data], Data] = lambda _: {}, refused: int = 0) -> None:
        self.data: Data = {}
        self.helpers, self.refused = helpers, refused

    async def patch(self, kind: str, namespace: str, name: str, body: Any) -> None:
        assert (kind, f"{namespace}/{name}") == ("ConfigMap", PLACE)
        if self.refused:
            raise ApiError(self.refused, "no")
        self.data |= body["data"]

    async def read(self, *_: str) -> Any:
        self.data |= self.helpers(self.data)
        return {"data": dict(self.data)} if self.data else {}


def drop(server: OneConfigMap, *machines: str, request: str = "r1") -> str:
    return asyncio.run(drop_page_cache(server, PLACE, machines, request))  # type: ignore[arg-type]


def works(*machines: str, why_not: str = "") -> Callable[[Data], Data]:
    """Helpers of some machines that do at once what is asked."""

    def look(data: Data) -> Data:
        done: Data = {}
        for machine in machines:
            if request := asked_of(data, machine):
                done |= answer(machine, request, why_not)
        return done

    return look


def test_it_was_dropped_on_all_machines() -> None:
    server = OneConfigMap(works("a", "b", "c"))
    assert drop(server, "a", "b") == f"{PAGE_CACHE_DROPPED}a, b"
    assert "done.c" not in server.data, "others are left alone"
    assert drop(server, "a", request="r2") == f"{PAGE_CACHE_DROPPED}a" and server.data["done.a"] == "r2"
    assert drop(server, "a", request="r2") == f"{PAGE_CACHE_DROPPED}a", "asked again after a crash"


def test_why_it_was_not_dropped_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dropping, "_PATIENCE_SECONDS", 0.0)
    said = "the page cache was not dropped on "
    assert drop(OneConfigMap(works("a")), "a", "b") == f"{said}b: no answer of its helper in 0 s"
    kernel = works("a", why_not="/proc/sys/vm/drop_caches: Read-only file system")
    assert drop(OneConfigMap(kernel), "a") == f"{said}a: /proc/sys/vm/drop_caches: Read-only file system"
    assert drop(OneConfigMap(refused=403), "a").endswith(f"ConfigMap {PLACE} could not be used: no")


@given(st.text("abc-.", min_size=1), st.text("abc", min_size=1), st.text(max_size=400))
def test_what_was_answered_is_not_asked_again(machine: str, request: str, why_not: str) -> None:
    asked = {f"asked.{machine}": request}
    assert asked_of(asked, machine) == request
    assert asked_of(asked | answer(machine, request, why_not), machine) == ""


def test_the_helper_does_what_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    server = OneConfigMap()
    monkeypatch.setattr(helper, "drop", lambda: "")

    def serve() -> bool:
        return asyncio.run(helper.serve_once(server, PLACE, "a"))  # type: ignore[arg-type]

    assert not serve()
    server.data = {"asked.a": "r1", "asked.b": "r1"}
    assert serve() and not serve()
    assert server.data == {"asked.a": "r1", "asked.b": "r1", "done.a": "r1"}


def test_the_kernel_is_told_to_drop_all_of_it(tmp_path: Path) -> None:
    assert helper.drop(tmp_path / "drop_caches") == "" and (tmp_path / "drop_caches").read_text() == "3\n"
    assert helper.drop(tmp_path / "not" / "there").endswith("No such file or directory")
