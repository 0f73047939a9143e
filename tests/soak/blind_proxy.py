"""A proxy between an operator and the API server that can stop telling what happens to objects of a kind.

A watch that it blinds stays open and says nothing more, as one whose server lags or whose packets are lost.
"""

import asyncio
import contextlib
import ssl
from pathlib import Path

import aiohttp
import yaml
from aiohttp import web
from tests.api.controlplane import ControlPlane
from yarl import URL

NOT_PASSED = frozenset({"host", "content-length", "transfer-encoding", "connection", "keep-alive"})


class BlindProxy:
    """Lives in the event loop that calls `start`; `blind` names the kinds (plural) that nothing is told of."""

    def __init__(self, plane: ControlPlane, blind: set[str]) -> None:
        self._plane, self.blind = plane, blind
        self.stalled = 0
        """watches that were blinded"""
        self.url = ""

    async def start(self) -> None:
        """Listen on a free port with the API server's own certificate."""
        pki = self._plane.ca.parent
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pki / "apiserver.crt", pki / "apiserver.key")
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._pass)
        connector = aiohttp.TCPConnector(limit=0, ssl=ssl.create_default_context(cafile=self._plane.ca))
        self._session = aiohttp.ClientSession(
            connector=connector, auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None)
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context).start()
        self.url = f"https://127.0.0.1:{self._runner.addresses[0][1]}"

    async def close(self) -> None:
        """End all connections."""
        await self._runner.cleanup()
        await self._session.close()

    def stand_before(self, kubeconfig: Path) -> None:
        """Let who has this kubeconfig talk to the proxy."""
        config = yaml.safe_load(kubeconfig.read_text())
        config["clusters"][0]["cluster"]["server"] = self.url
        kubeconfig.write_text(yaml.safe_dump(config))

    async def _pass(self, request: web.Request) -> web.StreamResponse:
        if "watch" in request.query and request.path.rpartition("/")[2] in self.blind:
            return await self._stall(request)
        headers = {key: value for key, value in request.headers.items() if key.lower() not in NOT_PASSED}
        url, body = URL(self._plane.server + request.raw_path, encoded=True), await request.read()
        async with self._session.request(request.method, url, headers=headers, data=body or None) as answer:
            told = {key: value for key, value in answer.headers.items() if key.lower() not in NOT_PASSED}
            response = web.StreamResponse(status=answer.status, headers=told)
            await response.prepare(request)
            with contextlib.suppress(ConnectionError, aiohttp.ClientError):
                async for piece in answer.content.iter_any():
                    await response.write(piece)
                await response.write_eof()
            return response

    async def _stall(self, request: web.Request) -> web.StreamResponse:
        self.stalled += 1
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        while request.transport is not None and not request.transport.is_closing():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.2)
        return response
