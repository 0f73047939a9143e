"""Runs one race as the race's pod does, with all checks of whether its numbers can be trusted, or with none of them.

`one_race.py KIND WORK`, with the race's specification in FAIRLAP_RACE_SPEC; prints a JSON object with the seconds that
it took. KIND is `with` or `without`. (`one_race.py launch DIRECTORY ARGUMENT…` is how the latter starts Rally.)
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from fairlap_race.contract.specification.race_spec import parse_spec
from fairlap_race.contract.watched_machines.resources import MachineTable
from fairlap_race.linux import process
from fairlap_race.rally.config import Files
from fairlap_race.rally.inside import launch
from fairlap_race.runner import race_frame, supervise
from fairlap_race.runner.by_rally import race, race_steps

KINDS = ("with", "without")


class Blind:
    """Stands for whatever looks at the cluster or the machines while a race runs, and does nothing."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def look(self, *_: Any, **__: Any) -> Any:
        """Do nothing; return nothing known."""
        return None

    begin = start = stop = end = await_merges = look

    def addresses(self) -> tuple[str, ...]:
        """Return none."""
        return ()


def switch_off() -> None:
    """Leave out all that is looked at, kept, or asked only to judge the race's numbers; the race itself stays."""
    steps: Any = race_steps
    frame: Any = race_frame
    rally_argv = steps.rally_argv

    def bare(*args: Any, **options: Any) -> list[str]:
        argv = rally_argv(*args, **options)
        # Before Rally's own arguments comes the directory, before that the module that starts Rally.
        return [sys.executable, str(Path(__file__).resolve()), "launch", *argv[argv.index("race") - 1 :]]

    steps.rally_argv = bare
    steps.ClusterWatch = steps.MachineSampler = Blind
    steps.plan_looks = steps.read_looks = steps.look_after = frame.do_fixed_work = Blind.look
    steps.summed_up = lambda *_, **__: MachineTable()
    supervise.Cost.look = Blind.look  # type: ignore[assignment]


def launch_bare() -> None:
    """Start Rally as a race does, but keep no samples and look at nothing between the steps."""
    bare: Any = launch
    bare.Observer.samples = bare.BetweenSteps.look = Blind.look
    sys.argv = ["launch", *sys.argv[2:]]
    launch.main()


def main() -> None:
    """Run the race that the environment says; raises SystemExit when it does not end well."""
    kind, work = sys.argv[1], Path(sys.argv[2])
    if kind == "launch":
        launch_bare()
        return
    process.become_subreaper()
    if kind == "without":
        switch_off()
    spec = parse_spec(os.environ["FAIRLAP_RACE_SPEC"])
    began = time.monotonic()
    record = race.RaceRunner(spec, Files(work), lambda _: None, threading.Event()).run()
    seconds = time.monotonic() - began
    if record.outcome.reason is not None:
        raise SystemExit(f"{record.outcome.reason}: {record.outcome.message}")
    print(json.dumps({"seconds": round(seconds, 3)}))


if __name__ == "__main__":
    main()
