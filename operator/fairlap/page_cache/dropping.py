"""Asks the helpers of some machines to drop the page cache, and waits until they have done so.

The ConfigMap has a key for each machine and request: `asked.MACHINE.REQUEST` until a helper has done it or nobody waits
for it any more, `done.MACHINE.REQUEST` from then until it is read. A request's id has no dot, a machine's name may.
"""

import asyncio
import logging
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from fairlap.api.names import PAGE_CACHE_DROPPED, PAGE_CACHE_KEPT
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer

log = logging.getLogger(__name__)
FAILED: Final = "failed: "
_ASKED, _DONE, _OPEN, _DROPPED = "asked.", "done.", "open", "dropped"
_PATIENCE_SECONDS, _PAUSE_SECONDS = 15.0, 0.5
_LONGEST_SENTENCE = 300


class Dropping(NamedTuple):
    """What came of asking the helpers."""

    outcome: str
    """for decisions: PAGE_CACHE_DROPPED, which is on all of the machines, or PAGE_CACHE_KEPT"""
    sentence: str
    """the same for people: on which machines it was dropped, or why it was not"""


def asked_of(data: Mapping[str, str], machine: str) -> list[str]:
    """Return the ids of the requests that a machine's helper has still to do."""
    asked = (key.removeprefix(_ASKED).rpartition(".") for key in data if key.startswith(_ASKED))
    return sorted(request for of, _, request in asked if of == machine)


def answer(machine: str, requests: Iterable[str], why_not: str = "") -> dict[str, str | None]:
    """Return what a helper merges when it has done what was asked, or `why_not`: None takes a key away."""
    said = f"{FAILED}{why_not[:300]}" if why_not else _DROPPED
    merged: dict[str, str | None] = {}
    for request in requests:
        merged |= {f"{_DONE}{machine}.{request}": said, f"{_ASKED}{machine}.{request}": None}
    return merged


async def drop_page_cache(api_server: ApiServer, place: str, machines: Collection[str], request: str) -> Dropping:
    """Return whether the page cache was dropped on the machines; nothing that fails here fails a race.

    `place`: NAMESPACE/NAME of the ConfigMap of the helpers; `request`: an id without a dot, of this race alone, that is
    the same when it is asked again.
    """
    namespace, _, name = place.partition("/")
    try:
        # What was done for an operator that has ended since is done once more: nobody knows how long ago that was.
        await api_server.patch("ConfigMap", namespace, name, {"data": _keys(machines, request, _OPEN)})
        try:
            told = await _wait(api_server, place, machines, request)
        finally:
            # A helper that comes up late must not drop it in the middle of the race.
            await _withdraw(api_server, place, machines, request)
    except ApiError as error:
        return kept(f": ConfigMap {place} could not be used: {error.message}")
    return _outcome(told, machines)


async def _wait(api_server: ApiServer, place: str, machines: Collection[str], request: str) -> dict[str, str]:
    """Return what the helpers said, by machine; those that did not in time are missing. Raises ApiError."""
    namespace, _, name = place.partition("/")
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        data = (await api_server.read("ConfigMap", namespace, name)).get("data") or {}
        told = {it: data[key] for it in machines if (key := f"{_DONE}{it}.{request}") in data}
        if len(told) == len(set(machines)) or time.monotonic() > until:
            return told
        await asyncio.sleep(_PAUSE_SECONDS)


async def _withdraw(api_server: ApiServer, place: str, machines: Collection[str], request: str) -> None:
    namespace, _, name = place.partition("/")
    try:
        await api_server.patch("ConfigMap", namespace, name, {"data": _keys(machines, request, None)})
    except ApiError as error:
        log.warning("ConfigMap %s still has the request %s: %s", place, request, error)


def _keys(machines: Collection[str], request: str, asked: str | None) -> dict[str, str | None]:
    merged: dict[str, str | None] = {f"{_DONE}{machine}.{request}": None for machine in machines}
    return merged | {f"{_ASKED}{machine}.{request}": asked for machine in machines}


def _outcome(told: Mapping[str, str], machines: Collection[str]) -> Dropping:
    failed = [f"{it}: no answer of its helper in {_PATIENCE_SECONDS:.0f} s" for it in machines if it not in told]
    failed += [f"{it}: {text.removeprefix(FAILED)}" for it, text in told.items() if text.startswith(FAILED)]
    if failed:
        return kept(f" on {'; '.join(failed)}")
    return Dropping(PAGE_CACHE_DROPPED, f"the page cache was dropped on {', '.join(machines)}"[:_LONGEST_SENTENCE])


def kept(where_and_why: str) -> Dropping:
    """Return that it was not dropped; `where_and_why` goes on with the sentence."""
    return Dropping(PAGE_CACHE_KEPT, f"the page cache was not dropped{where_and_why}"[:_LONGEST_SENTENCE])
