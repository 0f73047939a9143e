"""Other ways to say who asks than user and password: an API key, a client's certificate, a key for each client."""

import base64
import gzip
import json
import ssl
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from fairlap.plan.verdict.checks import first_violation
from fairlap_race.contract.reasons import Reason

from .proxy import Proxy
from .runner import Ran, Runner, asked
from .server import Elasticsearch, certificates
from .tracks import BULK, CREATE, search, write

TASKS = (CREATE, BULK, {"operation": "refresh"}, search())


def written(ran: Ran, folder: Path) -> str:
    """Return everything that a race has published or printed, and the arguments that Rally was started with."""
    packed = "".join(gzip.decompress(base64.b64decode(text)).decode() for text in ran.binary.values())
    files = [path for path in folder.rglob("*") if path.suffix in (".log", ".out", ".csv", ".jsonl")]
    return packed + ran.output + ran.record.to_json() + "".join(path.read_text(errors="replace") for path in files)


class Keys(Proxy):
    """Has API keys, and speaks TLS: this Elasticsearch cannot make its index for them (filter pattern_capture)."""

    def __init__(self, elasticsearch: Elasticsearch, tls: Path) -> None:
        basic = base64.b64encode(f"elastic:{elasticsearch.password}".encode()).decode()
        self.basic, self.made, self.gone, self.used = f"Basic {basic}", dict[str, str](), list[str](), set[str]()
        self.speaking = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.speaking.load_cert_chain(tls / "http.crt", tls / "http.key")
        super().__init__(elasticsearch)

    def server_bind(self) -> None:
        self.socket = self.speaking.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        ThreadingHTTPServer.server_bind(self)

    def make(self) -> dict[str, str]:
        """Return a new key, as Elasticsearch does."""
        number = f"key-{len(self.made) + 1}"
        self.made[number] = token_hex(12)
        encoded = base64.b64encode(f"{number}:{self.made[number]}".encode()).decode()
        return {"id": number, "name": "race", "api_key": self.made[number], "encoded": encoded}

    def there(self) -> set[str]:
        """Return the keys that were made and not invalidated."""
        return set(self.made) - set(self.gone)

    def answered(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes] | None:
        """Answer for keys, and let pass who has one."""
        kind, _, value = headers.get("Authorization", "").partition(" ")
        if kind == "ApiKey":
            number, _, key = base64.b64decode(value).decode().partition(":")
            if number not in self.there() or self.made[number] != key:
                return 401, b'{"error": {"type": "security_exception", "reason": "invalid API key"}, "status": 401}'
            self.used.add(number)
            headers["Authorization"] = self.basic
        if not path.startswith("/_security/api_key"):
            return None
        if method in ("POST", "PUT"):
            return 200, json.dumps(self.make()).encode()
        removed = [number for number in json.loads(body)["ids"] if number in self.there()]
        self.gone += removed
        answer = {"invalidated_api_keys": removed, "previously_invalidated_api_keys": [], "error_count": 0}
        return 200, json.dumps(answer).encode()

    def handle_error(self, *_: Any) -> None:
        """Say nothing of clients that leave."""


@pytest.fixture
def with_keys(elasticsearch: Elasticsearch, tmp_path: Path) -> Iterator[tuple[Keys, dict[str, Any]]]:
    """A proxy that has API keys, and what a race says to reach it."""
    certificates(tmp_path / "tls")
    proxy = Keys(elasticsearch, tmp_path / "tls")
    yield proxy, {"hosts": [f"localhost:{proxy.server_address[1]}"], "caFile": str(tmp_path / "tls/ca.crt")}
    proxy.shutdown()
    proxy.server_close()


@pytest.mark.long
def test_an_api_key_alone(runner: Runner, with_keys: tuple[Keys, dict[str, Any]], tmp_path: Path) -> None:
    proxy, there = with_keys
    made = proxy.make()
    file = tmp_path / "api-key"
    file.write_text(f"{made['id']}:{made['api_key']}\n")
    alone = {**there, "user": "nobody", "passwordFile": None, "apiKeyFile": str(file)}
    ran = runner.run(write(tmp_path / "t", *TASKS), **alone)
    assert first_violation(ran.record, asked()) is None, ran.output[-3000:]
    (answer,) = (it for it in ran.record.requests.answers if it.when == "after")  # type: ignore[union-attr]
    assert not answer.trouble, "the looks between the steps have the key, too"
    for secret in (made["api_key"], made["encoded"]):
        assert secret not in written(ran, runner.folder)
    proxy.gone.append(made["id"])
    refused = runner.run(write(tmp_path / "again", *TASKS), **alone)
    assert refused.record.outcome.reason is Reason.AUTHENTICATION_FAILED
    assert made["api_key"] not in written(refused, runner.folder)


class Asking(Proxy):
    """A proxy that speaks TLS, and only with whom shows a certificate of its CA."""

    def __init__(self, elasticsearch: Elasticsearch, tls: Path) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls / "http.crt", tls / "http.key")
        context.load_verify_locations(tls / "ca.crt")
        context.verify_mode = ssl.CERT_REQUIRED
        self.asking = context
        super().__init__(elasticsearch)

    def server_bind(self) -> None:
        # The handshake is made when the first byte is read, in the thread of the connection.
        self.socket = self.asking.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        ThreadingHTTPServer.server_bind(self)

    def handle_error(self, *_: Any) -> None:
        """Say nothing: a refused handshake is what is tested."""


@pytest.mark.long
def test_a_certificate_of_the_client(runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    certificates(tmp_path / "tls")
    proxy = Asking(elasticsearch, tmp_path / "tls")
    here = {"hosts": [f"localhost:{proxy.server_address[1]}"], "caFile": str(tmp_path / "tls/ca.crt")}
    pair = {"certificateFile": str(tmp_path / "tls/http.crt"), "certificateKeyFile": str(tmp_path / "tls/http.key")}
    try:
        ran = runner.run(write(tmp_path / "t", *TASKS), **here, **pair)
        assert first_violation(ran.record, asked()) is None, ran.output[-3000:]
        without = runner.run(write(tmp_path / "without", *TASKS), **here)
        assert without.record.outcome.reason is Reason.AUTHENTICATION_FAILED, without.record.outcome
    finally:
        proxy.shutdown()
        proxy.server_close()
    key = (tmp_path / "tls/http.key").read_text().splitlines()[1]
    assert key not in written(ran, runner.folder)


@pytest.mark.long
def test_a_key_for_each_client_is_gone_after_the_race(
    runner: Runner, with_keys: tuple[Keys, dict[str, Any]], tmp_path: Path
) -> None:
    proxy, there = with_keys
    options = {"create_api_key_per_client": True}
    ran = runner.run(write(tmp_path / "t", CREATE, BULK, search(clients=2)), clientOptions=options, **there)
    assert first_violation(ran.record, asked()) is None, ran.output[-3000:]
    assert len(proxy.used) >= 2 and not proxy.there()
    # Rally removes them itself only when its race ends well.
    broken = write(tmp_path / "broken", CREATE, BULK, search(index="nowhere"))
    failed = runner.run(broken, clientOptions=options, **there)
    assert failed.record.outcome.reason is not None
    (noted,) = (json.loads(path.read_text()) for path in sorted(runner.folder.glob("work*/live/client-keys.json"))[-1:])
    assert noted and set(noted) <= set(proxy.gone) and not proxy.there()
