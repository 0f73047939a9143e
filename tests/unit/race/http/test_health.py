"""Each host is asked before anything is sent; what is wrong is said without a word of its answer."""

import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec, RequestsSource, TargetSpec
from fairlap_race.http.health import Access, UnhealthyError, addresses_of, look_at_host, look_at_hosts, open_access

SPEC = RaceSpec(Mode.RACE, "ns", "r", "id", requests=RequestsSource(path=Path("/r")))


class _Server(BaseHTTPRequestHandler):
    server_version, sys_version = "Groonga/14", ""

    def do_GET(self) -> None:
        self.server.seen.append(self.headers.get("Authorization"))  # type: ignore[attr-defined]
        self.send_response(int(self.path.strip("/")), "secret words")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    found = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    found.seen = []  # type: ignore[attr-defined]
    threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield found
    found.shutdown()
    found.server_close()


def host_of(server: ThreadingHTTPServer) -> str:
    return f"127.0.0.1:{server.server_address[1]}"


def test_a_healthy_host_tells_its_server_and_is_asked_with_credentials(server, tmp_path):
    (tmp_path / "password").write_text("pass\n")
    spec = replace(SPEC, hosts=(host_of(server),), user="me", password_file=tmp_path / "password")
    access = open_access(spec, {"X-A": "b"})
    (found,) = look_at_hosts(spec, "/204", access, threading.Event())
    assert (found.host, found.status, (found.server or "").strip()) == (host_of(server), 204, "Groonga/14")
    assert server.seen == ["Basic bWU6cGFzcw=="]


@pytest.mark.parametrize(
    ("path", "reason"),
    [("/401", Reason.AUTHENTICATION_FAILED), ("/403", Reason.AUTHENTICATION_FAILED),
     ("/404", Reason.CLUSTER_UNREACHABLE), ("/302", Reason.CLUSTER_UNREACHABLE), ("/503", Reason.CLUSTER_UNREACHABLE)],
)  # fmt: skip
def test_any_other_status_is_no_health(server, path, reason):
    with pytest.raises(UnhealthyError) as caught:
        look_at_host(host_of(server), path, Access({}, None))
    assert caught.value.reason is reason and f"GET {path} but with HTTP {path[1:]}" in str(caught.value)
    assert "secret words" not in str(caught.value)


def test_a_host_may_be_an_ipv6_address_in_brackets():
    server = type("", (ThreadingHTTPServer,), {"address_family": socket.AF_INET6})(("::1", 0), _Server)
    server.seen = []
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    host = f"[::1]:{server.server_address[1]}"
    try:
        assert look_at_host(host, "/204", Access({}, None)).host == host
    finally:
        server.shutdown()
        server.server_close()
    with pytest.raises(UnhealthyError, match=r"target\.hosts: \[::1\]:1 does not answer GET /: ConnectionRefusedError"):
        look_at_host("[::1]:1", "/", Access({}, None))


@pytest.mark.parametrize("name", ["a..b", "a" * 64])
def test_a_name_that_can_be_no_name_is_said(name):
    with pytest.raises(
        UnhealthyError, match=rf"target\.hosts: {name}:80 does not answer GET /: UnicodeError"
    ) as caught:
        look_at_host(f"{name}:80", "/", Access({}, None))
    assert caught.value.reason is Reason.CLUSTER_UNREACHABLE


def test_a_host_that_does_not_answer_is_named_after_a_little_patience():
    spec = replace(SPEC, hosts=("127.0.0.1:1",))
    with pytest.raises(UnhealthyError, match=r"target\.hosts: 127\.0\.0\.1:1 does not answer GET /: Conn") as caught:
        look_at_hosts(spec, "/", Access({}, None), threading.Event(), patience=0)
    assert caught.value.reason is Reason.CLUSTER_UNREACHABLE


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(UnhealthyError) as caught:
        open_access(replace(SPEC, password_file=tmp_path / "none"), {})
    assert caught.value.reason is Reason.AUTHENTICATION_FAILED
    with pytest.raises(UnhealthyError) as caught:
        open_access(replace(SPEC, ca_file=tmp_path / "none"), {})
    assert caught.value.reason is Reason.TLS_UNTRUSTED


@pytest.mark.parametrize(("field", "secret"), [("password_file", "shop-user"), ("ca_file", "shop-ca")])
def test_of_a_secret_the_name_and_the_key_are_told(tmp_path, field, secret):
    (tmp_path / "content").write_bytes(b"caf\xe9")
    about = TargetSpec(credentials_secret="shop-user", ca_secret="shop-ca")  # noqa: S106
    with pytest.raises(UnhealthyError, match=f"the key content of Secret {secret} ") as caught:
        open_access(replace(SPEC, target=about, **{field: tmp_path / "content"}), {})
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "content"), [("api_key_file", b"VnVhQ2ZH\nVctZTBhT"), ("password_file", b"VnVhQ2ZH\xff")]
)
def test_credentials_that_cannot_be_sent_are_said_without_a_word_of_them(tmp_path, field, content):
    (tmp_path / "credential").write_bytes(content)
    with pytest.raises(UnhealthyError, match="the credentials cannot be read: ") as caught:
        open_access(replace(SPEC, **{field: tmp_path / "credential"}), {})
    assert caught.value.reason is Reason.AUTHENTICATION_FAILED and "VnVh" not in str(caught.value)


def test_a_header_that_cannot_be_sent_is_not_quoted():
    with pytest.raises(UnhealthyError, match="no header can carry one of those") as caught:
        look_at_host("127.0.0.1:1", "/", Access({"Authorization": "ApiKey SECRET\nvalue"}, None))
    assert "SECRET" not in str(caught.value) and caught.value.__suppress_context__


def test_a_key_with_a_passphrase_is_refused_rather_than_asked_for(tmp_path):
    key, certificate = tmp_path / "tls.key", tmp_path / "tls.crt"
    argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-passout", "pass:secret", "-subj", "/CN=me"]
    subprocess.run([*argv, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    spec = replace(SPEC, ca_file=certificate, certificate_file=certificate, certificate_key_file=key)
    with pytest.raises(UnhealthyError, match="store it without a passphrase") as caught:
        open_access(spec, {})
    assert caught.value.reason is Reason.TLS_UNTRUSTED


def _found(*addresses):
    families = [socket.AF_INET6 if ":" in it else socket.AF_INET for it in addresses]
    return [
        (family, socket.SOCK_STREAM, 6, "", (it, 0)) for family, it in zip(families, addresses, strict=True)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("addresses", "told"),
    [
        (("127.0.0.1",), 1),
        (("127.0.0.1", "::1"), 1),
        (("10.0.0.1", "10.0.0.2", "10.0.0.2", "fd00::1"), 2),
        (("10.0.0.1", "fd00::1", "fd00::2"), 1),
        (("fd00::1", "fd00::2", "fd00::3"), 3),
    ],
)
def test_a_name_has_as_many_addresses_as_k6_draws_from(server, monkeypatch, addresses, told):
    """Those of IPv4 where there is any: one machine has one of each family."""
    real = socket.getaddrinfo
    names = {"engine": _found(*addresses)}
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda name, port, *of, **more: names.get(name) or real(name, port, *of, **more)
    )
    assert addresses_of("engine") == told
    assert look_at_host(host_of(server), "/204", Access({}, None)).addresses == 1


def test_a_name_that_cannot_be_looked_up_again_has_an_unknown_number_of_addresses(monkeypatch):
    def fail(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert addresses_of("engine") is None
