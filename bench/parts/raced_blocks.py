"""What the races of a Comparison measured, as a line of results keeps it, and the design that such lines make."""

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from fairlap.api.block_record import RaceRecord
from fairlap.comparison.facts.disturbed_race import DISTURBED
from fairlap.comparison.numbers.block_pack import block_in_config_map
from fairlap.comparison.terms.gate_metrics import DEFAULT_MARGINS, LATENCIES
from parts.kubectl import Json, Kubectl
from parts.variance_components import Costs, Nested

METRICS = (*DEFAULT_MARGINS, LATENCIES[0], LATENCIES[2])
"""those that decide when no gate is declared, and what tasks with a target throughput are told by"""
_MACHINE = ("machines[0].cpuModel", "machines[0].processors", "machines[0].kernel", "machines[0].exclusiveCpus")
_LOAD_GENERATOR = ("load generator's CPU", "load generator's kernel")
"""of a race over HTTP, which knows no other machine"""
LEAST_PARTS = 2
ONE_RACE_EACH = ("fresh", "duet")
"""states in which each race has a cluster of its own"""


class Number(NamedTuple):
    """Which number of a race."""

    task: str
    """empty for one of the whole race"""
    metric: str


def measured(kubectl: Kubectl, status: Json) -> Json:
    """Return what the races of the valid blocks measured, and what the preparation took; raises CalledProcessError.

    `aside` has the same of the blocks that were raced again, since the machine was disturbed and for nothing else.
    """
    races, aside = list[Json](), list[Json]()
    machine = ""
    for block in status.get("blocks", ()):
        disturbed = block.get("valid") is False and block.get("reason") == DISTURBED
        record = block.get("record") if block.get("valid") or disturbed else None
        found = block_in_config_map(kubectl.get("configmap", str(record))) if record else None
        for race in found.races if found else ():
            if race.valid and disturbed:
                aside.append({"block": f"{block['number']}, attempt {block.get('attempt', 1)}", **_race(race)})
            elif race.valid:
                races.append({"block": block["number"], **_race(race)})
                machine = machine or _machine(race)
    filled = [
        race["seconds"]
        for block in status.get("blocks", ())
        if block["number"] == 0
        for race in block.get("races", ())
        if race.get("seconds")
    ]
    return {"measured": races, "filled": filled, "machine": machine, **({"aside": aside} if aside else {})}


def _race(race: RaceRecord) -> Json:
    numbers = [
        [each.task, each.metric, each.value]
        for each in race.numbers
        if each.metric in METRICS and each.supported and each.value > 0
    ]
    parts = {
        curve.task: {"seconds": curve.points[1][0] - curve.points[0][0], "rates": [rate for _, rate in curve.points]}
        for curve in race.rates
        if len(curve.points) >= LEAST_PARTS
    }
    kept = {"variant": race.variant, "seconds": race.seconds, "numbers": numbers, "parts": parts}
    return {**kept, "canary": race.canary} if race.canary else kept


def _machine(race: RaceRecord) -> str:
    """Return what the first node's machine is, else the load generator's, in words, as far as the facts tell."""
    known = {path.split(".")[-1]: race.facts.get(f"ran: {path}") for path in _MACHINE}
    if not any(known.values()):
        known = {path: race.facts.get(f"ran: {path}") for path in _LOAD_GENERATOR}
    return ", ".join(f"{name} {value}" for name, value in known.items() if value)


def numbers_of(lines: Iterable[Json], state: str = "") -> list[Number]:
    """Return which numbers any race has, task by task; no latency of races in turn: others' time is in it."""
    found = dict.fromkeys(
        Number(task, metric)
        for line in lines
        for race in line["measured"]
        for task, metric, _ in race["numbers"]
        if state != "duet" or metric not in LATENCIES  # blocks have none any more, but older lines do
    )
    tasks = list(dict.fromkeys(number.task for number in found))
    return sorted(found, key=lambda number: (tasks.index(number.task), METRICS.index(number.metric)))


def nested(lines: Sequence[Json], number: Number, state: str) -> tuple[Nested, float]:
    """Return the logarithms of a number by cluster, race and part, and how long a part is in seconds (0 without parts).

    Throughput has the parts of the measured time where all races have some. With ONE_RACE_EACH a race is a cluster.
    """
    races = list(_races_with(lines, number))
    split = number.metric == "throughput" and all(_rates(race, number.task) for _, race in races)
    clusters: dict[tuple[object, ...], list[list[float]]] = {}
    for line_number, race in races:
        name = (line_number, race["variant"], *((race["block"],) if state in ONE_RACE_EACH else ()))
        values = _rates(race, number.task) if split else [_value(race, number)]
        clusters.setdefault(name, []).append([math.log(value) for value in values])
    seconds = [race["parts"][number.task]["seconds"] for _, race in races] if split else []
    return list(clusters.values()), median(seconds) if seconds else 0.0


def _races_with(lines: Sequence[Json], number: Number) -> Iterator[tuple[int, Json]]:
    for at, line in enumerate(lines):
        for race in line["measured"]:
            if any((task, metric) == number for task, metric, _ in race["numbers"]):
                yield at, race


def value_of(race: Json, number: Number) -> float | None:
    """Return a number of a race, None where it has none."""
    return next((float(value) for task, metric, value in race["numbers"] if (task, metric) == number), None)


def _value(race: Json, number: Number) -> float:
    return next(float(value) for task, metric, value in race["numbers"] if (task, metric) == number)


def _rates(race: Json, task: str) -> list[float]:
    rates = [rate for rate in race["parts"].get(task, {}).get("rates", ()) if rate > 0]
    return rates if len(rates) >= LEAST_PARTS else []


def pair_ratios(lines: Sequence[Json], number: Number, one: str, two: str) -> list[float]:
    """Return the log ratio of two variants' races of a number, block by block where both have it."""
    found = []
    for line in lines:
        by_block: dict[int, dict[str, float]] = {}
        for race in line["measured"]:
            if race["variant"] in (one, two) and any((task, metric) == number for task, metric, _ in race["numbers"]):
                by_block.setdefault(race["block"], {})[race["variant"]] = _value(race, number)
        found += [math.log(its[two] / its[one]) for its in by_block.values() if one in its and two in its]
    return found


def costs(lines: Sequence[Json], state: str) -> Costs | None:
    """Return what one more part of each task, one more race and one more cluster take; None without any race.

    Only the first block of kept clusters builds and fills them; in any other `state` it checks the track.
    """
    parts, races = [], []
    for race in (race for line in lines for race in line["measured"] if race["seconds"]):
        spans = [(found["seconds"], len(found["rates"])) for found in race["parts"].values()]
        if spans:
            parts.append(sum(seconds for seconds, _ in spans))
        races.append(max(0.0, race["seconds"] - sum(seconds * count for seconds, count in spans)))
    filled = [seconds for line in lines for seconds in line.get("filled", ())] if state == "kept" else []
    if not races:
        return None
    return Costs(median(parts) if parts else None, median(races), median(filled) if filled else None)
