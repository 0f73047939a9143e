"""What an error of TLS means: told by its type and by what OpenSSL calls it, not by its sentence."""

import ssl

import pytest

from fairlap_race.contract.tls_trouble import TlsTrouble, tls_trouble


def named(reason: str, kind: type[ssl.SSLError] = ssl.SSLError) -> ssl.SSLError:
    error = kind(1, "a sentence")
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (named("TLSV13_ALERT_CERTIFICATE_REQUIRED"), TlsTrouble.CERTIFICATE_ASKED),
        (named("WRONG_VERSION_NUMBER"), TlsTrouble.UNTRUSTED),
        (named("CERTIFICATE_VERIFY_FAILED", ssl.SSLCertVerificationError), TlsTrouble.UNTRUSTED),
        (ssl.SSLError("CERTIFICATE_REQUIRED"), TlsTrouble.UNTRUSTED),
        (named("UNEXPECTED_EOF_WHILE_READING", ssl.SSLEOFError), None),
        (ConnectionResetError("CERTIFICATE_REQUIRED"), None),
    ],
)
def test_what_an_error_means(error: Exception, meaning: TlsTrouble | None) -> None:
    assert tls_trouble(error) is meaning
