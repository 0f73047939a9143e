"""Searches from Elasticsearch's slow log, as JSON (7.0 and later) or as text (6 and 7). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote

from fairlap.requests.found import Doubt, InputLine, Skipped, accepted, member, read_entry
from fairlap.requests.logged_search import LogEntry, Search, gather
from fairlap_race.contract.request_files.request_lines import RequestLine
from fairlap_race.contract.untrusted import read_object

NO_ENTRY = "no entry of a slow log of searches"
NO_SOURCE = "the source of the search is not JSON"
POINT_IN_TIME = "a search in a point in time, which is gone when it is sent again"
ONCE_MORE = "the same search on another shard, or in its other phase"
TOO_MANY_INDICES = "a search over so many indices that Elasticsearch would refuse the length of its path"
INCOMPLETE = "searched more shards than the log has of it, so perhaps more indices than its path names"
MIXED = "beside the same search over other indices, so perhaps not over all of those that its path names"
LONGEST_PATH = 4000
"""http.max_initial_line_length is 4 kB, with the method and the version of HTTP."""
_MOST_CHARACTERS = 2 << 20
_SHARD = re.compile(r"\[(?P<index>[^\]\[\s]+)\]\[(?P<shard>\d{1,9})\]")
# 6 writes the logger's whole name as text, 7 the first letters of it, filled up with blanks.
_TEXT = re.compile(
    r"^(?:\[(?P<time>[^\]]*)\])?.*?\[(?:index\.search\.slowlog|i\.s\.s)\.(?P<phase>query|fetch)\s*\].*?"
    r"\[(?P<index>[^\]\[\s]+)\]\[(?P<shard>\d{1,9})\] "
    r"took\[(?P<about>.*?) source\[(?P<source>.*?)\],?(?: id\[(?P<id>[^\]]*)\],?)?\s*$"
)
_TOOK = re.compile(r"took_millis\[(\d+)\]")
_SHARDS = re.compile(r"total_shards\[(\d+)\],?$")
_NUMBER = re.compile(r"[0-9]{1,15}")


class _Logged(NamedTuple):
    """What a line says, as texts."""

    name: str
    shard: str
    phase: str
    source: str
    time: Any
    took: Any
    shards: Any
    sender: tuple[str, str]
    """its X-Opaque-Id and the trace that it belongs to; Elasticsearch notes them where the client sends them"""


def from_slow_log(lines: Iterable[InputLine]) -> Iterator[RequestLine | Skipped | Doubt]:
    """Yield the searches by the time of their first entry; all of the log is read before.

    Elasticsearch writes an entry for each shard and phase (query, fetch) that was slow, on the node that has the shard.
    Which entries are of one search is told by `gather`.
    """
    entries: list[LogEntry] = []
    sources: dict[str, str] = {}
    last = 0.0
    for line in lines:
        logged = read_entry(line.text, _from_json, _from_text)
        if logged is None:
            yield Skipped(line.number, NO_ENTRY)
            continue
        body = _body(logged.source)
        if body is None:
            yield Skipped(line.number, NO_SOURCE)
            continue
        if "pit" in body:
            yield Skipped(line.number, POINT_IN_TIME)
            continue
        last = _seconds(logged.time, last)
        # The texts of entries alike are kept once.
        source = sources.setdefault(logged.source, logged.source)
        entries.append(_entry(line.number, logged, source, last))
    for found in gather(entries):
        yield from _requests(found)


def _requests(found: Search | int) -> Iterator[RequestLine | Skipped | Doubt]:
    if isinstance(found, int):
        yield Skipped(found, ONCE_MORE)
        return
    path = f"/{quote(','.join(sorted(found.indices)), safe=',*')}/_search"
    if len(path) > LONGEST_PATH:
        yield Skipped(found.first.line, TOO_MANY_INDICES)
        return
    for request in accepted(found.first.line, RequestLine("POST", path, _body(found.first.source))):
        yield request
        if isinstance(request, RequestLine) and (found.incomplete or found.mixed):
            yield Doubt(found.first.line, INCOMPLETE if found.incomplete else MIXED)


def _entry(line: int, logged: _Logged, source: str, ended: float) -> LogEntry:
    took = _whole(logged.took) or 0
    shards = _whole(logged.shards) or None
    place = (logged.name, int(logged.shard))
    return LogEntry(line, place, logged.phase == "fetch", source, logged.sender, shards, ended, took / 1000)


def _from_json(text: str) -> _Logged | None:
    data = read_object(text, _MOST_CHARACTERS)
    if data is None:
        return None
    logger = str(member(data, "log.logger") or data.get("component") or "")
    kind = str(member(data, "event.dataset") or data.get("type") or "")
    place = _SHARD.search(str(_of_search(data, "message") or ""))
    source = _of_search(data, "source")
    # 7: i.s.s.query, of the type index_search_slowlog; from 8 on: index.search.slowlog.query. Both log indexing, too.
    of_searches = "search" in f"{logger} {kind}".replace("elasticsearch", "")
    if place is None or not isinstance(source, str) or not of_searches:
        return None
    time = data.get("@timestamp", data.get("timestamp"))
    sender = str(_of_search(data, "id") or ""), str(member(data, "trace.id") or "")
    took, shards = _of_search(data, "took_millis"), _of_search(data, "total_shards")
    return _Logged(place["index"], place["shard"], logger.rpartition(".")[2], source, time, took, shards, sender)


def _of_search(data: Mapping[str, Any], name: str) -> Any:
    """Return a member as 8 and later name it, else as 7 does."""
    return member(data, f"elasticsearch.slowlog.{name}", data.get(name))


def _from_text(text: str) -> _Logged | None:
    found = _TEXT.search(text)
    if found is None:
        return None
    took, shards = _TOOK.search(found["about"]), _SHARDS.search(found["about"])
    return _Logged(
        found["index"], found["shard"], found["phase"], found["source"], found["time"],
        took and took[1], shards and shards[1], (found["id"] or "", ""),
    )  # fmt: skip


def _body(source: str) -> dict[str, Any] | None:
    found = read_object(source or "{}", _MOST_CHARACTERS)
    if found is None and "\\" in source:
        # Some releases escape it twice: 8.6 does.
        once = read_object(f'{{"source":"{source}"}}', _MOST_CHARACTERS)
        found = read_object(once["source"], _MOST_CHARACTERS) if once and isinstance(once["source"], str) else None
    return found


def _seconds(time: Any, otherwise: float) -> float:
    try:
        found = datetime.fromisoformat(str(time))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return otherwise


def _whole(value: Any) -> int:
    """Return a number that is written as one or as a text; 0 for anything else."""
    text = str(value)
    return int(text) if _NUMBER.fullmatch(text) else 0
