"""Files of mounted secrets, and the CAs that the race image trusts."""

from __future__ import annotations

from pathlib import Path

SYSTEM_CAS = Path("/etc/ssl/certs/ca-certificates.crt")
"""Where Debian's package ca-certificates, which the race image has, keeps them."""


def read_secret(path: Path) -> str:
    """Return the content of a mounted secret without its trailing line end. Raises OSError."""
    return path.read_text(encoding="utf-8").rstrip("\r\n")
