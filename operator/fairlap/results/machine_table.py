"""The tables of what the machines did, as a report shows them: one row a machine and span, in units for people."""

from collections.abc import Callable

from fairlap.results.machine_use import short_name
from fairlap.wording.numerals import NOTHING, number
from fairlap.wording.percentages import tenths_of_percent
from fairlap.wording.sizes import size_text
from fairlap_race.contract.watched_machines.machine_watch import MachineWatch, WatchedSpan
from fairlap_race.contract.watched_machines.resources import Machine, MachineTable, Usage

CellText = Callable[[Usage], str]


def _number(value: float | None, form: str = ".2f") -> str:
    return NOTHING if value is None else format(value, form)


COLUMNS: dict[str, CellText] = {
    "seconds": lambda u: _number(u.seconds, ".1f"),
    "CPU mean": lambda u: _number(u.cpu_mean_cores),
    "CPU peak": lambda u: _number(u.cpu_peak_cores),
    "throttled": lambda u: number(u.throttled_periods),
    "working set": lambda u: size_text(u.working_set_peak_bytes),
    "page cache": lambda u: size_text(u.page_cache_mean_bytes),
    "minor faults/min": lambda u: number(u.minor_faults_per_minute),
    "major faults/min": lambda u: number(u.major_faults_per_minute),
    "disk read": lambda u: size_text(u.disk_read_bytes),
    "reads": lambda u: number(u.disk_reads),
    "disk written": lambda u: size_text(u.disk_write_bytes),
    "writes": lambda u: number(u.disk_writes),
    "received": lambda u: size_text(u.network_received_bytes),
    "sent": lambda u: size_text(u.network_sent_bytes),
    "waiting for CPU": lambda u: tenths_of_percent(u.cpu_waiting_share),
    "for memory": lambda u: tenths_of_percent(u.memory_waiting_share),
    "for disk": lambda u: tenths_of_percent(u.io_waiting_share),
    "heap peak": lambda u: size_text(u.heap_peak_bytes),
    "GC ms": lambda u: number(None if u.young_gc_millis is None else u.young_gc_millis + (u.old_gc_millis or 0)),
}


def header() -> list[str]:
    """Return the titles of the columns of `rows`."""
    return ["machine", "span", *COLUMNS]


def rows(table: MachineTable, race: str) -> list[list[str]]:
    """Return a row for each machine over the whole race, each followed by its tasks; `race`: name of its record."""
    found = []
    for machine in table.machines:
        found.append(_row(machine, race, "race", machine.race))
        found += [_row(machine, race, task.task, task.usage) for task in machine.tasks]
    return found


WATCHED: dict[str, Callable[[WatchedSpan], str]] = {
    "seconds": lambda it: _number(it.seconds, ".1f"),
    "processors": lambda it: _number(it.processors, ".0f"),
    "busy": lambda it: _number(it.busy_cores),
    "load generator": lambda it: _number(it.own_cores),
    "Elasticsearch": lambda it: _number(it.elasticsearch_cores),
    "steal": lambda it: tenths_of_percent(it.steal_share),
    "waiting for CPU": lambda it: tenths_of_percent(it.cpu_waiting_share),
    "for memory": lambda it: tenths_of_percent(it.memory_waiting_share),
    "for disk": lambda it: tenths_of_percent(it.io_waiting_share),
    "interrupts/s": lambda it: number(it.interrupts_per_second),
    "MHz": lambda it: number(it.megahertz),
}


def watched_header() -> list[str]:
    """Return the titles of the columns of `watched_rows`."""
    return ["span", *WATCHED]


def watched_rows(watch: MachineWatch) -> list[list[str]]:
    """Return what the load generator's machine as a whole did, during the race and in each of its tasks."""
    spans = [("race", watch.race), *((it.task, it) for it in watch.tasks)]
    return [[name, *(cell(it) for cell in WATCHED.values())] for name, it in spans if it.seconds > 0]


def _row(machine: Machine, race: str, span: str, usage: Usage) -> list[str]:
    return [short_name(machine, race), span, *(cell(usage) for cell in COLUMNS.values())]
