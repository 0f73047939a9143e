"""A user's view of the cluster: kubectl by argv, and waiting with a deadline."""

import base64
import gzip
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parents[2]
Json = dict[str, Any]
T = TypeVar("T")
POLL_SECONDS = 2.0
PATIENCE = 3
"""What every wait is multiplied with: the machine may be busy with something else, and that is no fault of ours."""


@cache
def tool(name: str) -> str:
    """The path of a tool: the user's own with CLUSTER=current, else the one that was built."""
    if os.environ.get("CLUSTER") == "current":
        return name
    return localkube("tool", name)


def localkube(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "localkube", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@cache
def environment() -> dict[str, str]:
    if os.environ.get("CLUSTER") == "current":
        return dict(os.environ)
    words = shlex.split(localkube("kubeconfig"))
    file = next(word.removeprefix("KUBECONFIG=") for word in words if word.startswith("KUBECONFIG="))
    return {**os.environ, "KUBECONFIG": file}


def run(*arguments: str, given: str | None = None, seconds: float = 400) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*arguments], input=given, env=environment(), capture_output=True, text=True, timeout=seconds, check=False
    )


PROMETHEUS = "http://prometheus-operated.monitoring.svc:9090"
WATERMARK = "cluster.routing.allocation.disk.watermark"
# At 85 % of a disk no replica is placed any more, and how full a developer's disk is, is not what is tested.
FULL_DISK = {f"{WATERMARK}.low": "3gb", f"{WATERMARK}.high": "2gb", f"{WATERMARK}.flood_stage": "1gb"}
# No number is looked at for itself: the optimizing compiler would take half of the CPU time of a node's first minute.
SMALL_JVM = ["-XX:TieredStopAtLevel=1", "-XX:CICompilerCount=1", "-XX:-AlwaysPreTouch"]


class Namespace:
    """One namespace, as kubectl shows it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def kubectl(self, *arguments: str, given: str | None = None, seconds: float = 400) -> str:
        done = self.attempt(*arguments, given=given, seconds=seconds)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def attempt(
        self, *arguments: str, given: str | None = None, seconds: float = 120
    ) -> subprocess.CompletedProcess[str]:
        return run(tool("kubectl"), "-n", self.name, *arguments, given=given, seconds=seconds)

    def apply(self, *manifests: Json, dry_run: bool = False) -> None:
        # A List, since kubectl 1.32 takes no `---` between documents of JSON.
        given = json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})
        self.kubectl("apply", "-f", "-", *(["--dry-run=server"] if dry_run else []), given=given)

    def get(self, kind: str, name: str) -> Json:
        found: Json = json.loads(self.kubectl("get", kind, name, "-o", "json"))
        return found

    def items(self, kind: str, selector: str = "") -> list[Json]:
        found: list[Json] = json.loads(self.kubectl("get", kind, "-l", selector, "-o", "json"))["items"]
        return found

    def status(self, name: str) -> Json:
        found: Json = self.get("bm", name).get("status", {})
        return found

    def rally_log(self, record: str) -> str:
        """Rally's log as a race's record keeps it; nothing when there is none."""
        found = self.attempt("get", "configmap", record, "-o", "jsonpath={.binaryData.rally\\.log\\.gz}").stdout
        return gzip.decompress(base64.b64decode(found)).decode(errors="replace") if found else ""

    def until_no_pod_is_alone(self, seconds: float = 300) -> None:
        """Wait while a pod of any namespace has its machine for itself: no other of ours is scheduled meanwhile."""
        path = "{range .items[*]}{.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution}{end}"
        end = time.monotonic() + seconds
        while self.kubectl("get", "pods", "-A", "-o", f"jsonpath={path}").strip() and time.monotonic() < end:
            time.sleep(2)

    def until_over(self, name: str, seconds: float = 420) -> Json:
        """The terminal status of a Benchmark; what it last said when the time is over."""
        self.wait(name, "{.status.completionTime}", seconds)
        return self.status(name)

    def reach(self, name: str, phase: str, seconds: float = 420) -> None:
        """Wait until a Benchmark is in a phase."""
        self.wait(name, f"{{.status.phase}}={phase}", seconds)

    def wait(self, name: str, for_what: str, seconds: float) -> None:
        """One kubectl that watches: each that asks costs a quarter of a second of CPU, which the races lack."""
        timeout = int(seconds * PATIENCE)
        argv = ["wait", f"--for=jsonpath={for_what}", f"bm/{name}", f"--timeout={timeout}s"]
        done = self.attempt(*argv, seconds=timeout + 60)
        told = json.dumps(self.status(name), indent=1)[:3000] if done.returncode else ""
        assert done.returncode == 0, f"{name}: {done.stderr} {told}"

    def left_of(self, benchmark: str) -> list[str]:
        """What the operator answers for, but for the records: nothing once a Benchmark is over."""
        kinds = "elasticsearch,job,pod,serviceaccount,role,rolebinding"
        labelled = self.items(kinds, f"fairlap.dev/benchmark={benchmark}")
        return _names(labelled) + self._named("pvc", f"{benchmark}-", f"elasticsearch-data-{benchmark}-")

    def nothing_left_of(self, benchmark: str, seconds: float = 0) -> None:
        """Nothing of the operator's is there within seconds; ECK's and Kubernetes' own passes come a little later."""
        until(lambda: not self.left_of(benchmark), seconds, lambda: f"{benchmark}: {self.left_of(benchmark)}")
        until(lambda: not self._passed_on(benchmark), 30, lambda: f"{benchmark}: {self._passed_on(benchmark)}")

    def _passed_on(self, benchmark: str) -> list[str]:
        """What ECK made for the cluster of a Benchmark: it collects its secrets, and Kubernetes what has an owner."""
        return self._named("secret,statefulset,service", f"{benchmark}-")

    def _named(self, kinds: str, *prefixes: str) -> list[str]:
        return _names(item for item in self.items(kinds) if item["metadata"]["name"].startswith(prefixes))


