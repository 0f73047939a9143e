"""The tables of what the machines did, as a report shows them: one row a machine and span, in units for people."""

from collections.abc import Callable

from fairlap.results.machine_use import short_name
from fairlap_race.contract.machine_watch import MachineWatch, WatchedSpan
from fairlap_race.contract.resources import Machine, MachineTable, Usage

CellText = Callable[[Usage], str]
UNKNOWN = "-"


def _number(value: float | None, form: str = ".2f") -> str:
    return UNKNOWN if value is None else format(value, form)


def _count(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f}"


def _size(value: float | None) -> str:
    """Bytes in the largest binary unit that leaves at least 1."""
    if value is None:
        return UNKNOWN
    amount, units = float(value), ["B", "KiB", "MiB", "GiB"]
    while amount >= 1024 and len(units) > 1:
        amount, units = amount / 1024, units[1:]
    return f"{amount:.0f} B" if units[0] == "B" else f"{amount:.1f} {units[0]}"


def _share(value: float | None) -> str:
    return UNKNOWN if value is None else f"{100 * value:.1f} %"


COLUMNS: dict[str, CellText] = {
    "seconds": lambda u: _number(u.seconds, ".1f"),
    "CPU mean": lambda u: _number(u.cpu_mean_cores),
    "CPU peak": lambda u: _number(u.cpu_peak_cores),
    "throttled": lambda u: _count(u.throttled_periods),
    "working set": lambda u: _size(u.working_set_peak_bytes),
    "page cache": lambda u: _size(u.page_cache_mean_bytes),
    "minor faults/min": lambda u: _count(u.minor_faults_per_minute),
    "major faults/min": lambda u: _count(u.major_faults_per_minute),
    "disk read": lambda u: _size(u.disk_read_bytes),
    "reads": lambda u: _count(u.disk_reads),
    "disk written": lambda u: _size(u.disk_write_bytes),
    "writes": lambda u: _count(u.disk_writes),
    "received": lambda u: _size(u.network_received_bytes),
    "sent": lambda u: _size(u.network_sent_bytes),
    "waiting for CPU": lambda u: _share(u.cpu_waiting_share),
    "for memory": lambda u: _share(u.memory_waiting_share),
    "for disk": lambda u: _share(u.io_waiting_share),
    "heap peak": lambda u: _size(u.heap_peak_bytes),
    "GC ms": lambda u: _count(None if u.young_gc_millis is None else u.young_gc_millis + (u.old_gc_millis or 0)),
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
    "steal": lambda it: _share(it.steal_share),
    "waiting for CPU": lambda it: _share(it.cpu_waiting_share),
    "for memory": lambda it: _share(it.memory_waiting_share),
    "for disk": lambda it: _share(it.io_waiting_share),
    "interrupts/s": lambda it: _count(it.interrupts_per_second),
    "MHz": lambda it: _count(it.megahertz),
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
