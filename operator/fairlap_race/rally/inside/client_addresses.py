"""Each of Rally's clients speaks to one node, in each race to the same: whatever the order in which a name resolves.

Rally gives its client number n the address at place n (modulo their number) of those that the name of the service
resolves to, as each client gets them for itself; DNS servers, and aiohttp's own cache, hand them out in turning order.
Here they are put in the order of the nodes' names, which end in the number of the pod.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

ADDRESSES = "addresses.json"
"""The file that holds the nodes' addresses in their order, beside those of `live_files`."""


def write_addresses(directory: Path, addresses: Sequence[str]) -> None:
    """Write the nodes' addresses for Rally's process."""
    (directory / ADDRESSES).write_text(json.dumps(list(addresses)), encoding="utf-8")


def in_order(resolved: Sequence[Mapping[str, Any]], addresses: Sequence[str]) -> list[Any]:
    """Return what aiohttp resolved a name to, in the order of `addresses`; others follow, by their address."""
    places = {_address(address): place for place, address in enumerate(addresses)}

    def key(found: Mapping[str, Any]) -> tuple[int, str]:
        address = _address(str(found["host"]))
        return places.get(address, len(places)), address

    return sorted(resolved, key=key)


def _address(text: str) -> str:
    try:
        return ipaddress.ip_address(text.strip("[]")).exploded
    except ValueError:
        return text


def install(directory: Path) -> None:
    """Change how names resolve in this process and its forks, where Rally spreads its clients over addresses."""
    from aiohttp import TCPConnector  # noqa: PLC0415

    try:
        clients = import_module("esrally.client.asynchronous")
    except ImportError:
        return
    # Older releases take the first address: in one order for all, every client would speak to the same node.
    if not hasattr(clients, "RallyTCPConnector"):
        return
    try:
        addresses = json.loads((directory / ADDRESSES).read_text(encoding="utf-8"))
    except FileNotFoundError:
        addresses = []
    original = TCPConnector._resolve_host

    async def resolve(self: Any, *args: Any, **options: Any) -> list[Any]:
        return in_order(await original(self, *args, **options), addresses)

    TCPConnector._resolve_host = resolve  # type: ignore[method-assign]
