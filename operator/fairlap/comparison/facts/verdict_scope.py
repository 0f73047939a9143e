"""How far a verdict reaches: the machines, the data against their memory, and the load that it was found with. Pure."""

import re
from collections.abc import Sequence

from fairlap.api.block_record import BlockRecord, RaceRecord
from fairlap.api.comparison_spec import Design
from fairlap.comparison.facts.race_facts import LOAD_FROM
from fairlap_race.contract.as_percent import as_percent
from fairlap_race.contract.some_of import some_of

_MEMORY_TO_DATA = re.compile(r"ran: nodeData\[\d+\]\.memoryToData")
_ELASTICSEARCH_ON = "ran: machines of Elasticsearch"
_MOST_NAMES = 5
_IN_TURN = (
    "it holds for requests that are sent in turn with those of the other variants: each client waits for theirs before "
    "its next one, so no cluster is at full load"
)


def scope(blocks: Sequence[BlockRecord], design: Design) -> list[str]:
    """Return sentences that say where the verdict holds, as far as the facts of the races tell."""
    races = [race for block in blocks for race in block.races if race.valid]
    load = _IN_TURN if design.in_turn else _load(races)
    return [text for text in (_machines(races), _memory(races), load, _warmth(design.state)) if text]


def _warmth(state: str) -> str:
    if state == "Fresh":
        return ""
    return (
        "it holds for these clusters, each built and filled once, and warm: page cache, compiled code and caches of "
        "Elasticsearch are as the races before left them; how a newly filled cluster differs from another is not in it"
    )


def _machines(races: Sequence[RaceRecord]) -> str:
    elasticsearch = _names(races, _ELASTICSEARCH_ON)
    generators = _names(races, LOAD_FROM)
    if not elasticsearch:
        return ""
    load = f", with the load from {some_of(generators, _MOST_NAMES)}" if generators else ""
    return f"it holds on {some_of(elasticsearch, _MOST_NAMES)}{load}: other machines may answer otherwise"


def _memory(races: Sequence[RaceRecord]) -> str:
    shares = [
        share
        for race in races
        for path, value in race.facts.items()
        if _MEMORY_TO_DATA.fullmatch(path) and (share := _share(value)) is not None
    ]
    if not shares:
        return ""
    least = min(shares)
    if least >= 1:
        return f"it holds for data that fits the memory beside the heap ({least:.1f} times as large), without the disk"
    fits = as_percent(least, 1.0)
    return f"it holds for data of which {fits} at most fits the memory beside the heap: less is faster"


def _load(races: Sequence[RaceRecord]) -> str:
    measured = {each.task for race in races for each in race.numbers if each.metric == "throughput"}
    throttled = {task for race in races for task in race.target_throughput} & measured
    if not measured:
        return ""
    if not throttled:
        return "it holds at full load (each client sends its next request when it has its answer)"
    if throttled == measured:
        return "it holds at the rates that were asked for (requests come whether or not earlier ones are answered)"
    return f"it holds at full load, and for {some_of(sorted(throttled), _MOST_NAMES)} at the rate that was asked for"


def _names(races: Sequence[RaceRecord], path: str) -> list[str]:
    return sorted({name for race in races for name in race.facts.get(path, "").split(", ") if name})


def _share(value: str) -> float | None:
    try:
        found = float(value)
    except ValueError:
        return None
    return found if 0 <= found < float("inf") else None
