"""Sends events about Benchmarks and Comparisons, each in a task of its own, until the API server takes it."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from fairlap.api.base import Json
from fairlap.api.names import API_VERSION, KIND
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer

log = logging.getLogger(__name__)
REPORTER = "fairlap-operator"
_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)


class Events:
    """What is on its way; events are helpful but must not hold up what they tell of."""

    def __init__(self, api_server: Callable[[], ApiServer]) -> None:
        self._api_server = api_server
        self._tasks: set[asyncio.Task[None]] = set()

    def post(self, about: Mapping[str, Any], kind: str, reason: str, message: str) -> None:
        """Send an event about a Benchmark, or an object that names its own kind; `kind` is Normal or Warning."""
        task = asyncio.create_task(self._send(event_about(about, kind, reason, message)), name=f"event {reason}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def flush(self, seconds: float) -> None:
        """Wait that long for what is on its way, then give it up."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=seconds)
            for task in late:
                task.cancel()

    async def _send(self, body: Json) -> None:
        for pause in _PAUSES:
            try:
                await self._api_server().create(body)
                return
            except ApiError as error:
                if error.status == 409:  # created by a request whose answer was lost
                    return
                last = error
                if error.final:
                    break
            await asyncio.sleep(pause)
        log.warning("event %s of %s was given up: %s", body["reason"], body["involvedObject"]["name"], last)


def event_about(about: Mapping[str, Any], kind: str, reason: str, message: str) -> Json:
    """Return the event as Kubernetes' own components write it."""
    meta, now = about["metadata"], time.time()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
    subject = {key: meta[key] for key in ("name", "namespace", "uid", "resourceVersion") if key in meta}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{meta['name'][:230]}.{time.time_ns():x}", "namespace": meta["namespace"]},
        "involvedObject": {"apiVersion": API_VERSION, "kind": about.get("kind") or KIND, **subject},
        "type": kind,
        "reason": reason,
        "message": message[:1000],
        "source": {"component": REPORTER},
        "reportingComponent": REPORTER,
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "count": 1,
    }
