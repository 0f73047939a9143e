"""Where does the noise come from, what does a lever take away, and how are races spread best? Raced for real.

Without --lever, identical variants race against themselves, and the variance of each number that decides is split into
what differs between clusters, between races on one cluster, and within a race (nested analysis of variance on
logarithms, bench/parts/variance_components.py). --state says what a cluster is:

- kept: clusters that a Comparison keeps over its blocks; searches alone are raced on them. The one state that knows
  what building and filling a cluster costs, and so how often it pays (Kalibera and Jones 2013);
- targets: two clusters that the script builds anew for each comparison; each race indexes and searches;
- fresh: a cluster for each race: what differs between clusters and between races is one number;
- duet: the same, and the races of a block in turn, request by request (spec.design.kind).

With --lever, two identical variants without it and two with it race in the same blocks, on fresh clusters of
log_ingest, so that both are alternating; printed is what becomes of the spread of identical pairs. Several levers that
change the same races share the two variants without any: all of them race in the same blocks.

    KUBECONFIG=... .venv/bin/python bench/noise.py --namespace NS --track log_ingest --state kept --label before
    KUBECONFIG=... .venv/bin/python bench/noise.py --namespace NS --state fresh --challenge quick --steady 5m
    KUBECONFIG=... .venv/bin/python bench/noise.py --namespace NS --state duet --param documents=700000
    KUBECONFIG=... .venv/bin/python bench/noise.py --namespace NS --lever warm --lever cores
    KUBECONFIG=... .venv/bin/python bench/noise.py --namespace NS --track requests --state targets --load warmup=0s

--track requests is no track: k6 sends the searches of examples/groonga-clients to two Groongas (`make groonga-image`),
which are built anew for each comparison, each with --cpu; --load changes how they are sent. Both are there at the same
time, so whole processors (--cpu 1) take a machine of four.

Each Comparison that is over is appended to --results: started again, it goes on where it was stopped. Where the pairs
of a lever take hours, --parts spreads them over several Comparisons, so that less is lost. --tables prints
the tables of what is there and races nothing. --dry-run prints the manifests. --clean removes what a stopped run has
left in the cluster. --smallest races one comparison of two blocks of a few requests: only to see that it works.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from parts import covariate, groonga, race_flags, series, throwaway
from parts.kubectl import Json, Kubectl
from parts.lines import read
from parts.noise_tables import allocation_table, aside_words, lever_table, sources_table
from parts.raced_blocks import ONE_RACE_EACH, measured, numbers_of

from fairlap.api.quantity import parse_quantity

BENCH = "noise"
USER = "noise-user"
CLUSTERS = ("noise-one", "noise-two")
RESULTS = Path(__file__).parent / "results" / "noise.jsonl"
KEPT_TASKS = {
    "log_ingest": ["search-request", "search-response", "search-time-range", "requests-per-hour"],
    "percolator": [
        "percolate-typical", "percolate-typical-no-score", "percolate-typical-highlight", "percolate-rare",
        "percolate-rare-no-score", "percolate-frequent", "percolate-frequent-no-score",
    ],
    "page_cache": [
        *(f"fetch-document-{rate}" for rate in (20, 40, 80, 160)),
        *(f"search-term-{rate}" for rate in (10, 20, 40, 80)),
    ],
}  # fmt: skip
"""Searches of each builtin track: what is raced on clusters that are kept."""
REQUESTS = "requests"
"""in place of a track: what k6 sends"""
LOAD_GENERATOR_CORES = 0.5
"""that a race asks for where it names none"""
LOAD: Json = {"clients": 2, "order": "random", "duration": "60s", "warmup": "15s", "timeout": "10s"}
SMALLEST: Json = {"documents": 2000, "bulk_size": 500, "search_iterations": 20, "search_warmup_iterations": 2}
LEVER_PARAMS: Json = {"documents": 500_000, "search_iterations": 1000, "search_warmup_iterations": 50}
"""what both sides of a lever race, unless it is what the lever changes"""
TIMED_PARAMS: Json = {"documents": 500_000, "search_time_period": 30, "search_warmup_time_period": 10}
"""the same where seconds of warm-up are the lever: with search_iterations the track counts requests"""
NO_CPU: Json = {"requests": {"memory": "1536Mi"}, "limits": {"memory": "1536Mi"}}
"""as a manifest that names no CPU: a whole processor where the machines have enough, else a share"""
WHOLE: Json = {"requests": {"cpu": "1", "memory": "1536Mi"}, "limits": {"cpu": "1", "memory": "1536Mi"}}
OFF, ON = ("off-1", "off-2"), ("on-1", "on-2")


class Lever(NamedTuple):
    """Something that may take noise away."""

    words: str
    with_it: Json
    """what it changes of the spec, as a patch"""
    without: Mapping[str, Any] = MappingProxyType({})
    params: Mapping[str, Any] = MappingProxyType(LEVER_PARAMS)
    """of the track, on both sides"""


LEVERS = {
    "warm": Lever("4,000 searches of warm-up in place of 50", {"race": {"params": {"search_warmup_iterations": 4000}}}),
    "warmup": Lever(
        "60 s of warm-up a search in place of 10", {"race": {"params": {"search_warmup_time_period": 60}}},
        params=TIMED_PARAMS,
    ),
    "longer": Lever("5,000 searches a task in place of 1,000", {"race": {"params": {"search_iterations": 5000}}}),
    "cores": Lever("a whole processor for Elasticsearch", {"elasticsearch": {"resources": WHOLE}}),
    "pretouch": Lever(
        "the heap touched before the start", {"elasticsearch": {"jvmOptions": ["-XX:+AlwaysPreTouch"]}},
        {"elasticsearch": {"jvmOptions": ["-XX:-AlwaysPreTouch"]}},
    ),
    "steady": Lever("race.steady with 5 minutes at most", {"race": {"steady": {"maxWarmup": "5m"}}}),
}  # fmt: skip


class Size:
    """What is raced."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.smallest: bool = options.smallest
        self.state: str = options.state
        self.track: str = options.track
        self.label: str = options.label
        self.levers: list[str] = options.lever
        self.options = options
        self.comparisons: int = 1 if self.smallest else options.comparisons
        self.blocks: int = 2 if self.smallest else options.blocks
        self.parts: int = 1 if self.smallest else options.parts
        self.pairs: int = 2 if self.smallest else options.pairs // self.parts
        """of each Comparison"""

    def design(self, blocks: int) -> Json:
        """Return the design of a Comparison with that many blocks; spelled out only where it is not the default."""
        counted = throwaway.BESIDE_OTHERS if self.smallest or self.options.count_disturbed else {}
        return {"stop": "fixed", "blocks": blocks, **counted}


