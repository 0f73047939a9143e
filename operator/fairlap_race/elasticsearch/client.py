"""A small client for Elasticsearch's REST API: connections that are kept, TLS always verified, a password from a file.

Every look at the measured cluster over a connection of its own would cost it a TLS handshake. urllib3 comes with Rally,
in its versions 1.26 and 2, and does here only what both do alike.
"""

from __future__ import annotations

import ipaddress
import json
import re
import ssl
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from http.client import HTTPException, RemoteDisconnected
from pathlib import Path
from types import MappingProxyType
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NewConnectionError,
    ProtocolError,
    ReadTimeoutError,
    SSLError,
)

from fairlap_race.contract.secrets import SYSTEM_CAS, basic, read_api_key, read_secret, verified_tls
from fairlap_race.contract.tls_trouble import TlsTrouble, tls_trouble
from fairlap_race.elasticsearch.answers import dig

TIMEOUT_SECONDS = 30.0
_EXCEPTION = re.compile(r"[a-z_]{1,80}_exception")
_NONE: Mapping[str, str] = MappingProxyType({})
_REPEATABLE = frozenset({"GET", "HEAD", "PUT", "DELETE"})
"""Methods of requests that may be carried out twice, whatever their body."""
KEPT_CONNECTIONS = 4
"""More than threads that ask at once: the race's own, and the one that samples the machines."""
_AS_WRITTEN: ContextVar[str | None] = ContextVar("as_written", default=None)
"""Path of the request that is being sent, where its bytes are another program's: urllib3 encodes each path anew."""


class _Connection(HTTPConnection):
    """Sends a path as it is written, where it must not be encoded anew."""

    def putrequest(self, method: str, url: str, skip_host: bool = False, skip_accept_encoding: bool = False) -> None:
        super().putrequest(method, _AS_WRITTEN.get() or url, skip_host, skip_accept_encoding)


class _TlsConnection(_Connection, HTTPSConnection):
    """The same over TLS."""


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


