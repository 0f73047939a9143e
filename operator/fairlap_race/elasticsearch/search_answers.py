"""Sends a search of the schedule once more, outside of the measurement, and reads what its answer is worth.

The functions that read are pure. Every request here is one that Elasticsearch answers alike from version 6.0 to 9.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from fairlap_race.contract.recorded.request_evidence import SearchAnswer
from fairlap_race.contract.request_files.planned_search import PlannedSearch
from fairlap_race.elasticsearch.answers import dig, whole_number
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError

PATIENCE = 60.0
"""Seconds for one search. Elasticsearch ends a search whose client has gone, from 7.4 on."""
_ONE = ("timed_out", "_shards", "hits.total", "hits.hits._id", "hits.hits.sort", "suggest.*.options.text")
FILTER = ",".join((*_ONE, "indices", "responses.error.type", *(f"responses.{name}" for name in _ONE)))
"""What is asked for of an answer, which may be large; `indices` are those of `_field_caps`."""
_GIVEN_ID = re.compile(r"[A-Za-z0-9_-]{20}")
"""An identifier that Elasticsearch has made looks like this, and is another one in each race."""
_BY_CHANCE = re.compile(
    r'"now["+|/-]|"(?:terminate_after|min_score|knn|random_score|more_like_this|max_expansions|fuzziness|fuzzy'
    r'|match_phrase_prefix|match_bool_prefix)"'
)
"""What finds something else another time, or with the documents in other shards."""
_DIGITS, _LONGEST_INDEX = 16, 200
_EXCEPTION = re.compile(r"[a-z_]{1,80}")


def send_search(client: ElasticsearchClient, search: PlannedSearch, when: str, *, settled: bool) -> SearchAnswer:
    """Return what Elasticsearch answers to a search; `settled`: nothing that was written waits to be found."""
    parts = urlsplit(search.path)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    query["filter_path"] = FILTER
    kind = "application/x-ndjson" if search.multiple else "application/json"
    headers = {**({"Content-Type": kind} if search.body is not None else {}), **search.headers}
    about = described(search, when, settled=settled)
    try:
        answer = client.send(
            search.method, f"{parts.path}?{urlencode(query)}", (search.body or "").encode() or None, headers, PATIENCE
        )
    except ElasticsearchError as error:
        return SearchAnswer(**about, trouble=str(error)[:300])
    body = _json(search.body)
    lists = _lists(body) and not {"size", "from"} & set(query) and not parts.path.endswith("/_field_caps")
    return read_answer(about, answer, by_fields=sorts_by_fields(body), lists=lists, parts=parts_of(search))


def sorts_by_fields(body: Any) -> bool:
    """Return whether a search sorts by fields of the documents alone, none of which is a score or a place on disk."""
    sort = dig(body, "sort")
    each = sort if isinstance(sort, list) else [sort]
    names = [name for it in each for name in (it if isinstance(it, Mapping) else [it])]
    return all(isinstance(name, str) and not name.startswith("_") for name in names)


def described(search: PlannedSearch, when: str, *, settled: bool) -> dict[str, Any]:
    """Return what a search says of itself, as arguments for a SearchAnswer."""
    query = dict(parse_qsl(urlsplit(search.path).query, keep_blank_values=True))
    text, body = search.body or "", _json(search.body)
    told = f"{search.method} {search.path}\n{_canonical(body) if body is not None else text}"
    return {
        "task": search.task,
        "when": when,
        "index": search.index and search.index[:_LONGEST_INDEX],
        "request": _digest(told),
        "timeout_wanted": "timeout" in query or (isinstance(body, Mapping) and "timeout" in body),
        "parts_wanted": _allows(query),
        "drawn": search.drawn,
        "settled": settled and _BY_CHANCE.search(text) is None,
    }


class Part(NamedTuple):
    """What one search of a multi-search wants, as `SearchAnswer` has it."""

    timeout: bool
    in_part: bool
    lists: bool = False
    """whether the first of its hits are in its answer, whatever it counts"""


def parts_of(search: PlannedSearch) -> tuple[Part, ...]:
    """Return what each search of a multi-search wants; its lines are a header, which may be empty, and a search."""
    if not search.multiple:
        return ()
    lines = (search.body or "").removeprefix("\n").split("\n")
    headers, bodies = map(_json, lines[::2]), map(_json, lines[1::2])
    return tuple(
        Part(
            isinstance(body, Mapping) and "timeout" in body,
            isinstance(header, Mapping) and _allows(header),
            _lists(body),
        )
        for header, body in zip(headers, bodies, strict=False)
    )


def _allows(said: Mapping[str, Any]) -> bool:
    """Return whether a query or a header says that an answer of some shards will do."""
    return str(said.get("allow_partial_search_results", "false")).lower() != "false"


def _lists(body: Any) -> bool:
    """Return whether a search has the first of its hits in its answer: not aggregations alone, nor a later page."""
    if not isinstance(body, Mapping):
        return body is None
    return body.get("size", 10) not in (0, "0") and not {"from", "search_after"} & set(body)


def read_answer(
    about: Mapping[str, Any],
    answer: Any,
    *,
    by_fields: bool = False,
    lists: bool = False,
    parts: Sequence[Part] = (),
) -> SearchAnswer:
    """Return what the answer to a search says, or to several in one request.

    `by_fields`: it sorts by fields alone; `lists`: the first of its hits are in the answer; `parts`: what each of
    several wants, as far as that is known.
    """
    responses = dig(answer, "responses")
    if isinstance(responses, list):
        return _of_several(about, [it for it in responses if isinstance(it, Mapping)], parts)
    if isinstance(indices := dig(answer, "indices"), list):
        return SearchAnswer(**about, shards=len(indices), successful=len(indices), failed=0)
    hits = _hits(answer)
    total, exact = _total(answer)
    if total is None and lists and not hits:  # it does not count, and shows that there is nothing to count
        total = 0
    elif not total and (suggested := _suggested(answer)):
        total, exact = suggested, False
    ids = [str(it["_id"]) for it in hits if "_id" in it]
    return SearchAnswer(
        **about,
        **_shards(answer),
        timed_out=dig(answer, "timed_out") is True,
        hits=total,
        hits_exact=exact,
        hit_ids=_digest(_canonical(sorted(ids))) if ids else None,
        content=_content(hits, ids, total if exact else None, by_fields),
    )


def _of_several(about: Mapping[str, Any], responses: list[Mapping[str, Any]], parts: Sequence[Part]) -> SearchAnswer:
    lists = [it.lists for it in parts] if len(parts) == len(responses) else [False] * len(responses)
    each = [
        read_answer(about, {**it, "responses": None}, lists=listed and "error" not in it)
        for it, listed in zip(responses, lists, strict=True)
    ]
    refused = [it for it in responses if "error" in it]
    first = next((dig(it, "error", "type") for it in refused), None)
    ids, contents = [it.hit_ids for it in each], [it.content for it in each]
    answered = [it for it, raw in zip(each, responses, strict=True) if "error" not in raw]
    known = [it.hits for it in answered if it.hits is not None]
    wanted = list(zip(each, parts, strict=True)) if len(parts) == len(each) else []
    late, partly = ([part for it, part in wanted if it.timed_out], [part for it, part in wanted if it.failed])
    about = {
        **about,
        "timeout_wanted": about.get("timeout_wanted") or (bool(late) and all(it.timeout for it in late)),
        "parts_wanted": about.get("parts_wanted") or (bool(partly) and all(it.in_part for it in partly)),
    }
    return SearchAnswer(
        **about,
        shards=_sum(it.shards for it in answered),
        successful=_sum(it.successful for it in answered),
        skipped=_sum(it.skipped for it in answered),
        failed=_sum(it.failed for it in answered),
        first_failure=_named(first) or next((it.first_failure for it in each if it.first_failure), None),
        timed_out=any(it.timed_out for it in answered),
        items=len(responses),
        items_failed=len(refused),
        items_nowhere=sum(it.shards == 0 for it in answered),
        items_without_hits=sum(it.complete and it.hits == 0 and bool(it.shards) for it in answered),
        hits=sum(known) if known and len(known) == len(answered) else None,
        hits_exact=bool(answered) and all(it.hits_exact for it in answered),
        hit_ids=_digest(_canonical(ids)) if any(ids) else None,
        content=_digest(_canonical(contents)) if contents and all(contents) else None,
    )


def _content(hits: list[Mapping[str, Any]], ids: list[str], total: int | None, by_fields: bool) -> str | None:
    """Return a digest of what the data alone decides, or None.

    Where all hits are in the answer, these are the identifiers that the track gave them; where the search sorts by
    fields, the values it sorted by: equal ones are in any order, and which of them is in the answer is left to chance.
    """
    if ids and total is not None and total <= len(ids) and not any(_GIVEN_ID.fullmatch(it) for it in ids):
        return _digest(_canonical(["ids", sorted(ids)]))
    values = [it.get("sort") for it in hits]
    if by_fields and values and all(isinstance(it, list) and it for it in values):
        return _digest(_canonical(["sort", values]))
    return None


def _hits(answer: Any) -> list[Mapping[str, Any]]:
    found = dig(answer, "hits", "hits")
    return [it for it in found if isinstance(it, Mapping)] if isinstance(found, list) else []


def _suggested(answer: Any) -> int:
    """Return how many suggestions are in an answer; a search for these alone has no hits."""
    named = dig(answer, "suggest")
    lists = [each for each in named.values() if isinstance(each, list)] if isinstance(named, Mapping) else []
    options = [dig(entry, "options") for each in lists for entry in each]
    return sum(len(it) for it in options if isinstance(it, list))


def _total(answer: Any) -> tuple[int | None, bool]:
    """Return how many hits Elasticsearch counted, and whether it counted all; before version 7 it always did."""
    total = dig(answer, "hits", "total")
    if isinstance(total, Mapping):
        return whole_number(total.get("value")), total.get("relation") == "eq"
    found = whole_number(total)
    return found, found is not None


def _shards(answer: Any) -> dict[str, Any]:
    failures = dig(answer, "_shards", "failures")
    first = failures[0] if isinstance(failures, list) and failures else None
    names = ("total", "successful", "skipped", "failed")
    total, successful, skipped, failed = (whole_number(dig(answer, "_shards", name)) for name in names)
    return {
        "shards": total,
        "successful": successful,
        "skipped": skipped,
        "failed": failed,
        "first_failure": _named(dig(first, "reason", "type")),
    }


def _named(kind: Any) -> str | None:
    """Return the name of an exception; anything else that stands there is nobody's business."""
    return kind if isinstance(kind, str) and _EXCEPTION.fullmatch(kind) else None


def _sum(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(it or 0 for it in known)


def _json(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
