"""Other ways to say who asks than user and password: an API key, a client's certificate, a key for each client."""

import base64
import gzip
import json
import ssl
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

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


def keys(elasticsearch: Elasticsearch) -> list[dict[str, Any]]:
    return [
        key for key in elasticsearch.ask("GET", "/_security/api_key?owner=true")["api_keys"] if not key["invalidated"]
    ]


def test_an_api_key_alone(runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    made = elasticsearch.ask("POST", "/_security/api_key", {"name": "race"})
    file = tmp_path / "api-key"
    file.write_text(f"{made['id']}:{made['api_key']}\n")
    ran = runner.run(write(tmp_path / "t", *TASKS), user="nobody", passwordFile=None, apiKeyFile=str(file))
    assert first_violation(ran.record, asked()) is None, ran.output[-3000:]
    (answer,) = (it for it in ran.record.requests.answers if it.when == "after")  # type: ignore[union-attr]
    assert not answer.trouble, "the looks between the steps have the key, too"
    encoded = base64.b64encode(f"{made['id']}:{made['api_key']}".encode()).decode()
    for secret in (made["api_key"], encoded):
        assert secret not in written(ran, runner.folder)
    elasticsearch.ask("DELETE", "/_security/api_key", {"ids": [made["id"]]})
    refused = runner.run(write(tmp_path / "again", *TASKS), user="nobody", passwordFile=None, apiKeyFile=str(file))
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


def test_a_key_for_each_client_is_gone_after_the_race(
    runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path
) -> None:
    before = keys(elasticsearch)
    options = {"create_api_key_per_client": True}
    ran = runner.run(write(tmp_path / "t", CREATE, BULK, search(clients=2)), clientOptions=options)
    assert first_violation(ran.record, asked()) is None, ran.output[-3000:]
    assert keys(elasticsearch) == before
    # Rally removes them itself only when its race ends well.
    broken = write(tmp_path / "broken", CREATE, BULK, search(index="nowhere"))
    failed = runner.run(broken, clientOptions=options)
    assert failed.record.outcome.reason is not None
    (noted,) = (json.loads(path.read_text()) for path in sorted(runner.folder.glob("work*/live/client-keys.json"))[-1:])
    assert noted and keys(elasticsearch) == before
