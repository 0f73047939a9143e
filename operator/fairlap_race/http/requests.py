"""The requests of a race over HTTP: read strictly, and written as k6's script reads them."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.request_files.request_lines import LinesError, read_lines
from fairlap_race.contract.request_files.sent_request import Sent, as_sent
from fairlap_race.contract.specification.http_spec import HttpSpec
from fairlap_race.contract.specification.race_spec import RequestsSource
from fairlap_race.errors import TrackError
from fairlap_race.track.request_source import find_files, read_bounded

MOST_FIRST = 1000


@dataclass(frozen=True)
class ReadyRequests:
    """What was made of the file."""

    file: Path
    """the JSON that k6's script reads"""
    first: tuple[Sent, ...]
    """the first lines of the file, MOST_FIRST at most, whatever the order in which they are sent"""
    lines: int
    distinct: int
    digest: str
    repository: str | None = None
    commit: str | None = None
    in_order: Path | None = None
    """the JSON that has every line in the file's order; None where `first` has them all, or nobody asks for more"""

    def every_line(self) -> Sequence[Sent]:
        """Return all lines in the file's order, read again: during the race they take no memory."""
        if self.in_order is None:
            return self.first
        rows: list[list[Any]] = json.loads(self.in_order.read_text(encoding="utf-8"))
        return [(method, path, body, content) for method, path, body, content in rows]


def make_ready(http: HttpSpec, source: RequestsSource, work: Path, stop: threading.Event) -> ReadyRequests:
    """Read the requests of `source` and write them below `work`.

    Raises TrackError when they are not there or one of them is none, and StoppedError.
    """
    found = find_files(source, work, stop)
    try:
        with found.files[source.file].open("rb") as lines:
            sent = [as_sent(line) for line in read_lines(read_bounded(lines), source.file, over_http=True)]
    except LinesError as error:
        raise TrackError(Reason.REQUESTS_INVALID, str(error)) from None
    ranked = [request for request, _ in Counter(sent).most_common()]
    rows: list[Sequence[Any]] = list(sent)
    if http.order == "zipf":
        # As in the track replay: the more often the file has a request, the lower its rank.
        places = alias_table(len(ranked), http.exponent or 0.0)
        rows = [(*request, *place) for request, place in zip(ranked, places, strict=True)]
    text = json.dumps(rows, separators=(",", ":"))
    file = work / "requests.json"
    file.write_text(text, encoding="utf-8")
    choice = json.dumps([http.order, http.exponent, http.seed])
    in_order = _in_order(sent, file, work, of_all=http.order != "zipf") if http.hits else None
    digest = hashlib.sha256(choice.encode() + b"\n" + text.encode()).hexdigest()
    first = tuple(sent[:MOST_FIRST])
    known = f"sha256:{digest}", found.repository, found.commit
    return ReadyRequests(file, first, len(sent), len(ranked), *known, in_order)


def _in_order(sent: Sequence[Sent], file: Path, work: Path, *, of_all: bool) -> Path | None:
    """Return where every line is in the file's order; `of_all`: in what k6's script reads they already are."""
    if len(sent) <= MOST_FIRST:
        return None
    if of_all:
        return file
    lines = work / "lines.json"
    lines.write_text(json.dumps(sent, separators=(",", ":")), encoding="utf-8")
    return lines


def alias_table(count: int, exponent: float) -> list[tuple[float, int]]:
    """Return for each of `count` ranks, from 0 on, a threshold from 0 to 1 and another rank.

    A rank that is drawn evenly and kept with the chance of its threshold, else replaced by the other one, has the
    probability (rank + 1)^-exponent / sum of all (Walker 1977; the table is built as Vose did, 1991).
    """
    weights = [rank**-exponent for rank in range(1, count + 1)]
    total = sum(weights)
    scaled = [weight * count / total for weight in weights]
    table = [(1.0, rank) for rank in range(count)]
    small = [rank for rank, it in enumerate(scaled) if it < 1]
    large = [rank for rank, it in enumerate(scaled) if it >= 1]
    while small and large:
        low, high = small.pop(), large[-1]
        table[low] = (scaled[low], high)
        scaled[high] -= 1 - scaled[low]
        if scaled[high] < 1:
            small.append(large.pop())
    return table
