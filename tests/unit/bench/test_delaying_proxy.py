"""The proxy that slows answers: right answers, held as long as it says, and only those that it names."""

import argparse
import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from parts.delaying_proxy import DelayingProxy, Slowdown, listens, wait_until

SERVICE_SECONDS = 0.02


class _Server(BaseHTTPRequestHandler):
    """Answers after a while, with what it was asked; in chunks, or without a body, where the path says so."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        time.sleep(SERVICE_SECONDS)
        text = f"{self.command} {self.path} {self.headers.get('Authorization', '')} ".encode() + body
        self.send_response(404 if "missing" in self.path else 200)
        self.send_header("X-elastic-product", "Elasticsearch")
        if "chunked" in self.path:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in (text[:5], text[5:]):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
            return
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = _answer  # noqa: N815 - the names are http.server's

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def behind(slowdown: Slowdown) -> Iterator[http.client.HTTPConnection]:
    """A connection to a proxy before such a server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    proxy = DelayingProxy(("127.0.0.1", 0), ("127.0.0.1", server.server_address[1]), slowdown)
    proxy.begin()
    connection = http.client.HTTPConnection("127.0.0.1", proxy.server_address[1], timeout=30)
    yield connection
    connection.close()
    for each in (proxy, server):
        each.shutdown()
        each.server_close()


def asked(connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None = None) -> tuple[int, str]:
    connection.request(method, path, body, {"Authorization": "Basic eA=="})
    answer = connection.getresponse()
    assert answer.getheader("X-elastic-product") == "Elasticsearch"
    return answer.status, answer.read().decode()


def test_requests_and_answers_pass_as_they_are() -> None:
    with behind(Slowdown("none", 0)) as connection:
        assert asked(connection, "GET", "/a%20b/_search?q=1") == (200, "GET /a%20b/_search?q=1 Basic eA== ")
        assert asked(connection, "POST", "/_bulk", b"{}\n") == (200, "POST /_bulk Basic eA== {}\n")
        assert asked(connection, "GET", "/chunked") == (200, "GET /chunked Basic eA== ")
        assert asked(connection, "HEAD", "/missing") == (404, "")
        assert asked(connection, "DELETE", "/missing") == (404, "DELETE /missing Basic eA== ")
        connection.request("POST", "/_bulk", iter([b"12", b"345"]), encode_chunked=True)
        assert connection.getresponse().read() == b"POST /_bulk  12345"


def test_a_cluster_that_is_away_is_a_bad_gateway() -> None:
    proxy = DelayingProxy(("127.0.0.1", 0), ("127.0.0.1", 1), Slowdown("none", 0))
    proxy.begin()
    connection = http.client.HTTPConnection("127.0.0.1", proxy.server_address[1], timeout=30)
    connection.request("GET", "/")
    assert connection.getresponse().status == 502
    proxy.shutdown()
    proxy.server_close()


@pytest.mark.parametrize(
    ("kind", "path", "held"),
    [
        ("search", "/logs/_search", True),
        ("search", "/logs/_search?size=0", True),
        ("search", "/_msearch", True),
        ("search", "/logs/_bulk", False),
        ("search", "/_search_shards", False),
        ("indexing", "/_bulk?pipeline=p", True),
        ("indexing", "/logs/_bulk", True),
        ("indexing", "/logs/_search", False),
        ("none", "/logs/_search", False),
        ("none", "/_bulk", False),
    ],
)
def test_only_answers_of_the_kind_are_held(kind: str, path: str, held: bool) -> None:
    assert Slowdown(kind, 0.2).holds(path) is held


def test_answers_are_held_for_their_share() -> None:
    """None is early; of many, in turns, the fastest are compared: on a busy machine any number of them take longer."""

    def took(connection: http.client.HTTPConnection, path: str) -> float:
        began = time.perf_counter()
        asked(connection, "POST", path, b"{}")
        return time.perf_counter() - began

    with behind(Slowdown("search", 0.5)) as connection:
        plain, slowed = took(connection, "/_bulk"), took(connection, "/_search")
        for number in range(300):
            if number >= 24 and slowed / plain < 1.6:
                break
            plain, slowed = min(plain, took(connection, "/_bulk")), min(slowed, took(connection, "/_search"))
    assert slowed > 1.5 * SERVICE_SECONDS and 1.4 < slowed / plain < 1.6


def test_a_hold_ends_neither_early_nor_late() -> None:
    late = []
    for _ in range(40):
        moment = time.perf_counter() + 0.0008  # 5 % of 16 ms
        wait_until(moment)
        late.append(time.perf_counter() - moment)
    assert min(late) >= 0 and sorted(late)[len(late) // 10] < 0.0002, "on a busy machine many are late"


def test_a_port_is_told_by_one_word() -> None:
    assert listens("9201=search:5") == (9201, Slowdown("search", 0.05), None)
    assert listens("9201=search:5@other-es-http:9200") == (9201, Slowdown("search", 0.05), ("other-es-http", 9200))
    for wrong in ("9201", "9201=merge:5", "9201=search:-5", "search:5"):
        with pytest.raises(argparse.ArgumentTypeError, match="PORT=KIND:PERCENT"):
            listens(wrong)
