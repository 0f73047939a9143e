"""cAdvisor's series as Prometheus has them: what to ask, and what the answer says of each pod. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from fairlap.api.names import RACE_CONTAINER
from fairlap_race.contract.recorded.task_spans import TaskSpan, machine
from fairlap_race.contract.watched_machines.resources import ELASTICSEARCH, LOAD_GENERATOR, PROMETHEUS, Machine, note
from fairlap_race.contract.watched_machines.series import GAUGES, Points, Span, added

# Longest time that one answer covers: 2 h of 5-second samples of one pod are about 2 MB of JSON.
CHUNK_SECONDS = 7200.0
# Samples this long before and after the race still help to tell of its ends.
MARGIN_SECONDS = 30.0
PROMISED_SECONDS = 5.0
CONTAINERS = {"elasticsearch": ELASTICSEARCH, RACE_CONTAINER: LOAD_GENERATOR}
SIGNALS: Mapping[str, str] = {
    "container_cpu_usage_seconds_total": "cpu_seconds",
    "container_cpu_cfs_throttled_periods_total": "throttled_periods",
    "container_cpu_cfs_throttled_seconds_total": "throttled_seconds",
    "container_memory_usage_bytes": "memory_bytes",
    "container_memory_working_set_bytes": "working_set_bytes",
    "container_memory_cache": "page_cache_bytes",
    "container_memory_failures_total": "faults",
    "container_fs_reads_bytes_total": "disk_read_bytes",
    "container_fs_reads_total": "disk_reads",
    "container_fs_writes_bytes_total": "disk_write_bytes",
    "container_fs_writes_total": "disk_writes",
    "container_pressure_cpu_waiting_seconds_total": "cpu_waiting",
    "container_pressure_memory_waiting_seconds_total": "memory_waiting",
    "container_pressure_memory_stalled_seconds_total": "memory_stalled",
    "container_pressure_io_waiting_seconds_total": "io_waiting",
    "container_pressure_io_stalled_seconds_total": "io_stalled",
    "container_network_receive_bytes_total": "network_received_bytes",
    "container_network_transmit_bytes_total": "network_sent_bytes",
}
# Labels that tell one counter of a pod from another; all others say who scraped it.
_IDENTITY = ("id", "device", "interface", "failure_type", "scope", "cpu")


class AnswerError(ValueError):
    """An answer is not what Prometheus answers to such a question."""


def query(namespace: str, pod: str, labels: Mapping[str, str], seconds: float) -> str:
    """Return the question for all samples of a pod in the `seconds` before the moment it is asked of."""
    matchers = [
        f"__name__=~{_quoted('|'.join(SIGNALS))}",
        f"namespace={_quoted(namespace)}",
        f"pod={_quoted(pod)}",
        *(f"{name}={_quoted(value)}" for name, value in sorted(labels.items())),
    ]
    return f"{{{','.join(matchers)}}}[{round(seconds)}s]"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def chunks(race: Span) -> list[Span]:
    """Return the spans to ask for, so that no answer grows without bound."""
    start, end = race.start - MARGIN_SECONDS, race.end + MARGIN_SECONDS
    found = []
    while start < end:
        found.append(Span(start, min(start + CHUNK_SECONDS, end)))
        start = found[-1].end
    return found


CounterKey = tuple[str, ...]


@dataclass
class Collected:
    """All samples so far: pod, signal and counter -> one track for each scraper that tells of it."""

    tracks: dict[tuple[str, str, CounterKey], dict[str, Points]] = field(default_factory=dict)
    containers: dict[str, str] = field(default_factory=dict)
    """pod -> role"""

    def add(self, answer: Any) -> None:
        """Add an answer to `query`; answers must come in the order of time. Raises AnswerError."""
        data = answer.get("data") if isinstance(answer, Mapping) else None
        if not isinstance(data, Mapping) or answer.get("status") != "success" or data.get("resultType") != "matrix":
            why = answer.get("error") if isinstance(answer, Mapping) else None
            raise AnswerError(f"it did not answer with samples: {str(why or answer)[:300]}")
        for series in data.get("result") or ():
            self._series(series.get("metric") or {}, series.get("values") or ())

    def _series(self, labels: Mapping[str, str], values: Iterable[Sequence[Any]]) -> None:
        signal, pod = _signal(labels), labels.get("pod", "")
        if signal is None or not pod:
            return
        if role := CONTAINERS.get(labels.get("container", "")):
            self.containers[pod] = role
        key = tuple(labels.get(name, "") for name in _IDENTITY)
        scraper = "|".join(f"{k}={v}" for k, v in sorted(labels.items()) if k not in _IDENTITY)
        track = self.tracks.setdefault((pod, signal, key), {}).setdefault(scraper, Points())
        for at, text in values:
            track.add(float(at), float(text))

    def signals(self, pod: str) -> dict[str, Points]:
        """Return the samples of one pod by signal; each counter from the scraper that has most of it."""
        best: dict[str, list[Points]] = {}
        for (name, signal, _), scrapers in self.tracks.items():
            if name == pod:
                best.setdefault(signal, []).append(max(scrapers.values(), key=lambda points: len(points.at)))
        return {
            signal: max(many, key=lambda points: len(points.at)) if signal in GAUGES else added(many)
            for signal, many in best.items()
        }

    def until(self, pod: str) -> float:
        """Return up to which moment all of a pod's counters are known, by the one that ends first."""
        counters = (points for signal, points in self.signals(pod).items() if signal not in GAUGES)
        return min((points.at[-1] for points in counters if points.at), default=math.inf)


def _signal(labels: Mapping[str, str]) -> str | None:
    signal, container = SIGNALS.get(labels.get("__name__", "")), labels.get("container", "")
    if signal is None:
        return None
    if signal.startswith("network"):
        # The network is the pod's, not a container's.
        return signal if container in ("", "POD") and labels.get("interface") != "lo" else None
    if container not in CONTAINERS or labels.get("cpu", "total") != "total":
        return None
    if signal == "faults":
        if labels.get("scope", "container") != "container":
            return None
        return {"pgfault": "faults", "pgmajfault": "major_faults"}.get(labels.get("failure_type", ""))
    return signal


def machines(collected: Collected, race: Span, tasks: Sequence[TaskSpan]) -> list[Machine]:
    """Return the summary of each pod that Prometheus knows."""
    found = []
    for pod, role in sorted(collected.containers.items()):
        signals = without_dead_pressure(collected.signals(pod))
        summary = machine(pod, role, PROMETHEUS, signals, race, tasks)
        gap = usual_gap(signals.get("cpu_seconds", Points()), race)
        if gap is not None and gap > PROMISED_SECONDS:
            words = f"its samples are {gap:.0f} s apart, more than {PROMISED_SECONDS:.0f} s"
            summary = replace(summary, notes=(note(PROMETHEUS, words),))
        found.append(summary)
    return found


def without_dead_pressure(signals: Mapping[str, Points]) -> dict[str, Points]:
    """Return the signals without PSI that never was anything but 0.

    A kubelet on control groups of version 1 tells 0 for every kind of pressure, which reads as if nothing ever waited.
    """
    pressure = [name for name in signals if name.endswith(("_waiting", "_stalled"))]
    alive = any(any(signals[name].value) for name in pressure)
    return {name: points for name, points in signals.items() if alive or name not in pressure}


def usual_gap(points: Points, race: Span) -> float | None:
    """Return the median time between two samples during the race, in seconds."""
    moments = [points.at[position] for position in points.inside(race)]
    gaps = sorted(later - earlier for earlier, later in pairwise(moments))
    return gaps[len(gaps) // 2] if gaps else None
