"""Many requests over one connection; and whatever goes wrong is an ElasticsearchError in words."""

import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.tls_trouble import TlsTrouble
from fairlap_race.elasticsearch.client import KEPT_CONNECTIONS, ElasticsearchClient, ElasticsearchError
from fairlap_race.runner.connect import connection_reason


class Server(ThreadingHTTPServer):
    """Answers every request with what it was, and counts connections; drops those to paths with "drop" in them."""

    daemon_threads = True

    def __init__(
        self, tls: Path | None = None, *, asks_for_certificate: bool = False, address: str = "127.0.0.1"
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, 0), Handler)
        self.connections: list[Any] = []
        self.asked: list[str] = []
        self.headers: list[tuple[str, str]] = []
        self.drop = 0
        self.body = b""
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls / "ca.crt", tls / "tls.key")
            if asks_for_certificate:
                context.load_verify_locations(tls / "ca.crt")
                context.verify_mode = ssl.CERT_REQUIRED
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def handle_error(self, *_: Any) -> None:
        pass


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        if isinstance(self.connection, ssl.SSLSocket):
            self._shake_hands(self.connection)
        self.server.connections.append(self.connection)

    def _shake_hands(self, connection: ssl.SSLSocket) -> None:
        """A refusal is read before its connection is closed: a request that nobody read would reset it."""
        try:
            connection.do_handshake()
        except ssl.SSLError:
            raw = socket.socket(fileno=connection.detach())
            raw.shutdown(socket.SHUT_WR)
            while raw.recv(4096):
                pass
            raw.close()
            raise

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        self.server.headers = self.headers.items()
        if self.server.drop:
            self.server.drop -= 1
            self.close_connection = True
            return
        status = int(self.path.rpartition("=")[2]) if "status=" in self.path else 200
        body = (
            self.server.body or b"oops"
            if "text" in self.path
            else json.dumps({"authorization": self.headers["Authorization"]}).encode()
        )
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.do_GET()

    def do_PUT(self) -> None:
        self.do_POST()

    def do_DELETE(self) -> None:
        self.do_GET()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def secure(account: Path) -> Iterator[Server]:
    server = Server(account)
    yield server
    server.shutdown()
    server.server_close()


def client(server: Server, **how: Any) -> ElasticsearchClient:
    return ElasticsearchClient([f"127.0.0.1:{server.port}"], "elastic", None, how.pop("ca_file", None), **how)


def test_many_requests_use_one_connection(server: Server) -> None:
    asks = client(server)
    for number in range(20):
        asks.get(f"/{number}")
    asks.post("/a/_refresh")
    asks.delete("/a")
    with pytest.raises(ElasticsearchError):
        asks.get("/?status=404")
    asks.get("/again")
    assert len(server.asked) == 24 and len(server.connections) == 1


