"""One operator at a time: a Lease that is held while it works, and that a write is checked against.

Two operators cannot run one race twice, but each would admit a Benchmark of its own to the queue, and two races at once
measure each other. A Deployment of one replica does not rule two out: when a machine stops answering, Kubernetes starts
another pod although the first may go on.
"""

import asyncio
import logging
import time
from datetime import UTC, datetime

from fairlap.api.base import Json
from fairlap.api.kinds import LEASE
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer

log = logging.getLogger(__name__)
_RENEW_SHARE, _TRUST_SHARE = 1 / 5, 2 / 3
"""shares of the Lease's duration: between two renewals; until it is no longer trusted, before others may take it"""


class Lease:
    """The Lease `namespace`/`name`, held by `holder` for `seconds` at a time."""

    def __init__(self, api_server: ApiServer, place: str, holder: str, seconds: int) -> None:
        self._api_server = api_server
        self._namespace, _, self._name = place.partition("/")
        self._holder, self._seconds = holder, seconds
        self._renewed = float("-inf")
        self._seen: tuple[str, float] = ("", 0.0)

    def valid(self) -> bool:
        """Return whether it is certainly still ours; a process that was stopped for a while finds out here."""
        return time.monotonic() - self._renewed < self._seconds * _TRUST_SHARE

    async def acquire(self) -> None:
        """Return as soon as it is ours."""
        waiting = ""
        while not await self.renew():
            holder = self._seen[0].partition(" ")[0]
            if waiting != holder:
                waiting = holder
                log.info("waiting for the lease %s/%s, which %s holds", self._namespace, self._name, holder)
            await asyncio.sleep(max(0.2, self._seconds * _RENEW_SHARE / 2))

    async def hold(self) -> None:
        """Renew it again and again; return when it is another's, or could not be renewed in time."""
        while self.valid():
            await asyncio.sleep(self._seconds * _RENEW_SHARE)
            await self.renew()
        log.error("the lease %s/%s could not be renewed: another operator may take over", self._namespace, self._name)

    async def release(self) -> None:
        """Let another operator take it at once; nothing is lost when this does not succeed."""
        if not self.valid():
            return
        try:
            there = await self._api_server.find("Lease", self._namespace, self._name)
            if there and there["spec"].get("holderIdentity") == self._holder:
                there["spec"]["holderIdentity"] = ""
                await self._api_server.replace(there)
        except ApiError as error:
            log.info("the lease was not released: %s", error)
        self._renewed = float("-inf")

    async def renew(self) -> bool:
        """Take it, or hold it for longer; return whether it is held by us now."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._seconds * _TRUST_SHARE / 2):
                there = await self._api_server.find("Lease", self._namespace, self._name)
                if there is not None and not self._may_take(there["spec"]):
                    self._renewed = float("-inf")  # another one works: nothing more may be written
                    return False
                lease = self._held(there)
                await (self._api_server.create(lease) if there is None else self._api_server.replace(lease))
        except (ApiError, TimeoutError) as error:
            log.warning("the lease could not be renewed: %s", error)
            return False
        # Counted from before the request: the API server may have written it then.
        self._renewed = began
        return True

    def _may_take(self, spec: Json) -> bool:
        holder = spec.get("holderIdentity") or ""
        if holder in ("", self._holder):
            return True
        # Clocks of two machines may differ: what counts is how long it has not changed before our eyes.
        version = f"{holder} {spec.get('renewTime')}"
        now = time.monotonic()
        if version != self._seen[0]:
            self._seen = (version, now)
        return now - self._seen[1] > float(spec.get("leaseDurationSeconds") or self._seconds)

    def _held(self, there: Json | None) -> Json:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = dict(there["spec"]) if there else {"leaseTransitions": 0}
        if spec.get("holderIdentity") != self._holder:
            spec |= {"acquireTime": now, "leaseTransitions": int(spec.get("leaseTransitions") or 0) + bool(there)}
        spec |= {"holderIdentity": self._holder, "renewTime": now, "leaseDurationSeconds": self._seconds}
        meta = {"name": self._name, "namespace": self._namespace}
        if there:
            meta["resourceVersion"] = there["metadata"]["resourceVersion"]
        return {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": meta, "spec": spec}
