"""Asks each host for its health before anything is sent. TLS is always verified."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.http_record import HttpHost
from fairlap_race.contract.secrets import SYSTEM_CAS, basic, by_secrets, read_api_key, read_secret, verified_tls
from fairlap_race.contract.specification.race_spec import RaceSpec
from fairlap_race.contract.specification.secret_files import secret_files
from fairlap_race.contract.tls_trouble import TlsTrouble, tls_trouble

PATIENCE = 30.0
"""Seconds for all hosts together: a server that has just been started may take a moment."""
ANSWER_SECONDS = 10.0
_LONGEST_SERVER = 200


class UnhealthyError(Exception):
    """A host does not answer as it must; `reason` is from the closed list."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Access:
    """How the hosts are asked."""

    headers: Mapping[str, str]
    context: ssl.SSLContext | None


def open_access(spec: RaceSpec, headers: Mapping[str, str]) -> Access:
    """Return how to ask, from the mounted files. Raises UnhealthyError when one of them cannot be read."""
    found = dict(headers)
    try:
        if spec.api_key_file is not None:
            found["Authorization"] = f"ApiKey {read_api_key(spec.api_key_file)}"
        elif spec.password_file is not None:
            user = spec.user if spec.user_file is None else read_secret(spec.user_file)
            found["Authorization"] = f"Basic {basic(user, read_secret(spec.password_file))}"
    except OSError as error:
        text = by_secrets(f"the credentials cannot be read: {error}", secret_files(spec))
        raise UnhealthyError(Reason.AUTHENTICATION_FAILED, text) from error
    try:
        context = _context(spec) if spec.tls or spec.ca_file else None
    except OSError as error:  # an SSLError is one
        files = " or ".join(str(it) for it in (spec.ca_file, spec.certificate_file, spec.certificate_key_file) if it)
        text = by_secrets(f"{files} cannot be used for TLS: {error}", secret_files(spec))
        raise UnhealthyError(Reason.TLS_UNTRUSTED, text) from error
    return Access(found, context)


def _context(spec: RaceSpec) -> ssl.SSLContext:
    certificate = (spec.certificate_file, spec.certificate_key_file) if spec.certificate_file else None
    return verified_tls(spec.ca_file or SYSTEM_CAS, certificate)


def look_at_hosts(
    spec: RaceSpec, path: str, access: Access, stop: threading.Event, patience: float = PATIENCE
) -> tuple[HttpHost, ...]:
    """Return each host as it answered, waiting a little for those that do not. Raises UnhealthyError."""
    limit = time.monotonic() + patience
    return tuple(_await(host, path, access, limit, stop) for host in spec.hosts)


def _await(host: str, path: str, access: Access, limit: float, stop: threading.Event) -> HttpHost:
    while True:
        try:
            return look_at_host(host, path, access)
        except UnhealthyError as error:
            final = error.reason is not Reason.CLUSTER_UNREACHABLE or time.monotonic() >= limit
            if final or stop.wait(1.0):
                raise


def look_at_host(host: str, path: str, access: Access) -> HttpHost:
    """Return `host` as it answers `path` now.

    Raises UnhealthyError, which has no word of the answer: any host can be asked.
    """
    asked = f"target.hosts: {host} does not answer GET {path}"
    name, _, port = host.rpartition(":")
    name = name.strip("[]")
    if access.context is None:
        connection = http.client.HTTPConnection(name, int(port), timeout=ANSWER_SECONDS)
    else:
        connection = http.client.HTTPSConnection(name, int(port), timeout=ANSWER_SECONDS, context=access.context)
    try:
        connection.request("GET", path, headers=dict(access.headers))
        answer = connection.getresponse()
        server = answer.headers.get("Server")
        found = HttpHost(host, answer.status, server and server[:_LONGEST_SERVER], addresses_of(name))
    except ssl.SSLError as error:
        asked_for = tls_trouble(error) is TlsTrouble.CERTIFICATE_ASKED
        reason = Reason.AUTHENTICATION_FAILED if asked_for else Reason.TLS_UNTRUSTED
        raise UnhealthyError(reason, f"{asked}: {error}") from error
    except (OSError, UnicodeError, http.client.HTTPException) as error:  # a name may have a part that is no label
        words = "that is no HTTP" if isinstance(error, http.client.HTTPException) else str(error)
        raise UnhealthyError(
            Reason.CLUSTER_UNREACHABLE, f"{asked}: {type(error).__name__}: {words}; correct the host or start it"
        ) from error
    except ValueError:  # http.client quotes the header, which may be a secret
        raise UnhealthyError(Reason.INVALID_SPEC, f"{asked}: no header can carry one of those asked for") from None
    finally:
        connection.close()
    if answer.status in (401, 403):
        text = f"{asked} but with HTTP {answer.status}; check the target's Secret"
        raise UnhealthyError(Reason.AUTHENTICATION_FAILED, text)
    if not 200 <= answer.status < 300:
        text = f"{asked} but with HTTP {answer.status}; write a path that is answered by 200 as target.health"
        raise UnhealthyError(Reason.CLUSTER_UNREACHABLE, text)
    return found


def addresses_of(name: str) -> int | None:
    """Return among how many addresses of `name` k6 draws: those of IPv4, or of IPv6 where it has no other.

    None where it cannot be looked up.
    """
    try:
        known = {(it[0], it[4][0]) for it in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return None
    families = [family for family, _ in known]
    return families.count(socket.AF_INET) or len(families) or None
