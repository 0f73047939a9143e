"""Do two clusters that are searched in turn differ by less noise than two races, one after the other?

Two identical Elasticsearch clusters live side by side, and one client with one connection to each sends one search, the
next one when it is answered. A round measures both ways, in an order that alternates:

- duet: the clusters in turn, A B A B, for --seconds (Bulej et al. 2020, Duet Benchmarking);
- races: A alone for half of that time, and then B alone, or B first: about as many searches of each.

Printed is how much the log ratio of A and B scatters from round to round, by the median service time and by the rate
(searches by the time in which they were served), and the quotient of both ways with an interval by F.

    KUBECONFIG=... .venv/bin/python bench/duet.py --namespace NS

Each round is appended to --results at once: started again, it goes on where it was stopped. Two clusters may truly
differ, so each pair of clusters has a mean of its own. --tables prints the table of what is there and measures nothing.
--dry-run prints the manifests. --clean removes what a stopped run has left in the cluster. --smallest measures two
rounds of a second: only to see that it works. On a machine where nothing else runs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

from parts import duet_client, throwaway
from parts.kubectl import Json, Kubectl
from parts.lines import append, read
from parts.series import print_progress
from parts.variance_components import Quotient, Scatter, quotient, scatter
from power import race_image

BENCH = "duet"
CLUSTERS = ("duet-a", "duet-b")
USER, CLIENT = "duet-user", "duet-client"
RESULTS = Path(__file__).parent / "results" / "duet.jsonl"
WAYS = ("races", "duet")
NUMBERS = {"medianMillis": "median service time", "perSecond": "rate"}
MADE = ("pods", throwaway.ELASTICSEARCH, "configmaps", "secrets")
CLUSTER_LABEL = "elasticsearch.k8s.elastic.co/cluster-name"
LEAST_ROUNDS = 10


class Size:
    """What is measured."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.smallest: bool = options.smallest
        self.rounds: int = 2 if self.smallest else options.rounds
        self.seconds: float = 1.0 if self.smallest else options.seconds
        self.documents: int = 1000 if self.smallest else options.documents
        self.warmup: float = 1.0 if self.smallest else 60.0

    @property
    def design(self) -> str:
        """Digest of all that makes a round: what was measured otherwise does not count here."""
        what = [throwaway.elasticsearch("", BENCH, USER, self.smallest), self.seconds, self.documents, self.warmup]
        text = json.dumps([*what, duet_client.SEARCH, duet_client.MAPPING], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def order(number: int) -> str:
    """Return what comes first in a round: of four rounds each way and each cluster begins twice."""
    ways = ("duet", "races") if number % 2 else ("races", "duet")
    return ",".join((*ways, "ab"[number // 2 % 2]))


def client(image: str) -> list[Json]:
    """Return the manifests of the pod that searches when it is told to."""
    meta = {"name": CLIENT, "labels": {throwaway.LABEL: BENCH}}
    source = Path(duet_client.__file__).read_text(encoding="utf-8")
    password = {"name": "BENCH_PASSWORD", "valueFrom": {"secretKeyRef": {"name": USER, "key": "password"}}}
    container = {
        "name": "client",
        "image": image,
        "command": ["sleep", "infinity"],
        "env": [password],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": {
            "runAsNonRoot": True, "runAsUser": 1000, "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [{"name": "source", "mountPath": "/client", "readOnly": True}],
    }  # fmt: skip
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": [{"name": "source", "configMap": {"name": CLIENT}}],
    }
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"duet_client.py": source}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod},
    ]


def clusters(size: Size) -> list[Json]:
    """Return the manifests of both clusters and of their user."""
    made = [throwaway.elasticsearch(name, BENCH, USER, size.smallest) for name in CLUSTERS]
    return [throwaway.user(USER, BENCH), *made]


def ask(kubectl: Kubectl, do: str, *words: str) -> Json:
    """Return what the client prints; raises CalledProcessError."""
    hosts = [f"--host={name}-es-http:9200" for name in CLUSTERS]
    argv = ("exec", CLIENT, "--", "python", "/client/duet_client.py", do, *hosts, *words)
    found: Json = json.loads(kubectl(*argv))
    return found


def who(kubectl: Kubectl) -> list[str]:
    """Return the uids of both clusters; raises SystemExit where they are not on one machine, and share no moment."""
    uids, machines = [], set()
    for name in CLUSTERS:
        uids.append(str(kubectl.get(throwaway.ELASTICSEARCH, name)["metadata"]["uid"]))
        pods = kubectl.get("pods", "-l", f"{CLUSTER_LABEL}={name}").get("items") or []
        machines |= {str(pod["spec"].get("nodeName")) for pod in pods}
    if len(machines) != 1:
        raise SystemExit(f"the clusters are on {', '.join(sorted(machines))}: both must be on one machine")
    return uids


def counted(lines: Sequence[Json], size: Size) -> list[Json]:
    """Return the rounds of this design, each number once."""
    return list({line["number"]: line for line in lines if line.get("design") == size.design}.values())


