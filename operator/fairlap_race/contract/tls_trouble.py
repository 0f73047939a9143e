"""What an error of TLS means: the one place that reads OpenSSL's words."""

from __future__ import annotations

import ssl
from enum import Enum

_CERTIFICATE_REQUIRED = "CERTIFICATE_REQUIRED"


class TlsTrouble(Enum):
    """What keeps two sides from each other."""

    UNTRUSTED = "the server is not trusted, or both do not agree on how to speak"
    CERTIFICATE_ASKED = "the server asks for a certificate that it is not given"


def tls_trouble(error: BaseException) -> TlsTrouble | None:
    """Return what an error means; None for one that is not of TLS, and for a connection that only broke.

    OpenSSL names what it met in `reason`: of an alert (RFC 8446, section 6.2) after its protocol version.
    """
    if not isinstance(error, ssl.SSLError):
        return None
    if _CERTIFICATE_REQUIRED in (getattr(error, "reason", None) or ""):
        return TlsTrouble.CERTIFICATE_ASKED
    # The other subclasses say that it ended or was to wait.
    refused = isinstance(error, ssl.SSLCertVerificationError) or type(error) is ssl.SSLError
    return TlsTrouble.UNTRUSTED if refused else None
