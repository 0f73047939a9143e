"""Reads the conditions on the system under test from itself, on every host, before the race and after it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.request_files.probe import (
    PointerError,
    ProbeLook,
    ProbeReading,
    ProbeRecord,
    ProbeSpec,
    combine,
    compare,
    look,
)
from fairlap_race.contract.specification.race_spec import RaceSpec
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.runner.parts import STOPPED, FailedError

LOG = logging.getLogger(__name__)
PATIENCE = 10.0
"""Seconds for a host that does not answer at once."""
MOST_BYTES = 1 << 20
"""Of an answer."""

AskHost = Callable[[str, str], Any]
"""Returns the JSON that a host (NAME:PORT) answers to GET of a path. Raises ElasticsearchError."""


class UnreadableError(Exception):
    """A host does not answer, or not with the numbers; the message names probe, host and path, and no answer."""


@dataclass
class ProbeReader:
    """The probes of one race; without any it does nothing."""

    probes: Sequence[ProbeSpec]
    hosts: Sequence[str]
    ask: AskHost
    stop: threading.Event
    _before: dict[tuple[str, str], ProbeLook] = field(default_factory=dict)

    def read_before(self) -> None:
        """Take note of what is before the race. Raises FailedError, so that nothing is measured in vain."""
        try:
            for host in self.hosts:
                self._before |= {(probe.name, host): seen for probe, seen in self._look(host)}
        except UnreadableError as error:
            if self.stop.is_set():
                raise FailedError(Reason.RACE_ABORTED, STOPPED) from error
            raise FailedError(Reason.PROBE_UNREADABLE, str(error)) from error

    def read_after(self) -> tuple[ProbeRecord, ...]:
        """Return what the race made, of each probe."""
        readings: dict[str, list[ProbeReading]] = {probe.name: [] for probe in self.probes}
        unread = ""
        for host in self.hosts if self._before else ():
            try:
                for probe, seen in self._look(host):
                    readings[probe.name].append(compare(probe, host, self._before[probe.name, host], seen))
            except UnreadableError as error:
                LOG.warning("after the race: %s", error)
                unread = unread or f"after the race: {error}"
        records = (combine(probe, readings[probe.name]) for probe in self.probes if self._before)
        return tuple(replace(it, own=None, why=unread, unread=True) if unread else it for it in records)

    def _look(self, host: str) -> list[tuple[ProbeSpec, ProbeLook]]:
        """Return what every probe reads on `host`; those of one path read one answer. Raises UnreadableError."""
        answers: dict[str, Any] = {}
        found = []
        for probe in self.probes:
            at = f"race.probes {probe.name}: GET {probe.path} at {host}"
            if probe.path not in answers:
                answers[probe.path] = self._answer(host, probe.path, at)
            try:
                found.append((probe, look(probe, answers[probe.path])))
            except PointerError as error:
                raise UnreadableError(f"{at}: {error}") from error
        return found

    def _answer(self, host: str, path: str, at: str) -> Any:
        limit = time.monotonic() + PATIENCE
        while True:
            try:
                return self.ask(host, path)
            except ElasticsearchError as error:
                lasting = error.status is not None and error.status < 500
                if lasting or time.monotonic() > limit or self.stop.wait(1.0):
                    raise UnreadableError(f"{at}: {error.why}") from error  # `at` names the request


def probe_reader(spec: RaceSpec, client: ElasticsearchClient, stop: threading.Event) -> ProbeReader:
    """Return the reader of a race's probes: over the client's connections and credentials, with the load's headers."""
    headers = spec.http.headers if spec.http else {}
    return ProbeReader(
        spec.probes, spec.hosts, lambda host, path: client.get_from(host, path, MOST_BYTES, headers), stop
    )
