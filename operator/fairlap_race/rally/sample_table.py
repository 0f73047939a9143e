"""Every request's sample as a row of a Parquet file, written while the samples are read: in constant memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow
from pyarrow import compute, parquet

ROWS = 32_768
"""Rows of a group: as many are in memory at once."""
KINDS = ("warmup", "normal")
_TIME = pyarrow.timestamp("us", tz="UTC")
SCHEMA = pyarrow.schema(
    [
        ("task", pyarrow.string()),
        ("sample_type", pyarrow.string()),
        ("success", pyarrow.bool_()),
        ("client", pyarrow.int32()),
        ("wallclock", _TIME),
        ("start_seconds", pyarrow.float64()),
        ("service_time_ms", pyarrow.float64()),
        ("processing_time_ms", pyarrow.float64()),
        ("latency_ms", pyarrow.float64()),
        ("units", pyarrow.float64()),
        ("unit", pyarrow.string()),
    ]
)


class SampleTable:
    """A Parquet file in the making; it has its name once it is whole."""

    def __init__(self, path: Path, about: dict[str, str]) -> None:
        """Begin the file at `path`; `about` goes into its metadata. Raises OSError."""
        self._path, self._part = path, path.with_name(f".{path.name}.part")
        schema = SCHEMA.with_metadata({f"fairlap.{key}": value for key, value in about.items()})
        self._writer = parquet.ParquetWriter(self._part, schema, compression="zstd")
        self._columns: list[list[Any]] = [[] for _ in SCHEMA]
        self._forgotten: dict[str, float] = {}
        """task -> the wait in seconds from which on its samples have no latency"""
        self.rows = 0

    def add(self, task: str, parts: Sequence[str]) -> None:
        """Add a request: the fields of its line as `fairlap_race.rally.samples` describes them. Raises OSError."""
        service, wait = float(parts[5]), float(parts[7])
        row = (
            task,
            KINDS[int(parts[1])],
            parts[2] == "1",
            int(parts[8]),
            round(float(parts[3]) * 1e6),
            float(parts[4]),
            service * 1e3,
            float(parts[6]) * 1e3,
            (service + wait) * 1e3,
            float(parts[9]),
            parts[10],
        )
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
        self.rows += 1
        if len(self._columns[0]) >= ROWS:
            self._flush()

    def _flush(self) -> None:
        arrays = [pyarrow.array(values, field.type) for values, field in zip(self._columns, SCHEMA, strict=True)]
        self._writer.write_batch(pyarrow.record_batch(arrays, schema=self._writer.schema))
        for column in self._columns:
            column.clear()

    def forget_waits(self, task: str, beyond: float) -> None:
        """Leave the samples of a task without a latency that waited for so many seconds or longer."""
        self._forgotten[task] = beyond

    def _without_waits(self) -> None:
        """Write the file anew: what is to be forgotten is known when it has been written. Raises OSError."""
        whole = self._part.with_name(f"{self._part.name}.whole")
        self._part.replace(whole)
        try:
            with (
                parquet.ParquetFile(whole) as known,
                parquet.ParquetWriter(self._part, known.schema_arrow, compression="zstd") as writer,
            ):
                for batch in known.iter_batches(ROWS):
                    writer.write_batch(_forgetting(batch, self._forgotten))
        finally:
            whole.unlink()

    def finish(self) -> int:
        """Give the file its name once it is on the disk, and return its bytes. Raises OSError."""
        if self._columns[0]:
            self._flush()
        self._writer.close()
        if self._forgotten:
            self._without_waits()
        with self._part.open("rb+") as written:
            os.fsync(written.fileno())
        size = self._part.stat().st_size
        self._part.replace(self._path)
        return size

    def __enter__(self) -> SampleTable:
        """Return the table itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave nothing of a file that was not finished."""
        if self._writer.is_open:
            with contextlib.suppress(OSError):
                self._writer.close()
        with contextlib.suppress(OSError):  # a volume that takes nothing any more has been told of
            self._part.unlink(missing_ok=True)


def _forgetting(batch: pyarrow.RecordBatch, forgotten: Mapping[str, float]) -> pyarrow.RecordBatch:
    """Return the samples, without the latency of those that waited for so long or longer, by task in seconds."""
    latency = batch["latency_ms"]
    for task, beyond in forgotten.items():
        waited = compute.greater_equal(compute.subtract(latency, batch["service_time_ms"]), beyond * 1e3)
        unknown = compute.fill_null(compute.and_(waited, compute.equal(batch["task"], task)), fill_value=False)
        latency = compute.if_else(unknown, None, latency)
    return batch.set_column(batch.schema.get_field_index("latency_ms"), "latency_ms", latency)
