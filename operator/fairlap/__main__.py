"""Start the operator: `python -m fairlap`, configured by the environment (see docs/install.md)."""

import asyncio
import os
import sys

from fairlap.environ import settings_from_environment
from fairlap.kube.api_server import ApiServer
from fairlap.kube.lease import Lease
from fairlap.runtime.kopf_handlers import configure_logging, end_by_signal, run_handlers
from fairlap.runtime.loop.state import Operator
from fairlap.runtime.metrics_server import Answers, serve
from fairlap.settings import Settings

DEEPEST = 25_000
"""levels of Python's recursion. The API server takes JSON of 10,000 levels, and copying one takes two of Python's; with
the usual 1,000 a single object with deep `params` ends the watch on all of them."""


class LeaseLostError(Exception):
    """Another operator may have taken over, so that this one had to end."""


async def run(settings: Settings) -> None:
    """Run until a signal ends it, or the lease is lost."""
    operator = Operator(settings)
    end_by_signal(operator.stop)
    operator.api_server = api_server = await ApiServer.connect()
    # The Lease has a connection of its own: it must not wait behind what thousands of Benchmarks have to say.
    apart = await ApiServer.connect() if settings.lease else None
    lease = Lease(apart, settings.lease, settings.lease_holder, settings.lease_seconds) if apart else None
    watched = operator.namespaces
    answers = Answers(
        phases=operator.phases,
        comparison_phases=operator.comparison_phases,
        leads=lambda: lease is None or lease.valid(),
        namespaces=watched.readiness,
        missing=watched.missing,
        left_out=watched.left_out,
    )
    server = await serve(settings.metrics_port, answers)
    try:
        if lease and not await _acquired(lease, operator.stop):
            return
        working = asyncio.create_task(run_handlers(operator))
        await _while_leading(working, lease, api_server, operator.stop)
    finally:
        if lease:
            await lease.release()
        for connection in filter(None, (api_server, apart)):
            await connection.close()
        await server.cleanup()


async def _acquired(lease: Lease, stop: asyncio.Event) -> bool:
    """Wait for the lease; return False when a signal came first."""
    waits = [asyncio.create_task(lease.acquire()), asyncio.create_task(stop.wait())]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
    return not stop.is_set()


async def _while_leading(
    working: asyncio.Task[None], lease: Lease | None, api_server: ApiServer, stop: asyncio.Event
) -> None:
    """Return when the operator has ended; end it when the lease is lost. Raises what it raised."""
    if lease is None:
        await working
        return
    api_server.may_write = lease.valid
    holding = asyncio.create_task(lease.hold())
    await asyncio.wait([working, holding], return_when=asyncio.FIRST_COMPLETED)
    stop.set()
    await working
    lost = holding.done()
    holding.cancel()
    if lost:
        raise LeaseLostError


def main() -> int:
    """Return the exit code: 0 after a signal, 1 after a failure, 2 when the environment cannot be used."""
    try:
        settings = settings_from_environment()
    except ValueError as error:
        sys.stderr.write(f"fairlap: {error}\n")
        return 2
    sys.setrecursionlimit(DEEPEST)
    os.environ.setdefault("USER", "fairlap")  # kopf asks for the user's name, and an image has no passwd entry for it
    configure_logging()
    try:
        asyncio.run(run(settings))
    except LeaseLostError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
