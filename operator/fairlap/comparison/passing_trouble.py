"""Reasons for which a race was not raced that say nothing of its spec or its track. Pure."""

from typing import Final

from fairlap_race.contract.reasons import Reason

PASSING_TROUBLE: Final[frozenset[str]] = frozenset(
    {Reason.EVICTED, Reason.PROVISIONING_TIMEOUT, Reason.RACE_ABORTED, Reason.JOB_LOST}
)
"""of the cluster that races are on, which may be another one the next time"""
