"""What each request of a race over HTTP finds, read when the race is over: answers come before speed.

k6 does not look into answers, since that would cost it time. So each request of the file is sent once more.
"""

from __future__ import annotations

import math
import queue
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
from fairlap_race.http.k6 import path_as_sent
from fairlap_race.http.requests import MOST_FIRST
from fairlap_race.runner.parts import FailedError

MOST_KEPT = MOST_FIRST
"""Lines whose hits are in the record one by one; those of all lines have a digest."""
MOST_SECONDS = 120.0
MOST_BYTES = 1 << 24
"""Of an answer."""
POLL_SECONDS = 0.1
USER_AGENT = "FairLap"
"""As k6's script says who asks."""

Ask = Callable[[str, Sent, float], Any]
"""Returns the JSON that a host answers to a request within so many seconds. Raises ElasticsearchError."""


def asker(client: ElasticsearchClient, headers: Mapping[str, str], timeout: float) -> Ask:
    """Return how requests are asked: over the client's connections, with the headers that k6 sends in the race.

    `timeout`: seconds after which k6 gives a request up; less is not waited here.
    """
    patience, named = max(TIMEOUT_SECONDS, timeout), {name.lower() for name in headers}
    as_k6 = {**({} if "user-agent" in named else {"User-Agent": USER_AGENT}), **headers}

    def ask(host: str, request: Sent, seconds: float) -> Any:
        method, path, body, content = request
        own = as_k6 if "content-type" in named or content is None else {**as_k6, "Content-Type": content}
        text = None if body is None else body.encode()
        return client.send_to(host, method, path_as_sent(path), text, own, MOST_BYTES, min(patience, seconds))

    return ask


class _OverError(Exception):
    """Nothing more is asked; the words say before what, or within what, all was to be asked."""

    def __init__(self, reason: Reason, words: str) -> None:
        super().__init__(words)
        self.reason = reason


class _Patience:
    """How long may be asked: to a stop, to the race's `deadline` on the monotonic clock, and no longer than so."""

    def __init__(self, stop: threading.Event, deadline: float) -> None:
        self._stop, self._ends = stop, time.monotonic() + MOST_SECONDS
        self._over = _OverError(Reason.PROBE_UNREADABLE, f"in {MOST_SECONDS:g} s")
        if deadline < self._ends:
            self._ends, self._over = deadline, _OverError(Reason.RACE_TIMEOUT, "before the race's deadline")

    def answer(self, ask: Ask, host: str, request: Sent) -> Any:
        """Return what the host answers. Raises ElasticsearchError, and _OverError however its connection hangs."""
        ended: queue.SimpleQueue[tuple[Any, Exception | None]] = queue.SimpleQueue()

        def wait(seconds: float) -> None:
            try:
                ended.put((ask(host, request, seconds), None))
            except Exception as error:
                ended.put((None, error))

        # A host that sends a byte now and then ends no wait of a socket: this thread is left behind then.
        threading.Thread(target=wait, args=(self._left(),), name="ask for hits", daemon=True).start()
        while True:
            try:
                answer, error = ended.get(timeout=min(POLL_SECONDS, self._left()))
            except queue.Empty:
                continue
            if error is not None:
                raise error
            return answer

    def _left(self) -> float:
        if self._stop.is_set():
            raise _OverError(Reason.RACE_ABORTED, "before the runner was told to stop")
        if (left := self._ends - time.monotonic()) <= 0:
            raise self._over
        return left


def check_hits(
    pointer: str,
    lines: Sequence[Sent],
    hosts: Sequence[str],
    ask: Ask,
    stop: threading.Event,
    deadline: float = math.inf,
) -> None:
    """Have the first request answered by each host, and its hits read, before the `deadline` on the monotonic clock.

    Raises FailedError where they are not there, at a stop, and when it is too late.
    """
    for host in hosts:
        try:
            find_hits(_Patience(stop, deadline).answer(ask, host, lines[0]), pointer)
        except _OverError as over:
            raise FailedError(over.reason, f"race.requests.hits: {host} had not answered line 1 {over}") from over
        except (ElasticsearchError, PointerError) as error:
            text = f"race.requests.hits: the answer of {host} to line 1: {_why_unread(error)}"
            raise FailedError(Reason.PROBE_UNREADABLE, text) from error


def read_hits(
    pointer: str,
    lines: Sequence[Sent],
    hosts: Sequence[str],
    ask: Ask,
    stop: threading.Event,
    deadline: float = math.inf,
) -> RequestHits:
    """Return the hits of each line, the same request asked once; the hosts in turn, for they have the same data.

    It ends after MOST_SECONDS, however long the file is, at the race's `deadline` on the monotonic clock, at a stop,
    and at a line whose answer takes longer than a race waits, or is too long: that one counts as not asked. What was
    not read, or cannot be, is said.
    """
    patience, known, why, in_part = _Patience(stop, deadline), dict[Sent, int | None](), "", False
    found: list[int | None] = []
    for number, request in enumerate(lines):
        if request not in known:
            try:
                answer = patience.answer(ask, hosts[len(known) % len(hosts)], request)
                known[request] = find_hits(answer, pointer)
                in_part = in_part or may_be_part(answer, pointer, request)
            except _OverError as over:
                why = why or f"only the first {number:,} of {len(lines):,} lines were asked again {over}"
                break
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
