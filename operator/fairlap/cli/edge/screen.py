"""Shows how far Benchmarks and Comparisons are: lines redrawn on a terminal, a line for each change elsewhere."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from typing import TextIO

from fairlap.cli.edge import benchmarks as bm
from fairlap.cli.edge.benchmarks import Benchmark
from fairlap.cli.edge.printable import write_shown


class Screen:
    """One line for each Benchmark and Comparison, with the seconds since the start."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._drawn = 0
        self._shown: dict[tuple[str, str], str] = {}
        """by kind and name: a Benchmark and a Comparison may have the same"""
        self._started = time.monotonic()

    def show(self, benchmarks: Sequence[Benchmark]) -> None:
        """Show the current state of all of them."""
        if self._out.isatty():
            self._redraw(benchmarks)
            return
        for benchmark in benchmarks:
            line, which = bm.progress_line(benchmark), (str(benchmark.get("kind")), bm.name(benchmark))
            what = bm.without_percent(line)
            if what != self._shown.get(which):
                self._shown[which] = what
                write_shown(f"{self._clock()}{line}\n", self._out)

    def _clock(self) -> str:
        return f"[{time.monotonic() - self._started:5.0f} s] "

    def _redraw(self, benchmarks: Sequence[Benchmark]) -> None:
        clock = self._clock()
        width = shutil.get_terminal_size().columns - len(clock)
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        lines = [f"\r\x1b[2K{clock}{bm.progress_line(benchmark, width)}\n" for benchmark in benchmarks]
        write_shown(up + "".join(lines), self._out)
        self._drawn = len(lines)
