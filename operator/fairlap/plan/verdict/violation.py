"""Why a race does not count."""

from typing import NamedTuple

from fairlap_race.contract.reasons import Reason


class Violation(NamedTuple):
    """Why a race does not count."""

    reason: Reason
    message: str
    field: str = ""
    """what of the request it is about, where the race image says so"""
