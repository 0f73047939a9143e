"""Rally's side of the percolator track: searches that percolate one generated document after the other."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any


class Percolated:
    """Gives each search the next document of percolated.json.

    The operation's `query` is the search body's query; wherever it holds `"document": null`, the document is put in.
    Client i of n takes the documents i, i + n, i + 2n …, then again, so that each run sends the same ones.
    """

    infinite = True

    def __init__(self, track: Any, params: dict[str, Any], **_: Any) -> None:
        self._search = {
            "index": params["index"],
            "detailed-results": True,
            "response-compression-enabled": params.get("response-compression-enabled", True),
        }
        self._body: dict[str, Any] = params["body"]
        self._documents: Iterator[Any] = iter(())

    def partition(self, partition_index: int, total_partitions: int) -> Percolated:
        """Return what client `partition_index` of `total_partitions` sends."""
        mine = copy.copy(self)
        lines = (Path(__file__).parent / "percolated.json").read_text(encoding="ascii").splitlines()
        mine._documents = cycle([json.loads(line) for line in lines[partition_index::total_partitions] or lines])
        return mine

    def params(self) -> dict[str, Any]:
        """Return the next search."""
        return {**self._search, "body": _filled(self._body, next(self._documents))}


def _filled(value: Any, document: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: document if key == "document" and inner is None else _filled(inner, document)
            for key, inner in value.items()
        }
    return value


def register(registry: Any) -> None:
    """Tell Rally the name of the parameter source."""
    registry.register_param_source("percolated", Percolated)
