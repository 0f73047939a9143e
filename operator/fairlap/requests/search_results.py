"""Searches for terms that hit: the values of a field in answers of Elasticsearch or Groonga. Pure."""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fairlap.requests.found import InputLine, Skipped, accepted
from fairlap_race.contract.request_files.request_lines import RequestLine

NO_ANSWER = "no answer of a search in JSON"
NO_FIELD = "an answer without a hit that has the field"
TOO_LONG = "a term that is too long"
ONLY_SYNTAX = "a term of characters of a query's syntax alone"
TERM = "{term}"
MOST_TERM_CHARACTERS = 500
SYNTAX = r'!"&()*+-/:;<=>?[\]^{|}~'
"""What the query syntax of Groonga or of Elasticsearch takes for more than text, and ; between arguments of URLs."""
_WORD = re.compile(r"[^\W_]{2,}")
_SYNTAX = str.maketrans(dict.fromkeys(SYNTAX, " "))
_OPERATOR = re.compile(r"\b(?:AND|OR|NOT)\b")
_MOST_CHARACTERS = 16 << 20
"""Of an answer that is printed over several lines."""
_DECODER = json.JSONDecoder()
_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]')
_MOST_CUT_OFF = 100
"""Texts without an end that are looked for one; a file of other things may have one in each line."""


@dataclass(frozen=True)
class Wanted:
    """What is to be asked for each term."""

    field: str
    path: str
    """with {term} in it, or a body that has it"""
    body: Any = None
    words: bool = False
    """each word of a value is a term, not the whole"""
    sanitize: bool = False
    """a term has no character of a query's syntax, and its AND, OR and NOT are small"""

    def terms(self, value: str) -> list[str]:
        """Return what is asked for because a hit has this value."""
        text = value.translate(_SYNTAX) if self.sanitize else value
        found = _WORD.findall(text) if self.words else [" ".join(text.split()) if self.sanitize else text.strip()]
        return [_OPERATOR.sub(lambda it: it[0].lower(), term) for term in found] if self.sanitize else found


def from_search_results(lines: Iterable[InputLine], wanted: Wanted) -> Iterator[RequestLine | Skipped]:
    """Yield a search for each term, each once, in the order of the hits.

    Answers are JSON texts, in a line each, one after the other or printed over several lines.
    """
    known: set[str] = set()
    for number, answer in _answers(lines):
        if answer is None:
            yield Skipped(number, NO_ANSWER)
            continue
        values = [text for text in _values(answer, wanted.field) if text.strip()]
        if not values:
            yield Skipped(number, NO_FIELD)
        for term in (term for value in values for term in wanted.terms(value)):
            if not term:
                yield Skipped(number, ONLY_SYNTAX)
            elif len(term) > MOST_TERM_CHARACTERS:
                yield Skipped(number, TOO_LONG)
            elif term not in known:
                known.add(term)
                path = wanted.path.replace(TERM, quote(term, safe=""))
                method = "GET" if wanted.body is None else "POST"
                # The path is the user's own, perhaps of another engine's.
                yield from accepted(number, RequestLine(method, path, _filled(wanted.body, term)), writes=True)


def _answers(lines: Iterable[InputLine]) -> Iterator[tuple[int, Any]]:
    """Yield each JSON text with the number of its first line, and None for a line that is of none."""
    source, again, cut_off = iter(lines), deque[InputLine](), 0
    while line := again.popleft() if again else next(source, None):
        found = _texts_of_json(line.text)
        if not found and line.text.lstrip().startswith(("{", "[")) and cut_off < _MOST_CUT_OFF:
            block, closed = _block(line, again, source)
            found = _texts_of_json("\n".join(it.text for it in block)) if closed else []
            cut_off += not closed
            if not found:  # the first line may be a text that was cut off, before others that are whole
                again.extendleft(reversed(block[1:]))
        yield from ((line.number, each) for each in found or (None,))


def _block(line: InputLine, again: deque[InputLine], source: Iterator[InputLine]) -> tuple[list[InputLine], bool]:
    """Return the lines from this one on to where each bracket is closed, and whether there is such a place."""
    block, depth, size = [line], _opened(line.text), len(line.text)
    while depth > 0 and size <= _MOST_CHARACTERS:
        following = again.popleft() if again else next(source, None)
        if following is None:
            break
        block.append(following)
        depth, size = depth + _opened(following.text), size + len(following.text)
    return block, depth <= 0


def _opened(text: str) -> int:
    """Return how many brackets more are opened than closed; no text of JSON goes on in the next line."""
    found = _BRACKETS.findall(text)
    return sum(it in "[{" for it in found) - sum(it in "]}" for it in found)


def _texts_of_json(text: str) -> list[Any]:
    """Return what JSON texts one after the other mean; nothing when anything else is there."""
    found, place, text = list[Any](), 0, text.strip()
    try:
        while place < len(text):
            value, place = _DECODER.raw_decode(text, place)
            found.append(value)
            while place < len(text) and text[place].isspace():
                place += 1
    except (ValueError, RecursionError):
        return []
    return found


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
