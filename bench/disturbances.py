"""Is a machine that is disturbed while it races called disturbed, and a quiet one not? Injected for real.

One race of log_ingest after the other, each on a cluster of its own. `quiet` ones are left alone. In the others, at a
random moment, for a third of a race: `cpu`: a process burns a processor; `disk`: a process writes and waits for its
disk. And `pause`: Elasticsearch is stopped for five seconds. A race counts as seen when its remark MachineDisturbed
names what was done.

    KUBECONFIG=... .venv/bin/python bench/disturbances.py --namespace NS --tries 10 --quiet 20

Each race is appended to --results: started again, it goes on where it was stopped. --tables prints the table of what is
there and races nothing. --dry-run prints the manifests. --clean removes what a stopped run has left in the cluster.
--smallest runs one short race of each kind: only to see that it works. On a machine where nothing else runs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from parts import throwaway
from parts.kubectl import Json, Kubectl
from parts.lines import append, read
from parts.series import left, print_progress
from power import race_image

from fairlap.plan.basis.steps import object_name
from fairlap_race.contract.config_maps import text_of

BENCH = "disturbances"
RESULTS = Path(__file__).parent / "results" / "disturbances.jsonl"
NO_CPU: Json = {"requests": {"memory": "1536Mi"}, "limits": {"memory": "1536Mi"}}
PARAMS: Json = {"documents": 100000, "search_time_period": 20, "search_warmup_time_period": 5}
SMALLEST: Json = {"documents": 2000, "bulk_size": 500, "search_iterations": 20, "search_warmup_iterations": 2}
QUIET, CPU, DISK, PAUSE = "quiet", "cpu", "disk", "pause"
NAMED = {CPU: "something else used", DISK: "its disk", PAUSE: "stood still"}
"""What a remark has to say of each disturbance."""
PAUSE_SECONDS = 5
MOST_SECONDS = 1800
CLUSTER_LABEL = "elasticsearch.k8s.elastic.co/cluster-name"
BURN = "import sys, time\nend = time.monotonic() + float(sys.argv[1])\nwhile time.monotonic() < end: pass\n"
WRITE = """import os, sys, time
end, block = time.monotonic() + float(sys.argv[1]), os.urandom(1 << 20)
with open('/disk/file', 'wb') as out:
    while time.monotonic() < end:
        out.seek(out.tell() % (1 << 28))
        out.write(block)
        out.flush()
        os.fsync(out.fileno())
