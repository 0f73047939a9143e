"""Searches for terms that hit: the values of a field in answers of Elasticsearch or Groonga. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fairlap.requests.found import InputLine, Skipped, accepted
from fairlap_race.contract.request_lines import RequestLine

NO_ANSWER = "no answer of a search in JSON"
NO_FIELD = "an answer without a hit that has the field"
TOO_LONG = "a term that is too long"
TERM = "{term}"
MOST_TERM_CHARACTERS = 500
_WORD = re.compile(r"[^\W_]{2,}")


@dataclass(frozen=True)
class Wanted:
    """What is to be asked for each term."""

    field: str
    path: str
    """with {term} in it, or a body that has it"""
    body: Any = None
    words: bool = False
    """each word of a value is a term, not the whole"""


def from_search_results(lines: Iterable[InputLine], wanted: Wanted) -> Iterator[RequestLine | Skipped]:
    """Yield a search for each term, each once, in the order of the hits; an answer is a line."""
    known: set[str] = set()
    for line in lines:
        try:
            answer = json.loads(line.text)
        except (ValueError, RecursionError):
            yield Skipped(line.number, NO_ANSWER)
            continue
        values = [text for text in _values(answer, wanted.field) if text.strip()]
        if not values:
            yield Skipped(line.number, NO_FIELD)
        for term in (term for value in values for term in (_WORD.findall(value) if wanted.words else [value.strip()])):
            if len(term) > MOST_TERM_CHARACTERS:
                yield Skipped(line.number, TOO_LONG)
            elif term not in known:
                known.add(term)
                path = wanted.path.replace(TERM, quote(term, safe=""))
                method = "GET" if wanted.body is None else "POST"
                yield from accepted(line.number, RequestLine(method, path, _filled(wanted.body, term)))


def _values(answer: Any, field: str) -> Iterator[str]:
    if isinstance(answer, Mapping):
        yield from _of_table(_at(answer, "body.columns"), _at(answer, "body.records"), field)
        for each in answer["responses"] if isinstance(answer.get("responses"), list) else [answer]:
            yield from _of_elasticsearch(each, field)
    elif isinstance(answer, list):
        yield from _of_groonga(answer, field)


def _of_elasticsearch(answer: Any, field: str) -> Iterator[str]:
    hits = answer.get("hits") if isinstance(answer, Mapping) else None
    listed = hits.get("hits") if isinstance(hits, Mapping) else None
    for hit in listed if isinstance(listed, list) else ():
        for part in ("_source", "fields"):
            if isinstance(hit, Mapping):
                yield from _texts(_at(hit.get(part), field))


def _at(value: Any, field: str) -> Any:
    """Return a member by its name with dots, of each item where there are several."""
    if isinstance(value, list):
        return [_at(item, field) for item in value]
    if not isinstance(value, Mapping):
        return None
    if field in value:
        return value[field]
    first, dot, rest = field.partition(".")
    return _at(value.get(first), rest) if dot else None


def _of_groonga(answer: list[Any], field: str) -> Iterator[str]:
    """Yield the values in an answer of `select`: [header, [[[number], [[column, type], …], record, …], …]].

    With command_version=3 it is an object, whose body has columns with a name and records.
    """
    body = answer[1] if len(answer) > 1 and isinstance(answer[1], list) else []
    table = body[0] if body and isinstance(body[0], list) else []
    if len(table) > 1 and isinstance(table[1], list):
        names = [column[0] if isinstance(column, list) and column else None for column in table[1]]
        yield from _of_records(names, table[2:], field)


def _of_table(columns: Any, records: Any, field: str) -> Iterator[str]:
    if isinstance(columns, list) and isinstance(records, list):
        names = [column.get("name") if isinstance(column, Mapping) else None for column in columns]
        yield from _of_records(names, records, field)


def _of_records(names: list[Any], records: list[Any], field: str) -> Iterator[str]:
    if field in names:
        place = names.index(field)
        for record in records:
            if isinstance(record, list) and len(record) > place:
                yield from _texts(record[place])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif type(value) is int or (isinstance(value, float) and math.isfinite(value)):
        yield str(value)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _filled(body: Any, term: str) -> Any:
    if isinstance(body, str):
        return body.replace(TERM, term)
    if isinstance(body, Mapping):
        return {key: _filled(value, term) for key, value in body.items()}
    return [_filled(item, term) for item in body] if isinstance(body, list) else body
