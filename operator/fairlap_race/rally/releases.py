"""What differs between the releases of Rally that race images have, and how each is spoken to.

Which releases there are, and what is known of each, is a table of the contract (`rally_releases`).
"""

from __future__ import annotations

import importlib.metadata
import inspect
import ssl
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairlap_race.contract.rally_releases import MAIN, RELEASES
from fairlap_race.contract.specification.race_spec import SpecError


def rally_version() -> str | None:
    """Return the version of the installed Rally, or None."""
    try:
        return importlib.metadata.version("esrally")
    except importlib.metadata.PackageNotFoundError:
        return None


def is_main(version: str | None) -> bool:
    """Tell whether that version is of the release that most images have."""
    return version is None or version == MAIN.rally


def list_option(name: str, values: Sequence[str], file: Path, version: str | None) -> list[str]:
    """Return the arguments for a list, which is in `file`, too: older releases do not read it from there."""
    if not values:
        return []
    return [f"--{name}={file if is_main(version) else ','.join(values)}"]


def tag_option(tags: Mapping[str, Any], file: Path, version: str | None) -> list[str]:
    """Return the arguments for the user's tags, which are in `file`, too.

    Raises SpecError for a tag that the older release's `key:value,key:value` cannot hold.
    """
    if not tags:
        return []
    if is_main(version):
        return [f"--user-tags={file}"]
    for key, value in tags.items():
        if set(":,") & set(f"{key}{value}"):
            raise SpecError(f"userTags.{key}: Rally {version} takes neither ':' nor ',' in a tag")
    return ["--user-tag=" + ",".join(f"{key}:{value}" for key, value in tags.items())]


def known_options(function: Callable[..., Any], **options: Any) -> dict[str, Any]:
    """Return those of `options` that a function of the installed Rally has as parameters."""
    known = inspect.signature(function).parameters
    return {name: value for name, value in options.items() if name in known}


def documents_wanted(source: Any) -> int | None:
    """Return how many documents a bulk is limited to; None when it has no such limit, as in Rally 2.3."""
    limit = getattr(source, "ingest_doc_count", None)
    return None if limit is None else int(limit)


def repeats(source: Any) -> bool:
    """Tell whether a bulk begins again at its end; Rally 2.3 cannot."""
    return bool(getattr(source, "looped", False))


def adapt(version: str) -> None:
    """Change what the installed Rally needs changed to run here; call before its `main`.

    Raises RuntimeError for a version that no race image should have.
    """
    known = {release.rally for release in RELEASES}
    if version not in known:
        raise RuntimeError(f"Rally {version} is installed, but one of {', '.join(sorted(known))} is needed")
    if is_main(version):
        from esrally.client.synchronous import RallySyncElasticsearch  # noqa: PLC0415

        give_timeout_to_first_request(RallySyncElasticsearch)
        return
    original = ssl.create_default_context

    def for_a_client(purpose: ssl.Purpose = ssl.Purpose.SERVER_AUTH, **options: Any) -> ssl.SSLContext:
        # It makes its client's context for Purpose.CLIENT_AUTH, with which Python 3.10 and later refuse to connect.
        return original(ssl.Purpose.SERVER_AUTH, **options)

    ssl.create_default_context = for_a_client


def give_timeout_to_first_request(client: Any) -> None:
    """Make that class of Elasticsearch clients wait as long for the answer to its first request as for any other.

    Rally asks there what it talks to and gives no timeout, so that the transport's own 10 s hold, whatever the client
    options say: an Elasticsearch that is slow to answer once would end the race before it began.
    """
    original = client.__init__

    def made(self: Any, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        transport, seconds = self.transport, options.get("request_timeout")
        if seconds is not None:
            # What a request itself says comes later and wins.
            transport.perform_request = partial(transport.perform_request, request_timeout=seconds)

    client.__init__ = made
