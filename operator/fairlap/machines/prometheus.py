"""Asks Prometheus, over HTTP with bounds on time and size; the only file that knows how to reach it."""

import json
import ssl
from pathlib import Path
from typing import Any, Final

import aiohttp

from fairlap.settings import PrometheusSettings
from fairlap_race.contract.secrets import basic

_TIMEOUT: Final = aiohttp.ClientTimeout(total=20, connect=5)
_MOST_BYTES: Final = 16 << 20


class PrometheusError(Exception):
    """Prometheus did not answer, or not with success; the message says how, without credentials."""


class Prometheus:
    """One Prometheus (or whatever answers its HTTP API)."""

    def __init__(self, settings: PrometheusSettings) -> None:
        self._settings = settings

    @property
    def url(self) -> str:
        """Where it is asked."""
        return self._settings.url

    async def query(self, text: str, at: float) -> Any:
        """Return the JSON answer to an instant query as of `at` (seconds since the epoch). Raises PrometheusError."""
        try:
            # Secrets and CA are read each time: they may have been replaced meanwhile.
            headers, tls = self._headers(), self._tls()
        except (OSError, ssl.SSLError) as error:
            raise PrometheusError(f"its credentials or CA cannot be read: {error}") from error
        url = f"{self._settings.url.rstrip('/')}/api/v1/query"
        try:
            async with aiohttp.ClientSession(timeout=_TIMEOUT, headers=headers) as session:
                data = {"query": text, "time": f"{at:.3f}"}
                async with session.post(url, data=data, ssl=tls, allow_redirects=False) as answer:
                    body = await _bounded(answer)
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise PrometheusError(f"{type(error).__name__}: {error}") from error
        if answer.status != 200:
            raise PrometheusError(f"HTTP {answer.status}: {body[:300].decode(errors='replace')}")
        try:
            return json.loads(body)
        except ValueError as error:
            raise PrometheusError("the answer is not JSON") from error

    def _headers(self) -> dict[str, str]:
        token, user, password = (self._secret(name) for name in ("token", "username", "password"))
        if token:
            return {"Authorization": f"Bearer {token}"}
        if user and password:
            return {"Authorization": f"Basic {basic(user, password)}"}
        return {}

    def _secret(self, name: str) -> str:
        folder = self._settings.credentials
        path = Path(folder, name) if folder else None
        return path.read_text(encoding="utf-8").strip() if path is not None and path.exists() else ""

    def _tls(self) -> ssl.SSLContext | bool:
        return ssl.create_default_context(cafile=self._settings.ca_file) if self._settings.ca_file else True


async def _bounded(answer: aiohttp.ClientResponse) -> bytes:
    parts, size = [], 0
    async for part in answer.content.iter_chunked(1 << 16):
        size += len(part)
        if size > _MOST_BYTES:
            raise PrometheusError(f"its answer is larger than {_MOST_BYTES >> 20} MiB")
        parts.append(part)
    return b"".join(parts)
