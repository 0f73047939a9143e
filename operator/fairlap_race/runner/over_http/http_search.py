"""The rate of each load of a race over HTTP that looks for a capacity: it follows from those before."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from fairlap_race.contract.recorded.record import Task
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.specification.capacity_search import ProbeOutcome, is_kept, next_rate
from fairlap_race.contract.specification.http_spec import HttpLoad
from fairlap_race.contract.specification.sweep import SweepSpec, SweepStep
from fairlap_race.rally.inside.search_rates import as_it_ran


@dataclass
class LoadSearch:
    """What was found so far; without a search every load is as it was planned."""

    planned: SweepSpec | None
    """the steps of the race, of a search as many as it may take"""
    _ran: list[SweepStep] = field(default_factory=list)

    @property
    def is_on(self) -> bool:
        """Whether anything is looked for."""
        return self.planned is not None and self.planned.search is not None

    def with_rate(self, load: HttpLoad) -> HttpLoad | None:
        """Return the load as it is to be sent; None where the search is over."""
        if self.planned is None or self.planned.search is None:
            return load
        rate = next_rate(self.planned.search, replace(self.planned, steps=tuple(self._ran)).probes)
        return None if rate is None else replace(load, rate=rate)

    def judge(self, load: HttpLoad, task: Task) -> None:
        """Take note of what a load measured."""
        if self.planned is None or self.planned.search is None:
            return
        search, measured = self.planned.search, max(1, task.samples.normal)
        millis = task.rally.latency_millis.get(search.percentile) if task.rally else None
        found = ProbeOutcome(millis, task.errors.normal / measured, task.keeps_schedule)
        kept = is_kept(search, found)
        self._ran.append(SweepStep(load.name, target_throughput=load.rate, kept=kept))

    def as_it_ran(self, track: TrackRecord) -> TrackRecord:
        """Return what the record says of the schedule, without what there was no need of."""
        if self.planned is None or not self.is_on:
            return track
        return as_it_ran(track, self.planned, replace(self.planned, steps=tuple(self._ran)))
