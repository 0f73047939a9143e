"""What ECK, the Job controller, the kubelet and the race's runner do, played in one event loop against a real API.

A real API server validates every object they and the operator write, RBAC judges what the runner does (it acts as
the pod's own ServiceAccount), and the real garbage collector removes what is owned. Each race that ever starts is
counted, and every promise that the operator breaks is written down in `violations`.
"""

import asyncio
import logging
import random
import ssl
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from fairlap.manifests.elasticsearch import MOUNTS_CONTAINER

from .rest import Json, Rest, RestError
from .tools import patience

log = logging.getLogger("fakes")

NODES = ("node-a", "node-b")
UID, STEP, BENCHMARK = "fairlap.dev/uid", "fairlap.dev/step", "fairlap.dev/benchmark"


@dataclass
class Knobs:
    """How the fakes behave for one Benchmark (or a whole namespace); times are seconds."""

    cluster: str = ""
    """"", never-green, no-endpoints, unschedulable, image-pull, crash-loop, hard-start (its containers are killed once
    before they are ready); during the race: restart, out-of-memory, heap-exhausted, evicted"""
    race: str = ""
    """"", dies, out-of-memory, evicted, hangs, garbage (as its record), silent (does not say that it is done),
    image-pull, unschedulable, or a fault that `records.record` or `records.resources` knows"""
    steps: tuple[str, ...] = ("race-1",)
    """steps that the two above apply to"""
    eck: tuple[float, float] = (0.0, 0.2)
    """how long each stage of building a cluster takes"""
    run: tuple[float, float] = (0.1, 0.4)
    """how long a race takes"""
    shared_node: bool = False
    """whether everything runs on one machine"""

    def cluster_fault(self, step: str) -> str:
        return self.cluster if step in self.steps else ""

    def race_fault(self, step: str) -> str:
        return self.race if step in self.steps else ""


@dataclass(frozen=True)
class Run:
    """One race that was started: identity of the attempt and of the Job."""

    namespace: str
    benchmark_uid: str
    step: str
    name: str
    job_uid: str


@dataclass
class World:
    """Shared by all fakes and read by the tests."""

    rest: Rest
    dice: random.Random = field(default_factory=lambda: random.Random(1))
    default: Knobs = field(default_factory=Knobs)
    knobs: dict[tuple[str, str], Knobs] = field(default_factory=dict)
    """by namespace and Benchmark name; the name "" stands for the whole namespace"""
    runs: list[Run] = field(default_factory=list)
    built: list[tuple[str, str]] = field(default_factory=list)
    """namespace and name of each Elasticsearch that there ever was"""
    running: set[Run] = field(default_factory=set)
    most_running: Counter[str] = field(default_factory=Counter)
    """most Benchmarks with a race at once, by namespace"""
    most_checks: Counter[str] = field(default_factory=Counter)
    """most track checks at once, by namespace"""
    violations: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """by namespace"""
    ready: set[str] = field(default_factory=set)
    """uids of clusters whose http service has endpoints"""
    tables: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """by the block of races that are raced in turn which of them are there"""
    blocks: dict[str, str] = field(default_factory=dict)
    """by the uid of such a Benchmark its block, which has one place"""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def of(self, thing: Json) -> Knobs:
        """Return the knobs for the Benchmark that an object belongs to."""
        meta = thing["metadata"]
        name = meta.get("labels", {}).get(BENCHMARK, "")
        namespace = meta["namespace"]
        return self.knobs.get((namespace, name)) or self.knobs.get((namespace, "")) or self.default

    def blame(self, thing: Json, sentence: str) -> None:
        """Write down a broken promise."""
        meta = thing["metadata"]
        self.violations[meta["namespace"]].append(f"{meta['name']}: {sentence}")

    def spawn(self, work: Coroutine[Any, Any, None], what: str) -> None:
        """Run something beside the rest; a vanished object (404, 409) just ends it."""
        task = asyncio.get_running_loop().create_task(self._guarded(work, what))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _guarded(self, work: Coroutine[Any, Any, None], what: str) -> None:
        try:
            await work
        except RestError as error:
            if error.code not in (404, 409):
                log.exception("%s", what)
                self.violations["*"].append(f"{what}: {error}")
        except (aiohttp.ClientError, OSError) as error:
            log.warning("%s: %r", what, error)
        except Exception as error:
            log.exception("%s", what)
            self.violations["*"].append(f"{what}: {error!r}")

    async def pause(self, span: tuple[float, float]) -> None:
        """Wait a random time between the two numbers of seconds."""
        await asyncio.sleep(self.dice.uniform(*span))

    def node(self, knobs: Knobs, template: Json) -> str:
        """Return the machine for a pod of this template: one of those that it is bound to, if it is."""
        if knobs.shared_node:
            return NODES[0]
        demanded = template["spec"].get("affinity", {}).get("nodeAffinity", {})
        terms = demanded.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", ())
        bound = [name for term in terms for field in term.get("matchFields", ()) for name in field["values"]]
        return self.dice.choice(bound or NODES)


async def follow(world: World, plural: str, act: Callable[[str, Json], None]) -> None:
    """Call `act` with every event of a kind, for ever."""
    async for kind, thing in world.rest.watch(plural):
        act(kind, thing)


def owned_by(owner: Json, kind: str, api: str) -> list[Json]:
    """Return ownerReferences to a controlling owner."""
    meta = owner["metadata"]
    return [{"apiVersion": api, "kind": kind, "name": meta["name"], "uid": meta["uid"], "controller": True}]


