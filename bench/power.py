"""Does a Comparison find a slowdown that is really there? Answers held for 5, 10 and 20 % of their own service time.

One Elasticsearch 9.0.0 stands behind a proxy (bench/parts/delaying_proxy.py). The baseline goes through its port that
holds nothing, the contender through one that holds each answer to a search, or to a bulk request, for a share of the
time that it took. A cell is a kind of request and a share; its gate is that kind's service time p50 (of one search
task, or of indexing with one client: several would fill the processors meanwhile, and nothing would be slower).

    KUBECONFIG=... .venv/bin/python bench/power.py --namespace NS --comparisons 6 [--race-image IMAGE]
    KUBECONFIG=... .venv/bin/python bench/power.py --namespace NS --percent 10 --steady 5m --param search_time_period=30
    KUBECONFIG=... .venv/bin/python bench/power.py --namespace NS --duet

With --duet the races of a block are in turn (`design.kind: Duet`). Two races at a time need two clusters, which are
built anew for each comparison: the baseline goes to one of them, the contender to the other, through the same proxy.

Prints for each cell how many comparisons found the slowdown, called it no difference, could not tell (with how many
more blocks they said would settle it, and how often so many do in simulations), or claimed an improvement; beside it
what 1,000 simulated comparisons find at the noise that was measured, and how long one took to its verdict. The proxy
sees less of a request than Rally, so what is measured is a little less than what is injected.

Each end is appended to --results at once: started again, it goes on where it was stopped. --tables prints the table of
what is there and races nothing. --dry-run prints the manifests. --clean removes what a stopped run has left in the
cluster. --smallest races one comparison of two blocks of a few requests: only to see that it works. The operator must
watch the namespace. The proxy runs in the race image, by default that of the operator in the namespace.
"""

from __future__ import annotations

import argparse
import functools
import math
import random
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

from parts import delaying_proxy, race_flags, series, throwaway
from parts.kubectl import Json, Kubectl
from parts.lines import read

from fairlap.api.comparison_spec import Design
from fairlap.comparison.noise.expectation import design_looks
from fairlap.statistics.gates import Gate, GateVerdict, Look, fixed, judge_as_seen
from fairlap.statistics.moderation import MOST_PRIOR_DF, Prior

BENCH = "power"
CLUSTER, USER, PROXY = "power-es", "power-user", "power-proxy"
OTHER_CLUSTER = "power-es-other"
"""where the contender's requests go that are sent in turn with the baseline's"""
RESULTS = Path(__file__).parent / "results" / "power.jsonl"
PLAIN_PORT, FIRST_PORT, PORTS_A_KIND = 9200, 9300, 100
TASKS = {delaying_proxy.SEARCH: "search-request", delaying_proxy.INDEXING: "bulk-index"}
METRIC = "serviceTimeP50"
MARGIN = 3.0
"""in per cent: below the smallest slowdown, so that calling it no difference is an error"""
SIMULATED = 1000
SHORT: Json = {
    "documents": 20000, "bulk_size": 100, "bulk_indexing_clients": 1, "search_iterations": 400,
    "search_warmup_iterations": 50,
}  # fmt: skip
IN_TURN: Json = {**SHORT, "search_iterations": 1000, "search_warmup_iterations": 500}
"""two JVMs compile at the same time here, and what one of them is behind in is no noise that turns take away"""
SMALLEST: Json = {
    "documents": 2000, "bulk_size": 100, "bulk_indexing_clients": 1, "search_iterations": 20,
    "search_warmup_iterations": 2,
}  # fmt: skip


class Cell(NamedTuple):
    """What is slowed, and by how much."""

    kind: str
    percent: int
    port: int

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.kind} {self.percent} % slower"


def cells(percents: Sequence[int]) -> list[Cell]:
    """Return all cells, each with a port of the proxy: the same one whatever else is raced, so that its lines count."""
    return [
        Cell(kind, percent, FIRST_PORT + PORTS_A_KIND * number + percent)
        for number, kind in enumerate(TASKS)
        for percent in dict.fromkeys(percents)
    ]


