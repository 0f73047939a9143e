"""A plain HTTP proxy before an Elasticsearch that holds answers for a share of their own service time.

    python delaying_proxy.py --upstream HOST:PORT --listen 9200=none:0 --listen 9201=search:5 --listen 9202=indexing:20
    python delaying_proxy.py --upstream HOST:PORT --listen 9200=none:0 --listen 9201=search:5@OTHER-HOST:PORT

Each port holds the answers to one kind of request: at 9201 an answer to a search that took 10 ms is held for 0.5 ms.
The time is counted from the request's arrival here, so that what the proxy itself takes is slowed alike. All ports are
of one process and one code, so that between two of them nothing else differs. Standard library alone, since it runs
from a ConfigMap.
"""

import argparse
import contextlib
import http.client
import re
import socketserver
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

SEARCH, INDEXING, NONE = "search", "indexing", "none"
KINDS = {SEARCH: re.compile(r"/_m?search(?:[/?]|$)"), INDEXING: re.compile(r"/_bulk(?:[/?]|$)")}
HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "content-length", "proxy-connection", "upgrade"}
)
SPIN_SECONDS = 0.0003
"""A sleep ends about this much late; the rest of a hold is waited for with open eyes."""
UPSTREAM_SECONDS = 300.0


class Slowdown(NamedTuple):
    """Which answers are held, and for how long."""

    kind: str
    """search, indexing or none"""
    share: float
    """of the service time: 0.05 holds an answer that took 100 ms for 5 ms"""

    def holds(self, path: str) -> bool:
        """Tell whether the answer to a request for this path is held."""
        return self.kind in KINDS and bool(KINDS[self.kind].search(path))


class Listen(NamedTuple):
    """A port, what it holds, and before whom it stands."""

    port: int
    slowdown: Slowdown
    upstream: tuple[str, int] | None = None
    """None: the one of --upstream"""


def listens(text: str) -> Listen:
    """Return what PORT=KIND:PERCENT[@HOST:PORT] says, as 9201=search:5; raises ArgumentTypeError."""
    found = re.fullmatch(r"(\d+)=(search|indexing|none):(\d+(?:\.\d+)?)(?:@([\w.-]+:\d+))?", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text} is not PORT=KIND:PERCENT[@HOST:PORT], for example 9201=search:5")
    return Listen(int(found[1]), Slowdown(found[2], float(found[3]) / 100), address(found[4]) if found[4] else None)


def address(text: str) -> tuple[str, int]:
    """Return host and port of HOST:PORT."""
    host, _, port = text.rpartition(":")
    return host, int(port)


def wait_until(moment: float) -> None:
    """Return at a moment of time.perf_counter, some microseconds late at most."""
    left = moment - time.perf_counter()
    if left > SPIN_SECONDS:
        time.sleep(left - SPIN_SECONDS)
    while time.perf_counter() < moment:
        pass


class DelayingProxy(ThreadingHTTPServer):
    """One port of the proxy; a thread and an upstream connection for each of its connections."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], upstream: tuple[str, int], slowdown: Slowdown) -> None:
        super().__init__(address, _Handler)
        self.upstream, self.slowdown = upstream, slowdown

    def server_bind(self) -> None:
        """Bind without asking for the machine's name, which may take long."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def begin(self) -> None:
        """Serve in a thread of its own."""
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    server: DelayingProxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    """an answer leaves in one piece"""
    _upstream: http.client.HTTPConnection | None = None
    _arrived = 0.0

    def parse_request(self) -> bool:
        self._arrived = time.perf_counter()
        return super().parse_request()

    def _pass(self) -> None:
        try:
            body = self._body()
            answer, content = self._ask(body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._drop_upstream()
            self.close_connection = True
            self.send_error(502, explain=f"{type(error).__name__}: {error}")
            return
        if self.server.slowdown.holds(self.path):
            took = time.perf_counter() - self._arrived
            wait_until(self._arrived + took * (1 + self.server.slowdown.share))
        self._answer(answer, content)

    def _body(self) -> bytes:
        if "chunked" not in (self.headers.get("Transfer-Encoding") or "").lower():
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(pieces)

    def _ask(self, body: bytes) -> tuple[http.client.HTTPResponse, bytes]:
        if self._upstream is None:
            self._upstream = http.client.HTTPConnection(*self.server.upstream, timeout=UPSTREAM_SECONDS)
        upstream = self._upstream
        upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in HOP_BY_HOP:
                upstream.putheader(name, value)
        if body or self.command in ("POST", "PUT"):
            upstream.putheader("Content-Length", str(len(body)))
        upstream.endheaders(body or None)
        answer = upstream.getresponse()
        content = answer.read()
        if answer.will_close:
            self._drop_upstream()
        return answer, content

    def _answer(self, answer: http.client.HTTPResponse, content: bytes) -> None:
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(content))
        if length is not None and answer.status not in (204, 304):
            self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def _drop_upstream(self) -> None:
        if self._upstream is not None:
            self._upstream.close()
            self._upstream = None

    def finish(self) -> None:
        self._drop_upstream()
        with contextlib.suppress(OSError):
            super().finish()

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = _pass  # noqa: N815 - the names are http.server's

    def log_message(self, *_: object) -> None:
        """Say nothing: a line a request would cost what is measured."""


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upstream", required=True, help="HOST:PORT, without TLS")
    parser.add_argument("--listen", type=listens, action="append", required=True, help="PORT=KIND:PERCENT[@HOST:PORT]")
    asked = parser.parse_args()
    for each in asked.listen:
        upstream = each.upstream or address(asked.upstream)
        DelayingProxy(("", each.port), upstream, each.slowdown).begin()  # a pod's every address
    threading.Event().wait()


if __name__ == "__main__":
    main()
