"""Searches from Elasticsearch's slow log, as JSON (7.0 and later) or as text (6 and 7). Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from fairlap.requests.found import InputLine, Skipped, accepted
from fairlap_race.contract.request_lines import RequestLine
from fairlap_race.contract.untrusted import read_object

NO_ENTRY = "no entry of a slow log of searches"
NO_SOURCE = "the source of the search is not JSON"
POINT_IN_TIME = "a search in a point in time, which is gone when it is sent again"
ONCE_MORE = "the same search on another shard, or in its other phase"
_MOST_CHARACTERS = 2 << 20
_SHARD = re.compile(r"\[(?P<index>[^\]\[\s]+)\]\[(?P<shard>\d+)\]")
# 6 writes the logger's whole name as text, 7 the first letters of it, filled up with blanks.
_TEXT = re.compile(
    r"\[(?:index\.search\.slowlog|i\.s\.s)\.(?P<phase>query|fetch)\s*\].*?\[(?P<index>[^\]\[\s]+)\]\[(?P<shard>\d+)\] "
    r"took\[.*? source\[(?P<source>.*?)\],?(?: id\[[^\]]*\],?)?\s*$"
)


class _Entry(NamedTuple):
    name: str
    shard: str
    phase: str
    source: str


def from_slow_log(lines: Iterable[InputLine]) -> Iterator[RequestLine | Skipped]:
    """Yield the searches in their order.

    Elasticsearch writes an entry for each shard and phase (query, fetch) that was slow. Of entries with the same index
    and source as many are different searches as any one shard has in any one phase.
    """
    entries: Counter[_Entry] = Counter()
    searches: Counter[tuple[str, str]] = Counter()
    for line in lines:
        entry = _from_json(line.text) if line.text.lstrip().startswith("{") else _from_text(line.text)
        if entry is None:
            yield Skipped(line.number, NO_ENTRY)
            continue
        body = _body(entry.source)
        if body is None:
            yield Skipped(line.number, NO_SOURCE)
            continue
        if "pit" in body:
            yield Skipped(line.number, POINT_IN_TIME)
            continue
        entries[entry] += 1
        search = entry.name, entry.source
        if entries[entry] <= searches[search]:
            yield Skipped(line.number, ONCE_MORE)
            continue
        searches[search] += 1
        yield from accepted(line.number, RequestLine("POST", f"/{quote(entry.name, safe=',*')}/_search", body))


def _from_json(text: str) -> _Entry | None:
    data = read_object(text, _MOST_CHARACTERS)
    if data is None:
        return None
    logger = str(_member(data, "log.logger") or data.get("component") or "")
    kind = str(_member(data, "event.dataset") or data.get("type") or "")
    place = _SHARD.search(str(_member(data, "elasticsearch.slowlog.message") or data.get("message") or ""))
    source = _member(data, "elasticsearch.slowlog.source", data.get("source"))
    # 7: i.s.s.query, of the type index_search_slowlog; from 8 on: index.search.slowlog.query.
    if place is None or not isinstance(source, str) or "search" not in f"{logger} {kind}":
        return None
    return _Entry(place["index"], place["shard"], logger.rpartition(".")[2], source)


def _body(source: str) -> dict[str, Any] | None:
    found = read_object(source or "{}", _MOST_CHARACTERS)
    if found is None and "\\" in source:
        # Some releases escape it twice: 8.6 does.
        once = read_object(f'{{"source":"{source}"}}', _MOST_CHARACTERS)
        found = read_object(once["source"], _MOST_CHARACTERS) if once and isinstance(once["source"], str) else None
    return found


def _member(data: Mapping[str, Any], name: str, default: Any = None) -> Any:
    """Return a member by its name with dots, which shippers of logs write as objects in objects."""
    if name in data:
        return data[name]
    found: Any = data
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return default if found is None else found


def _from_text(text: str) -> _Entry | None:
    found = _TEXT.search(text)
    return _Entry(found["index"], found["shard"], found["phase"], found["source"]) if found else None
