"""Samples that wait until the load is over: on the disk, since they may be all of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairlap_race.rally.samples import NOT_KNOWN, WAIT_FIELD

_IN_MEMORY = 1 << 20
"""Bytes; more go to a file without a name."""


class HeldSamples:
    """The samples of one load, from the first on whose latency is in doubt."""

    def __init__(self, folder: Path) -> None:
        """Keep what is too much for the memory in `folder`."""
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8", dir=str(folder))  # noqa: SIM115

    def add(self, parts: Sequence[str], *, in_doubt: bool) -> None:
        """Take in a sample. Raises OSError."""
        self._file.write(f"{int(in_doubt)},{','.join(parts)}\n")

    def released(self, *, dropped: bool) -> Iterator[list[str]]:
        """Yield each sample once, in its order; what is in doubt has no wait if any was `dropped`. Raises OSError."""
        with self._file as held:
            held.seek(0)
            for line in held:
                in_doubt, *parts = line.rstrip("\n").split(",")
                if dropped and in_doubt == "1":
                    parts[WAIT_FIELD] = NOT_KNOWN
                yield parts
