"""An Elasticsearch that keeps what Rally measured: whether it may be used, and the documents that go there."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fairlap_race.elasticsearch.answers import dig
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError

PATTERN = "rally-*"
CLUSTER_RIGHTS = ("manage_index_templates",)
INDEX_RIGHTS = ("create_index", "index")
BULK_BYTES = 2 << 20
"""of the documents in a request, which are about 400 bytes each"""
_NO_SECURITY = (400, 404, 405)
"""What Elasticsearch answers to questions about rights where it has no users."""
_JSON: Mapping[str, str] = {"Content-Type": "application/json"}
_LINES: Mapping[str, str] = {"Content-Type": "application/x-ndjson"}


class NotStoredError(Exception):
    """The store did not take a request; the message has no word of what it answered but the name of an exception."""


def missing_rights(client: ElasticsearchClient) -> tuple[str, ...]:
    """Return the rights that whoever asks lacks, in words; none where there are no users. Raises ElasticsearchError."""
    asked = {
        "cluster": list(CLUSTER_RIGHTS),
        "index": [{"names": [PATTERN], "privileges": list(INDEX_RIGHTS)}],
    }
    try:
        answer = client.send("POST", "/_security/user/_has_privileges", json.dumps(asked).encode(), _JSON)
    except ElasticsearchError as error:
        if error.status in _NO_SECURITY:
            return ()
        raise
    cluster = [right for right in CLUSTER_RIGHTS if dig(answer, "cluster", right) is False]
    index = [right for right in INDEX_RIGHTS if dig(answer, "index", PATTERN, right) is False]
    return (*(f"cluster privilege {right}" for right in cluster), *(f"{right} on {PATTERN}" for right in index))


def make_template(client: ElasticsearchClient, name: str, template: Mapping[str, Any]) -> None:
    """Make an index template of Rally's where there is none of that name: one that is there is its owner's.

    Rally's releases before 2.7 have templates of the older kind. Raises ElasticsearchError.
    """
    path = f"/_index_template/{name}" if "template" in template else f"/_template/{name}"
    try:
        client.get(path)
    except ElasticsearchError as error:
        if error.status != 404:
            raise
        client.send("PUT", path, json.dumps(template).encode(), _JSON)


def store(
    client: ElasticsearchClient, index: str, documents: Iterable[str], limit: float, stop: threading.Event,
    identity: str | None = None,
) -> Iterator[int]:  # fmt: skip
    """Send `documents` (a line of JSON each) to `index`, and yield how many more are there after each request.

    `identity` is the id of a single document, which replaces the one before. Raises ElasticsearchError, and
    NotStoredError when documents were refused or the time (`limit`, of the monotonic clock) is over.
    """
    action = json.dumps({"index": {"_id": identity}} if identity else {"index": {}})
    for batch in batches(documents):
        if time.monotonic() > limit:
            raise NotStoredError("the time for it was over")
        if stop.is_set():
            raise NotStoredError("the runner was told to stop")
        body = "".join(f"{action}\n{document}\n" for document in batch).encode()
        answer = client.send("POST", f"/{index}/_bulk", body, _LINES)
        taken, why = _taken(answer)
        yield taken
        if taken < len(batch):
            raise NotStoredError(f"{index} refused {len(batch) - taken} documents" + (f" ({why})" if why else ""))


def batches(documents: Iterable[str], most_bytes: int = BULK_BYTES) -> Iterator[list[str]]:
    """Yield the documents in lists of at most `most_bytes` characters, at least one in each."""
    batch: list[str] = []
    size = 0
    for document in documents:
        if batch and size + len(document) > most_bytes:
            yield batch
            batch, size = [], 0
        batch.append(document)
        size += len(document)
    if batch:
        yield batch


def _taken(answer: Any) -> tuple[int, str]:
    """Return how many documents of a bulk were taken, and the name of the first exception of one that was not."""
    taken, why = 0, ""
    items = answer.get("items") if isinstance(answer, Mapping) else None
    for item in items if isinstance(items, list) else ():
        status, kind = dig(item, "index", "status"), dig(item, "index", "error", "type")
        if isinstance(status, int) and status < 300:
            taken += 1
        elif not why and isinstance(kind, str):
            why = kind[:100]
    return taken, why