"""
STOP = (
    'pids=""; for it in /proc/[0-9]*; do [ "$(cat $it/comm 2>/dev/null)" = java ] && pids="$pids ${it#/proc/}"; done; '
    f"kill -STOP $pids; sleep {PAUSE_SECONDS}; kill -CONT $pids"
)


class Try(NamedTuple):
    """One race."""

    kind: str
    number: int
    smallest: bool

    @property
    def name(self) -> str:
        """Name of its Benchmark."""
        return f"disturbed-{self.kind}-{self.number}"

    @property
    def cluster(self) -> str:
        """Name of the Elasticsearch of its only race."""
        return object_name(self.name, "race-1")

    @property
    def spec(self) -> Json:
        """What is raced."""
        return {
            "elasticsearch": throwaway.built(self.smallest) | ({} if self.smallest else {"resources": NO_CPU}),
            "race": {
                "track": {"builtin": "log_ingest"},
                "params": SMALLEST if self.smallest else PARAMS,
                "resources": throwaway.LOAD,
            },
            "smokeTest": False,
            "timeouts": {"provisioning": "10m", "race": "20m"},
        }

    @property
    def key(self) -> Json:
        """Return what its line of results is known by."""
        digest = hashlib.sha256(json.dumps(self.spec, sort_keys=True).encode()).hexdigest()[:12]
        return {"bench": BENCH, "kind": self.kind, "number": self.number, "design": digest}

    @property
    def manifest(self) -> Json:
        """Its Benchmark."""
        meta = {"name": self.name, "labels": {throwaway.LABEL: BENCH}}
        return {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Benchmark", "metadata": meta, "spec": self.spec}


def tries(disturbed: int, quiet: int, smallest: bool) -> list[Try]:
    """Return all races, the kinds in turn, so that a run that is stopped has some of each."""
    counts = {QUIET: quiet, CPU: disturbed, DISK: disturbed, PAUSE: disturbed}
    most = max(counts.values())
    return [Try(kind, n, smallest) for n in range(1, most + 1) for kind, count in counts.items() if n <= count]


def disturber(kind: str, image: str, seconds: float) -> Json:
    """Return the Pod that disturbs for so long."""
    container = {
        "name": "disturber",
        "image": image,
        "command": ["python", "-c", BURN if kind == CPU else WRITE, f"{seconds:.1f}"],
        "resources": {"requests": {"cpu": "50m", "memory": "32Mi"}},
        "securityContext": {
            "runAsNonRoot": True, "runAsUser": 1000, "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [{"name": "disk", "mountPath": "/disk"}],
    }  # fmt: skip
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": [{"name": "disk", "emptyDir": {}}],
    }
    meta = {"name": f"disturber-{kind}", "labels": {throwaway.LABEL: BENCH}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod}


def disturb(kubectl: Kubectl, it: Try, image: str, race_seconds: float) -> bool:
    """Disturb a race that has begun, from a moment in its first half on; raises CalledProcessError.

    Returns whether it did: there may be no pod left to be stopped.
    """
    time.sleep(random.Random(it.name).uniform(0.15, 0.5) * race_seconds)
    if it.kind == PAUSE:
        return stop(kubectl, it)
    made = disturber(it.kind, image, race_seconds / 3)
    kubectl.apply(made)
    name = made["metadata"]["name"]
    # The race may be over before the disturbance is, and both are waited for.
    kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", f"pod/{name}", f"--timeout={MOST_SECONDS}s")
    kubectl("delete", "pod", name, "--wait")
    return True


def stop(kubectl: Kubectl, it: Try) -> bool:
    """Let the race's Elasticsearch stand still for a while; return whether its pod was there to be stopped."""
    pods = kubectl.get("pods", "-l", f"{CLUSTER_LABEL}={it.cluster}").get("items") or []
    if not pods:
        print_progress(f"{it.name}: no pod of Elasticsearch {it.cluster} is there to be stopped")
        return False
    kubectl("exec", pods[0]["metadata"]["name"], "-c", "elasticsearch", "--", "bash", "-c", STOP)
    return True


def run_one(kubectl: Kubectl, it: Try, image: str, race_seconds: float) -> Json:
    """Race once and return its line; raises CalledProcessError, and KeyError when the Benchmark does not race."""
    kubectl("delete", "bm", it.name, "--ignore-not-found", "--cascade=foreground", "--wait")
    kubectl.apply(it.manifest)
    begun = ("wait", "--for=jsonpath={.status.phase}=Racing", f"bm/{it.name}", "--timeout=600s")
    racing = kubectl.attempt(*begun).returncode == 0
    missed = it.kind != QUIET and not (racing and disturb(kubectl, it, image, race_seconds))
    kubectl("wait", "--for=jsonpath={.status.completionTime}", f"bm/{it.name}", f"--timeout={MOST_SECONDS}s")
    status: Json = kubectl.get("bm", it.name)["status"]
    race: Json = (status.get("races") or [{}])[0]
    table = json.loads(text_of(kubectl.get("configmap", race.get("record", "none")), "resources.json") or "{}")
    kubectl("delete", "bm", it.name, "--cascade=foreground", "--wait", "--timeout=10m")
    remarks = [each["message"] for each in race.get("remarks", ()) if each["reason"] == "MachineDisturbed"]
    return {
        "key": it.key,
        "missed": missed,
        "at": status["completionTime"],
        "phase": status["phase"],
        "reason": status.get("reason", ""),
        "seconds": race.get("seconds"),
        "remarks": remarks,
        "watch": table.get("watch"),
    }


def counted(lines: Sequence[Json], wanted: Sequence[Try]) -> list[Json]:
    """Return the lines of these races, those only whose race has its numbers and was disturbed if it was to be."""
    keys = [it.key for it in wanted]
    return [it for it in lines if it["key"] in keys and it["phase"] == "Succeeded" and not it.get("missed")]


