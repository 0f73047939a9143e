"""Patches a ConfigMap of this step, over any outage of the API server that ends in time."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 8.0
GIVE_UP_MISSING = 20.0
"""Seconds after which a missing ConfigMap or permission is believed; a new Role can take a moment to hold."""


class PatchError(Exception):
    """The ConfigMap could not be patched; `status` is None when the API server did not answer."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class ConfigMap:
    """The ConfigMap `name` in `namespace`, reached with the pod's service account."""

    host: str
    port: int
    namespace: str
    name: str
    account: Path = SERVICE_ACCOUNT

    @staticmethod
    def of_pod(namespace: str, name: str) -> ConfigMap:
        """Return the ConfigMap at the API server that Kubernetes tells every pod. Raises PatchError outside one."""
        try:
            host, port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
        except (KeyError, ValueError):
            raise PatchError("this is not a pod: KUBERNETES_SERVICE_HOST and _PORT are not set") from None
        return ConfigMap(host, port, namespace, name, Path(os.environ.get("FAIRLAP_RACE_ACCOUNT", SERVICE_ACCOUNT)))

    def patch_once(self, data: Mapping[str, str], binary: Mapping[str, str], timeout: float = 5.0) -> None:
        """Merge `data` and `binary` (base64) into the ConfigMap. Raises PatchError; never retries."""
        parts = {"data": dict(data), "binaryData": dict(binary)}
        body = {key: part for key, part in parts.items() if part}
        path = f"/api/v1/namespaces/{self.namespace}/configmaps/{self.name}"
        try:
            # Read each time: Kubernetes replaces the token within the hour.
            token = (self.account / "token").read_text(encoding="utf-8").strip()
            tls = ssl.create_default_context(cafile=str(self.account / "ca.crt"))
            connection = http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=tls)
        except OSError as error:
            raise PatchError(f"the service account cannot be read: {error}") from error
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/merge-patch+json"}
        try:
            connection.request("PATCH", path, body=json.dumps(body).encode(), headers=headers)
            answer = connection.getresponse()
            text = answer.read()[:500].decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            raise PatchError(f"PATCH {path}: {type(error).__name__}: {error}") from error
        finally:
            connection.close()
        if answer.status >= 300:
            raise PatchError(f"PATCH {path}: HTTP {answer.status}: {text}", answer.status)


def patch(
    once: Callable[[], None],
    within: Callable[[], float],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Call `once` until it succeeds, with growing pauses, for at most `within()` seconds in all.

    `within` is asked again each time, because a shutdown can shorten it. Raises the last PatchError when time is up,
    and earlier when another try cannot help: a missing ConfigMap or permission after 20 s, or a request that is wrong.
    """
    started, pause = clock(), FIRST_PAUSE
    while True:
        try:
            once()
            return
        except PatchError as error:
            spent = clock() - started
            if spent + pause > _patience(error.status, within()):
                raise
        sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def _patience(status: int | None, within: float) -> float:
    if status in (401, 403, 404):
        return min(GIVE_UP_MISSING, within)
    if status in (400, 413, 415, 422):
        return 0.0
    return within
