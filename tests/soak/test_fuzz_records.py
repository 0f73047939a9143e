"""As many hostile records, machine tables and progress texts as FAIRLAP_FUZZ_RECORDS says, 100,000 unless it does.

Each has a number, and the same number gives the same texts. A run goes on where the last one stopped: what is done
stands in the file that FAIRLAP_FUZZ_STATE names; remove it, or give another FAIRLAP_FUZZ_SEED, to begin anew.
"""

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

UNIT = Path(__file__).parents[1] / "unit"
sys.path[:0] = [str(UNIT), str(UNIT / "plan")]

from record_fuzz import check  # noqa: E402 - of the unit tests' own path

SEED = int(os.environ.get("FAIRLAP_FUZZ_SEED", "1"))
WANTED = int(os.environ.get("FAIRLAP_FUZZ_RECORDS", "100000"))
STATE = Path(os.environ.get("FAIRLAP_FUZZ_STATE", Path.home() / ".cache/fairlap/fuzz-records.json"))
CHUNK = 1000


@pytest.mark.timeout(0)
def test_hostile_records_are_read_and_judged(capsys: pytest.CaptureFixture[str]) -> None:
    done, seconds, came = _begun()
    while done < WANTED:
        started, many = time.monotonic(), min(CHUNK, WANTED - done)
        for number in range(done, done + many):
            try:
                came[check((SEED << 40) + number)] += 1
            except Exception as error:
                error.add_note(f"record_fuzz.check({(SEED << 40) + number}): seed {SEED}, the {number}th")
                raise
        done, seconds = done + many, seconds + time.monotonic() - started
        STATE.parent.mkdir(parents=True, exist_ok=True)
        STATE.write_text(json.dumps({"seed": SEED, "done": done, "seconds": seconds, "came": came}))
    with capsys.disabled():
        print(f"\nfuzzed records: seed {SEED}, {done} in {seconds:.0f} s; {len(came)} outcomes:")
        for outcome, count in came.most_common(12):
            print(f"  {count:7d} {outcome}")
    assert len(came) > 20, "the texts reach the checks"


def _begun() -> tuple[int, float, Counter[str]]:
    try:
        state = json.loads(STATE.read_text())
    except (OSError, ValueError):
        state = {}
    if state.get("seed") != SEED:
        return 0, 0.0, Counter()
    return int(state["done"]), float(state["seconds"]), Counter(state["came"])
