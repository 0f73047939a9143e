"""What is around the steps of every race, whoever sends its load: what is known of it, its failure, and its record."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Generic, TypeVar

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Outcome, Record, timestamp
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec, SpecError
from fairlap_race.contract.watched_machines.machine_watch import Canary
from fairlap_race.contract.watched_machines.resources import KEY_RESOURCES, MachineTable
from fairlap_race.runner.parts import FailedError, KnownParts
from fairlap_race.runner.telling import bounds
from fairlap_race.runner.watching.canary import PIECES, do_fixed_work

LOG = logging.getLogger(__name__)
Known = TypeVar("Known", bound=KnownParts)


class RaceFrame(Generic[Known]):
    """Keeps what the steps of one race find out, as it comes, so that a record can be made at any moment."""

    secrets: tuple[str, ...] = ()
    """texts that may stand in nothing that is published"""
    failure: Outcome | None = None
    """why the race could not go on"""

    def __init__(
        self, spec: RaceSpec, stop: threading.Event, parts: Known, assemble: Callable[[Record, Known], Record]
    ) -> None:
        """Begin with the `parts` that are known; `assemble` makes a record of them."""
        self._spec, self._stop, self._assemble = spec, stop, assemble
        self.parts = parts
        self._started, self._began = time.time(), time.monotonic()
        self.base = Record(mode=spec.mode, race_id=spec.race_id, started_at=timestamp(self._started))
        """what the record says before anything is known"""

    def keep(self, more: Known) -> None:
        """Keep what has been found out, whatever comes next."""
        self.parts = self.parts.joined(more)

    @contextmanager
    def keeping_failure(self) -> Iterator[None]:
        """Keep whatever goes wrong as the end of the race; what was known before a bug is kept, too."""
        try:
            yield
        except FailedError as failure:
            self.failure = failure.outcome
        except SpecError as error:
            self.failure = Outcome(Reason.INVALID_SPEC, str(error))
        except Exception as error:
            LOG.exception("the runner failed")
            self.failure = Outcome(Reason.RALLY_FAILED, bounds.bug_words(error))

    @property
    def record(self) -> Record:
        """The record of what is known by now."""
        record = self._assemble(self.base, self.parts)
        if self.failure is None:
            return record
        message = bounds.scrub(self.failure.message, self.secrets)
        return replace(record, outcome=replace(self.failure, message=message))

    def finished(self, record: Record) -> Record:
        """Return the record of a race that is over, within its bounds."""
        # The clock may have been set meanwhile, which is no time that the race took.
        finished = self._started + time.monotonic() - self._began
        return bounds.bounded(replace(record, finished_at=timestamp(finished)))

    def canary(self, work: Path, may_use: float) -> Canary | None:
        """Return how fast the machine is now, by work in the folder `work`; None where nothing is measured.

        `may_use`: CPUs of this container.
        """
        if self._spec.mode is not Mode.RACE:
            return None
        return do_fixed_work(work, may_use, self._stop, self._spec.canary_seconds / PIECES)

    def artifacts(self, files: Mapping[str, Path]) -> dict[str, str]:
        """Return the `files` that are there for the record's ConfigMap, compressed and in base64, by the same keys."""
        packed = {key: bounds.packed_tail(path, self.secrets) for key, path in files.items()}
        return {key: text for key, text in packed.items() if text is not None}


def texts_of(table: MachineTable | None) -> dict[str, str]:
    """Return what goes into the record's ConfigMap as text, by key: what happened to the machines, if that is known."""
    return {} if table is None else {KEY_RESOURCES: table.to_json()}
