"""The fakes in a thread of their own, with a synchronous face for tests."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from .controlplane import ControlPlane
from .fake_eck import Eck
from .fake_jobs import Jobs
from .fakes import Knobs, Kubelet, World, follow
from .rest import Json, Rest
from .tools import patience

T = TypeVar("T")

NAMESPACED = (
    "elasticsearches", "statefulsets", "jobs", "pods", "configmaps", "secrets", "services", "endpointslices",
    "serviceaccounts", "roles", "rolebindings", "persistentvolumeclaims",
)  # fmt: skip
STANDARD = {"default", "kube-root-ca.crt"}
MOST_SECONDS = 600
"""of one piece of work of the fakes' loop, which waits for an API server that is away"""


class Stage:
    """The API server with fakes that act on it: what a test sets up and asks."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fakes", daemon=True)
        self._thread.start()
        self.world: World = self.do(self._begin())

    async def _begin(self) -> World:
        world = World(Rest(self.plane.server, self.plane.ca, self.plane.admin_token))
        eck, self._kubelet = Eck(world), Kubelet(world)
        await self._kubelet.serve(self.plane.ca.parent)
        actors = {"pods": self._kubelet.act, "elasticsearches": eck.act, "jobs": Jobs(world, eck).act}
        self._followers = [
            asyncio.get_running_loop().create_task(follow(world, plural, act)) for plural, act in actors.items()
        ]
        return world

    def close(self) -> None:
        """End the fakes and their thread."""

        async def end() -> None:
            tasks = [*self._followers, *self.world.tasks]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._kubelet.close()
            await self.world.rest.close()

        self.do(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the fakes' loop and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(MOST_SECONDS)

    # --- what tests do -----------------------------------------------------------------------------------------

    def make_namespace(self, name: str) -> str:
        """Create a namespace with its default service account (the controllers make that one)."""
        self.plane.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self.until(lambda: self.find("serviceaccounts", name, "default") is not None, "the default ServiceAccount", 20)
        return name

    def behave(self, namespace: str, name: str = "", **knobs: Any) -> None:
        """Set how the fakes treat one Benchmark, or all of a namespace."""
        self.world.knobs[namespace, name] = Knobs(**knobs)

    def apply(self, *manifests: Json) -> None:
        """Create Benchmarks (or anything else) as a user does."""
        for manifest in manifests:
            self.plane.create(manifest)

    def would_refuse(self, manifest: Json, words: str) -> bool:
        """Return whether the API server would not take an object, and says these words of it."""
        return words in self.plane.refusal(manifest)

    def find(self, plural: str, namespace: str, name: str) -> Json | None:
        """Return one object, or None."""
        return self.do(self.world.rest.get(plural, namespace, name))

    def benchmark(self, namespace: str, name: str) -> Json:
        """Return a Benchmark that must exist."""
        found = self.find("benchmarks", namespace, name)
        assert found is not None, f"no Benchmark {namespace}/{name}"
        return found

    def status(self, namespace: str, name: str) -> Json:
        """Return a Benchmark's status."""
        status: Json = self.benchmark(namespace, name).get("status") or {}
        return status

    def comparison(self, namespace: str, name: str) -> Json:
        """Return the status of a Comparison that must exist."""
        found = self.find("comparisons", namespace, name)
        assert found is not None, f"no Comparison {namespace}/{name}"
        status: Json = found.get("status") or {}
        return status

    def compares(self, namespace: str, name: str, *phases: str, seconds: float = 60.0) -> Json:
        """Wait until a Comparison is in one of the phases, over without any, and return its status."""
        status: Json = {}

        def there() -> bool:
            nonlocal status
            status = self.comparison(namespace, name)
            return status.get("phase") in (phases or ("Complete", "Failed"))

        try:
            self.until(there, f"{name} is {'/'.join(phases) or 'over'}", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}: {json.dumps(status)}") from None
        return status

    def all(self, plural: str, namespace: str) -> list[Json]:
        """Return all objects of a kind in a namespace."""
        return self.do(self.world.rest.list(plural, namespace))

    def delete(self, plural: str, namespace: str, name: str) -> None:
        """Delete one object, its dependents in the background."""
        self.do(self.world.rest.delete(plural, namespace, name))

    def patch(self, plural: str, namespace: str, name: str, body: Json, sub: str = "") -> Json:
        """Merge-patch one object."""
        return self.do(self.world.rest.patch(plural, namespace, name, body, sub))

    def until(self, holds: Callable[[], object], what: str, seconds: float = 60.0) -> None:
        """Wait until something holds; raises AssertionError that says what did not."""
        end, pause = time.monotonic() + patience(seconds), 0.05
        while not holds():
            assert time.monotonic() < end, f"not within {patience(seconds):.0f} s: {what}"
            time.sleep(pause)
            pause = min(pause * 1.2, 0.25)

    def reaches(self, namespace: str, name: str, *phases: str, seconds: float = 60.0, poll: float = 0.05) -> Json:
        """Wait until a Benchmark is in one of the phases and return its status."""
        status: Json = {}

        def there() -> bool:
            nonlocal status
            status = self.status(namespace, name)
            return status.get("phase") in phases

        end = time.monotonic() + patience(seconds)
        while not there():
            if time.monotonic() > end:
                told = json.dumps({k: v for k, v in status.items() if k not in ("results", "environment", "races")})
                things = f"there are {self.left_over(namespace)}; the fakes say {dict(self.world.violations)}"
                waited = f"{name} is not {'/'.join(phases)} after {patience(seconds):.0f} s"
                raise AssertionError(f"{waited}: {things}; {told}")
            time.sleep(poll)
        return status

    def ends(self, namespace: str, name: str, seconds: float = 60.0) -> Json:
        """Wait until a Benchmark is over and return its status."""
        return self.reaches(namespace, name, "Succeeded", "Failed", seconds=seconds, poll=0.2)

    def left_over(self, namespace: str) -> list[str]:
        """Return what is there beyond a fresh namespace and the records of Benchmarks that live."""
        living = {bench["metadata"]["uid"] for bench in self.all("benchmarks", namespace)}
        compared = {each["metadata"]["name"] for each in self.all("comparisons", namespace)}
        found = []
        for plural in NAMESPACED:
            for thing in self.all(plural, namespace):
                meta = thing["metadata"]
                labels = meta.get("labels", {})
                of_living = labels.get("fairlap.dev/uid") in living
                of_block = labels.get("fairlap.dev/comparison") in compared or meta["name"] == "fairlap-noise"
                told = labels.get("fairlap.dev/part") != "progress" and (of_living or of_block)
                is_record = plural == "configmaps" and told
                kept = meta["name"] in STANDARD or "helm.sh/chart" in labels or labels.get("tests") == "keep"
                if not is_record and not kept:
                    found.append(f"{plural}/{meta['name']}")
        return found

    def is_clean(self, namespace: str, seconds: float = 30.0) -> None:
        """Wait until nothing is left over; raises AssertionError that lists what is."""
        end = time.monotonic() + patience(seconds)
        while left := self.left_over(namespace):
            assert time.monotonic() < end, f"left over after {patience(seconds):.0f} s: {left}"
            time.sleep(0.2)

    def forget(self, namespace: str) -> None:
        """Remove a namespace's Benchmarks and Comparisons, even without an operator: no later one works on them."""
        for thing in self.all("comparisons", namespace):
            self.delete("comparisons", namespace, thing["metadata"]["name"])
        for thing in self.all("benchmarks", namespace):
            self.delete("benchmarks", namespace, thing["metadata"]["name"])

    def promises_kept(self, namespace: str) -> None:
        """Fail with every promise that was broken in a namespace."""
        assert not self.world.violations.get(namespace), self.world.violations[namespace]
        assert not self.world.violations.get("*"), self.world.violations["*"]

    def runs(self, namespace: str) -> list[str]:
        """Return the names of the steps that were started, in order."""
        return [run.name for run in self.world.runs if run.namespace == namespace]

    def built(self, namespace: str, prefix: str) -> list[str]:
        """Return the names of the clusters that were ever asked for, those that begin with `prefix`."""
        return [name for there, name in self.world.built if there == namespace and name.startswith(prefix)]
