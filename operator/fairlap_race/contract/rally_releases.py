"""Which Rally speaks to which Elasticsearch: one race image a release."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class RallyRelease:
    """One release of Rally: the exact version that a race image has, and the Elasticsearch it is for."""

    name: str
    rally: str
    oldest: tuple[int, int, int]
    """the oldest Elasticsearch that this Rally speaks to (esrally/min-es-version.txt of that version)"""
    step_code: str
    """a digest of its code between two steps, which fairlap_race/rally/inside/next_step_at_once.py changes"""


MAIN = RallyRelease("2.13", "2.13.0", (6, 8, 0), "6cd32817e821392f")
OLDER = (RallyRelease("2.3", "2.3.1", (6, 0, 0), "04f115d41093e197"),)
"""Used only for an Elasticsearch that every newer release refuses."""
RELEASES = (MAIN, *OLDER)


def release_for(version: str | None) -> RallyRelease | None:
    """Return the newest release that speaks to an Elasticsearch of that version; None when there is none.

    A version that cannot be read is taken for a new one.
    """
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version or "")
    if found is None:
        return MAIN
    number = (int(found[1]), int(found[2]), int(found[3]))
    return next((release for release in RELEASES if number >= release.oldest), None)


def is_too_old(version: str | None, rally: str | None) -> bool:
    """Tell whether an Elasticsearch of `version` is older than the Rally of the version `rally` speaks to.

    False when the version of Elasticsearch cannot be read; a Rally that is not in the table is taken for the main one.
    """
    release = next((each for each in RELEASES if each.rally == rally), MAIN)
    found = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", version or "")
    return found is not None and (int(found[1]), int(found[2]), int(found[3] or 0)) < release.oldest
