"""How many reruns of a Benchmark stay: decided by what their records say, so that any operator decides the same."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from fairlap.api.base import Json
from fairlap.api.phases import is_over
from fairlap.plan.lifetimes.keep import kept_until
from fairlap.plan.lifetimes.rerun import OF, first_uid, requested_value


def limited_history(benchmark: Mapping[str, Any]) -> int | None:
    """Return how many runs of its kind stay when this one has ended; None when it is no rerun or all of them stay."""
    labels = benchmark["metadata"].get("labels") or {}
    limit = (benchmark.get("spec") or {}).get("rerunHistoryLimit")
    return limit if is_over(benchmark) and OF in labels and isinstance(limit, int) and limit > 0 else None


def surplus(reruns: Iterable[Json], now: datetime) -> list[Json]:
    """Return which of all reruns of one name go, the oldest first: beyond the limit of the newest that ended.

    Those of another Benchmark that had the name before stay, and are not counted. One that is asked to run again, or
    whose cluster is kept until after `now`, stays, and counts.
    """
    there = [each for each in reruns if not each["metadata"].get("deletionTimestamp")]
    ended = [each for each in there if is_over(each)]
    ended.sort(key=lambda each: (str(each["status"].get("completionTime") or ""), _number(each)))
    limit = limited_history(ended[-1]) if ended else None
    if limit is None:
        return []
    ended = [each for each in ended if first_uid(each) == first_uid(ended[-1])]
    return [each for each in ended[:-limit] if not _is_needed(each, now)]


def _number(benchmark: Mapping[str, Any]) -> int:
    last = str(benchmark["metadata"]["name"]).rpartition("-")[2]
    return int(last) if last.isdecimal() else 0


def _is_needed(benchmark: Mapping[str, Any], now: datetime) -> bool:
    try:
        kept = kept_until(benchmark, now)
    except (ValueError, KeyError, TypeError):  # no operator has written that, so nothing is removed for it
        return True
    return requested_value(benchmark) is not None or (kept is not None and kept > now)
