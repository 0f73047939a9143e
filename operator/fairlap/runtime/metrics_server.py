"""Metrics and health over HTTP, in the operator's own event loop."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from aiohttp import web
from prometheus_client import REGISTRY, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


class _Phases(Collector):
    def __init__(self, phases: Callable[[], Iterable[str]]) -> None:
        self._phases = phases

    def collect(self) -> Iterator[Metric]:
        gauge = GaugeMetricFamily("fairlap_benchmarks", "Benchmarks by phase", labels=["phase"])
        for phase, count in sorted(Counter(self._phases()).items()):
            gauge.add_metric([phase], count)
        yield gauge


async def serve(port: int, phases: Callable[[], Iterable[str]], alive: Callable[[], bool]) -> web.AppRunner:
    """Serve /metrics and /healthz on all addresses; returns the runner, to be cleaned up at the end.

    `phases` yields the phase of each Benchmark; `alive` says whether the operator's tasks run.
    """
    REGISTRY.register(_Phases(phases))

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(REGISTRY), content_type="text/plain", charset="utf-8")

    async def health(_: web.Request) -> web.Response:
        return web.Response(text="ok\n") if alive() else web.Response(status=503, text="not running\n")

    app = web.Application()
    app.add_routes([web.get("/metrics", metrics), web.get("/healthz", health)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", port).start()  # noqa: S104 - probes and Prometheus come from outside the pod
    return runner
