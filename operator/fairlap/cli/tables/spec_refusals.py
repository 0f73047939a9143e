"""What is wrong with the fields of a manifest, in sentences: the value that is there, and what to write instead."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic_core import ErrorDetails

from fairlap.api.names import API_VERSION, COMPARISON_KIND, KIND
from fairlap.api.quantity import DURATION, HEAP, LATENCY, QUANTITY

Json = dict[str, Any]
Context = Mapping[str, Any]
EXAMPLES = {HEAP: "1g", DURATION: "30m", QUANTITY: "4Gi", LATENCY: "10ms", "version": "9.0.0"}
"""What to write, by the pattern of a field or by its name."""
_KINDS = (KIND, COMPARISON_KIND)
_TOP = ("apiVersion", "kind", "metadata", "spec", "status")
_SHOWN = 60
"""characters of a value in a sentence"""
_LEAVE_OUT = "leave it out"


def top_refusals(manifest: Json, of_spec: Iterable[str]) -> list[str]:
    """Return what is wrong with what stands beside a spec; `of_spec`: the fields that belong below it."""
    wrong = []
    kind, version = str(manifest["kind"]), str(manifest["apiVersion"])
    if version != API_VERSION:
        wrong.append(f"apiVersion: is {version}: write {API_VERSION}")
    if kind not in _KINDS:
        wrong.append(f"kind: is {kind}: {_did_you_mean(kind, _KINDS) or f'write {KIND} or {COMPARISON_KIND}'}")
    for key in sorted(map(str, manifest.keys() - set(_TOP))):
        below = f"write it below spec, or {_LEAVE_OUT}" if key in of_spec else _LEAVE_OUT
        wrong.append(f"{key}: is no field: {_did_you_mean(key, _TOP) or below}")
    return wrong


def field_refusal(detail: ErrorDetails) -> str:
    """Return a sentence for what pydantic found wrong with a field of a spec."""
    where = [each for each in detail["loc"] if each != "[key]"]
    path = "spec" + "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in where)
    context = {**detail.get("ctx", {}), "name": where[-1] if where else ""}
    instead = _INSTEAD.get(detail["type"])
    return f"{path}: {instead(detail['input'], context) if instead else detail['msg']}"


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    by_letters = {each.lower(): each for each in known}
    close = get_close_matches(word.lower(), by_letters, n=1)
    return f"did you mean {by_letters[close[0]]}?" if close else ""


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, str):
        return f"'{value[:_SHOWN]}{'…' if len(value) > _SHOWN else ''}'"
    return json.dumps(value, default=str)


def _text(value: Any, _: Context) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'is {value}, a number: write it in quotes, as "{value}"'
    return f"is {_shown(value)}: write a text"


def _number_of(pattern: str, what: str) -> Callable[[Any, Context], str]:
    """Return what tells of a number that is wanted; one that a text begins with is what was meant."""

    def instead(value: Any, _: Context) -> str:
        if not isinstance(value, str):
            return f"is {_shown(value)}: write {what}"
        found = re.match(pattern, value)
        return f"is {_shown(value)}, a text: write {f'{found[0]} without quotes' if found else what}"

    return instead


def _truth(value: Any, _: Context) -> str:
    if isinstance(value, str):
        return f"is {_shown(value)}, a text: write true or false without quotes"
    return f"is {_shown(value)}: write true or false"


def _pattern(value: Any, context: Context) -> str:
    example = EXAMPLES.get(str(context["pattern"])) or EXAMPLES.get(str(context["name"]))
    what = f"for example {example}" if example else f"what {context['pattern']} matches"
    return f"is {_shown(value)}: write {what}"


def _plain(instead: str) -> Callable[[Any, Context], str]:
    return lambda value, context: f"is {_shown(value)}: {instead.format_map(context)}"


def _entries(bound: str) -> Callable[[Any, Context], str]:
    def instead(value: Any, context: Context) -> str:
        count = len(value)
        return f"has {count} entr{'y' if count == 1 else 'ies'}: write {bound.format_map(context)}"

    return instead


_FIELDS = _plain("write its fields below it, as KEY: VALUE")
_WHOLE = _number_of(r"-?\d+(?![\d.])", "a whole number")
_ANY = _number_of(r"-?\d+(\.\d+)?", "a number")
_INSTEAD: dict[str, Callable[[Any, Context], str]] = {
    "extra_forbidden": lambda _value, _context: f"is no field: mend its name, or {_LEAVE_OUT}",
    "missing": lambda _value, _context: "is missing: write it",
    "string_type": _text,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": _ANY,
    "float_parsing": _ANY,
    "finite_number": _ANY,
    "bool_type": _truth,
    "bool_parsing": _truth,
    "list_type": _plain("write a list, each entry after a -"),
    "dict_type": _FIELDS,
    "model_type": _FIELDS,
    "literal_error": _plain("write {expected}"),
    "string_pattern_mismatch": _pattern,
    "string_too_short": _plain("write at least {min_length} characters"),
    "string_too_long": lambda value, context: f"has {len(value)} characters: write at most {context['max_length']}",
    "too_short": _entries("at least {min_length}"),
    "too_long": _entries("at most {max_length}"),
    "greater_than": _plain("write more than {gt}"),
    "greater_than_equal": _plain("write at least {ge}"),
    "less_than": _plain("write less than {lt}"),
    "less_than_equal": _plain("write at most {le}"),
}
"""By the type of pydantic's error; what is not here speaks for itself."""
