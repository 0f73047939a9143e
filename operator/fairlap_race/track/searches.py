"""Says how each search of a schedule is sent, from a fresh copy of its parameter source, so that it can be sent again.

Run as `python -m fairlap_race.track.searches REQUEST.json ANSWER.json`, in a process of its own, because a parameter
source is the track's own code. What is drawn by lot is drawn from the same seed in each race, so that races ask alike.
"""

from __future__ import annotations

import contextlib
import json
import logging
import random
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from fairlap_race.contract.recorded.request_evidence import FIELD_CAPS, NO_SEARCHES, OTHER_SEARCHES, SEARCHES
from fairlap_race.contract.request_files.planned_search import PlannedSearch
from fairlap_race.track.child import answer_parent
from fairlap_race.track.load import Request, expand_if_asked, rally_config

SEED = 1
MOST_SEARCHES = 400
MOST_CHARACTERS = 1 << 20
"""Of one request."""
MOST_DRAWN, DRAWS, DRAWING_SECONDS = 10, 100, 5.0
"""Of a task that draws raw requests: distinct searches that are sent once more, requests to find them in, and time."""
_RAW = ("/_search", "/_msearch")
_ANOTHER_WAY = re.compile(
    r"/_(?:m?search/template|search/scroll|async_search|knn_search|eql/search|sql|query|count|rank_eval|mvt/.*"
    r"|field_caps|terms_enum)$"
)
"""Paths of requests that search, too, and are not sent once more."""


@dataclass(frozen=True)
class SearchesOfTrack:
    """The searches that are known, and for each other task that searches why they are not."""

    searches: tuple[PlannedSearch, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)


def describe_searches(request: Request) -> SearchesOfTrack:
    """Return the searches of the track of `request`; what goes wrong is in the answer, not raised."""
    from esrally.track import loader  # noqa: PLC0415

    own_runners = set[str]()
    hooks: dict[str, Any] = dict.fromkeys(("register_scheduler", "register_track_processor"), lambda *_, **__: None)
    hooks["register_runner"] = lambda kind, *_, **__: own_runners.add(str(kind))
    cfg = rally_config(request, request.params)
    track = loader.load_track(cfg)
    expand_if_asked(request, track)
    with contextlib.suppress(Exception):
        loader.set_absolute_data_path(cfg, track)
    trouble = ""
    if track.has_plugins:
        try:
            loader.load_track_plugins(cfg, Path(request.track_path).name, **hooks)
        except Exception as error:
            trouble = f"the track's code could not be loaded: {_error_text(error)}"
    challenge = track.find_challenge_or_default(request.challenge or "")
    tasks = {leaf.name: leaf for element in challenge.schedule for leaf in element}
    found, unknown = list[PlannedSearch](), dict[str, str]()
    for name, task in tasks.items():
        kind = str(task.operation.type)
        if not may_search(kind, task.operation.params):
            continue
        if len(found) >= MOST_SEARCHES:
            unknown[name] = f"a record has room for the searches of {MOST_SEARCHES} tasks"
        elif kind in own_runners or not _of_rally(kind):
            unknown[name] = f"the track has a runner of its own for {kind}"
        elif trouble and task.operation.param_source:
            unknown[name] = trouble
        elif kind == FIELD_CAPS and task.operation.param_source:
            unknown[name] = "its parameter source may draw others, which no shard counts"
        else:
            _add(loader, track, task, found, unknown)
    named = {name: it.operation for name, it in tasks.items() if name in unknown}
    silent = {name for name, it in named.items() if not matters(str(it.type), reported=bool(it.include_in_reporting))}
    return SearchesOfTrack(tuple(found), {name: why for name, why in unknown.items() if name not in silent})


def _add(loader: Any, track: Any, task: Any, found: list[PlannedSearch], unknown: dict[str, str]) -> None:
    random.seed(SEED)
    drawn = bool(task.operation.param_source)
    try:
        source = loader.operation_parameters(track, task).partition(0, task.clients)
        # Any raw request may be no search: of the others the first one is one.
        several = drawn and str(task.operation.type) == "raw-request"
        requests = _first_requests(source, task, DRAWS if several else 1)
    except StopIteration:
        unknown[task.name] = "its parameter source is at its end before it began"
    except Exception as error:
        unknown[task.name] = f"its parameter source could not be asked: {_error_text(error)}"
    else:
        searches = [replace(it, drawn=drawn) for it in requests if isinstance(it, PlannedSearch)]
        found.extend(searches)
        reasons = [it for it in requests if it and isinstance(it, str)]
        if reasons and not searches:
            unknown[task.name] = reasons[0]


def _first_requests(source: Any, task: Any, draws: int) -> list[PlannedSearch | str]:
    """Return the first distinct requests of a task, as `as_sent` has them; raises as its source does at the first."""
    found, end = list[PlannedSearch | str](), time.monotonic() + DRAWING_SECONDS
    for _ in range(draws):
        try:
            sent = as_sent(task.name, str(task.operation.type), source.params())
        except Exception:
            if not found:
                raise
            break
        if sent not in found:
            found.append(sent)
        if sum(isinstance(it, PlannedSearch) for it in found) >= MOST_DRAWN or time.monotonic() > end:
            break
    return found


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]


