"""Elements of HTML, SVG and XML as texts: whatever is not markup already is escaped, so no name can become any."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Final

_NO_TEXT: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""What XML forbids, and what would turn the direction of all that follows."""
_EMPTY: Final = frozenset({"meta", "br"})


class Markup(str):
    """A text that is markup already; any other text is escaped where it is put in."""

    __slots__ = ()


Child = str | int | None | Iterable["Child"]
Attribute = str | int | float | bool | None


def element(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """Return an element; `class_` is the attribute class, `_` in a name stands for `-`, None and False for no value."""
    shown = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in _EMPTY:
        return Markup(f"<{tag}{shown}>")
    return Markup(f"<{tag}{shown}>{together(children)}</{tag}>")


def together(children: Iterable[Child]) -> Markup:
    """Return children one after the other."""
    return Markup("".join(map(_child, children)))


def plain(text: str) -> str:
    """Return a text with a sign in place of each character that no document may hold, or that hides others."""
    return _NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", text)


def shortened(text: str, most: int) -> str:
    """Return a text of `most` characters at most, cut in its middle: names differ at both ends."""
    if len(text) <= most:
        return text
    head = (most - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str | int):
        return escape(plain(str(child)), quote=False)
    return together(child)


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    shown = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {shown}"
    text = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    return f' {shown}="{escape(plain(text))}"'
