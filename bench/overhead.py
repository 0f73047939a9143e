"""What the operator costs: the same Benchmark through it and by hand, alternating; prints seconds and ratios.

By hand means what a careful person's script does: kubectl apply of the same Elasticsearch, wait until it is ready,
the same Job, read the record, delete everything, wait until it is gone. Both use the same images and manifests.

    KUBECONFIG=... .venv/bin/python bench/overhead.py --namespace NS --race-image IMAGE [--pairs 3]
    KUBECONFIG=... .venv/bin/python bench/overhead.py --namespace NS --race-image IMAGE --smallest

The operator must watch the namespace and be idle.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from parts.kubectl import Json, Kubectl

from fairlap.api.spec import BenchmarkSpec
from fairlap.manifests.elasticsearch import elasticsearch
from fairlap.manifests.race_job import access, job, progress, record
from fairlap.plan.basis.seen import Subject
from fairlap.settings import Settings
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.recorded.record import KEY_RECORD, Record

SPEC: Json = {
    "elasticsearch": {
        "version": "9.0.0",
        "heap": "512m",
        "resources": {"requests": {"cpu": "200m"}, "limits": {"memory": "1536Mi"}},
    },
    "race": {"track": {"builtin": "log_ingest"}},
    "smokeTest": False,
}
# One pair of a race of a few seconds beside whatever else the machine does: only to see that it works.
SMALLEST: Json = {
    "elasticsearch": {
        **SPEC["elasticsearch"],
        "jvmOptions": ["-XX:TieredStopAtLevel=1", "-XX:CICompilerCount=1", "-XX:-AlwaysPreTouch"],
        "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "1536Mi"}},
        "config": {
            f"cluster.routing.allocation.disk.watermark.{mark}": size
            for mark, size in (("low", "3gb"), ("high", "2gb"), ("flood_stage", "1gb"))
        },
    },
    "race": {
        **SPEC["race"],
        "params": {"documents": 2000},
        "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}},
    },
    "smokeTest": False,
}
STEP = "race-1"


class Timing(NamedTuple):
    """Seconds of one run."""

    to_first_request: float
    """from apply to the first request of the race"""
    after_rally: float
    """from Rally's exit to the end: numbers read, everything removed"""

    @property
    def total(self) -> float:
        """Both parts; the race itself is not in it."""
        return self.to_first_request + self.after_rally


def moment(text: str) -> float:
    """Return an ISO time as seconds since the epoch."""
    return datetime.fromisoformat(text).timestamp()


def until(look: Callable[[], Any], pause: float = 0.25) -> Any:
    """Return what `look` gives as soon as that is something; gives up after 20 minutes."""
    deadline = time.monotonic() + 1200
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(pause)
    raise SystemExit("gave up after 20 minutes")


def through_operator(kubectl: Kubectl, number: int, spec: Json) -> Timing:
    """Run it as a Benchmark."""
    name = f"overhead-op-{number}"
    manifest = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Benchmark", "metadata": {"name": name}, "spec": spec}
    began = time.time()
    kubectl.apply(manifest)

    def over() -> Json:
        status: Json = kubectl.get("bm", name).get("status", {})
        return status if status.get("phase") in ("Succeeded", "Failed") else {}

    status = until(over)
    ended = time.time()
    if status["phase"] != "Succeeded":
        raise SystemExit(f"{name}: {status['reason']}: {status['message']}")
    race = status["races"][0]
    kubectl("delete", "bm", name)
    return Timing(moment(race["firstRequestAt"]) - began, ended - moment(race["rallyExitedAt"]))


def by_hand(kubectl: Kubectl, number: int, settings: Settings, wanted: Json) -> Timing:
    """Run it by a plain script."""
    spec = BenchmarkSpec.model_validate(wanted)
    subject = Subject(f"overhead-sh-{number}", kubectl.namespace, "00000000-by-hand", 1, spec)
    race = _plain(job(subject, STEP, settings))
    race["spec"]["suspend"] = False
    name = race["metadata"]["name"]
    began = time.time()
    kubectl.apply(_plain(elasticsearch(subject, STEP, settings)))
    until(lambda: _is_ready(kubectl, name))
    config_maps = (_plain(record(subject, STEP)), _plain(progress(subject, STEP, "")))
    kubectl.apply(*config_maps, *(_plain(m) for m in access(subject, STEP, "")), race)
    told = until(lambda: Record.from_json(text_of(kubectl.get("configmap", name), KEY_RECORD)))
    if told.outcome.reason:
        raise SystemExit(f"by hand: {told.outcome.reason}: {told.outcome.message}")
    selector = f"fairlap.dev/benchmark={subject.name}"
    kinds = "elasticsearch,job,configmap,serviceaccount,role,rolebinding"
    kubectl("delete", kinds, "-l", selector, "--wait=false")
    until(lambda: not kubectl.get("elasticsearch,job,pod", "-l", selector).get("items"))
    return Timing(moment(told.first_request_at or "") - began, time.time() - moment(told.rally_exited_at or ""))


def _is_ready(kubectl: Kubectl, name: str) -> bool:
    found = kubectl.get("elasticsearch", name)
    status = found.get("status", {})
    if (status.get("phase"), status.get("health")) != ("Ready", "green"):
        return False
    if status.get("observedGeneration") != found["metadata"]["generation"]:
        return False
    subsets = kubectl.get("endpoints", f"{name}-es-http").get("subsets") or []
    return any(subset.get("addresses") for subset in subsets)


def _plain(manifest: Json) -> Json:
    manifest["metadata"].pop("ownerReferences", None)
    return manifest


def main() -> int:
    """Print a table; the exit code says only whether all runs succeeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--namespace", default="fairlap")
    parser.add_argument("--race-image", required=True)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--smallest", action="store_true", help="one pair of the shortest race")
    options = parser.parse_args()
    spec, pairs = (SMALLEST, 1) if options.smallest else (SPEC, options.pairs)
    kubectl, settings = Kubectl(options.namespace), Settings(race_image=options.race_image)
    print(f"{datetime.now(UTC):%Y-%m-%d} · {pairs} pairs, alternating · seconds without the race itself")
    print(f"{'pair':<6}{'to first request':>30}{'after Rally':>30}{'total':>30}{'ratio':>8}")
    print(f"{'':<6}" + f"{'operator    by hand':>30}" * 3)
    differences, ratios = [], []
    for number in range(1, pairs + 1):
        operator, hand = through_operator(kubectl, number, spec), by_hand(kubectl, number, settings, spec)
        differences.append(operator.total - hand.total)
        ratios.append(operator.total / hand.total)
        cells = zip((*operator, operator.total), (*hand, hand.total), strict=True)
        print(f"{number:<6}" + "".join(f"{a:>19.1f}{b:>11.1f}" for a, b in cells) + f"{ratios[-1]:>8.2f}", flush=True)
    print(f"median: {statistics.median(differences):+.1f} s, ratio {statistics.median(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