async def create_fresh(world: World, plural: str, body: Json) -> Json:
    """Create an object; one of that name that is just being removed is waited for.

    Raises RestError 404 when its owner is gone: as a real controller, it makes nothing more for that one.
    """
    meta, end = body["metadata"], time.monotonic() + patience(20)
    while True:
        try:
            return await world.rest.create(plural, meta["namespace"], body)
        except RestError as error:
            if error.code != 409 and not (error.code == 403 and "not found" in str(error)):
                raise
            last = error
        there = await world.rest.get(plural, meta["namespace"], meta["name"])
        living = there and not there["metadata"].get("deletionTimestamp")
        if there and living and _owners(there) == _owners(body):  # created, but the answer was lost
            return there
        # A pod's account goes with the Job that both are of, and then no pod can be created any more.
        await _owner_must_live(world, meta)
        if time.monotonic() > end:
            raise RuntimeError(f"{plural} {meta['name']} could not be created: {last}")
        await asyncio.sleep(0.1)


async def _owner_must_live(world: World, meta: Json) -> None:
    """Raise RestError 404 unless the owner that an object names is there."""
    for owner in meta.get("ownerReferences", ()):
        there = await world.rest.get(_OWNERS[owner["kind"]], meta["namespace"], owner["name"])
        if there is None or there["metadata"]["uid"] != owner["uid"]:
            raise RestError(404, f"{owner['kind']} {owner['name']} is gone")


async def create_pod(world: World, owner: Json, kind: str, body: Json) -> Json | None:
    """Create a pod for its owner; when the API server refuses it, an event tells as the real controllers do, and None.

    The real ones try again for ever; here nothing that refuses pods ever changes its mind.
    """
    try:
        return await create_fresh(world, "pods", body)
    except RestError as error:
        if error.code not in (403, 422):
            raise
        words, name = str(error).partition(": ")[2], owner["metadata"]["name"]
    of_set = f"create Pod {body['metadata']['name']} in StatefulSet {name} failed error: {words}"
    await warn(world, owner, kind, "FailedCreate", of_set if kind == "StatefulSet" else f"Error creating: {words}")
    return None


async def warn(world: World, about: Json, kind: str, reason: str, message: str) -> None:
    """Write a Warning event about an object, as a controller or the kubelet does."""
    meta, now = about["metadata"], time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    event = {
        "metadata": {"name": f"{meta['name']}.{meta['uid'][:8]}", "namespace": meta["namespace"]},
        "involvedObject": {"kind": kind, **{key: meta[key] for key in ("name", "namespace", "uid")}},
        "reason": reason, "message": message, "type": "Warning", "firstTimestamp": now, "lastTimestamp": now,
        "count": 1, "source": {"component": "fakes"},
    }  # fmt: skip
    await world.rest.create("events", meta["namespace"], event)


_OWNERS = {
    "Elasticsearch": "elasticsearches", "Job": "jobs", "Pod": "pods", "Service": "services",
    "StatefulSet": "statefulsets",
}  # fmt: skip
"""kinds of owners of what the fakes make, as the API's paths name them"""


def _owners(thing: Json) -> list[str]:
    return [owner["uid"] for owner in thing["metadata"].get("ownerReferences", ())]


BOOTSTRAP = "bootstrap check failure [1] of [1]: max virtual memory areas vm.max_map_count [65530] is too low"

POWERSAVE = "==> /sys/devices/system/cpu/cpufreq/policy0/scaling_governor <==\npowersave\n"
SHARED_PROCESSORS = f"{POWERSAVE}\n==> /proc/self/status <==\nCpus_allowed_list:\t0-3\n" + "".join(
    f"processor\t: {number}\n" for number in range(4)
)
"""What the kernel says on the machine of a second node: all may use all processors, whose clock follows the load."""


class Kubelet:
    """Ends pods that are deleted, which else would stay Terminating for ever, and serves containers' logs."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._ending: set[str] = set()
        self._server: web.AppRunner | None = None

    async def serve(self, certificates: Path) -> None:
        """Register both machines and listen where the API server asks for logs."""
        app = web.Application()
        app.add_routes([web.get("/containerLogs/{namespace}/{pod}/{container}", self._log)])
        self._server = web.AppRunner(app, access_log=None)
        await self._server.setup()
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificates / "apiserver.crt", certificates / "apiserver.key")
        site = web.TCPSite(self._server, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        port = self._server.addresses[0][1]
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        for name in NODES:
            await self.world.rest.create("nodes", "", {"metadata": {"name": name}})
            await self.world.rest.patch("nodes", "", name, {"status": status}, "status")

    async def close(self) -> None:
        if self._server:
            await self._server.cleanup()

    async def _log(self, request: web.Request) -> web.Response:
        if "-es-" not in request.match_info["pod"]:
            return web.Response(text="INFO the runner began\n")
        if request.match_info["container"] == MOUNTS_CONTAINER and request.match_info["pod"].endswith("-1"):
            return web.Response(text=SHARED_PROCESSORS)
        if request.query.get("previous") != "true":
            return web.Response(text="INFO starting\n")
        return web.Response(text=f"INFO starting\nERROR {BOOTSTRAP}\n")

    def act(self, kind: str, pod: Json) -> None:
        meta = pod["metadata"]
        if kind == "DELETED":
            self._ending.discard(meta["uid"])
        elif meta.get("deletionTimestamp") and meta["uid"] not in self._ending:
            self._ending.add(meta["uid"])
            self.world.spawn(self._end(meta), f"end pod {meta['name']}")

    async def _end(self, meta: Json) -> None:
        await self.world.pause((0.0, 0.2))
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
        await self.world.rest.delete("pods", meta["namespace"], meta["name"], options)
