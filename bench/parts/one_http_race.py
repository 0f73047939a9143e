"""One race over HTTP as a process of its own, which ends all that it started: `python one_http_race.py SPEC WORK`.

SPEC is a file as FAIRLAP_RACE_SPEC has it; prints the record.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from fairlap_race.contract.specification.race_spec import parse_spec
from fairlap_race.linux import process
from fairlap_race.runner.over_http.http_race import HttpRace


def main() -> None:
    """Run the race."""
    process.become_subreaper()
    spec = parse_spec(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(HttpRace(spec, Path(sys.argv[2]), lambda _: None, threading.Event()).run().to_json())


if __name__ == "__main__":
    main()
