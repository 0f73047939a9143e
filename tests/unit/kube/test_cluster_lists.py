"""Lists of metadata alone: of several namespaces, of all, and of none."""

import asyncio
import json
from typing import Any

import pytest

from fairlap.kube.cluster import Cluster


class Answers(Cluster):
    """Answers as the API server does: the items of an empty list are null."""

    def __init__(self, uids: dict[str, list[str]]) -> None:
        self.uids, self.asked = uids, []

    async def _text(self, method: str, kind: str, namespace: str, *_: Any, query: Any = None, **__: Any) -> str:
        self.asked.append((method, kind, namespace, query))
        return json.dumps({"items": [{"metadata": {"uid": uid}} for uid in self.uids.get(namespace, ())] or None})


@pytest.mark.parametrize(
    ("namespaces", "found"), [((), set()), (("a",), {"1", "2"}), (("a", "b", "c"), {"1", "2", "3"}), (("c",), set())]
)
def test_benchmarks_of_some_namespaces(namespaces: tuple[str, ...], found: set[str]) -> None:
    cluster = Answers({"a": ["1", "2"], "b": ["3"]})
    assert asyncio.run(cluster.benchmark_uids(iter(namespaces))) == found
    assert [namespace for _, _, namespace, _ in cluster.asked] == list(namespaces or ("",))


def test_claims_of_benchmarks_only() -> None:
    cluster = Answers({"a": ["1"]})
    assert len(asyncio.run(cluster.ours("PersistentVolumeClaim", ["a"]))) == 1
    assert cluster.asked == [("GET", "PersistentVolumeClaim", "a", {"labelSelector": "fairlap.dev/uid"})]
