"""Metrics and health over HTTP, in the operator's own event loop."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from aiohttp import web
from prometheus_client import REGISTRY, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


@dataclass(frozen=True)
class Answers:
    """What is asked of the operator at each request."""

    phases: Callable[[], Iterable[str]]
    """the phase of each Benchmark"""
    comparison_phases: Callable[[], Iterable[str]]
    """the phase of each Comparison"""
    leads: Callable[[], bool]
    """whether the Lease is held"""
    namespaces: Callable[[], Mapping[str, bool]]
    """the watched namespaces, and whether each is read"""
    missing: Callable[[], list[str]]
    """a sentence for each that is still to be read"""
    left_out: Callable[[], list[str]]
    """a sentence for each that cannot be read and holds nobody up"""


class _Gauges(Collector):
    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def collect(self) -> Iterator[Metric]:
        yield _by_phase("fairlap_benchmarks", "Benchmarks by phase", self._answers.phases())
        yield _by_phase("fairlap_comparisons", "Comparisons by phase", self._answers.comparison_phases())
        yield GaugeMetricFamily("fairlap_leader", "Whether the Lease is held", value=self._answers.leads())
        words = "Whether all Benchmarks of a watched namespace are known and followed; * is every namespace"
        # Not "namespace": so Prometheus names that of the target, and the one of ours would be renamed.
        ready = GaugeMetricFamily("fairlap_namespace_ready", words, labels=["watched"])
        for namespace, is_ready in sorted(self._answers.namespaces().items()):
            ready.add_metric([namespace], is_ready)
        yield ready


def _by_phase(name: str, words: str, phases: Iterable[str]) -> GaugeMetricFamily:
    found = GaugeMetricFamily(name, words, labels=["phase"])
    for phase, count in sorted(Counter(phases).items()):
        found.add_metric([phase], count)
    return found


def readiness(answers: Answers) -> tuple[int, str]:
    """Return the HTTP status and the words of /readyz: ready is who holds the Lease and knows every Benchmark."""
    if not answers.leads():
        return 503, "another operator holds the lease: this one waits for it\n"
    missing, left_out = answers.missing(), answers.left_out()
    return 503 if missing else 200, "\n".join([*(missing or ["ok"]), *left_out, ""])


async def serve(port: int, answers: Answers) -> web.AppRunner:
    """Serve /metrics, /healthz and /readyz on all addresses; returns the runner, to be cleaned up at the end."""
    REGISTRY.register(_Gauges(answers))

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(REGISTRY), content_type="text/plain", charset="utf-8")

    async def health(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")  # the loop answers; that it waits for somebody is no reason to start it anew

    async def ready(_: web.Request) -> web.Response:
        status, text = readiness(answers)
        return web.Response(status=status, text=text)

    app = web.Application()
    app.add_routes([web.get("/metrics", metrics), web.get("/healthz", health), web.get("/readyz", ready)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", port).start()  # noqa: S104 - probes and Prometheus come from outside the pod
    return runner