def _names(items: Iterable[Json]) -> list[str]:
    return [f"{item['kind']}/{item['metadata']['name']}" for item in items]


def until(
    look: Callable[[], T | bool | None], seconds: float, otherwise: Callable[[], str], pause: float = POLL_SECONDS
) -> T:
    """What `look` returns as soon as that is something; fails with `otherwise()` when the time is over."""
    deadline = time.monotonic() + seconds * PATIENCE
    while not (found := look()):
        assert time.monotonic() < deadline, otherwise()
        time.sleep(pause)
    return found  # type: ignore[return-value]


def benchmark(name: str, *, elasticsearch: Json | None = None, race: Json | None = None, **spec: Any) -> Json:
    """A Benchmark small enough for two cores: 5,000 documents, one race, no smoke test."""
    small = {"requests": {"cpu": "100m"}, "limits": {"memory": "1536Mi"}}
    wanted = {"version": "9.0.0", "heap": "512m", "jvmOptions": SMALL_JVM, "resources": small, **(elasticsearch or {})}
    wanted["config"] = {**FULL_DISK, **wanted.get("config", {})}
    load = {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}}
    short = {"track": {"builtin": "log_ingest"}, "challenge": "quick", "params": {"documents": 5000}}
    does = {**short, "resources": load, **(race or {})}
    if race and race.get("track", short["track"]) != short["track"]:
        does = {name: value for name, value in does.items() if name in race or name not in ("challenge", "params")}
    return {
        "apiVersion": "fairlap.dev/v1alpha1",
        "kind": "Benchmark",
        "metadata": {"name": name},
        "spec": {"elasticsearch": wanted, "race": does, "smokeTest": False, **spec},
    }


def condition(status: Json, kind: str) -> str:
    return next((c["status"] for c in status.get("conditions", ()) if c["type"] == kind), "absent")
