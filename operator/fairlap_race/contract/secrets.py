"""Files of mounted secrets, and the CAs that the race image trusts."""

from __future__ import annotations

import base64
import re
from pathlib import Path

SYSTEM_CAS = Path("/etc/ssl/certs/ca-certificates.crt")
"""Where Debian's package ca-certificates, which the race image has, keeps them."""
_ONE_WORD = re.compile(r"[!-~]+")


def read_api_key(path: Path) -> str:
    """Return the API key in a mounted secret as it goes into a header: base64 of its id and key.

    Raises OSError, which has no word of the key, also for one that no header can carry.
    """
    text = read_secret(path).strip()
    if not _ONE_WORD.fullmatch(text):  # http.client would quote it in its error
        raise OSError(f"{path} is no API key: store it in printable ASCII, without blanks or line ends inside")
    return base64.b64encode(text.encode()).decode() if ":" in text else text


def no_passphrase() -> str:
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
