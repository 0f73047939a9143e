"""Reads the samples of a race, and keeps each on the claim of race.samples where there is one."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.kept_samples import KeptSamples
from fairlap_race.contract.specification.race_spec import RaceSpec
from fairlap_race.rally import samples
from fairlap_race.runner.parts import FailedError

if TYPE_CHECKING:
    from fairlap_race.rally.sample_table import SampleTable

LOG = logging.getLogger(__name__)


def file_name(race_id: str) -> str:
    """Return the name of a race's file on the claim."""
    return f"{race_id}.parquet"


def refuse_unwritable(spec: RaceSpec) -> None:
    """Raise FailedError when nothing can be written to the claim of race.samples: known before the race, not after."""
    if spec.samples is None:
        return
    probe = spec.samples / f".{file_name(spec.race_id)}.probe"
    try:
        probe.write_bytes(b"1")
        probe.unlink()
    except OSError as error:
        message = (
            f"race.samples: the claim cannot be written ({error.strerror or error}): let user 1000 write to it and "
            "leave room on it, or name another claim"
        )
        raise FailedError(Reason.INVALID_SPEC, message) from error


def read_samples(
    path: Path, spec: RaceSpec, clock_offset: float | None = None
) -> tuple[list[samples.Tally], KeptSamples | None]:
    """Return the tallies of the sample file at `path`, and what was kept of the samples; None where none was asked.

    `clock_offset`: as `fairlap_race.rally.samples` takes it.
    """
    if not path.exists():
        return [], None
    if spec.samples is None:
        return _tally(path, clock_offset), None
    name = file_name(spec.race_id)
    try:
        # Needed, and paid for in memory, only where samples are kept, and only when Rally has ended.
        from fairlap_race.rally.sample_table import SampleTable  # noqa: PLC0415

        about = {"namespace": spec.namespace, "record": spec.record, "race_id": spec.race_id}
        with SampleTable(spec.samples / name, about) as table:
            tallies = _tally(path, clock_offset, table.add)
            return tallies, KeptSamples(name, table.rows, table.finish())
    except OSError as error:
        LOG.warning("the samples could not be kept: %s", error)
        # pyarrow's words name a path of the pod, where the system's alone say it all.
        problem = os.strerror(error.errno) if error.errno else str(error)
        return _tally(path, clock_offset), KeptSamples(name, problem=problem)


def _tally(
    path: Path, clock_offset: float | None, keep: Callable[[str, Sequence[str]], None] | None = None
) -> list[samples.Tally]:
    with path.open(encoding="utf-8") as lines:
        return samples.tally(lines, keep, clock_offset)


class SampleKeeper:
    """Keeps samples while they come; what goes wrong is told at the end, and ends no race."""

    def __init__(self, spec: RaceSpec) -> None:
        """Begin the file of a race, if one was asked for."""
        self._name, self._problem = file_name(spec.race_id), ""
        self._table: SampleTable | None = None
        if spec.samples is None:
            return
        from fairlap_race.rally.sample_table import SampleTable  # noqa: PLC0415 - as above

        about = {"namespace": spec.namespace, "record": spec.record, "race_id": spec.race_id}
        with self._telling():
            self._table = SampleTable(spec.samples / self._name, about)

    @property
    def asked(self) -> bool:
        """Whether samples are wanted."""
        return self._table is not None

    def add(self, task: str, parts: Sequence[str]) -> None:
        """Add a sample as `fairlap_race.rally.samples` has it."""
        if self._table is not None and not self._problem:
            with self._telling():
                self._table.add(task, parts)

    def forget_waits(self, task: str, beyond: float) -> None:
        """Leave the samples of a task without a latency that waited for so many seconds or longer."""
        if self._table is not None:
            self._table.forget_waits(task, beyond)

    def finish(self) -> KeptSamples | None:
        """Return what was kept; None where none was asked for."""
        if self._table is None:
            return KeptSamples(self._name, problem=self._problem) if self._problem else None
        rows, size = self._table.rows, 0
        with self._table:
            if not self._problem:
                with self._telling():
                    size = self._table.finish()
        return KeptSamples(self._name, problem=self._problem) if self._problem else KeptSamples(self._name, rows, size)

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            LOG.warning("the samples could not be kept: %s", error)
            self._problem = os.strerror(error.errno) if error.errno else str(error)
