"""Does the canary of a race tell what searches feel? Both by turns, on a machine where nothing else runs.

One client searches for --search-seconds between two canaries of a second or less, again and again for --minutes. A
piece of the canary's work is "slower" in a moment when the mean of both canaries is beyond its margin against the
piece's own lower quartile over all moments. Printed for each piece is how often that was, in how many episodes (moments
in a row), how much longer searches took in these moments than in the others (ratio of the medians of their median
service times), and the correlation of both logarithms. Moments in which others on this machine used processors are left
out: what remains is what only the host knows.

Needs an Elasticsearch on this machine that nothing else uses:

    PYTHONPATH=operator python bench/canary.py --host localhost:9200 --server-pid PID \\
        [--user elastic --password-file FILE --ca-file FILE --results FILE]

Each moment is appended to --results at once: started again, it goes on until there are as many, or prints the table of
those that are there. --smallest has a few moments of a fraction of a second, however busy the machine is: only to see
that it works.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from parts import duet_client, local_race
from parts.lines import Json, append, read
from parts.quiet import CPUS, Load

from fairlap_race.contract.watched_machines.canary_margins import HASHING, READING_MEMORY, WRITING, Piece
from fairlap_race.runner.watching.canary import do_fixed_work, lower_quartile

RESULTS = Path(__file__).parent / "results" / "canary.jsonl"
PIECES = {"cpu_seconds": HASHING, "memory_seconds": READING_MEMORY, "disk_seconds": WRITING}
TELL_EVERY = 30
MOST_OTHERS = 0.1
"""Of all processors, as a share: moments in which others used more are left out."""


class Size(NamedTuple):
    """What a moment is, and how many there are."""

    documents: int
    warmup_seconds: float
    search_seconds: float
    piece_seconds: float
    moments: int

    @property
    def design(self) -> str:
        """Digest of what a moment is: others do not count."""
        what = [*self[:-1], duet_client.SEARCH, duet_client.MAPPING]
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:12]


def size_of(asked: argparse.Namespace) -> Size:
    """Return what was asked for; each of a moment's two canaries has three pieces."""
    if asked.smallest:
        return Size(1000, 0.1, 0.1, 0.01, 4)
    piece = 0.2
    moment = asked.search_seconds + 6 * piece
    return Size(asked.documents, 60.0, asked.search_seconds, piece, max(2, round(asked.minutes * 60 / moment)))


def run_moment(cluster: duet_client.Cluster, size: Size, load: Load, folder: Path) -> Json:
    """Return what a moment measured: its canaries, its searches, and the share of all processors that others used."""
    load.begin()
    began = time.monotonic()
    before = do_fixed_work(folder, 1.0, threading.Event(), size.piece_seconds)
    (searched,) = duet_client.in_turn([cluster], size.search_seconds)
    after = do_fixed_work(folder, 1.0, threading.Event(), size.piece_seconds)
    canary = {}
    for name in PIECES:
        times = [getattr(each, name) for each in (before, after) if each]
        if len(times) == 2 and None not in times:
            canary[name] = statistics.fmean(times)
    others = load.others() / (time.monotonic() - began) / CPUS
    return {"canary": canary, "others": round(others, 3), "search": duet_client.summary(searched)}


def run(asked: argparse.Namespace, size: Size) -> list[Json]:
    """Measure the moments that are not there yet, and return all; raises SystemExit."""
    found = counted(read(asked.results), size)
    print(f"{len(found)} of {size.moments} moments are in {asked.results}", flush=True)
    if len(found) >= size.moments:
        return found
    cluster = duet_client.Cluster(asked.host, local_race.password_of(asked) or "", asked.user, asked.ca_file)
    duet_client.fill(cluster, size.documents)
    load = Load(asked.server_pid)
    if not asked.smallest:
        load.wait_for_quiet()
    duet_client.in_turn([cluster], size.warmup_seconds)
    with tempfile.TemporaryDirectory() as folder:
        while len(found) < size.moments:
            line = {
                "design": size.design, "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
                "machine": duet_client.machine(), **run_moment(cluster, size, load, Path(folder)),
            }  # fmt: skip
            append(asked.results, line)
            found.append(line)
            if len(found) % TELL_EVERY == 0:
                print(f"{len(found)} of {size.moments} moments", flush=True)
    return found


def counted(lines: Sequence[Json], size: Size) -> list[Json]:
    """Return the moments of this design, in the order in which they were measured."""
    return [line for line in lines if line.get("design") == size.design]


def slower(times: Sequence[float], piece: Piece) -> list[bool]:
    """Tell in which moments a piece took longer than its lower quartile over all of them, beyond its margin."""
    usual = lower_quartile([*times]) or 0.0
    return [time_ > usual and piece.differ(usual, time_) for time_ in times]


def episodes(flags: Sequence[bool]) -> int:
    """Return how many runs of true there are."""
    return sum(later and not earlier for earlier, later in pairwise([False, *flags]))


def row(lines: Sequence[Json], name: str, piece: Piece) -> str:
    """Return the row of a piece of the canary's work."""
    known = [line for line in lines if name in line["canary"]]
    times = [float(line["canary"][name]) for line in known]
    searches = [float(line["search"]["medianMillis"]) for line in known]
    flags = slower(times, piece)
    then = [search for search, flag in zip(searches, flags, strict=True) if flag]
    others = [search for search, flag in zip(searches, flags, strict=True) if not flag]
    ratio = f"{statistics.median(then) / statistics.median(others):.2f} times" if then and others else ""
    cells = (f"{len(then)} of {len(known)}", str(episodes(flags)), ratio, _related(times, searches))
    return f"| {piece.words} | {' | '.join(cells)} |"


def _related(times: Sequence[float], searches: Sequence[float]) -> str:
    try:
        return f"{statistics.correlation([*map(math.log, times)], [*map(math.log, searches)]):.2f}"
    except statistics.StatisticsError:  # fewer than two, or all alike
        return ""


def table(lines: Sequence[Json]) -> str:
    """Return what each piece of the canary's work tells about searches."""
    quiet = [line for line in lines if line["others"] <= MOST_OTHERS]
    if not quiet:
        return f"no moment is without others on this machine, of {len(lines)}"
    machines = ", ".join(sorted({line["machine"] for line in quiet}))
    rows = [
        f"{len(quiet)} moments, {len(lines) - len(quiet)} more left out for others on the machine; machine: {machines}",
        "",
        "| piece of the canary | slower beyond its margin | episodes | median service time of searches then, against "
        "the other moments | correlation |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*rows, *(row(quiet, name, piece) for name, piece in PIECES.items())])


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    local_race.takes_server(parser)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--search-seconds", type=float, default=1.5, help="of each moment")
    parser.add_argument("--documents", type=int, default=400_000, help="that are searched; 50,000 fit into caches")
    parser.add_argument("--results", type=Path, default=RESULTS, help="a JSON line for each moment")
    parser.add_argument("--smallest", action="store_true", help="a few moments of a fraction of a second")
    asked = parser.parse_args(argv)
    local_race.refuse_unknown_server(parser, asked)
    return asked


def main(argv: Sequence[str] | None = None) -> None:
    """Measure the moments that are missing and print the table."""
    asked = arguments(argv)
    print(table(run(asked, size_of(asked))))


if __name__ == "__main__":
    main()
