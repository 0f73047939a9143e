"""How often does a Comparison claim a difference where there is none? 9.0.0 against 9.0.0, raced for real.

Races comparisons of identical variants one after the other, counts the verdicts that claim a difference, gate by gate,
and prints them beside the promised 5 %, with the interval that so few comparisons leave (Clopper and Pearson 1934: 0 of
20 still allows 17 %). `--state` says what the variants are:

- targets: two clusters that the script builds, in the same way, anew for each comparison, and removes in the end;
- kept: clusters that the Comparison keeps over its blocks (spec.design.state);
- fresh: a cluster for each race;
- duet: the same, and the races of a block in turn, request by request (spec.design.kind).

    KUBECONFIG=... .venv/bin/python bench/aa.py --namespace NS --comparisons 20 --blocks 5 --state targets

Each end is appended to --results at once: started again, it goes on where it was stopped, with the comparison that is
under way, too. --dry-run prints the manifests. --clean removes what a stopped run has left in the cluster. --smallest
races one comparison of two blocks of a few requests: only to see that it works. The operator must watch the namespace.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from parts import series, throwaway
from parts.kubectl import Json, Kubectl
from parts.share_interval import binomial_interval

from fairlap.comparison.terms.gate_metrics import METRICS

BENCH = "aa"
USER = "aa-user"
CLUSTERS = ("aa-one", "aa-two")
PROMISED = "5 %"
RESULTS = Path(__file__).parent / "results" / "aa.jsonl"
SEARCHES = ["search-request", "search-response", "search-time-range", "requests-per-hour"]
"""what is raced on clusters that are kept"""
# 400 requests of each measured task: p99 decides from 368 on.
SHORT: Json = {"documents": 20000, "bulk_size": 50, "search_iterations": 400, "search_warmup_iterations": 50}
SMALLEST: Json = {"documents": 2000, "bulk_size": 500, "search_iterations": 20, "search_warmup_iterations": 2}


class Size:
    """What is raced."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.smallest: bool = options.smallest
        self.state: str = options.state
        self.comparisons: int = 1 if self.smallest else options.comparisons
        self.blocks: int = 2 if self.smallest else options.blocks
        self.params = SMALLEST if self.smallest else SHORT


def spec(size: Size) -> Json:
    """Return the spec of a Comparison of two variants that differ in what changes no race."""
    template: Json = {
        "race": {"track": {"builtin": "log_ingest"}, "params": size.params, "resources": throwaway.LOAD},
        "smokeTest": False,
        "timeouts": {"provisioning": "10m", "race": "30m"},
    }
    design: Json = {"stop": "fixed", "blocks": size.blocks, **(throwaway.BESIDE_OTHERS if size.smallest else {})}
    variants: list[Json]
    if size.state == "targets":
        variants = [
            {
                "name": name,
                "target": {"hosts": [f"http://{name}-es-http:9200"], "credentialsSecret": {"name": USER}},
            }
            for name in CLUSTERS
        ]
    else:
        template["elasticsearch"] = throwaway.built(size.smallest)
        # Two variants must differ in something: here in when a race is given up.
        variants = [{"name": CLUSTERS[0]}, {"name": CLUSTERS[1], "patch": {"timeouts": {"race": "31m"}}}]
    if size.state == "kept":
        design |= {"state": "Kept", "tasks": SEARCHES}
    if size.state == "duet":
        design |= {"kind": "Duet"}
    return {
        "baseline": CLUSTERS[0], "template": template, "variants": variants, "design": design, "calibrate": False,
    }  # fmt: skip


def support(size: Size) -> list[Json]:
    """Return the manifests of what a comparison races against."""
    if size.state != "targets":
        return []
    clusters = [throwaway.elasticsearch(name, BENCH, USER, size.smallest) for name in CLUSTERS]
    return [throwaway.user(USER, BENCH), *clusters]