def slowdown(text: str) -> int:
    """Return a slowdown in per cent; raises ArgumentTypeError."""
    percent = int(text) if text.isdecimal() else 0
    if not 0 < percent < PORTS_A_KIND:
        raise argparse.ArgumentTypeError(f"{text} is no slowdown of 1 to {PORTS_A_KIND - 1} %")
    return percent


class Size:
    """What is raced."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.smallest: bool = options.smallest
        self.comparisons: int = 1 if self.smallest else options.comparisons
        self.cells = cells([20])[:1] if self.smallest else cells(options.percent)
        self.in_turn: bool = options.duet
        params = SMALLEST if self.smallest else IN_TURN if self.in_turn else SHORT
        race: Json = {"track": {"builtin": "log_ingest"}, "params": params, "resources": throwaway.LOAD}
        self.race = race_flags.changed(race, options)
        self.words = f"{', in turn' if self.in_turn else ''}{race_flags.in_words(options)}"
        most = options.max_blocks
        self.design: Json = (
            {"stop": "fixed", "blocks": 2, **throwaway.BESIDE_OTHERS}
            if self.smallest
            else {"stop": "sequential", "maxBlocks": most}
        )
        if self.in_turn:
            self.design["kind"] = "Duet"

    @property
    def looks(self) -> Sequence[Look]:
        """After how many blocks it is judged."""
        return design_looks(Design.model_validate(self.design))


def spec(cell: Cell, size: Size) -> Json:
    """Return the spec of a Comparison of the same cluster, or of two that are alike, through two ports of the proxy."""

    def target(port: int) -> Json:
        return {"hosts": [f"http://{PROXY}:{port}"], "credentialsSecret": {"name": USER}}

    return {
        "baseline": "plain",
        "variants": [
            {"name": "plain", "target": target(PLAIN_PORT)},
            {"name": "slowed", "target": target(cell.port)},
        ],
        "gates": [{"task": TASKS[cell.kind], "metric": METRIC, "margin": MARGIN}],
        "design": size.design,
        "calibrate": False,
        "template": {
            "race": size.race,
            "smokeTest": False,
            "timeouts": {"provisioning": "10m", "race": "30m"},
        },
    }


def proxy(image: str, wanted: Sequence[Cell], slowed_cluster: str) -> list[Json]:
    """Return the manifests of the proxy with a port for each cell, before the cluster whose answers it holds."""
    labels = {"app": PROXY, throwaway.LABEL: BENCH}
    source = Path(delaying_proxy.__file__).read_text(encoding="utf-8")
    held = (f"--listen={c.port}={c.kind}:{c.percent}@{slowed_cluster}-es-http:9200" for c in wanted)
    listens = [f"--listen={PLAIN_PORT}=none:0", *held]
    container = {
        "name": "proxy",
        "image": image,
        "command": ["python", "/proxy/delaying_proxy.py", f"--upstream={CLUSTER}-es-http:9200", *listens],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "readinessProbe": {"tcpSocket": {"port": PLAIN_PORT}, "periodSeconds": 30},
        "securityContext": {
            "runAsNonRoot": True, "runAsUser": 1000, "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [{"name": "source", "mountPath": "/proxy", "readOnly": True}],
    }  # fmt: skip
    pod = {
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": [{"name": "source", "configMap": {"name": PROXY}}],
    }
    ports = [{"name": f"p{port}", "port": port} for port in (PLAIN_PORT, *(cell.port for cell in wanted))]
    meta = {"name": PROXY, "labels": labels}
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"delaying_proxy.py": source}},
        {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"selector": {"app": PROXY}, "ports": ports}},
        {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta,
            "spec": {
                "selector": {"matchLabels": {"app": PROXY}}, "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
    ]  # fmt: skip


def support(image: str, size: Size) -> list[Json]:
    """Return the manifests of what comparisons race against."""
    names = [CLUSTER, OTHER_CLUSTER] if size.in_turn else [CLUSTER]
    return [
        throwaway.user(USER, BENCH),
        *(throwaway.elasticsearch(name, BENCH, USER, size.smallest) for name in names),
        *proxy(image, size.cells, names[-1]),
    ]


def planned(size: Size, prepare: series.Prepare) -> list[series.Planned]:
    """Return all comparisons, one of each cell after the other: a run that is stopped has some of all."""
    name, turns = ("duet", {"state": "duet"}) if size.in_turn else (BENCH, {})
    return [
        series.Planned(
            {"bench": BENCH, "kind": cell.kind, "percent": cell.percent, "number": number, **turns},
            throwaway.comparison(f"{name}-{cell.kind}-{cell.percent}-{number}", BENCH, spec(cell, size)),
            prepare,
        )
        for number in range(1, size.comparisons + 1)
        for cell in size.cells
    ]


def simulated(percent: float, noise: float, looks: Sequence[Look], prior: Prior | None = None) -> float:
    """Return the share of simulated comparisons that find a worsening, at a noise (0.02) of each block's log ratio."""
    chosen, hits = random.Random(1), 0
    for _ in range(SIMULATED):
        ratios = [chosen.gauss(math.log1p(percent / 100), noise) for _ in range(looks[-1].blocks)]
        at, gate = {look: ratios[: look.blocks] for look in looks}, Gate(MARGIN / 100, "f", to_rule_out=True)
        found = judge_as_seen([at], [gate], {"f": prior} if prior else {})[0]
        hits += found.verdict in (GateVerdict.REGRESSED, GateVerdict.REGRESSED_WITHIN_MARGIN)
    return hits / SIMULATED