def test_many_requests_use_one_connection_over_tls(secure: Server, account: Path, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("secret\n")
    asks = ElasticsearchClient([f"127.0.0.1:{secure.port}"], "me", tmp_path / "password", account / "ca.crt")
    answers = [asks.get(f"/{number}") for number in range(5)]
    assert answers == [{"authorization": "Basic bWU6c2VjcmV0"}] * 5
    assert len(secure.connections) == 1


def test_a_request_of_another_is_sent_as_it_stands_over_tls(secure: Server, account: Path) -> None:
    own = ElasticsearchClient([f"localhost:{secure.port}"], "me", None, account / "ca.crt")
    own.send_to(f"localhost:{secure.port}", "GET", "/a%2fb?q=50%", None, {}, 1 << 20)
    assert secure.asked == ["GET /a%2fb?q=50%"]


@pytest.mark.parametrize("tls", [False, True])
def test_an_ipv6_address_in_brackets(tls: bool, account: Path) -> None:
    server = Server(account if tls else None, address="::1")
    ca_file = account / "ca.crt" if tls else None
    try:
        asks = ElasticsearchClient([f"[::1]:{server.port}"], "elastic", None, ca_file)
        assert asks.get("/") == {"authorization": None}
        asks.close()
    finally:
        server.shutdown()
        server.server_close()
    with pytest.raises(ElasticsearchError, match=r"GET / at \[::1\]:1: ConnectionRefusedError"):
        ElasticsearchClient(["[::1]:1"], "elastic", None, ca_file).get("/")


@pytest.mark.parametrize("stored", ["aWQ6a2V5", "id:key", "aWQ6a2V5\n"])
def test_an_api_key_as_elasticsearch_gives_it_or_in_its_parts(server: Server, tmp_path: Path, stored: str) -> None:
    (tmp_path / "api-key").write_text(stored)
    assert client(server, api_key_file=tmp_path / "api-key").get("/") == {"authorization": "ApiKey aWQ6a2V5"}


def test_a_server_that_asks_for_a_certificate(account: Path) -> None:
    asking = Server(account, asks_for_certificate=True)
    pair = account / "ca.crt", account / "tls.key"
    try:
        with pytest.raises(ElasticsearchError, match="CERTIFICATE_REQUIRED") as refused:
            client(asking, ca_file=account / "ca.crt").get("/")
        assert connection_reason(refused.value) is Reason.AUTHENTICATION_FAILED
        assert client(asking, ca_file=account / "ca.crt", certificate=pair).get("/") == {"authorization": None}
    finally:
        asking.shutdown()
        asking.server_close()


def test_a_key_with_a_passphrase_is_refused_rather_than_asked_for(account: Path, tmp_path: Path) -> None:
    encrypted = tmp_path / "tls.key"
    argv = ["openssl", "rsa", "-aes128", "-passout", "pass:secret", "-in", str(account / "tls.key"), "-out"]
    subprocess.run([*argv, str(encrypted)], check=True, capture_output=True)
    with pytest.raises(OSError, match="store it without a passphrase"):
        ElasticsearchClient(
            ["localhost:1"], "me", None, account / "ca.crt", certificate=(account / "ca.crt", encrypted)
        )


def test_threads_share_a_few_connections(server: Server) -> None:
    asks = client(server)
    with ThreadPoolExecutor(KEPT_CONNECTIONS) as threads:
        answers = list(threads.map(lambda number: asks.get(f"/{number}"), range(200)))
    assert len(answers) == 200 and len(server.connections) <= KEPT_CONNECTIONS


def test_a_kept_connection_that_the_server_closed_is_no_failure(server: Server) -> None:
    asks = client(server)
    asks.get("/first")
    server.connections[0].shutdown(socket.SHUT_RDWR)
    assert asks.get("/second") == {"authorization": None}
    server.drop = 1
    assert asks.get("/third") == {"authorization": None}
    assert server.asked == ["GET /first", "GET /second", "GET /third", "GET /third"]


def test_only_reading_is_tried_again(server: Server) -> None:
    server.drop = 1
    with pytest.raises(ElasticsearchError, match=r"DELETE /a at 127\.0\.0\.1") as caught:
        client(server).delete("/a")
    assert caught.value.status is None and server.asked == ["DELETE /a"]
    server.drop = 9
    with pytest.raises(ElasticsearchError):
        client(server).get("/a")
    assert server.asked == ["DELETE /a", "GET /a", "GET /a"]


@pytest.mark.parametrize("status", [302, 401, 404, 503])
def test_a_status_is_not_tried_again_and_no_redirection_followed(server: Server, status: int) -> None:
    with pytest.raises(ElasticsearchError, match=f"HTTP {status}") as caught:
        client(server).get(f"/?status={status}")
    assert caught.value.status == status and len(server.asked) == 1


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": {"type": "security_exception", "reason": "SECRET"}}', "HTTP 403 security_exception"),
        (b'{"error": {"type": "SECRET_exception"}}', "HTTP 403"),
        (b'{"error": "SECRET"}', "HTTP 403"),
        (b"role-credentials: SECRET", "HTTP 403"),
        (b"[" * 100_000, "HTTP 403"),
    ],
)
def test_no_word_of_an_answer_is_in_the_message(server: Server, body: bytes, words: str) -> None:
    """The message stands in the status, and the host may be any that the pod can reach."""
    server.body = body
    with pytest.raises(ElasticsearchError) as caught:
        client(server).get("/text?status=403")
    assert str(caught.value) == f"GET /text?status=403: {words}"
    assert caught.value.answer == body[:500].decode()


def test_what_is_no_http_is_not_quoted() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listens:

        def greet() -> None:
            for _ in range(2):
                talks, _address = listens.accept()
                with talks:
                    talks.recv(1000)
                    talks.sendall(b"SECRET-banner 220 ready\r\n\r\n")

        threading.Thread(target=greet, daemon=True).start()
        asks = ElasticsearchClient([f"127.0.0.1:{listens.getsockname()[1]}"], "elastic", None, None)
        with pytest.raises(ElasticsearchError, match="the answer is not HTTP") as caught:
            asks.get("/")
    assert "SECRET" not in str(caught.value)


def test_what_is_no_json(server: Server) -> None:
    with pytest.raises(ElasticsearchError, match="the answer is not JSON") as caught:
        client(server).get("/text")
    assert caught.value.status == 200


def test_the_next_host_is_asked_when_one_does_not_answer(server: Server) -> None:
    asks = ElasticsearchClient(["127.0.0.1:1", f"127.0.0.1:{server.port}"], "elastic", None, None)
    assert asks.get("/") == {"authorization": None}


