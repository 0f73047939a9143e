"""Times as people say them."""


def duration(seconds: float | None) -> str:
    """Return a time as people say it: 45 s, 12 min, 2 h 5 min."""
    if seconds is None:
        return "–"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def expected_time(minutes: float) -> str:
    """Return a time that is expected, and so not known well: 1 min at least, from 100 min on hours with a tenth."""
    return f"{max(1, round(minutes))} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def tenths_of_seconds(seconds: float) -> str:
    """Return seconds, without the unit, to a tenth; less than that is still no 0.0."""
    return f"{seconds:.1f}" if seconds >= 0.1 or not seconds else f"{seconds:.2g}"
