"""A search of a schedule as one request, which is sent once more outside of the measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(frozen=True)
class PlannedSearch:
    """A search as it will be sent, from a fresh copy of its task's parameter source."""

    task: str = ""
    method: str = "GET"
    path: str = ""
    """with the query, if it has one"""
    body: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    index: str | None = None
    """what it searches; None where the path does not tell"""
    drawn: bool = False
    """its task has a parameter source of the track's: what else it sends may be another search"""

    @property
    def multiple(self) -> bool:
        """Whether it is several searches in one request."""
        return urlsplit(self.path).path.endswith("/_msearch")
