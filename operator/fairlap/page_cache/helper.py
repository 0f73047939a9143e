"""Drops its machine's page cache when the operator asks for it: `python -m fairlap.page_cache.helper`.

It runs once on each machine, as a privileged container (chart value pageCache.enabled), and knows nothing but one
ConfigMap. FAIRLAP_PAGE_CACHE names that as NAMESPACE/NAME, FAIRLAP_MACHINE the machine.
"""

import asyncio
import logging
import os
from pathlib import Path
from typing import Final

from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.page_cache.dropping import answer, asked_of

log = logging.getLogger(__name__)
DROP_CACHES: Final = Path("/proc/sys/vm/drop_caches")
_PAUSE_SECONDS = 2.0  # a look takes some milliseconds of a processor, on machines that are measured


def drop(file: Path = DROP_CACHES) -> str:
    """Drop page cache, directory entries and inodes, of what is written back (Linux: admin-guide/sysctl/vm.rst).

    Returns why it could not be done, else "".
    """
    try:
        file.write_text("3\n")
    except OSError as error:
        return f"{file}: {error.strerror}"
    return ""


async def serve_once(api_server: ApiServer, place: str, machine: str) -> bool:
    """Do what is asked of this machine, if anything is, and say so. Returns whether it was. Raises ApiError."""
    namespace, _, name = place.partition("/")

    async def open_ones() -> list[str]:
        return asked_of((await api_server.read("ConfigMap", namespace, name)).get("data") or {}, machine)

    if not await open_ones():
        return False
    await asyncio.to_thread(os.sync)
    # That may have taken long, and who asked may race by now.
    requests = await open_ones()
    if not requests:
        return False
    why_not = await asyncio.to_thread(drop)
    waited_for = await open_ones()  # an answer to a question that was taken back would stay for ever
    requests = [request for request in requests if request in waited_for]
    await api_server.patch("ConfigMap", namespace, name, {"data": answer(machine, requests, why_not)})
    for request in requests:
        log.info("%s: %s", request, why_not or "dropped")
    return True


async def _serve() -> None:
    api_server = await ApiServer.connect()
    while True:
        try:
            await serve_once(api_server, os.environ["FAIRLAP_PAGE_CACHE"], os.environ["FAIRLAP_MACHINE"])
        except ApiError as error:
            log.warning("%s", error)
        await asyncio.sleep(_PAUSE_SECONDS)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    asyncio.run(_serve())
