"""kopf lists in pages that are small whatever is in the objects, and misses none of them."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import kopf
import pytest
from kopf._cogs.clients import api, fetching
from kopf._cogs.structs import references

from fairlap.kube.api_server import MOST_PAGE
from fairlap.runtime.watches.small_pages import limit_of, use_small_pages, with_limit

RESOURCE = references.Resource("fairlap.dev", "v1alpha1", "benchmarks", namespaced=True)
SELECTOR = "app.kubernetes.io/managed-by=fairlap,fairlap.dev/part!=record"


class Body:
    """The body of an answer, which tells how much of it was read."""

    def __init__(self, text: str) -> None:
        self.text, self.read = text.encode(), 0

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        for first in range(0, len(self.text), size):
            self.read += len(part := self.text[first : first + size])
            yield part


class Answer:
    def __init__(self, text: str) -> None:
        self.content = Body(text)

    async def __aenter__(self) -> "Answer":
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


class Server:
    """Objects of these sizes, listed in pages."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes, self.limits, self.answers = sizes, list[int](), list[Answer]()

    async def request(self, method: str, url: str, **_: Any) -> Answer:
        query = {key: value for key, (value,) in parse_qs(urlsplit(url).query).items()}
        assert method == "get" and query.get("labelSelector") == SELECTOR
        first, limit = int(query.get("continue", 0)), int(query["limit"])
        self.limits.append(limit)
        beyond = min(first + limit, len(self.sizes))
        items = [{"metadata": {"name": str(n)}, "spec": "x" * self.sizes[n]} for n in range(first, beyond)]
        meta = {"resourceVersion": "7", "continue": str(beyond) if beyond < len(self.sizes) else ""}
        self.answers.append(Answer(json.dumps({"kind": "BenchmarkList", "metadata": meta, "items": items})))
        return self.answers[-1]


def listed(monkeypatch: pytest.MonkeyPatch, server: Server) -> list[str]:
    monkeypatch.setattr(api, "get", api.get)
    monkeypatch.setattr(api, "request", server.request)
    use_small_pages()
    settings = kopf.OperatorSettings()
    settings.watching.chunk_size = 25
    settings.watching.label_selectors[lambda _: True] = SELECTOR

    async def scene() -> list[str]:
        pages = fetching.fetch_objs(settings=settings, resource=RESOURCE, namespace="n", logger=logging.getLogger())
        return [str(item["metadata"]["name"]) async for page, _ in pages for item in page]

    return asyncio.run(scene())


@pytest.mark.parametrize(
    "sizes", [[], [10], [17_000] * 60, [1_400_000] * 30, [17_000] * 30 + [1_400_000] * 3 + [17_000] * 30, [5 << 20]]
)
def test_every_object_is_listed_once_and_no_page_is_large(monkeypatch: pytest.MonkeyPatch, sizes: list[int]) -> None:
    server = Server(sizes)
    assert listed(monkeypatch, server) == [str(number) for number in range(len(sizes))]
    for limit, answer in zip(server.limits, server.answers, strict=True):
        assert answer.content.read <= MOST_PAGE + (1 << 16) or limit == 1, "of one that is too large, no more is read"


def test_small_objects_cost_no_more_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server([17_000] * 60)
    listed(monkeypatch, server)
    assert server.limits == [25, 25, 25]


def test_all_else_of_a_url_stays() -> None:
    url = "/apis/fairlap.dev/v1alpha1/benchmarks?limit=25&labelSelector=a%3Db%2Cc%21%3Dd&continue=e%2Bf%3D%3D"
    assert limit_of(url) == 25 and limit_of("/api?limit=") == limit_of("/api") == 0
    before, after = urlsplit(url), urlsplit(with_limit(url, 6))
    assert before.path == after.path
    assert parse_qs(after.query) == {**parse_qs(before.query), "limit": ["6"]}
