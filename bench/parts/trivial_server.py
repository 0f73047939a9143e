"""A server that does next to nothing with a request: `python -m parts.trivial_server PORT` in bench/.

GET /count says how many requests there were; what Rally asks before it begins is answered, too.
"""

from __future__ import annotations

import asyncio
import sys
from typing import cast

from parts.timed_server import AS_ELASTICSEARCH, answer

OK = answer(b"{}")
ELASTICSEARCH = answer(AS_ELASTICSEARCH)
END = b"\r\n\r\n"


class Trivial(asyncio.Protocol):
    """One connection; its requests have no bodies."""

    requests = 0
    _transport: asyncio.WriteTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep where answers go."""
        self._transport = cast("asyncio.WriteTransport", transport)
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        """Answer what is whole."""
        *whole, self._rest = (self._rest + data).split(END)
        for request in whole:
            if request.startswith(b"GET /r"):
                Trivial.requests += 1
                self._transport.write(OK)
            elif request.startswith(b"GET /count"):
                self._transport.write(answer(str(Trivial.requests).encode()))
            else:
                self._transport.write(ELASTICSEARCH)


async def _serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Trivial, "127.0.0.1", port, backlog=1000)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
