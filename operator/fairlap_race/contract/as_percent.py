"""A share as a percentage that never contradicts the sentence around it. Pure, standard library only."""

from typing import Final

_ROUNDING: Final = 1e-12
"""Nearer to a bound than this is nothing but rounding."""
_MOST_DECIMALS: Final = 13
"""so many tell any share from a bound that it is not as near as that to"""


def as_percent(share: float, *bounds: float, decimals: int = 0) -> str:
    """Return a share in per cent with so many digits after the point: 0.5 is "50 %".

    It has more of them where it would else read as none although it is some, or as a number that is not on the same
    side of one of the `bounds` as the share: those that the sentence tells, or stands there because of.
    """
    apart = [bound for bound in (0.0, *bounds) if abs(share - bound) > _ROUNDING]
    texts = (f"{100 * share:.{places}f}" for places in range(decimals, _MOST_DECIMALS + 1))
    return f"{next(text for text in texts if all(_on_its_side(float(text), share, bound) for bound in apart))} %"


def _on_its_side(percent: float, share: float, bound: float) -> bool:
    return (percent - float(f"{100 * bound:.12g}")) * (share - bound) > 0
