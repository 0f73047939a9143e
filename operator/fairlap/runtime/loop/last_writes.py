"""Whether statuses are written at all: what nobody can write is the API server's trouble, and not one object's."""

from dataclasses import dataclass


@dataclass
class LastWrites:
    """When a status was written last, by whatever clock goes on evenly."""

    _uid: str = ""
    _at: float = 0.0
    _before: float = 0.0
    """the last time by another one than that"""

    def note(self, uid: str, now: float) -> None:
        """Take in that the status of an object was written."""
        if uid != self._uid:
            self._uid, self._before = uid, self._at
        self._at = now

    def by_others(self, uid: str) -> float:
        """Return when any other object's status was written last; 0 where none was."""
        return self._before if uid == self._uid else self._at