@pytest.mark.parametrize(
    ("method", "body", "again"),
    [("GET", None, True), ("PUT", b"{}", True), ("DELETE", b"{}", True), ("POST", None, True), ("POST", b"{}", False)],
)
def test_what_a_silent_host_may_have_begun_no_other_host_does_once_more(
    server: Server, method: str, body: bytes | None, again: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hosts = [f"127.0.0.1:{silent.getsockname()[1]}", f"127.0.0.1:{server.port}"]
        asks = ElasticsearchClient(hosts, "elastic", None, None)
        if again:
            assert asks.send(method, "/a", body, {}, timeout=0.3) == {"authorization": None}
        else:
            with pytest.raises(ElasticsearchError, match=r"(?i)timed out"):
                asks.send(method, "/a", body, {}, timeout=0.3)
        asks.close()
    assert server.asked == ([f"{method} /a"] if again else [])


def test_what_no_host_took_the_next_one_is_sent_whatever_it_is(
    server: Server, secure: Server, account: Path, tmp_path: Path, certificate: Any
) -> None:
    refusing = ElasticsearchClient(["127.0.0.1:1", f"127.0.0.1:{server.port}"], "elastic", None, None)
    assert refusing.send("POST", "/a", b"{}", {}) == {"authorization": None}
    certificate(tmp_path)
    other = Server(tmp_path)
    try:
        hosts = [f"127.0.0.1:{other.port}", f"127.0.0.1:{secure.port}"]
        untrusted = ElasticsearchClient(hosts, "elastic", None, account / "ca.crt")
        assert untrusted.send("POST", "/a", b"{}", {}) == {"authorization": None}
        assert other.asked == [] and secure.asked == ["POST /a"]
    finally:
        other.shutdown()
        other.server_close()


@pytest.mark.parametrize("value", ["SECRET\nvalue", "SECRET\u20ac"])
def test_a_header_that_cannot_be_sent_is_not_quoted(server: Server, value: str) -> None:
    with pytest.raises(ElasticsearchError, match=r"^GET /a at 127\.0\.0\.1:\d+: \w+: no such request can be") as caught:
        client(server).send("GET", "/a", None, {"Authorization": value})
    assert "SECRET" not in str(caught.value) and caught.value.__suppress_context__
    assert server.asked == []


def test_nobody_listens() -> None:
    with pytest.raises(ElasticsearchError) as caught:
        ElasticsearchClient(["127.0.0.1:1"], "elastic", None, None).get("/")
    assert str(caught.value) == f"GET / at 127.0.0.1:1: {caught.value.why}"
    assert caught.value.why == "ConnectionRefusedError: [Errno 111] Connection refused"
    assert connection_reason(caught.value) is Reason.CLUSTER_UNREACHABLE


def test_what_kept_tls_from_it_is_not_read_from_the_sentence() -> None:
    for words in ("GET /SSLError at a: no", "CERTIFICATE_REQUIRED", "CERTIFICATE_VERIFY_FAILED"):
        assert connection_reason(ElasticsearchError(words)) is Reason.CLUSTER_UNREACHABLE
    untrusted = ElasticsearchError("no", tls=TlsTrouble.UNTRUSTED)
    assert connection_reason(untrusted) is Reason.TLS_UNTRUSTED
    assert connection_reason(ElasticsearchError("no", tls=TlsTrouble.CERTIFICATE_ASKED)) is Reason.AUTHENTICATION_FAILED


@pytest.mark.parametrize(("path", "why"), [("/a:%20b?status=404", "HTTP 404"), ("/text", "the answer is not JSON")])
def test_why_a_request_failed_is_told_without_the_request(server: Server, path: str, why: str) -> None:
    server.body = b"text"
    with pytest.raises(ElasticsearchError) as caught:
        client(server).get(path)
    assert caught.value.why == why and str(caught.value) == f"GET {path}: {why}"


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(ElasticsearchError, match="gaierror") as caught:
        ElasticsearchClient(["nowhere.invalid:9200"], "elastic", None, None).get("/")
    assert "object at" not in str(caught.value)


def test_an_answer_that_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        asks = ElasticsearchClient([f"127.0.0.1:{silent.getsockname()[1]}"], "elastic", None, None)
        with pytest.raises(ElasticsearchError, match=r"(?i)timed out") as caught:
            asks.get("/", timeout=0.2)
    assert caught.value.status is None and "object at" not in str(caught.value)
    assert caught.value.given_up


def test_tls_is_verified(secure: Server, account: Path, tmp_path: Path, certificate: Any) -> None:
    certificate(tmp_path)
    with pytest.raises(ElasticsearchError, match="CERTIFICATE_VERIFY_FAILED") as caught:
        client(secure, ca_file=tmp_path / "ca.crt").get("/")
    assert connection_reason(caught.value) is Reason.TLS_UNTRUSTED
    assert secure.asked == []


@pytest.mark.parametrize("name", ["elsewhere.test", "127.0.0.2"])
def test_the_name_of_the_server_is_verified(
    secure: Server, account: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = ElasticsearchClient([f"{name}:{secure.port}"], "elastic", None, account / "ca.crt")
    found = socket.getaddrinfo("127.0.0.1", secure.port, type=socket.SOCK_STREAM)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(ElasticsearchError, match=name) as caught:
        asks.get("/")
    assert connection_reason(caught.value) is Reason.TLS_UNTRUSTED
    assert secure.asked == []


def test_a_ca_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        ElasticsearchClient(["localhost:9200"], "elastic", None, tmp_path / "ca.crt")
    (tmp_path / "ca.crt").write_text("nonsense")
    with pytest.raises(OSError):
        ElasticsearchClient(["localhost:9200"], "elastic", None, tmp_path / "ca.crt")


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ({}, {"Accept": "application/json", "Accept-Encoding": "identity"}),
        ({"Accept-Encoding": "gzip"}, {"Accept": "application/json", "Accept-Encoding": "identity"}),
        (
            {"accept-encoding": "br", "X-A": "b"},
            {"Accept": "application/json", "Accept-Encoding": "identity", "X-A": "b"},
        ),
        ({"accept": "application/x"}, {"accept": "application/x", "Accept-Encoding": "identity"}),
        (
            {"Content-Type": "application/json", "content-type": "application/x"},
            {"Accept": "application/json", "Accept-Encoding": "identity", "content-type": "application/x"},
        ),
    ],
)
def test_each_header_is_sent_once_in_any_case_and_no_encoding_is_asked_for(
    server: Server, asked: dict[str, str], sent: dict[str, str]
) -> None:
    own, host = client(server), f"127.0.0.1:{server.port}"
    for ask in (
        lambda: own.get_from(host, "/a", 1 << 20, asked),
        lambda: own.send("GET", "/a", None, asked),
    ):
        ask()
        told = [(name, value) for name, value in server.headers if name not in ("Host", "Authorization", "User-Agent")]
        assert sorted(told) == sorted(sent.items())