def run(kubectl: Kubectl, size: Size, image: str, results: Path) -> list[Json]:
    """Measure the rounds that are not there yet, and return all; raises CalledProcessError and SystemExit."""
    done = {line["number"] for line in counted(read(results), size)}
    todo = [number for number in range(1, size.rounds + 1) if number not in done]
    print_progress(f"{len(done)} of {size.rounds} rounds are in {results}")
    if todo:
        throwaway.bring_up(kubectl, clusters(size))
        kubectl("delete", "pod", CLIENT, "--ignore-not-found", "--wait")
        kubectl.apply(*client(image))
        kubectl("wait", "--for=condition=Ready", f"pod/{CLIENT}", f"--timeout={throwaway.MOST_MINUTES}m")
        uids = who(kubectl)
        print_progress("filling and warming up")
        about = ask(kubectl, "prepare", f"--documents={size.documents}", f"--seconds={size.warmup}")
        if len(set(about["hits"])) != 1:
            raise SystemExit(f"the search finds {about['hits']} documents: the clusters are not filled alike")
    for number in todo:
        found = ask(kubectl, "measure", f"--seconds={size.seconds}", f"--order={order(number)}")
        line = {
            "design": size.design, "number": number, "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "clusters": uids,
            "machine": about["machine"], "order": order(number), **found,
        }  # fmt: skip
        append(results, line)
        told = ", ".join(f"{way} {100 * math.expm1(ratio(line, way, 'medianMillis')):+.1f} %" for way in WAYS)
        print_progress(f"round {number} of {size.rounds}: A takes, against B, {told}")
    return counted(read(results), size)


def ratio(line: Json, way: str, number: str) -> float:
    """Return the log ratio of both clusters in a round."""
    return math.log(line[way]["a"][number] / line[way]["b"][number])


def scattered(lines: Sequence[Json], way: str, number: str) -> Scatter | None:
    """Return how much the log ratios scatter about the mean of their pair of clusters."""
    groups: dict[str, list[float]] = {}
    for line in lines:
        groups.setdefault(",".join(line["clusters"]), []).append(ratio(line, way, number))
    return scatter(list(groups.values()))


def table(lines: Sequence[Json]) -> str:
    """Return both ways beside each other, and whether noise halves."""
    if not lines:
        return "nothing was measured yet"
    machines = ", ".join(sorted({line["machine"] for line in lines}))
    requests = fmean(line[way][name]["requests"] for line in lines for way in WAYS for name in "ab")
    rows = [
        f"{len(lines)} rounds, about {requests:.0f} searches of each cluster a round and way; machine: {machines}",
        "",
        "| log ratio of A and B | one after the other | duet | duet / one after the other (90 % interval) | halves |",
        "|---|---|---|---|---|",
    ]
    for number, words in NUMBERS.items():
        before, after = (scattered(lines, way, number) for way in WAYS)
        found = quotient(before, after) if before and after else None
        if before and after and found:
            interval = f"{found.factor:.2f} ({found.low:.2f} to {found.high:.2f})"
            rows.append(
                f"| {words} | {before.spread:.2%} | {after.spread:.2%} | {interval} | {halves(found, len(lines))} |"
            )
    return "\n".join(rows)


def halves(found: Quotient, rounds: int) -> str:
    """Return whether the noise of a duet is half of that of races or less, as far as the interval tells."""
    if rounds < LEAST_ROUNDS:
        return f"not told: fewer than {LEAST_ROUNDS} rounds"
    return "yes" if found.high <= 0.5 else "no" if found.low > 0.5 else "cannot tell"


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--namespace", default="fairlap")
    parser.add_argument("--race-image", default="", help="what the client runs in: an image with Python")
    parser.add_argument("--rounds", type=int, default=12, help="of both ways")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each way in a round")
    parser.add_argument("--documents", type=int, default=50_000, help="in each cluster")
    parser.add_argument("--results", type=Path, default=RESULTS, help="a JSON line for each round")
    parser.add_argument("--tables", action="store_true", help="print the table of what is there")
    parser.add_argument("--dry-run", action="store_true", help="print the manifests and do nothing")
    parser.add_argument("--clean", action="store_true", help="remove what a stopped run left in the cluster")
    parser.add_argument("--smallest", action="store_true", help="two rounds of a second a way")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code."""
    options = arguments(argv)
    kubectl, size = Kubectl(options.namespace), Size(options)
    if options.dry_run:
        made = [*clusters(size), *client(options.race_image or "RACE-IMAGE")]
        print(f"# {size.rounds} rounds of {2 * size.seconds:g} s\n{throwaway.as_yaml(made)}", end="")
        return 0
    if options.clean:
        throwaway.take_down(kubectl, BENCH, MADE)
        return 0
    if options.tables:
        print(table(counted(read(options.results), size)))
        return 0
    later = "The same command goes on here; --clean removes everything."
    try:
        lines = run(kubectl, size, options.race_image or race_image(kubectl), options.results)
    except KeyboardInterrupt:
        print(f"\nStopped. {later}", file=sys.stderr)
        return 130
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{' '.join(error.cmd[:6])}: {error.stderr.strip()}\n{later}") from error
    throwaway.take_down(kubectl, BENCH, MADE)
    print(f"\n{table(lines)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