class ElasticsearchError(Exception):
    """Elasticsearch did not answer, or not with success; `status` is None without an answer.

    Its message stands in a status that others read, so it has no word of an answer: any host can be asked, also one
    that only the pod can reach. `answer` has what was said, and `tls` what kept TLS from it, for decisions; `why` is
    the message without the request. `given_up`: there was an answer, or there may have been one, but not within the
    seconds or the bytes that were asked for.
    """

    def __init__(
        self,
        message: str,
        status: int | None = None,
        answer: str = "",
        *,
        why: str = "",
        tls: TlsTrouble | None = None,
        given_up: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.answer = answer
        self.why = why or message
        self.tls = tls
        self.given_up = given_up


class ElasticsearchClient:
    """Asks one cluster through any of `hosts` (NAME:PORT or [IPv6 address]:PORT); threads may share it.

    With `ca_file` or `tls` over TLS, verified against that file, without one against the system's CAs; with the files
    of `certificate` and its key for a server that asks who connects. The API key stands before user and password.
    Raises OSError when a file cannot be read.
    """

    def __init__(
        self,
        hosts: Sequence[str],
        user: str,
        password_file: Path | None,
        ca_file: Path | None,
        tls: bool = False,
        *,
        api_key_file: Path | None = None,
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        headers = {"Accept": "application/json"}
        if api_key_file is not None:
            headers["Authorization"] = f"ApiKey {read_api_key(api_key_file)}"
        if password_file is not None:
            headers["Authorization"] = f"Basic {basic(user, read_secret(password_file))}"
        trusted = ca_file or (SYSTEM_CAS if tls else None)
        self._pools = {host: _pool(host, headers, trusted, certificate) for host in hosts}

    def get(self, path: str, timeout: float = TIMEOUT_SECONDS) -> Any:
        """Return the JSON answer to GET `path`. Raises ElasticsearchError."""
        return self._request("GET", path, timeout)

    def get_from(self, host: str, path: str, most_bytes: int, headers: Mapping[str, str] = _NONE) -> Any:
        """Return the JSON answer of this one of the hosts to GET `path`, of at most `most_bytes`.

        Raises ElasticsearchError, also for JSON that is nested too deeply to be read.
        """
        return self._ask(host, "GET", path, TIMEOUT_SECONDS, None, headers, most_bytes)

    def send_to(
        self,
        host: str,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        most_bytes: int,
        timeout: float = TIMEOUT_SECONDS,
    ) -> Any:
        """Return the JSON answer of this one of the hosts to a request of another program, of at most `most_bytes`.

        It goes out as it is written: its path byte for byte, with its own `headers` and the credentials, but for
        Accept-Encoding. Raises ElasticsearchError.
        """
        token = _AS_WRITTEN.set(path)
        try:
            return self._ask(host, method, path, timeout, body, headers, most_bytes)
        finally:
            _AS_WRITTEN.reset(token)

    def post(self, path: str, timeout: float = TIMEOUT_SECONDS) -> Any:
        """Return the JSON answer to POST `path` without a body. Raises ElasticsearchError."""
        return self._request("POST", path, timeout)

    def delete(self, path: str, timeout: float = TIMEOUT_SECONDS) -> Any:
        """Return the JSON answer to DELETE `path`. Raises ElasticsearchError."""
        return self._request("DELETE", path, timeout)

    def send(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], timeout: float = TIMEOUT_SECONDS
    ) -> Any:
        """Return the JSON answer to any request; `headers` go before the client's own, but for Accept-Encoding.

        Raises ElasticsearchError.
        """
        return self._request(method, path, timeout, body, headers)

    def close(self) -> None:
        """Close the kept connections; a later request opens new ones."""
        for pool in self._pools.values():
            pool.close()

    def _request(
        self, method: str, path: str, timeout: float, body: bytes | None = None, headers: Mapping[str, str] = _NONE
    ) -> Any:
        failure: ElasticsearchError | None = None
        for host in self._pools:
            try:
                return self._ask(host, method, path, timeout, body, headers)
            except ElasticsearchError as error:
                # What a host may have begun to do, another one must not do once more.
                if error.status is not None or not (body is None or method in _REPEATABLE or _is_unsent(error)):
                    raise
                failure = error
        raise failure or ElasticsearchError("no hosts")

    def _ask(
        self,
        host: str,
        method: str,
        path: str,
        timeout: float,
        body: bytes | None,
        headers: Mapping[str, str],
        most_bytes: int | None = None,
    ) -> Any:
        try:
            try:
                status, data = self._send(host, method, path, timeout, body, headers, most_bytes)
            except ProtocolError:
                # A server may close a kept connection just when it is used again: that says nothing about the server.
                if method != "GET":
                    raise
                status, data = self._send(host, method, path, timeout, body, headers, most_bytes)
        except (HTTPError, OSError) as error:
            cause = _cause(error)
            why = "the answer is not HTTP" if _quotes(cause) else f"{type(cause).__name__}: {cause}"
            # urllib3's own error is of a server's name that it compares itself.
            tls = TlsTrouble.UNTRUSTED if isinstance(cause, SSLError) else tls_trouble(cause)
            late = isinstance(error, ReadTimeoutError)
            raise ElasticsearchError(f"{method} {path} at {host}: {why}", why=why, tls=tls, given_up=late) from error
        except ValueError as error:  # http.client quotes the header, which may be a secret
            why = f"{type(error).__name__}: no such request can be sent"
            raise ElasticsearchError(f"{method} {path} at {host}: {why}", why=why) from None
        if status >= 300:
            text = data[:500].decode("utf-8", "replace")
            why = f"HTTP {status}{_exception_type(data)}"
            raise ElasticsearchError(f"{method} {path}: {why}", status, text, why=why)
        if most_bytes is not None and len(data) > most_bytes:
            why = f"the answer has more than {most_bytes} bytes"
            raise ElasticsearchError(f"{method} {path}: {why}", status, why=why, given_up=True)
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            why = "the answer is not JSON"
            raise ElasticsearchError(f"{method} {path}: {why}", status, why=why) from error

    def _send(
        self,
        host: str,
        method: str,
        path: str,
        timeout: float,
        body: bytes | None,
        headers: Mapping[str, str],
        most_bytes: int | None,
    ) -> tuple[int, bytes]:
        """Return status and content of the answer; with `most_bytes` no more than one byte beyond them."""
        limit, pool = urllib3.Timeout(connect=timeout, read=timeout), self._pools[host]
        own, as_written = dict(pool.headers), _AS_WRITTEN.get() is not None
        if as_written:
            own.pop("Accept")
        options: dict[str, Any] = {"body": body, "headers": _joined(own, headers)}
        options |= {"timeout": limit, "retries": False, "redirect": False, "preload_content": most_bytes is None}
        answer = pool.urlopen(method, "/" if as_written else path, **options)
        if most_bytes is None:
            return answer.status, answer.data
        try:
            data = answer.read(most_bytes + 1, decode_content=False)
            # What was not read to its end is in the way of the connection's next request.
            if len(data) > most_bytes:
                answer.close()
            return answer.status, data
        finally:
            answer.release_conn()


def _joined(own: Mapping[str, str], asked: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a request: names are equal in any case, and those that are asked for go before.

    An encoding is not asked for: the answer is read here.
    """
    found = {name.lower(): (name, value) for name, value in (*own.items(), *asked.items())}
    found.pop("accept-encoding", None)
    return dict(found.values())


def _pool(
    host: str, headers: dict[str, str], trusted: Path | None, certificate: tuple[Path, Path] | None
) -> urllib3.HTTPConnectionPool:
    name, _, port = host.rpartition(":")
    name = name.strip("[]")
    options: dict[str, Any] = {"maxsize": KEPT_CONNECTIONS, "headers": headers}
    if trusted is None:
        return _Pool(name, int(port), **options)
    context = verified_tls(trusted, certificate)
    if _is_address(name):
        # urllib3 1.26 does not tell OpenSSL the name of a server that is an address, and compares it itself instead.
        context.check_hostname = False
        options["assert_hostname"] = name
    return _TlsPool(name, int(port), ssl_context=context, **options)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _exception_type(answer: bytes) -> str:
    """Return the name of Elasticsearch's exception in an answer, with a blank before it; "" when it has none."""
    try:
        kind = dig(json.loads(answer), "error", "type")
    except (ValueError, RecursionError):
        return ""
    return f" {kind}" if isinstance(kind, str) and _EXCEPTION.fullmatch(kind) else ""


def _quotes(error: BaseException) -> bool:
    """Return whether an error may quote what the host sent, as the first line of a protocol that is not HTTP."""
    return isinstance(error, ProtocolError | HTTPException) and not isinstance(error, RemoteDisconnected)


def _is_unsent(error: ElasticsearchError) -> bool:
    """Return whether the request never went: there was no connection, or no certificate to be trusted."""
    cause = error.__cause__
    if cause is None or isinstance(cause, NewConnectionError | ConnectTimeoutError):
        return cause is not None
    return isinstance(_cause(cause), ssl.SSLCertVerificationError)


def _cause(error: BaseException) -> BaseException:
    """Return what is behind an error of urllib3, whose own words hold addresses of objects: the error of the socket."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and not isinstance(seen, HTTPError):
            return seen
        seen = seen.__cause__ or seen.__context__
    return error