def run(kubectl: Kubectl, wanted: Sequence[Try], image: str, results: Path) -> list[Json]:
    """Race what is not there yet and return all lines."""
    done, took = counted(read(results), wanted), list[float]()
    todo = [it for it in wanted if it.key not in [line["key"] for line in done]]
    print_progress(f"{len(done)} of {len(wanted)} races are in {results}")
    if todo:
        # A disturber that a stopped run has left would disturb others, and none can be made in its place.
        throwaway.take_down(kubectl, BENCH, ("pods",))
    for number, it in enumerate(todo, 1):
        began = time.monotonic()
        known = [line["seconds"] for line in done if line["key"]["kind"] == QUIET and line["seconds"]]
        line = run_one(kubectl, it, image, median(known) if known else 60.0)
        append(results, line)
        done.append(line)
        took.append(time.monotonic() - began)
        print_progress(f"{it.name}: {outcome(line)}; {len(todo) - number} to race, {left(took, len(todo) - number)}")
    return counted(read(results), wanted)


def outcome(line: Json) -> str:
    """Return in words what became of a race."""
    if line["phase"] != "Succeeded":
        return f"{line['phase']}: {line['reason']}: it does not count, and is raced again by the same command"
    return "skipped, nothing disturbed it" if line["missed"] else "; ".join(line["remarks"]) or "not disturbed"


def found(line: Json) -> tuple[bool, bool]:
    """Return whether a race was called disturbed, and whether by what was done to it."""
    words = NAMED.get(line["key"]["kind"])
    named = bool(words) and any(words in each for each in line["remarks"])
    return bool(line["remarks"]), named


def rows(lines: Sequence[Json]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| disturbance | races | called disturbed | by its name | waited for the disk, highest of a task |"
    yield "|---|---|---|---|---|"
    for kind in (QUIET, CPU, DISK, PAUSE):
        mine = [line for line in lines if line["key"]["kind"] == kind]
        told = [found(line) for line in mine]
        named = "" if kind == QUIET else str(sum(by_name for _, by_name in told))
        shares = [span.get("ioWaitingShare") or 0.0 for line in mine for span in (line["watch"] or {}).get("tasks", ())]
        waited = f"{max(shares):.0%}" if shares else ""
        yield f"| {kind} | {len(mine)} | {sum(any_ for any_, _ in told)} | {named} | {waited} |"
    for text in sorted({re.sub(r"\d[\d.]*", "N", each) for line in lines for each in line["remarks"]}):
        yield f"\n{text}"


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--namespace", default="fairlap")
    parser.add_argument("--race-image", default="", help="what disturbs runs in: an image with Python")
    parser.add_argument("--tries", type=int, default=10, help="of each disturbance")
    parser.add_argument("--quiet", type=int, default=20, help="races that nobody disturbs")
    parser.add_argument("--results", type=Path, default=RESULTS, help="a JSON line for each race")
    parser.add_argument("--tables", action="store_true", help="print the table of what is there")
    parser.add_argument("--dry-run", action="store_true", help="print the manifests and do nothing")
    parser.add_argument("--clean", action="store_true", help="remove what a stopped run left in the cluster")
    parser.add_argument("--smallest", action="store_true", help="one short race of each kind")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code."""
    options = arguments(argv)
    kubectl = Kubectl(options.namespace)
    counts = (1, 1) if options.smallest else (options.tries, options.quiet)
    wanted = tries(*counts, options.smallest)
    if options.tables:
        lines = counted(read(options.results), wanted)
    elif options.dry_run:
        made = [disturber(kind, options.race_image or "RACE-IMAGE", 60.0) for kind in (CPU, DISK)]
        print(f"# {len(wanted)} races\n{throwaway.as_yaml([wanted[0].manifest, *made])}", end="")
        return 0
    elif options.clean:
        throwaway.take_down(kubectl, BENCH, ("benchmarks.fairlap.dev", "pods"))
        return 0
    else:
        lines = go_on(kubectl, wanted, options)
    print("\n".join(rows(lines)))
    return 0


def go_on(kubectl: Kubectl, wanted: Sequence[Try], options: argparse.Namespace) -> list[Json]:
    """Race what is not there yet; raises SystemExit that says how to go on where it is interrupted or kubectl fails."""
    later = "The same command goes on here; --clean removes everything."
    try:
        return run(kubectl, wanted, options.race_image or race_image(kubectl), options.results)
    except KeyboardInterrupt:
        print(f"\nStopped. {later}", file=sys.stderr)
        raise SystemExit(130) from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{shlex.join(error.cmd)[:400]}: {error.stderr.strip()}\n{later}") from error


if __name__ == "__main__":
    sys.exit(main())