def may_search(kind: str, params: Mapping[str, Any]) -> bool:
    """Return whether an operation may search: all but those of Rally's that certainly do not."""
    if kind == "composite":
        parts = list(_parts(params.get("requests")))
        return not parts or any(may_search(str(part["operation-type"]), part) for part in parts)
    if kind in ("raw-request", "run-until"):
        path = params.get("path")
        return not isinstance(path, str) or _searches(_bare(path))
    return kind not in NO_SEARCHES


def _bare(path: str) -> str:
    """Return a path without its query; "" for what begins as an address whose host is none, as //[x does."""
    try:
        return urlsplit(path).path
    except ValueError:
        return ""


def matters(kind: str, *, reported: bool) -> bool:
    """Return whether it is to be said of a task that its search is not known; reported: it has numbers."""
    return kind in SEARCHES or (kind not in NO_SEARCHES and reported)


def _parts(requests: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the operations within a composite one."""
    for it in requests if isinstance(requests, list | tuple) else ():
        if isinstance(it, Mapping) and "operation-type" in it:
            yield it
        elif isinstance(it, Mapping):
            yield from _parts(it.get("stream"))


def _searches(path: str) -> bool:
    return path.endswith(_RAW) or _ANOTHER_WAY.search(path) is not None


def _of_rally(kind: str) -> bool:
    return kind in SEARCHES | OTHER_SEARCHES | NO_SEARCHES | {FIELD_CAPS, "raw-request", "composite", "run-until"}


def as_sent(task: str, kind: str, params: Mapping[str, Any]) -> PlannedSearch | str:
    """Return an operation's parameters as one request, that of its first page; a text says why there is none.

    The text is empty for a raw request that is no search. As in Rally (driver/runner.py, Query and RawRequest).
    """
    if kind == "composite":
        return "its searches are parts of a composite operation"
    if kind in OTHER_SEARCHES or kind == "run-until":
        return f"no {kind} is sent once more"
    query = {str(name): value for name, value in (params.get("request-params") or {}).items() if name != "ignore"}
    headers, body = _headers(params), params.get("body")
    if kind == "raw-request":
        method, path = str(params.get("method", "GET")).upper(), str(params.get("path") or "")
        bare = _bare(path)
        if method not in ("GET", "POST") or not _searches(bare):
            return ""
        if another := _ANOTHER_WAY.search(bare):
            return f"no {another.group().strip('/')} is sent once more"
        index: str | None = bare.rpartition("/")[0].strip("/") or "_all"
        if path.endswith("_msearch") or "/" in (index or ""):
            index = None
        return _request(PlannedSearch(task, method, path, None, headers, index), query, body)
    if params.get("with-point-in-time-from"):
        return "it searches what another operation has opened"
    index = _listed(params.get("index"))
    if kind == FIELD_CAPS:
        return _field_caps(PlannedSearch(task, "GET", "", None, headers, str(index or "_all")), params, query)
    size = params.get("results-per-page")
    if size and kind != "composite-agg" and isinstance(body, Mapping):
        body = {**body, "size": size}
    if kind == "scroll-search" and size:
        query["size"] = size
    if params.get("cache") is not None:
        query["request_cache"] = params["cache"]
    path = "/" + "/".join(str(part) for part in (index, params.get("type"), "_search") if part)
    # Without an index Rally sends it to all of them, as a parameter source of a track of one index likes to.
    where = str(index or params.get("type") or "_all")
    return _request(PlannedSearch(task, "GET", path, None, headers, where), query, body)


def _headers(params: Mapping[str, Any]) -> dict[str, str]:
    headers = {str(name): str(value) for name, value in (params.get("headers") or {}).items()}
    return {**headers, "x-opaque-id": str(params["opaque-id"])} if params.get("opaque-id") else headers


def _listed(names: Any) -> Any:
    return ",".join(map(str, names)) if isinstance(names, list | tuple) else names


def _field_caps(search: PlannedSearch, params: Mapping[str, Any], query: Mapping[str, Any]) -> PlannedSearch | str:
    """Return the request for the fields of `search.index` (driver/runner.py, FieldCaps)."""
    among, fields = params.get("index_filter"), str(_listed(params.get("fields", "*")))
    body = {**(params.get("body") or {}), **({"index_filter": among} if among else {})}
    return _request(replace(search, path=f"/{search.index}/_field_caps"), {**query, "fields": fields}, body or None)


def _request(search: PlannedSearch, query: Mapping[str, Any], body: Any) -> PlannedSearch | str:
    """Return the search with its query and its body."""
    said = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in query.items()}
    text = body_text(body)
    if text is not None and len(text) > MOST_CHARACTERS:
        return f"its request is longer than {MOST_CHARACTERS} characters"
    joined = "&" if "?" in search.path else "?"
    return replace(search, path=search.path + (joined + urlencode(said) if said else ""), body=text)


def body_text(body: Any) -> str | None:
    """Return a body as it is sent: a list is one JSON text a line, as for a multi-search."""
    if body is None or isinstance(body, str):
        return body or None
    if isinstance(body, bytes | bytearray):
        return bytes(body).decode("utf-8")
    if isinstance(body, list | tuple):
        return "".join(f"{_line(it)}\n" for it in body)
    return json.dumps(body)


def _line(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item)


def main() -> None:
    """Read the request file, write the answer file."""
    logging.disable(logging.CRITICAL)
    answer_parent(Request, describe_searches)


if __name__ == "__main__":
    main()
