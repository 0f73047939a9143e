"""What each request of a race over HTTP finds, read when the race is over: answers come before speed.

k6 does not look into answers, since that would cost it time. So each request of the file is sent once more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.http_record import RequestHits, hits_digest
from fairlap_race.contract.request_files.hits import find_hits, may_be_part
from fairlap_race.contract.request_files.probe import PointerError
from fairlap_race.contract.request_files.sent_request import Sent
from fairlap_race.elasticsearch.client import TIMEOUT_SECONDS, ElasticsearchClient, ElasticsearchError
from fairlap_race.http.requests import MOST_FIRST
from fairlap_race.runner.parts import FailedError

MOST_KEPT = MOST_FIRST
"""Lines whose hits are in the record one by one; those of all lines have a digest."""
MOST_SECONDS = 120.0
MOST_BYTES = 1 << 24
"""Of an answer."""

Ask = Callable[[str, Sent, float], Any]
"""Returns the JSON that a host answers to a request within so many seconds. Raises ElasticsearchError."""


def asker(client: ElasticsearchClient, headers: Mapping[str, str], timeout: float) -> Ask:
    """Return how requests are asked: over the client's connections, with the headers that k6 sends in the race.

    `timeout`: seconds after which k6 gives a request up; less is not waited here.
    """
    patience, typed = max(TIMEOUT_SECONDS, timeout), any(name.lower() == "content-type" for name in headers)

    def ask(host: str, request: Sent, seconds: float) -> Any:
        method, path, body, content = request
        own = dict(headers) if typed or content is None else {**headers, "Content-Type": content}
        text = None if body is None else body.encode()
        return client.send_to(host, method, path, text, own, MOST_BYTES, min(patience, seconds))

    return ask


def check_hits(pointer: str, lines: Sequence[Sent], hosts: Sequence[str], ask: Ask) -> None:
    """Have the first request answered by each host, and its hits read. Raises FailedError where they are not there."""
    for host in hosts:
        try:
            find_hits(ask(host, lines[0], MOST_SECONDS), pointer)
        except (ElasticsearchError, PointerError) as error:
            text = f"race.requests.hits: the answer of {host} to line 1: {_why_unread(error)}"
            raise FailedError(Reason.PROBE_UNREADABLE, text) from error


def read_hits(
    pointer: str,
    lines: Sequence[Sent],
    hosts: Sequence[str],
    ask: Ask,
    stop: threading.Event,
    limit: float = MOST_SECONDS,
) -> RequestHits:
    """Return the hits of each line, the same request asked once; the hosts in turn, for they have the same data.

    It ends after `limit` seconds, however long the file is, and at a line whose answer takes longer than a race waits,
    or is too long: that one counts as not asked. What was not read, or cannot be, is said.
    """
    ends, known, why, in_part = time.monotonic() + limit, dict[Sent, int | None](), "", False
    found: list[int | None] = []
    for number, request in enumerate(lines):
        if request not in known:
            left = ends - time.monotonic()
            if stop.is_set() or left <= 0:
                why = why or f"only the first {number:,} of {len(lines):,} lines were asked again in {limit:g} s"
                break
            try:
                answer = ask(hosts[len(known) % len(hosts)], request, left)
                known[request] = find_hits(answer, pointer)
                in_part = in_part or may_be_part(answer, pointer, request)
            except (ElasticsearchError, PointerError) as error:
                why = why or f"line {number + 1}: {_why_unread(error)}"
                if isinstance(error, ElasticsearchError) and error.given_up:
                    break  # the answer itself is not wrong
                known[request] = None
        found.append(known[request])
    whole = len(found) == len(lines) and None not in found
    digest = hits_digest(found) if whole else None
    unreadable = found[MOST_KEPT:].count(None)
    return RequestHits(pointer, tuple(found[:MOST_KEPT]), why, len(found), unreadable, digest, in_part)


def _why_unread(error: Exception) -> str:
    """Return why, without the request: it may be long, and its line is named."""
    return error.why if isinstance(error, ElasticsearchError) else str(error)
