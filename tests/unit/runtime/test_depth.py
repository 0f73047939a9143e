"""Objects as deep as the API server takes them do not end the watch on all others."""

import subprocess
import sys

PROGRAM = """
import copy, json, sys
from fairlap.__main__ import DEEPEST
sys.setrecursionlimit(DEEPEST)
text = '{"a":' * 9_900 + "1" + "}" * 9_900
found = json.loads(text)
assert json.dumps(copy.deepcopy(found), separators=(",", ":")) == text
try:
    json.loads("[" * 200_000)
except RecursionError:
    print("bounded")
"""


def test_json_of_ten_thousand_levels_is_read_copied_and_written() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "bounded\n"), done.stderr[-2000:]
