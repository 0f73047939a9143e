"""A small client for Elasticsearch's REST API: TLS always verified, a password from a file."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairlap_race.contract.secrets import SYSTEM_CAS, read_secret

TIMEOUT_SECONDS = 30.0


class ElasticsearchError(Exception):
    """Elasticsearch did not answer, or not with success; `status` is None without an answer."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class ElasticsearchClient:
    """Asks one cluster through any of `hosts` (NAME:PORT).

    With `ca_file` or `tls` over TLS, verified against that file, without one against the system's CAs.
    Raises OSError when a file cannot be read.
    """

    def __init__(
        self, hosts: Sequence[str], user: str, password_file: Path | None, ca_file: Path | None, tls: bool = False
    ) -> None:
        self._hosts = list(hosts)
        self._headers = {"Accept": "application/json"}
        if password_file is not None:
            pair = f"{user}:{read_secret(password_file)}".encode()
            self._headers["Authorization"] = "Basic " + base64.b64encode(pair).decode()
        trusted = ca_file or (SYSTEM_CAS if tls else None)
        self._tls = None if trusted is None else ssl.create_default_context(cafile=str(trusted))

    def get(self, path: str, timeout: float = TIMEOUT_SECONDS) -> Any:
        """Return the JSON answer to GET `path`. Raises ElasticsearchError."""
        return self._request("GET", path, timeout)

    def post(self, path: str, timeout: float = TIMEOUT_SECONDS) -> Any:
        """Return the JSON answer to POST `path` without a body. Raises ElasticsearchError."""
        return self._request("POST", path, timeout)

    def delete(self, path: str, timeout: float = TIMEOUT_SECONDS) -> Any:
        """Return the JSON answer to DELETE `path`. Raises ElasticsearchError."""
        return self._request("DELETE", path, timeout)

    def _request(self, method: str, path: str, timeout: float) -> Any:
        failure: ElasticsearchError | None = None
        for host in self._hosts:
            try:
                return self._ask(host, method, path, timeout)
            except ElasticsearchError as error:
                if error.status is not None:
                    raise
                failure = error
        raise failure or ElasticsearchError("no hosts")

    def _ask(self, host: str, method: str, path: str, timeout: float) -> Any:
        name, _, port = host.rpartition(":")
        connection: http.client.HTTPConnection
        if self._tls is None:
            connection = http.client.HTTPConnection(name.strip("[]"), int(port), timeout=timeout)
        else:
            connection = http.client.HTTPSConnection(name.strip("[]"), int(port), timeout=timeout, context=self._tls)
        try:
            connection.request(method, path, headers=self._headers)
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise ElasticsearchError(f"{method} {path} at {host}: {type(error).__name__}: {error}") from error
        finally:
            connection.close()
        if answer.status >= 300:
            text = body[:500].decode("utf-8", "replace")
            raise ElasticsearchError(f"{method} {path}: HTTP {answer.status}: {text}", answer.status)
        try:
            return json.loads(body)
        except ValueError as error:
            raise ElasticsearchError(f"{method} {path}: the answer is not JSON", answer.status) from error