def settled(change: float, noise: float, blocks: int) -> float:
    """Return the share of simulated comparisons of so many blocks that end with a verdict."""
    chosen, hits = random.Random(1), 0
    for _ in range(SIMULATED):
        ratios = [chosen.gauss(math.log1p(change / 100), noise) for _ in range(blocks)]
        found = judge_as_seen([dict.fromkeys(fixed(blocks), ratios)], [Gate(MARGIN / 100)])[0]
        hits += found.verdict != GateVerdict.INCONCLUSIVE
    return hits / SIMULATED


def log_noise(gate: Json) -> float:
    """Return the standard deviation of a gate's log ratio from block to block."""
    return math.log1p(gate["spread"] / 100)


def more_said(gates: Sequence[Json]) -> str:
    """Return what comparisons that could not tell said of more blocks, and how often so many would have told."""
    if not gates:
        return ""
    said = []
    for gate in gates:
        if (more := gate.get("moreBlocks")) and gate.get("spread"):
            said.append(f"{more} ({settled(gate['change'], log_noise(gate), gate['blocks'] + more):.0%})")
    return f": {', '.join(said)}" if said else ""


def row(cell: Cell, gates: Sequence[Json], looks: Sequence[Look], seconds: Sequence[float] = ()) -> str:
    """Return a line of the table from the gate of each comparison of a cell, and how long each took to its end."""
    if not gates:
        return f"| {cell.title} | 0 | | | | | | | | |"
    verdicts = [gate["verdict"] for gate in gates]
    found, wrong = (sum(each in kinds for each in verdicts) for kinds in (series.WORSE, series.BETTER))
    unsure = [gate for gate in gates if gate["verdict"] == "Inconclusive"]
    changes = [gate["change"] for gate in gates if gate.get("change") is not None]
    spreads = [log_noise(gate) for gate in gates if gate.get("spread")]
    noise = math.sqrt(fmean(each**2 for each in spreads)) if spreads else None
    power = ["", ""]
    if noise:
        priors = (None, Prior(noise**2, MOST_PRIOR_DF))
        power = [f"{simulated(cell.percent, noise, looks, prior):.0%}" for prior in priors]
    cell_of = [
        cell.title, len(gates), f"{median(changes):+.1f} %" if changes else "", found, verdicts.count("NoDifference"),
        f"{len(unsure)}{more_said(unsure)}", wrong, f"{noise:.1%}" if noise else "", " to ".join(dict.fromkeys(power)),
        f"{median(seconds) / 60:.0f}" if seconds else "",
    ]  # fmt: skip
    return f"| {' | '.join(str(each) for each in cell_of)} |"


