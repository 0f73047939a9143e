"""How often one object may be written to, whatever is wrong: a mistake must not become a flood of requests."""

from dataclasses import dataclass

BURST, PER_SECOND = 50.0, 5.0
"""far more than a race needs, which says what it does about once a second and some dozen times as it begins and ends"""


@dataclass
class WriteRate:
    """A bucket of writes that fills again with time."""

    left: float = BURST
    filled: float = 0.0
    """when it was last filled"""

    def wait(self, now: float) -> float:
        """Take one write at `now`, in seconds of any clock that goes on evenly; return how long to wait before it."""
        self.left = min(BURST, self.left + max(0.0, now - self.filled) * PER_SECOND) - 1.0
        self.filled = now
        return max(0.0, -self.left / PER_SECOND)