def planned(kubectl: Kubectl, size: Size) -> list[series.Planned]:
    """Return all comparisons."""
    manifests = support(size)

    def prepare() -> None:
        if manifests:
            # Two clusters that lived for all comparisons would be the same two throughout: how each was compiled and
            # laid out would be one draw, and not one a comparison.
            throwaway.take_down(kubectl, BENCH, [throwaway.ELASTICSEARCH])
            series.print_progress("building the clusters")
            throwaway.bring_up(kubectl, manifests)

    return [
        series.Planned(
            {"bench": BENCH, "state": size.state, "number": number},
            throwaway.comparison(f"aa-{size.state}-{number}", BENCH, spec(size)),
            prepare,
        )
        for number in range(1, size.comparisons + 1)
    ]


def share(found: int, of: int) -> str:
    """Return a count and its share with the interval."""
    low, high = binomial_interval(found, of)
    return f"{found} of {of}: {found / of:.0%} ({low:.0%} to {high:.0%})"


def table(lines: Sequence[Json]) -> str:
    """Return how many comparisons claimed a difference, for each gate metric and for any of them."""
    judged = series.judged(lines)
    rows = [
        "| gate | false verdicts (95 % interval) | promised | no difference | cannot tell |",
        "|---|---|---|---|---|",
    ]
    metrics = dict.fromkeys(gate["metric"] for line in judged for gate in line["gates"])
    for metric in metrics:
        verdicts = [gate["verdict"] for line in judged for gate in line["gates"] if gate["metric"] == metric]
        wrong, same = sum(each in series.DIFFERS for each in verdicts), verdicts.count("NoDifference")
        unknown = verdicts.count("Inconclusive")
        title = METRICS[metric].words if metric in METRICS else metric
        rows.append(f"| {title} | {share(wrong, len(verdicts))} | | {same} | {unknown} |")
    if judged:
        wrong = sum(any(gate["verdict"] in series.DIFFERS for gate in line["gates"]) for line in judged)
        same = sum(line["verdict"] == "NoDifference" for line in judged)
        unknown = sum(line["verdict"] == "Inconclusive" for line in judged)
        rows.append(f"| **any of them** | **{share(wrong, len(judged))}** | {PROMISED} | {same} | {unknown} |")
    apart = len(lines) - len(judged)
    return "\n".join([*rows, *([f"\n{apart} more were NotComparable, which is false as well."] if apart else [])])


def false_claims(lines: Sequence[Json]) -> list[str]:
    """Return a line for each claim of a difference."""
    return [
        f"{line['key']['state']} {line['key']['number']}: {gate['metric']} {gate['verdict']} "
        f"{gate.get('change', 0):+.1f} % ({gate.get('low', 0):+.1f} to {gate.get('high', 0):+.1f}; "
        f"from block to block {gate.get('spread', 0):.1f} %)"
        for line in series.judged(lines)
        for gate in line["gates"]
        if gate["verdict"] in series.DIFFERS
    ]


def run(kubectl: Kubectl, size: Size, results: Path) -> int:
    """Race, print the table, remove everything; return the exit code."""
    print(
        f"{datetime.now(UTC):%Y-%m-%d} · {throwaway.VERSION} against itself, state {size.state}, {size.comparisons} "
        f"comparisons of {size.blocks} blocks",
        flush=True,
    )
    lines = series.run(kubectl, BENCH, planned(kubectl, size), results)
    print(f"\n{table(lines)}")
    for text in false_claims(lines):
        print(f"- {text}")
    return 0


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--namespace", default="fairlap")
    parser.add_argument("--comparisons", type=int, default=20)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--state", choices=("targets", "kept", "fresh", "duet"), default="kept")
    parser.add_argument("--results", type=Path, default=RESULTS, help="a JSON line for each comparison")
    parser.add_argument("--dry-run", action="store_true", help="print the manifests and do nothing")
    parser.add_argument("--clean", action="store_true", help="remove what a stopped run left in the cluster")
    parser.add_argument("--smallest", action="store_true", help="one comparison of two blocks of the shortest races")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code."""
    options = arguments(argv)
    kubectl, size = Kubectl(options.namespace), Size(options)
    if options.dry_run:
        first = planned(kubectl, size)[0].manifest
        print(f"# {size.comparisons} of this Comparison\n{throwaway.as_yaml([*support(size), first])}", end="")
        return 0
    if options.clean:
        throwaway.take_down(kubectl, BENCH)
        return 0
    return run(kubectl, size, options.results)


if __name__ == "__main__":
    sys.exit(main())
