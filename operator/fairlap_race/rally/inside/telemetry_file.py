"""What Rally's telemetry devices collect goes to a file as it comes, instead of into the memory of Rally's driver.

Rally keeps it in its metrics store alone, and its results have nothing of it. A line of the file is a JSON object: what
the device says, with the time (`at`, seconds since the epoch) and the node, if it is of one.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from pathlib import Path
from typing import Any

TELEMETRY = "telemetry.jsonl"
"""The file, beside those of `live_files`."""
SEGMENTS = "segment-stats"
TRANSFORMS = "transform-stats"
KEPT_DEVICES = frozenset(
    {"node-stats", "recovery-stats", "shard-stats", "data-stream-stats", "ccr-stats", SEGMENTS, TRANSFORMS}
)
"""Devices whose documents are in no result of Rally's, or only the last of them."""
MOST_BYTES = 64 << 20
"""Of the file; what comes later is counted alone."""
LOG = logging.getLogger(__name__)


class TelemetryFile:
    """Appends what devices say; threads may share it, and whatever fails here ends no race."""

    def __init__(self, path: Path, most_bytes: int = MOST_BYTES) -> None:
        self._path = path
        self._left = most_bytes
        self._lock = threading.Lock()

    def add(self, document: dict[str, Any], node: str | None) -> None:
        """Write one document of a device, or that there was one."""
        whole = {"at": round(time.time(), 3), **({"node": node} if node else {}), **document}
        line = json.dumps(whole, default=str, separators=(",", ":"))
        with self._lock:
            if len(line) > self._left:
                line = json.dumps({"name": document.get("name"), "beyond": True})
            else:
                self._left -= len(line) + 1
            with self._path.open("a", encoding="utf-8") as out:
                out.write(f"{line}\n")


def install(directory: Path, store_class: Any, segments_class: Any, transforms_class: Any) -> None:
    """Change Rally's class of metrics stores, its device for segments, and what records transforms, in this process
    and its forks."""
    file = TelemetryFile(directory / TELEMETRY)
    original = store_class.put_doc

    def put_doc(self: Any, doc: dict[str, Any], *args: Any, **options: Any) -> None:
        if doc.get("name") not in KEPT_DEVICES:
            original(self, doc, *args, **options)
            return
        try:
            file.add(doc, options.get("node_name"))
        except (OSError, ValueError):
            LOG.exception("the telemetry of %s was not kept", doc.get("name"))

    def on_benchmark_stop(self: Any) -> None:
        # Rally's own takes the client's answer for a text, and writes nothing.
        try:
            rows = self.client.cat.segments(index="_all", format="json")
            for row in list(rows):
                file.add({"name": SEGMENTS, **row}, None)
        except Exception:
            LOG.exception("the segments could not be asked for")

    record_totals, record_final = transforms_class.record_stats_per_transform, transforms_class.record_final

    def record_stats_per_transform(self: Any, transform_id: str, stats: dict[str, Any], prefix: str = "") -> None:
        # Rally makes a dozen values of each look; of all these its results have those of the last one.
        try:
            file.add({"name": TRANSFORMS, "transform": transform_id, "last": bool(prefix), **stats}, None)
        except (OSError, ValueError):
            LOG.exception("the statistics of transform %s were not kept", transform_id)
        if prefix:
            record_totals(self, transform_id, stats, prefix)

    def record_last(self: Any) -> None:
        # An Elasticsearch without transforms would end the race here.
        try:
            record_final(self)
        except Exception:
            LOG.exception("the transforms could not be asked for")

    store_class.put_doc = put_doc
    transforms_class.record_stats_per_transform = record_stats_per_transform
    transforms_class.record_final = record_last
    segments_class.on_benchmark_stop = on_benchmark_stop
