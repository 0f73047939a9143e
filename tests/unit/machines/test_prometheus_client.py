"""The client for Prometheus against a real HTTP server: credentials, TLS, bounds, and words for what goes wrong."""

import asyncio
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from fairlap.environ import settings_from_environment
from fairlap.machines import prometheus as module
from fairlap.machines.prometheus import Prometheus, PrometheusError
from fairlap.settings import PrometheusSettings


class Handler(BaseHTTPRequestHandler):
    seen: ClassVar[list[tuple[str | None, str]]] = []
    status, body = 200, b'{"status":"success"}'

    def do_POST(self) -> None:
        given = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.seen.append((self.headers.get("Authorization"), f"{self.path}?{given}"))
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    Handler.seen, Handler.status, Handler.body = [], 200, b'{"status":"success"}'
    there = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=there.serve_forever, daemon=True).start()
    yield there
    there.shutdown()
    there.server_close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", "key.pem", "-out", "ca.crt", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    return folder


def ask(url: str, **settings: Any) -> Any:
    return asyncio.run(Prometheus(PrometheusSettings(url=url, **settings)).query("up[5s]", 12.5))


def url(server: ThreadingHTTPServer, scheme: str = "http") -> str:
    return f"{scheme}://127.0.0.1:{server.server_port}"


def test_the_question(server: ThreadingHTTPServer) -> None:
    assert ask(url(server) + "/prefix/") == {"status": "success"}
    assert Handler.seen == [(None, "/prefix/api/v1/query?query=up%5B5s%5D&time=12.500")]


def test_credentials_come_from_files_read_each_time(server: ThreadingHTTPServer, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret-1\n")
    ask(url(server), credentials=str(tmp_path))
    (tmp_path / "token").unlink()
    (tmp_path / "username").write_text("me")
    (tmp_path / "password").write_text("pass")
    ask(url(server), credentials=str(tmp_path))
    assert [seen[0] for seen in Handler.seen] == ["Bearer secret-1", "Basic bWU6cGFzcw=="]


def test_tls_is_verified(server: ThreadingHTTPServer, certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "ca.crt", certificate / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    assert ask(url(server, "https"), ca_file=str(certificate / "ca.crt")) == {"status": "success"}
    with pytest.raises(PrometheusError, match=r"(?i)certificate"):
        ask(url(server, "https"))
    with pytest.raises(PrometheusError, match="cannot be read"):
        ask(url(server, "https"), ca_file=str(certificate / "none.crt"))


def test_what_goes_wrong_is_said_in_its_words(server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    Handler.status, Handler.body = 422, b'{"error":"query processing would load too many samples"}'
    with pytest.raises(PrometheusError, match=r"HTTP 422.*too many samples"):
        ask(url(server))
    Handler.status, Handler.body = 302, b""
    with pytest.raises(PrometheusError, match="HTTP 302"):
        ask(url(server))
    Handler.status, Handler.body = 200, b"<html>"
    with pytest.raises(PrometheusError, match="not JSON"):
        ask(url(server))
    monkeypatch.setattr(module, "_MOST_BYTES", 5)
    with pytest.raises(PrometheusError, match="larger than"):
        ask(url(server))
    server.server_close()
    with pytest.raises(PrometheusError, match="Connect"):
        ask("http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("FAIRLAP_PROMETHEUS_URL", "prometheus:9090", "must look like"),
        ("FAIRLAP_PROMETHEUS_URL", "http://me:secret@prometheus", "credentials"),
        ("FAIRLAP_PROMETHEUS_LABELS", "[]", "LABELS"),
    ],
)
def test_wrong_settings_are_refused(name: str, value: str, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRLAP_RACE_IMAGE", "i")
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=word) as error:
        settings_from_environment()
    assert "secret@" not in str(error.value)
