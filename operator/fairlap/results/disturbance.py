"""Whether the load generator's machine was another one during or after a race: canary, steal, and what else ran."""

from collections.abc import Collection, Iterator
from math import log
from typing import Final

from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.machine_watch import Canary, MachineWatch, WatchedSpan
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.resources import LOAD_GENERATOR, MachineTable

CANARY_RATIO: Final = 1.25
"""Of processors and memory, in either direction; a quiet virtual machine stays below (docs/noise.md)."""
DISK_RATIO: Final = 3.0
"""A quiet disk's waits differ by more than a quiet processor's work."""
DISK_SECONDS: Final = 0.005
"""What a wait for the disk must change by, too: of the shortest ones a multiple is nothing."""
STEAL_SHARE: Final = 0.05
OTHERS_CORES, OTHERS_SHARE = 0.5, 0.05
"""Of all processors. A machine with all of Kubernetes on it uses 0.16 cores when idle (docs/noise.md)."""
SHORTEST_SECONDS: Final = 5.0
"""Of a task: in less of it there are one or two looks."""
_SHOWN = 5


def remarks(
    table: MachineTable | None, elasticsearch_on: Collection[str], load_generator_on: str
) -> Iterator[RaceRemark]:
    """Yield that the machine was disturbed, and by what is known; the pods' machines tell whose CPU time is whose."""
    if table is None or table.watch is None:
        return
    found = [*canary_words(table.watch), *_steal(table.watch), *_others(table, elasticsearch_on, load_generator_on)]
    if found:
        more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
        text = f"the load generator's machine was disturbed: {'; '.join([*found[:_SHOWN], *more])}"
        yield RaceRemark(Reason.MACHINE_DISTURBED, text)


def canary_words(watch: MachineWatch) -> Iterator[str]:
    """Yield each piece of fixed work that took another time after the race than before it, by more than its margin."""
    before, after = watch.before or Canary(), watch.after or Canary()
    for what, first, last, most, least in (
        ("hashing", before.cpu_seconds, after.cpu_seconds, CANARY_RATIO, 0.0),
        ("copying memory", before.memory_seconds, after.memory_seconds, CANARY_RATIO, 0.0),
        ("writing to its disk", before.disk_seconds, after.disk_seconds, DISK_RATIO, DISK_SECONDS),
    ):
        if first and last and _differ(first, last, most, least):
            yield f"the same work, {what}, took {1000 * first:.3g} ms before the race and {1000 * last:.3g} ms after it"


def _differ(first: float, last: float, ratio: float, least: float) -> bool:
    """Tell whether two times are apart by more than `ratio` and by `least` seconds; a negative one is none."""
    return min(first, last) > 0 and abs(log(last) - log(first)) > log(ratio) and abs(last - first) >= least


def _steal(watch: MachineWatch) -> Iterator[str]:
    for span in _spans(watch):
        if span.steal_share is not None and span.steal_share > STEAL_SHARE:
            yield f"the hypervisor took {100 * span.steal_share:.0f} % of its processors' time in task {span.task}"


def _others(table: MachineTable, elasticsearch_on: Collection[str], load_generator_on: str) -> Iterator[str]:
    if not load_generator_on or not elasticsearch_on or table.watch is None:
        return
    alone, together = load_generator_on not in elasticsearch_on, set(elasticsearch_on) == {load_generator_on}
    if not alone and not together:  # which nodes are here is not known
        return
    here = [machine for machine in table.machines if together or machine.role == LOAD_GENERATOR]
    for span in _spans(table.watch):
        used = [task.usage.cpu_mean_cores for machine in here for task in machine.tasks if task.task == span.task]
        known = [cores for cores in used if cores is not None]
        if span.busy_cores is None or len(known) < len(here):
            continue
        others = span.busy_cores - sum(known)
        if others > max(OTHERS_CORES, OTHERS_SHARE * (span.processors or 0.0)):
            whose = "Rally and Elasticsearch" if together else "Rally"
            yield f"beside {whose} something else used {others:.1f} cores of it in task {span.task}"


def _spans(watch: MachineWatch) -> list[WatchedSpan]:
    return [span for span in watch.tasks if span.seconds >= SHORTEST_SECONDS]
