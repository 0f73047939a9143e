"""A plain HTTP proxy in front of Elasticsearch that changes answers, as proxies and older versions do."""

import http.client
import json
import ssl
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .server import VERSION, Elasticsearch

Alter = Callable[[str, int, bytes], tuple[int, bytes]]
"""From path, status and body of an answer to the status and body that are passed on."""


class Proxy(ThreadingHTTPServer):
    """Passes every request on; drops the product header, says another version, or changes answers.

    `alter` changes any answer, `alter_json` the content of one that is good.
    """

    def __init__(
        self,
        elasticsearch: Elasticsearch,
        *,
        product: bool = True,
        version: str = VERSION,
        alter: Alter | None = None,
        alter_json: Callable[[str, Any], Any] | None = None,
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.alter, self.alter_json = alter, alter_json
        self.elasticsearch, self.product, self.version = elasticsearch, product, version
        self.tls = ssl.create_default_context(cafile=str(elasticsearch.ca))
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def host(self) -> str:
        """Where it listens, as NAME:PORT."""
        return f"127.0.0.1:{self.server_address[1]}"

    def answered(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes] | None:
        """Return status and body of an answer in Elasticsearch's place; `headers` (Like-This) may be changed."""
        return None

    def changed(self, path: str, content: bytes) -> bytes:
        """Return what is answered to a request instead of what Elasticsearch answered."""
        return content


class _Handler(BaseHTTPRequestHandler):
    server: Proxy
    protocol_version = "HTTP/1.1"

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        upstream = http.client.HTTPSConnection(
            "localhost", self.server.elasticsearch.port, timeout=120, context=self.server.tls
        )
        kept = {
            k.title(): v for k, v in self.headers.items() if k.lower() not in ("host", "accept-encoding", "connection")
        }
        if (own := self.server.answered(self.command, self.path, kept, body)) is not None:
            self._answer(*own, {"Content-Type": "application/json", "X-elastic-product": "Elasticsearch"})
            upstream.close()
            return
        upstream.request(self.command, self.path, body=body, headers=kept)
        answer = upstream.getresponse()
        content = answer.read().replace(VERSION.encode(), self.server.version.encode())
        content = self.server.changed(self.path, content)
        upstream.close()
        status = answer.status
        if self.server.alter_json is not None and content and status == 200:
            content = json.dumps(self.server.alter_json(self.path, json.loads(content))).encode()
        if self.server.alter is not None:
            status, content = self.server.alter(self.path, status, content)
        headers = {name: answer.getheader(name) for name in ("Content-Type", "X-elastic-product")}
        self._answer(status, content, headers)

    def _answer(self, status: int, content: bytes, headers: Mapping[str, str | None]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if value and (self.server.product or name != "X-elastic-product"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = _pass  # noqa: N815 - the names are http.server's

    def log_message(self, *_: Any) -> None:
        pass
