"""Asks the helpers of some machines to drop the page cache, and waits until they have done so."""

import asyncio
import time
from collections.abc import Collection, Mapping
from typing import Final

from fairlap.api.names import PAGE_CACHE_DROPPED
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer

FAILED: Final = "failed: "
_ASKED, _DONE = "asked.", "done."
_PATIENCE_SECONDS, _PAUSE_SECONDS = 15.0, 0.5


def asked_of(data: Mapping[str, str], machine: str) -> str:
    """Return what a machine's helper has still to do: the request's id, "" for nothing."""
    asked = data.get(_ASKED + machine, "")
    return asked if asked and not data.get(_DONE + machine, "").endswith(asked) else ""


def answer(machine: str, request: str, why_not: str = "") -> dict[str, str]:
    """Return what a helper writes when it has done what was asked, or `why_not`."""
    return {_DONE + machine: f"{FAILED}{why_not[:300]} {request}" if why_not else request}


async def drop_page_cache(api_server: ApiServer, place: str, machines: Collection[str], request: str) -> str:
    """Return, as a sentence, on which machines the page cache was dropped; nothing that fails here fails a race.

    `place`: NAMESPACE/NAME of the ConfigMap of the helpers; `request`: an id that is the same when it is asked again.
    """
    namespace, _, name = place.partition("/")
    try:
        asked = {_ASKED + machine: request for machine in machines}
        await api_server.patch("ConfigMap", namespace, name, {"data": asked})
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            data = (await api_server.read("ConfigMap", namespace, name)).get("data") or {}
            open_ones = [machine for machine in machines if asked_of(data, machine) == request]
            if not open_ones or time.monotonic() > until:
                return _sentence(data, machines, open_ones)
            await asyncio.sleep(_PAUSE_SECONDS)
    except ApiError as error:
        return f"the page cache was not dropped: ConfigMap {place} could not be used: {error.message}"[:300]


def _sentence(data: Mapping[str, str], machines: Collection[str], unanswered: Collection[str]) -> str:
    failed = [f"{it}: no answer of its helper in {_PATIENCE_SECONDS:.0f} s" for it in unanswered]
    told = {it: data.get(_DONE + it, "") for it in machines if it not in unanswered}
    failed += [f"{it}: {text.removeprefix(FAILED).rpartition(' ')[0]}" for it, text in told.items() if FAILED in text]
    if failed:
        return f"the page cache was not dropped on {'; '.join(failed)}"[:300]
    return f"{PAGE_CACHE_DROPPED}{', '.join(machines)}"[:300]
