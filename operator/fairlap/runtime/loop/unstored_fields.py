"""What of one object's status the API server does not store, and when that is tried again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client import Counter

from fairlap.api.base import Answer
from fairlap.api.steering import Steering
from fairlap.kube.backoff import doubled
from fairlap.plan.outdated_crd import STEERING, field_paths, lost_fields, steers, without
from fairlap.runtime.objects.writes import status_json

PRUNED = Counter("fairlap_status_pruned", "Statuses of which the API server did not store all that was written")
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 300.0


@dataclass
class UnstoredFields:
    """Between what was written and what was stored."""

    fields: frozenset[str] | None = None
    """fields that are not stored, as last found out; None before the first write"""
    steering: Steering = STEERING
    """fields that may not be lost"""
    pauses: int = 0
    again_at: float = 0.0
    """when what was not stored is written again, in seconds of time.monotonic"""

    def note(self, sent: Answer, stored: Mapping[str, Any], now: float) -> bool:
        """Take in what the API server answered; return whether it lost a field that was not known to be lost."""
        written, known = status_json(sent), self.fields or frozenset()
        lost = lost_fields(written, stored)
        self.fields = (known - field_paths(written)) | lost
        if not lost:
            return False
        PRUNED.inc()
        if now >= self.again_at or not lost <= known:
            self.again_at = now + doubled(_FIRST_PAUSE, self.pauses, _LONGEST_PAUSE)
            self.pauses += 1
        return not lost <= known

    @property
    def misleads(self) -> bool:
        """Whether decisions stand on what is not stored."""
        return steers(self.fields or (), self.steering)

    def differs(self, said: Answer, upcoming: Answer, now: float) -> bool:
        """Return whether a status is to be written: it says something new that is stored, or it is time to try."""
        if said == upcoming:
            return False
        unstored = frozenset() if now >= self.again_at else self.fields or frozenset()
        return bool(without(status_json(said), unstored) != without(status_json(upcoming), unstored))