def _template(size: Size, params: Json) -> Json:
    race: Json = {"track": {"builtin": size.track}, "resources": throwaway.LOAD}
    return {
        "race": race_flags.changed({**race, "params": params} if params else race, size.options),
        "smokeTest": False,
        "timeouts": {"provisioning": "10m", "race": "60m"},
    }


def source_spec(size: Size) -> Json:
    """Return the spec of a Comparison of two variants that differ in what changes no race."""
    template = _template(size, SMALLEST if size.smallest else {})
    design = size.design(size.blocks)
    if size.track == REQUESTS:
        load = {**LOAD, **dict(size.options.load)}
        template["race"] = {"requests": {"configMap": {"name": f"{BENCH}-{REQUESTS}"}}, "load": load}
        variants: list[Json] = [
            {"name": name, "patch": {"target": {"kind": "http", "health": "/d/status", "hosts": [groonga.host(name)]}}}
            for name in CLUSTERS
        ]
    elif size.state == "targets":
        variants = [
            {"name": name, "target": {"hosts": [f"http://{name}-es-http:9200"], "credentialsSecret": {"name": USER}}}
            for name in CLUSTERS
        ]
    else:
        changed = {} if size.smallest else {"resources": NO_CPU, "version": size.options.version}
        template["elasticsearch"] = throwaway.built(size.smallest) | changed
        variants = [{"name": CLUSTERS[0]}, {"name": CLUSTERS[1], "patch": {"timeouts": {"race": "61m"}}}]
    if size.state == "kept":
        design |= {"state": "Kept", "tasks": KEPT_TASKS[size.track]}
    if size.state == "duet":
        design |= {"kind": "Duet"}
    return {
        "baseline": CLUSTERS[0], "template": template, "variants": variants, "design": design, "calibrate": False,
    }  # fmt: skip


