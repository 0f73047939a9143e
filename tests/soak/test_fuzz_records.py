"""A hundred thousand hostile records, machine tables and progress texts: each is read and judged without an exception.

Each has a number, and the same number gives the same texts.
"""

import sys
from collections import Counter
from pathlib import Path

import pytest

from .progress import Progress, summed

UNIT = Path(__file__).parents[1] / "unit"
sys.path[:0] = [str(UNIT), str(UNIT / "plan")]

from record_fuzz import check  # noqa: E402 - of the unit tests' own path

CHUNKS, RECORDS = 100, 1000


@pytest.mark.timeout(0)
def test_hostile_records_are_read_and_judged(progress: Progress) -> None:
    for seed in progress.chunks(CHUNKS):
        came: Counter[str] = Counter()
        for number in range(RECORDS):
            try:
                came[check((seed << 40) + number)] += 1
            except Exception as error:
                error.add_note(f"record_fuzz.check({(seed << 40) + number}): chunk {seed}, the {number}th")
                raise
        progress.passed(seed, {"examples": RECORDS, "came": dict(came)})
    outcomes = summed(list(progress.state["chunks"].values()))["came"]
    assert len(outcomes) > 20, "the texts reach the checks"
