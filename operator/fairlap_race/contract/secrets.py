"""Files of mounted secrets, the CAs that the race image trusts, and TLS and headers that are made of them."""

from __future__ import annotations

import base64
import json
import re
import ssl
from collections.abc import Iterable
from pathlib import Path

SYSTEM_CAS = Path("/etc/ssl/certs/ca-certificates.crt")
"""Where Debian's package ca-certificates, which the race image has, keeps them."""
_ONE_WORD = re.compile(r"[!-~]+")
SecretFile = tuple[Path | None, str | None]
"""A file of a mounted Secret, named after its key, and the name of the Secret; None where there is none of these."""


def read_api_key(path: Path) -> str:
    """Return the API key in a mounted secret as it goes into a header: base64 of its id and key.

    Raises OSError, which has no word of the key, also for one that no header can carry.
    """
    text = read_secret(path).strip()
    if not _ONE_WORD.fullmatch(text):  # http.client would quote it in its error
        raise OSError(f"{path} is no API key: store it in printable ASCII, without blanks or line ends inside")
    return base64.b64encode(text.encode()).decode() if ":" in text else text


def texts_of_key(api_key: str) -> tuple[str, ...]:
    """Return the texts of an API key that may stand nowhere: as in a header, and the key without its id."""
    try:
        _, _, key = base64.b64decode(api_key, validate=True).decode().partition(":")
    except ValueError:
        key = ""
    return (api_key, key) if key else (api_key,)


def texts_of_password(user: str, password: str) -> tuple[str, ...]:
    """Return the texts of a password that may stand nowhere: itself, as JSON quotes it, and as in a header."""
    return (password, json.dumps(password)[1:-1], basic(user, password)) if password else ()


def basic(user: str, password: str) -> str:
    """Return both as basic authentication (RFC 7617) writes them into a header."""
    return base64.b64encode(f"{user}:{password}".encode()).decode()


def missing_secret(wanted: Iterable[SecretFile], namespace: str) -> str:
    """Return which Secret, or which key of it, is missing of the mounted files `wanted` (each with its Secret's name).

    Empty when none is.
    """
    for path, secret in wanted:
        if path is not None and secret is not None and not path.is_file():
            return f"there is no Secret {secret} with the key {path.name} in the namespace {namespace}"
    return ""


def by_secrets(sentence: str, files: Iterable[SecretFile]) -> str:
    """Return a sentence about some of these files with the Secret and the key of each in place of its path."""
    for path, secret in files:
        if path is not None and secret is not None:
            sentence = sentence.replace(str(path), f"the key {path.name} of Secret {secret}")
    return sentence


def verified_tls(trusted: Path, certificate: tuple[Path, Path | None] | None) -> ssl.SSLContext:
    """Return how to speak TLS with servers that the CAs in `trusted` vouch for, as who has `certificate` and its key.

    Raises OSError, of which SSLError is one, for files that cannot be used.
    """
    context = ssl.create_default_context(cafile=str(trusted))
    if certificate is not None:
        context.load_cert_chain(*certificate, password=_no_passphrase)
    return context


def _no_passphrase() -> str:
    """Raise OSError for a key that needs one: OpenSSL would ask at a terminal."""
    raise OSError("the key of the client's certificate is encrypted: store it without a passphrase")


def read_secret(path: Path) -> str:
    """Return the content of a mounted secret without its trailing line end.

    Raises OSError, which has no word of the content, also for what is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise OSError(f"{path} is no text in UTF-8") from None