def together(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return which of these levers race in the same blocks: those whose races without a lever are the same."""
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        alike = json.dumps([dict(LEVERS[name].params), dict(LEVERS[name].without)], sort_keys=True)
        found.setdefault(alike, []).append(name)
    return [tuple(sorted(each)) for each in found.values()]  # in whatever order they are given


def pulled(name: str, levers: Sequence[str]) -> tuple[str, str]:
    """Return the two variants with the lever `name` of those that race together."""
    return ON if len(levers) == 1 else (f"{name}-one", f"{name}-two")  # cores-2 would be held to two cores


def lever_spec(levers: Sequence[str], size: Size) -> Json:
    """Return the spec of a Comparison of two identical variants without a lever and two with each of these."""
    first = LEVERS[levers[0]]
    template = _template(size, SMALLEST if size.smallest else dict(first.params))
    template["elasticsearch"] = throwaway.built(size.smallest)
    minutes, variants = 61, list[Json]()
    for names, patch in ((OFF, first.without), *((pulled(each, levers), LEVERS[each].with_it) for each in levers)):
        for name in names:
            # Variants must differ in something: here in when a race is given up.
            variants.append({"name": name, "patch": {**patch, "timeouts": {"race": f"{minutes}m"}}})
            minutes += 1
    return {
        "baseline": OFF[0], "template": template, "variants": variants,
        "design": size.design(size.pairs), "calibrate": False,
    }  # fmt: skip


def support(size: Size) -> list[Json]:
    """Return the manifests of what a comparison races against."""
    if size.state != "targets" or size.levers:
        return []
    if size.track == REQUESTS:
        engines = [each for name in CLUSTERS for each in groonga.engine(name, BENCH, size.options.cpu)]
        return [groonga.requests(f"{BENCH}-{REQUESTS}", BENCH), *engines]
    clusters = [throwaway.elasticsearch(name, BENCH, USER, size.smallest) for name in CLUSTERS]
    return [throwaway.user(USER, BENCH), *clusters]


def lacking(nodes: Sequence[Json], cpu: str) -> str:
    """Return why two engines that ask for `cpu` each have no room beside the load generator, "" where they have."""
    told = [str(((node.get("status") or {}).get("allocatable") or {}).get("cpu") or 0) for node in nodes]
    there, asked = sum(map(parse_quantity, told)), 2 * parse_quantity(cpu) + LOAD_GENERATOR_CORES
    if asked <= there:
        return ""
    return (
        f"two engines of {cpu} and the load generator ask for {asked:g} processors together, and pods are given "
        f"{there:g}: give a smaller --cpu"
    )


def planned(kubectl: Kubectl, size: Size) -> list[series.Planned]:
    """Return all comparisons."""
    manifests = support(size)

    def prepare() -> None:
        if manifests:
            # Clusters that lived for all comparisons would be the same two throughout: nothing would be between them.
            throwaway.take_down(kubectl, BENCH, throwaway.BUILT)
            series.print_progress("building the clusters")
            throwaway.bring_up(kubectl, manifests)

    def keep(status: Json) -> Json:
        return measured(kubectl, status)

    common = {"bench": BENCH, "track": size.track, "label": size.label}
    if size.track == REQUESTS:
        common["cpu"] = size.options.cpu
    if size.levers:
        return [
            series.Planned(
                {**common, "lever": " ".join(levers), **({"part": part} if size.parts > 1 else {})},
                throwaway.comparison(f"noise-lever-{levers[0]}", BENCH, lever_spec(levers, size)),
                prepare,
                keep,
                pairs=True,
            )
            for levers in together(size.levers)
            for part in range(1, size.parts + 1)
        ]
    name = f"noise-{size.track.replace('_', '-')}-{size.state[0]}"  # a Comparison's name has 20 characters at most
    return [
        series.Planned(
            {**common, "state": size.state, "number": number},
            throwaway.comparison(f"{name}{number}", BENCH, source_spec(size)),
            prepare,
            keep,
            pairs=True,
        )
        for number in range(1, size.comparisons + 1)
    ]


def in_words(size: Size) -> str:
    """Return what is raced and how."""
    load = "".join(f", {name} {value}" for name, value in size.options.load)
    version = "" if size.options.version == throwaway.VERSION else f" of {size.options.version}"
    engines = f" at {size.options.cpu} processors an engine{load}" if size.track == REQUESTS else ""
    return f"{size.track}{version}{race_flags.in_words(size.options)}{engines}"


def tables(lines: Sequence[Json], size: Size) -> str:
    """Return all tables of what was planned and raced."""
    known = [line for line in lines if line.get("measured")]
    if not known:
        return "nothing was measured yet"
    machine = next((line["machine"] for line in known if line.get("machine")), "") or "not told"
    head = f"{in_words(size)}, label {size.label or 'none'}, machine: {machine}"
    if size.levers:
        found = [
            lever_table(f"**{name}**: {LEVERS[name].words}", its, OFF, pulled(name, levers))
            for levers in together(size.levers)
            if (its := [line for line in known if line["key"].get("lever") == " ".join(levers)])
            for name in levers
        ]
        return "\n\n".join([head, *found])
    races = sum(len(line["measured"]) for line in known)
    return "\n\n".join(
        [
            f"{head}; state {size.state}, {len(known)} comparisons, {races} races",
            sources_table(known, size.state, CLUSTERS),
            allocation_table(known, size.state),
            *filter(
                None, [aside_words(known, CLUSTERS), covariate.table(known, numbers_of(known, size.state), *CLUSTERS)]
            ),
        ]
    )


def run(kubectl: Kubectl, size: Size, results: Path) -> int:
    """Race, print the tables, remove everything; return the exit code."""
    what = f"levers {', '.join(size.levers)}" if size.levers else f"state {size.state}"
    raced = in_words(size)
    if size.track == REQUESTS and (why := lacking(kubectl.get("nodes").get("items") or [], size.options.cpu)):
        raise SystemExit(why)
    raced_of = "Groonga" if size.track == REQUESTS else size.options.version
    print(f"{datetime.now(UTC):%Y-%m-%d} · {raced_of} against itself, {raced}, {what}", flush=True)
    print(f"\n{tables(series.run(kubectl, BENCH, planned(kubectl, size), results), size)}")
    return 0


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add: Callable[..., object] = parser.add_argument
    add("--namespace", default="fairlap")
    add("--track", choices=[*sorted(KEPT_TASKS), REQUESTS], default="log_ingest")
    add("--state", choices=("kept", "targets", *ONE_RACE_EACH), default="kept")
    add("--comparisons", type=int, default=4, help="each has two clusters, or with fresh and duet one a race")
    add("--blocks", type=int, default=6, help="races of each cluster")
    add("--version", default=throwaway.VERSION, help="of the Elasticsearch that a Comparison builds")
    race_flags.add_race_flags(add)
    add("--lever", choices=sorted(LEVERS), action="append", default=[], help="may be given several times")
    add("--cpu", default="500m", help="processors of each Groonga that k6 sends to: a share, or whole ones such as 1")
    add("--load", type=race_flags.param, action="append", default=[], metavar="KEY=VALUE", help="of what k6 sends")
    add("--pairs", type=int, default=6, help="of each lever, without it and with it")
    add("--parts", type=int, default=1, help="Comparisons over which the pairs of a lever are spread")
    add("--count-disturbed", action="store_true", help="blocks of a disturbed machine count and are not raced again")
    add("--label", default="", help="what was changed between two runs, for example before and after")
    add("--results", type=Path, default=RESULTS, help="a JSON line for each comparison")
    add("--tables", action="store_true", help="print the tables of what is there")
    add("--dry-run", action="store_true", help="print the manifests and do nothing")
    add("--clean", action="store_true", help="remove what a stopped run left in the cluster")
    add("--smallest", action="store_true", help="one comparison of two blocks of the shortest races")
    options = parser.parse_args(argv)
    if options.lever and options.track != "log_ingest":
        parser.error("--lever: levers change what log_ingest's searches are; leave --track out")
    if options.lever and race_flags.in_words(options):
        parser.error("--lever: a lever says itself what is raced; leave out --challenge, --steady and --param")
    if options.parts < 1 or options.pairs % options.parts or options.pairs < 2 * options.parts:
        parser.error("--parts: each needs two pairs or more, and as many as the others: of 6 pairs 1, 2 or 3 parts")
    if options.track == REQUESTS and (options.state != "targets" or race_flags.in_words(options)):
        parser.error("--track requests: give --state targets, and neither --challenge, --steady nor --param")
    if options.state == "duet" and options.steady:
        parser.error("--steady: races in turn send as many requests each; use --param search_warmup_time_period=N")
    if options.version != throwaway.VERSION and (options.state == "targets" or options.lever or options.smallest):
        parser.error("--version is of the clusters that a Comparison builds: give --state kept, fresh or duet")
    if options.smallest and any(LEVERS[name].params == TIMED_PARAMS for name in options.lever):
        parser.error("--smallest counts searches: a lever of seconds of warm-up has no smallest size")
    if options.load and options.track != REQUESTS:
        parser.error("--load is how k6 sends: give --track requests")
    if options.smallest and options.track != "log_ingest":
        parser.error("--smallest: only log_ingest has a smallest size; leave --track out")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code."""
    options = arguments(argv)
    kubectl, size = Kubectl(options.namespace), Size(options)
    if options.tables:
        print(tables(series.counted(read(options.results), planned(kubectl, size)), size))
        return 0
    if options.dry_run:
        manifests = [each.manifest for each in planned(kubectl, size)]
        shown = manifests if size.levers else manifests[:1]
        print(f"# {len(manifests)} in all\n{throwaway.as_yaml([*support(size), *shown])}", end="")
        return 0
    if options.clean:
        throwaway.take_down(kubectl, BENCH)
        return 0
    return run(kubectl, size, options.results)


if __name__ == "__main__":
    sys.exit(main())
