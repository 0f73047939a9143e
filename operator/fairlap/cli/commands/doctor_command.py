"""`fairlap doctor noise`: what to change in a cluster so that its numbers have less noise."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, TypeVar

from fairlap.api.phases import is_over
from fairlap.cli.doctor import noise_facts as read
from fairlap.cli.doctor.neighbours import TargetHost, neighbours_of, target_hosts
from fairlap.cli.doctor.noise_advice import Advice, advise
from fairlap.cli.doctor.noise_facts import Facts, KubernetesNode, RaceSeen
from fairlap.cli.edge import benchmarks as bm
from fairlap.cli.edge.connection import Connection
from fairlap.cli.edge.exits import SUCCEEDED, CliError, RefusedError
from fairlap.cli.edge.printable import print_text
from fairlap.results.disturbance import reading_tasks
from fairlap.results.unread_tasks import unread_tasks
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.recorded.record import KEY_RECORD, Record
from fairlap_race.contract.watched_machines.resources import KEY_RESOURCES, MachineTable

T = TypeVar("T")
Json = dict[str, Any]
MOST_BENCHMARKS, MOST_RECORDS, MOST_NODES = 50, 20, 50
"""that are read; the newest, and the first by name"""
_UNKNOWN_USER, _FORBIDDEN = 401, 403
_POLICIES = "CPU and topology manager policies"


def noise(connection: Connection, output: str) -> int:
    """Print what to change, the most valuable first; return the exit code.

    Raises CliError when the API server does not answer; what it refuses is unknown, and said with the right it needs.
    """
    facts = gather(connection)
    print_text(as_json(facts) if output == "json" else text(facts, connection.namespace))
    return SUCCEEDED


def gather(connection: Connection) -> Facts:
    """Return what the API server tells with the user's own rights. Raises CliError when it does not answer."""
    unknown: list[str] = []
    benchmarks = _over(_ask(unknown, "races", "list benchmarks.fairlap.dev", connection.benchmarks) or [])
    races = list(_watched(connection, _newest_first(benchmarks), unknown))
    if not races and not unknown:
        unknown.append("steal, canary, clocks and threads of the machines: races tell them, and none is over here")
    facts = Facts(
        races=tuple(races),
        tasks=tuple(task for benchmark in benchmarks for task in read.tasks_of(benchmark)),
        machines=tuple(machine for benchmark in benchmarks for machine in read.machines_of(benchmark)),
        cores_asked=read.cores_asked(benchmarks),
    )
    found = _ask(unknown, "nodes", "list nodes", connection.nodes)
    nodes = tuple(sorted(map(read.node_of, found or ()), key=lambda node: node.name))
    facts = replace(facts, nodes=nodes)
    on = facts.raced_on()
    chosen = {node.name for node in on[:MOST_NODES]}
    if len(on) > MOST_NODES:
        unknown.append(f"policies and pods of {len(on) - MOST_NODES} nodes: the first {MOST_NODES} by name are asked")
    targets = target_hosts(benchmarks)
    known = [_looked_at(connection, node, targets, unknown) if node.name in chosen else node for node in nodes]
    return replace(facts, nodes=tuple(known), unknown=tuple(dict.fromkeys(unknown)))


def _over(benchmarks: Sequence[Json]) -> list[Json]:
    ended = [benchmark for benchmark in benchmarks if is_over(benchmark)]
    newest = sorted(ended, key=lambda each: str(bm.status(each).get("completionTime") or ""), reverse=True)
    return newest[:MOST_BENCHMARKS]


def _newest_first(benchmarks: Sequence[Json]) -> list[RaceSeen]:
    return [race for benchmark in benchmarks for race in reversed([*read.races_of(benchmark)])]


