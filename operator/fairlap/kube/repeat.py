"""What is done again and again beside everything else, and must go on whatever goes wrong once."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from fairlap.kube.api_error import ApiError

log = logging.getLogger(__name__)


def repeat(
    every_seconds: float, work: Callable[[], Awaitable[None]], what: str, *, at_once: bool = False
) -> asyncio.Task[None]:
    """Begin to call `work` after each pause of so many seconds, until the task that is returned is cancelled.

    `what` says in the log what was not done when it fails; `at_once`: the first pause is left out.
    """

    async def go_on() -> None:
        pause = 0.0 if at_once else every_seconds
        while True:
            await asyncio.sleep(pause)
            pause = every_seconds
            try:
                await work()
            except ApiError as error:
                log.info("%s: %s", what, error)
            except Exception:  # nobody else would tell
                log.exception("%s", what)

    return asyncio.create_task(go_on(), name=what)
