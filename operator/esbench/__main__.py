"""Start the operator: `python -m esbench`, configured by the environment (see docs/install.md)."""

import asyncio
import logging
import os
import sys

import kopf

from .driver import Operator, registry_for
from .server import serve
from .settings import Settings, settings_from


class _WithoutHandlerNoise(logging.Filter):
    """kopf reports the success of every event handler; that would be most of the log."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.levelno <= logging.INFO and "succeeded" in record.getMessage())


async def run(settings: Settings) -> None:
    """Run until a signal ends it, or one of kopf's tasks fails."""
    operator, ready = Operator(settings), asyncio.Event()
    server = await serve(settings.metrics_port, operator.phases, ready.is_set)
    try:
        await kopf.operator(
            registry=registry_for(operator),
            standalone=True,
            clusterwide=not settings.namespaces,
            namespaces=settings.namespaces,
            ready_flag=ready,
        )
    finally:
        await server.cleanup()


def main() -> int:
    """Return the exit code: 0 after a signal, 1 after a failure, 2 when the environment cannot be used."""
    try:
        settings = settings_from(os.environ)
    except ValueError as error:
        sys.stderr.write(f"esbench: {error}\n")
        return 2
    os.environ.setdefault("USER", "esbench")  # kopf asks for the user's name, and an image has no passwd entry for it
    kopf.configure(log_format=kopf.LogFormat.JSON, log_refkey="k8s")
    for handler in logging.getLogger().handlers:
        handler.addFilter(_WithoutHandlerNoise())
    asyncio.run(run(settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