@pytest.mark.parametrize(
    "path",
    [
        *("/a%2fb/../c?q=%e4%E4", "/./x/%2e%2e/", "/a?q=50%", '/a?q=%zz"<>|^`{}\\[]', "/a;b=1!$&'()*+,:@[]~"),
        *("/a?", "/a??b"),
    ],
)
def test_a_request_of_another_is_sent_as_it_stands(server: Server, path: str) -> None:
    """Byte for byte what k6 asks: Go encodes none of these anew, and asks for no kind of answer."""
    own, host = client(server), f"127.0.0.1:{server.port}"
    own.send_to(host, "GET", path, None, {"X-A": "b"}, 1 << 20)
    assert server.asked[-1] == f"GET {path}"
    told = {name.lower(): value for name, value in server.headers}
    assert told["x-a"] == "b" and "accept" not in told
    own.send_to(host, "GET", path, None, {"accept": "text/x", "Accept-Encoding": "gzip"}, 1 << 20)
    told = {name.lower(): value for name, value in server.headers}
    assert (told["accept"], told["accept-encoding"]) == ("text/x", "identity")
    own.get(f"/{path[1:]}")
    assert ("Accept", "application/json") in server.headers, "the next one asks for JSON again"


def test_one_host_is_asked_for_an_answer_of_bounded_size() -> None:
    first, second = Server(), Server()
    hosts = [f"127.0.0.1:{server.port}" for server in (first, second)]
    client = ElasticsearchClient(hosts, "me", None, None)
    try:
        second.body = b'{"a": 1}'
        assert client.get_from(hosts[1], "/text", 8) == {"a": 1}
        assert second.asked == ["GET /text"] and not first.asked
        for body, most, words in (
            (b'{"a": 1}', 7, "GET /text: the answer has more than 7 bytes"),
            (b"[" * 100_000, 1 << 20, "GET /text: the answer is not JSON"),
            (b"1" * 10_000, 1 << 20, "GET /text: the answer is not JSON"),
        ):
            second.body = body
            with pytest.raises(ElasticsearchError, match=f"^{words}$") as caught:
                client.get_from(hosts[1], "/text", most)
            assert caught.value.given_up is (most == 7)
        with pytest.raises(ElasticsearchError, match=r"^GET /text\?status=404: HTTP 404$"):
            client.get_from(hosts[1], "/text?status=404", 8)
        second.body = b"7"
        assert client.get_from(hosts[1], "/text", 8) == 7
        assert not first.asked
    finally:
        client.close()
        for server in (first, second):
            server.shutdown()
            server.server_close()
