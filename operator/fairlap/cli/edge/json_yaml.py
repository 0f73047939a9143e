"""YAML as Kubernetes reads it: of what JSON knows alone, so that 2024-01-01 is the text that it looks like.

Numbers are those of Go's yaml v2, which kubectl reads with: 0o17 and 1e6 are some, 10:30 is a text. Keys are texts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Hashable
from typing import Any

import yaml

_OF_YAML = "tag:yaml.org,2002:"
_INT, _FLOAT, _BOOL = (f"{_OF_YAML}{name}" for name in ("int", "float", "bool"))
_TIME, _VALUE = f"{_OF_YAML}timestamp", f"{_OF_YAML}value"
_KEPT_OUT = (_INT, _FLOAT, _BOOL, _TIME, _VALUE)
_WHOLE = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_BASES = (16, 2, 8, 10)
_POINT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_ENDLESS = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_MOST_DIGITS = 66
"""of a whole number of 64 bits, which has the most in base 2, with its sign; more are none"""
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
_WORDS = {
    word: value
    for value, names in ((True, ("y", "yes", "true", "on")), (False, ("n", "no", "false", "off")))
    for name in names
    for word in (name, name.capitalize(), name.upper())
}


class JsonLoader(yaml.SafeLoader):
    """A safe loader that takes nothing for a time, and for a number what Go does."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - it is a constant of the parent, too
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _KEPT_OUT]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """Return the tag of a node that is written without one."""
        if kind is yaml.ScalarNode and implicit[0]:
            if value in _WORDS:
                return _BOOL
            if _number(value) is not None or _ENDLESS.fullmatch(value):
                return _FLOAT
        return super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        """Return an object with its keys as texts, as JSON has them."""
        found = super().construct_mapping(node, deep)
        for key in found:
            if not isinstance(key, str | int | float):
                raise _refusal(node, f"a key in it, {key}, is no text and no number")
        return {_key(key): value for key, value in found.items()}

    def number(self, node: yaml.ScalarNode) -> int | float:
        """Return the number that a node is; raises yaml.YAMLError where JSON has none such."""
        text = self.text(node)
        found = _number(text)
        if found is None or (node.tag == _INT and isinstance(found, float)):
            raise _refusal(node, f"{text} is no number that JSON has: write one, or a text in quotes")
        return found

    def truth(self, node: yaml.ScalarNode) -> bool:
        """Return whether a node is true; raises yaml.YAMLError where it is neither."""
        text = self.text(node)
        if text not in _WORDS:
            raise _refusal(node, f"{text} is neither true nor false")
        return _WORDS[text]

    def text(self, node: yaml.ScalarNode) -> str:
        """Return the text that a node is."""
        return str(self.construct_scalar(node))


JsonLoader.add_constructor(_INT, JsonLoader.number)
JsonLoader.add_constructor(_FLOAT, JsonLoader.number)
JsonLoader.add_constructor(_BOOL, JsonLoader.truth)
JsonLoader.add_constructor(_TIME, JsonLoader.text)


def read_json(text: str) -> Any:
    """Return what a text of JSON holds, with its numbers as in YAML; raises ValueError where it is none."""
    return json.loads(text, parse_float=lambda digits: _whole_if_it_is(float(digits)), parse_constant=_no_constant)


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no number that JSON has")


def _refusal(node: yaml.Node, problem: str) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def _number(text: str) -> int | float | None:
    """Return the number that Go reads in a text; None where it is none."""
    if not text[:1] or text[0] not in "+-.0123456789":
        return None
    plain = text.replace("_", "")
    whole = _WHOLE.fullmatch(plain) if len(plain) <= _MOST_DIGITS else None
    if whole is not None:
        (base, digits), *_ = ((base, it) for base, it in zip(_BASES, whole.groups()[1:], strict=True) if it)
        value = int(f"{whole[1]}{digits}", base)
        if _SMALLEST <= value <= _LARGEST:
            return value
    if not _POINT.fullmatch(plain):
        return None
    number = float(plain)
    return _whole_if_it_is(number) if math.isfinite(number) else None


def _whole_if_it_is(number: float) -> int | float:
    """Return a number as it is after it was written as JSON and read again by Kubernetes: 9.0 is 9 there."""
    return int(number) if number.is_integer() and _SMALLEST <= number < -_SMALLEST else number


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, float):
        short = f"{key:.6g}"  # as Go writes it
        return short if float(short) == key else repr(key)
    return str(key)
