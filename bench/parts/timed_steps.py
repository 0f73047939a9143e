"""Starts Rally and writes when each of its steps was over: `timed_steps.py FILE KIND ARGUMENT…`.

KIND is `stock` for Rally as it is, `polled` for Rally as a race starts it but with workers that are woken every second,
and `told` for Rally as a race starts it. The arguments are those of `fairlap_race.rally.inside.launch`.
"""

import sys
import time
from pathlib import Path
from typing import Any

# The parent's: this is run as a file of its own.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from parts.lines import append

KINDS = ("stock", "polled", "told")


def watch(driver: Any, path: Path) -> None:
    """Make Rally's class of the driver write a line after each step: when, and which samples came in how many parts."""
    said, received = driver.update_progress_message, driver.update_samples
    samples, messages = 0, 0

    def update_samples(self: Any, new: list[Any]) -> None:
        nonlocal samples, messages
        received(self, new)
        samples, messages = samples + len(new), messages + 1

    def update_progress_message(self: Any, task_finished: bool = False) -> None:
        said(self, task_finished)
        if task_finished:
            append(path, {"step": self.current_step, "at": time.monotonic(), "samples": samples, "messages": messages})

    driver.update_samples, driver.update_progress_message = update_samples, update_progress_message


def main() -> None:
    """Start Rally as the process's arguments say."""
    path, kind, live, *arguments = sys.argv[1:]
    from esrally import rally  # noqa: PLC0415
    from esrally.driver import driver  # noqa: PLC0415

    from fairlap_race.rally.inside import launch  # noqa: PLC0415

    watch(driver.Driver, Path(path))
    if kind == "stock":
        sys.argv = ["rally", *arguments]
        rally.main()
        return
    if kind == "polled":
        launch.next_step_at_once.install = lambda *_: None
    sys.argv = ["launch", live, *arguments]
    launch.main()


if __name__ == "__main__":
    main()