def table(lines: Sequence[Json], wanted: Sequence[Cell], looks: Sequence[Look]) -> str:
    """Return what became of each cell."""
    judged = series.judged(lines)
    rows = [
        "| slowdown | comparisons | measured, median | found | no difference | cannot tell: blocks more (would settle) "
        "| wrong direction | noise of a block | found in simulations, without a prior to with one "
        "| minutes to the end, median |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in wanted:
        mine = [each for each in judged if (each["key"]["kind"], each["key"]["percent"]) == (cell.kind, cell.percent)]
        seconds = [line["seconds"] for line in mine if line.get("seconds")]
        rows.append(row(cell, [gate for line in mine for gate in line["gates"]], looks, seconds))
    apart = len(lines) - len(judged)
    return "\n".join([*rows, *([f"\n{apart} more were NotComparable."] if apart else [])])


def race_image(kubectl: Kubectl) -> str:
    """Return the race image of the operator in the namespace; raises SystemExit."""
    found = kubectl.get("deployments", "-l", "app.kubernetes.io/name=fairlap").get("items") or []
    for each in found:
        for container in each["spec"]["template"]["spec"]["containers"]:
            for variable in container.get("env", ()):
                if variable["name"] == "FAIRLAP_RACE_IMAGE":
                    return str(variable["value"])
    raise SystemExit(f"no operator in namespace {kubectl.namespace}: say which image has Rally with --race-image")


def run(kubectl: Kubectl, size: Size, image: str, results: Path) -> int:
    """Race, print the table, remove everything; return the exit code."""
    print(
        f"{datetime.now(UTC):%Y-%m-%d} · {len(size.cells)} cells of {size.comparisons} comparisons, "
        f"at most {size.looks[-1].blocks} blocks each, margin {MARGIN:g} %{size.words}",
        flush=True,
    )
    manifests = support(image, size)

    def prepare() -> None:
        if size.in_turn:  # what one of two clusters has by luck would else be in all comparisons alike
            throwaway.take_down(kubectl, BENCH, [throwaway.ELASTICSEARCH])
        series.print_progress(f"building {'two clusters' if size.in_turn else 'the cluster'} and the proxy")
        throwaway.bring_up(kubectl, manifests)

    lines = series.run(kubectl, BENCH, planned(size, prepare if size.in_turn else functools.cache(prepare)), results)
    print(f"\n{table(lines, size.cells, size.looks)}")
    return 0


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--namespace", default="fairlap")
    parser.add_argument("--race-image", default="", help="what the proxy runs in: an image with Python")
    parser.add_argument("--comparisons", type=int, default=6, help="for each cell")
    parser.add_argument("--percent", type=slowdown, nargs="+", default=[5, 10, 20], help="slowdowns")
    parser.add_argument("--max-blocks", type=int, choices=(3, 5, 7, 10), default=5, help="of a comparison")
    parser.add_argument("--duet", action="store_true", help="races in turn, on two clusters that are alike")
    race_flags.add_race_flags(parser.add_argument)
    parser.add_argument("--results", type=Path, default=RESULTS, help="a JSON line for each comparison")
    parser.add_argument("--tables", action="store_true", help="print the table of what is there")
    parser.add_argument("--dry-run", action="store_true", help="print the manifests and do nothing")
    parser.add_argument("--clean", action="store_true", help="remove what a stopped run left in the cluster")
    parser.add_argument("--smallest", action="store_true", help="one comparison of two blocks of the shortest races")
    options = parser.parse_args(argv)
    if options.duet and options.steady:
        parser.error("--steady: races in turn send as many requests each; use --param search_warmup_iterations=N")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code."""
    options = arguments(argv)
    kubectl, size = Kubectl(options.namespace), Size(options)
    if options.tables:
        lines = series.counted(read(options.results), planned(size, lambda: None))
        print(table(lines, size.cells, size.looks))
        return 0
    if options.dry_run:
        one_each = [each.manifest for each in planned(size, lambda: None)[: len(size.cells)]]
        made = [*support(options.race_image or "RACE-IMAGE", size), *one_each]
        print(f"# {size.comparisons} of each Comparison\n{throwaway.as_yaml(made)}", end="")
        return 0
    if options.clean:
        throwaway.take_down(kubectl, BENCH)
        return 0
    return run(kubectl, size, options.race_image or race_image(kubectl), options.results)


if __name__ == "__main__":
    sys.exit(main())
