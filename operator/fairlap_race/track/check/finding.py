"""What is wrong with a track, where, and what to write instead."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fairlap_race.contract.reasons import Reason

REVIEW = "fairlap_race.track.check.review"
"""The module that finds what is wrong, run in a process of its own."""
REVIEW_SECONDS = 600
"""That it may take: a track's own parameter sources may generate data when they are loaded."""
_LONGEST_LINE = 160
_LONGEST = 1500


@dataclass(frozen=True)
class Finding:
    """One error of a track, or one thing that its author should know."""

    reason: Reason | None = None
    """None for a warning: the track can be raced"""
    message: str = ""
    """names the file and line first, when they are known, and quotes the line last"""
    file: str | None = None
    line: int | None = None
    rule: str = ""
    """short name of what was checked, as in corpus-count"""
    sentence: str = ""
    """what is wrong and what to write instead, without the place"""
    field: str = ""
    """what of the request it is about, as requireTasks; empty where it is about the track alone"""


class FoundError(Exception):
    """An error of the track was found."""

    def __init__(
        self,
        reason: Reason,
        what: str,
        cure: str = "",
        place: tuple[str, int, str] | None = None,
        rule: str = "",
        field: str = "",
    ) -> None:
        self.finding = finding(reason, what, cure, place, rule, field)
        super().__init__(self.finding.message)


def finding(
    reason: Reason | None,
    what: str,
    cure: str = "",
    place: tuple[str, int, str] | None = None,
    rule: str = "",
    field: str = "",
) -> Finding:
    """Return a finding; `place` is file, line and text of the line; without `rule` it is named after the reason.

    field: what of the request it is about, where `what` begins with it.
    """
    both = f"{sentence(what)} {sentence(cure)}" if cure else sentence(what)
    start = f"{place[0]} line {place[1]}: " if place else ""
    end = f" The line: {place[2][:_LONGEST_LINE]}" if place and place[2] else ""
    message = f"{start}{both}{end}"[:_LONGEST]
    file, line = place[:2] if place else (None, None)
    return Finding(reason, message, file, line, rule or _rule_of(reason), both[:_LONGEST], field)


def _rule_of(reason: Reason | None) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", reason.value).lower() if reason else ""


def sentence(text: str) -> str:
    """Return `text` with a full stop at its end and white space made single."""
    text = re.sub(r"\s+", " ", text).strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def json_cure(message: str, line: str, comma_too_many: bool = False) -> str:
    """Return what to do about the message of Python's JSON parser; `line` is the source line it is about.

    `comma_too_many`: a comma stands before what the parser did not expect.
    """
    if message.startswith("Expecting value") and "{{" in line:
        return "A variable without a value renders as nothing: write {{ name | default(VALUE) }}"
    if comma_too_many and not line.startswith(","):
        return "Remove the comma at its end, since nothing follows, or correct what follows; names need double quotes"
    cures = {
        "Expecting ',' delimiter": 'A comma is missing at its end, or a quote inside of a text is not written as \\"',
        "Expecting property name": "Put the name in double quotes",
        "Illegal trailing comma": "Remove the comma that follows the last element",
        "Expecting value": "Write the value that is missing; texts need double quotes",
        "Extra data": "Remove what follows the end of the object, often one closing bracket too many",
        "Unterminated string": "Close the text with a double quote",
        "Invalid control character": "A text must not go over the end of its line: write \\n for a line break",
        "Invalid \\": "Write a backslash as \\\\",
        "Unexpected UTF-8 BOM": "Save the file as UTF-8 without a byte order mark",
    }
    return next((text for start, text in cures.items() if message.startswith(start)), "")


def template_rule(message: str) -> str:
    """Return the name of what Jinja2's message is about."""
    return "mustache-not-escaped" if "_ingest" in message or "_source" in message else "jinja2"


def template_cure(message: str) -> str:
    """Return what to do about the message of Jinja2."""
    if "_ingest" in message or "_source" in message:
        return (
            "These braces are for Elasticsearch, not for Jinja2: put them between {% raw %} and {% endraw %}, "
            'as in {% raw %}"{{_ingest.timestamp}}"{% endraw %}'
        )
    if "is undefined" in message:
        return (
            "Give the variable a value with | default(…) or as a track parameter, or escape the braces with {% raw %}"
        )
    if "filter named" in message or "test named" in message:
        return "Use one that Jinja2 or Rally knows"
    if "end of template" in message or "Unknown tag 'end" in message or "unknown tag 'end" in message:
        return "Each {% if %}, {% for %}, {% macro %} and {% raw %} needs its own end"
    return (
        "Correct the Jinja2 expression, or put braces that are not meant for Jinja2 between {% raw %} and {% endraw %}"
    )
