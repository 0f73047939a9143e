"""Gates on numbers that no race of a Comparison can have, found from its specs alone. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from fairlap.api.comparison_spec import OF_ELASTICSEARCH, ComparisonSpec
from fairlap.api.raw import is_over_http
from fairlap.comparison.variants.merge_patch import part_at
from fairlap_race.contract.specification.sweep import ASCENDING, steps_of

_SOUGHT: Final = "probes take its place, which say how much it carries: write metric: capacity, without a task"


def unmeasured_gates(spec: ComparisonSpec, resolved: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a sentence for each gate that no race can have a number for; `resolved`: specs of all Benchmarks."""
    specs = list(resolved)
    races = [part_at(each, ("race",)) for each in specs]
    swept = {sweep["task"]: _first_step(sweep) for race in races if (sweep := part_at(race, ("sweep",)))}
    sought = {task for race in races if (task := part_at(race, ("capacity",)).get("task"))}
    over_http = any(map(is_over_http, specs))
    for number, gate in enumerate(spec.gates):
        if gate.task in swept:
            yield (
                f"gates[{number}].task {gate.task} is the task of race.sweep, whose steps take its place: write one of "
                f"them, for example {swept[gate.task]}"
            )
        elif gate.task in sought and gate.metric != "capacity":
            yield f"gates[{number}].task {gate.task} is the task of race.capacity: {_SOUGHT}"
        elif over_http and gate.metric in OF_ELASTICSEARCH:
            yield (
                f"gates[{number}].metric {gate.metric} is not known of a target of kind http: gate on throughput, "
                "service time or latency"
            )


def _first_step(sweep: Mapping[str, Any]) -> str:
    clients = sweep.get("clients") or [part_at(sweep, ("clientsRange",)).get("from", 1)]
    rates = sweep.get("targetThroughput") or ()
    return steps_of(sweep["task"], () if rates else clients, rates, ASCENDING)[0].name
