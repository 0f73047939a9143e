"""How long to wait for what goes wrong again and again. Pure."""

from typing import Final

_MOST_DOUBLINGS: Final = 10


def doubled(first: float, times: int, longest: float) -> float:
    """Return `first` seconds doubled so many times, ten at the most, or `longest` if that is less."""
    return min(longest, first * 2.0 ** min(times, _MOST_DOUBLINGS))