def _watched(connection: Connection, races: Sequence[RaceSeen], unknown: list[str]) -> Iterator[RaceSeen]:
    """Yield the races, the first ones with what their records tell; how many tell nothing is unknown."""
    asked, silent = races[:MOST_RECORDS], 0
    for race in asked:
        record = _ask(unknown, "steal and canary of races", "get configmaps", partial(_record, connection, race))
        seen = _with_record(race, record) if record is not None else race
        silent += seen.tells_nothing and record is not None
        yield seen
    if silent:
        words = "their records are gone or do not tell"
        unknown.append(f"steal and canary of {silent} of {len(asked)} races: {words}")
    yield from races[MOST_RECORDS:]


def _record(connection: Connection, race: RaceSeen) -> Json:
    """Return the ConfigMap of a race's record, an empty one where there is none; raises RefusedError."""
    return (connection.config_map(race.record) if race.record else None) or {}


def _with_record(race: RaceSeen, record: Json) -> RaceSeen:
    table, told = MachineTable.from_json(text_of(record, KEY_RESOURCES)), Record.from_json(text_of(record, KEY_RECORD))
    tasks = (unread_tasks(told), reading_tasks(told)) if told else ((), ())
    return read.watched(race, table.watch if table else None, *tasks)


def _looked_at(
    connection: Connection, node: KubernetesNode, targets: Collection[TargetHost], unknown: list[str]
) -> KubernetesNode:
    """Return the node with what its kubelet says and which pods of others are on it, each where it may be seen."""
    # The kubelet answers itself, through the API server: what is wrong with one says nothing of the others.
    of_node = f" of node {node.name}"
    ask = partial(connection.kubelet_config, node.name)
    answer = _ask(unknown, _POLICIES, "get nodes/proxy", ask, also=CliError, whose=of_node)
    if answer is not None and not read.kubelet_of(answer).cpu_manager:
        unknown.append(f"{_POLICIES}{of_node}: its kubelet tells no configuration")
    pods = _ask(unknown, "pods beside races", "list pods in all namespaces", lambda: connection.pods_on(node.name))
    beside = None if pods is None else neighbours_of(pods, targets).get(node.name, ())
    return replace(node, kubelet=None if answer is None else read.kubelet_of(answer), neighbours=beside)


def _ask(
    unknown: list[str],
    what: str,
    right: str,
    question: Callable[[], T],
    also: type[CliError] = RefusedError,
    whose: str = "",
) -> T | None:
    """Return the answer; None where it is refused, which is noted with the right that it needs, once for all.

    Raises CliError when the API server does not know who asks.
    """
    try:
        return question()
    except also as error:
        status = error.status if isinstance(error, RefusedError) else None
        if status == _UNKNOWN_USER:
            raise
        unknown.append(f"{what}: needs the right to {right}" if status == _FORBIDDEN else f"{what}{whose}: {error}")
        return None


def text(facts: Facts, namespace: str) -> str:
    """Return the advice for a terminal, what was looked at, and what is unknown."""
    found = advise(facts)
    lines = [f"{number}. {_sentence(each.found)}\n   {_sentence(each.change)}" for number, each in enumerate(found, 1)]
    if not found:
        lines = ["Nothing is known to be wrong here."]
    names = ", ".join(node.name for node in facts.raced_on()[:5])
    benchmarks = len({race.benchmark for race in facts.races})
    lines.append(
        f"\nLooked at: {len(facts.raced_on())} of {len(facts.nodes)} nodes{f' ({names})' if names else ''}; "
        f"{len(facts.races)} races of {benchmarks} Benchmarks in namespace {namespace}."
    )
    return "\n".join([*lines, *(f"* unknown: {each}" for each in facts.unknown)])


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."


def as_json(facts: Facts) -> str:
    """Return the advice, what was looked at, and what is unknown as JSON."""
    data = {
        "advice": [_advice(each) for each in advise(facts)],
        "nodes": [asdict(node) for node in facts.raced_on()],
        "races": len(facts.races),
        "unknown": list(facts.unknown),
    }
    return json.dumps(data, indent=2, ensure_ascii=False)


def _advice(each: Advice) -> Json:
    return {**asdict(each), "worth": round(each.worth, 1)}
