"""Starts Rally in this process, with shorter waits between its steps and with every sample written to a file.

Run as `python -m fairlap_race.rally.inside.launch DIRECTORY ARGUMENT…`: the arguments are Rally's own. Rally's actors
are forked from this process, so what is changed here before Rally's `main` holds in all of them. Nothing is changed
between the start and the end of a measured request.

The file's name and its arguments must not contain the name of Rally's package: Rally refuses to start when it finds
that in the command line of another Python process.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from fairlap_race.rally import releases
from fairlap_race.rally.inside import (
    accepted_errors,
    client_addresses,
    down_sampling,
    lean_documents,
    next_step_at_once,
    prolonged_warmup,
    same_choices,
    search_rates,
    steps_in_the_track,
    store_documents,
    taking_turns,
    telemetry_file,
)
from fairlap_race.rally.inside.own_schedule import follows_own_schedule
from fairlap_race.rally.inside.step_looks import StepLooks
from fairlap_race.rally.live_files import CLIENT_KEYS, SAMPLES, SHUTDOWN, STATE, pid_file, replace_json

POLL_INTERVALS: dict[str, float] = {
    "trackPreparation": 0.25,
    "workerWakeup": 1.0,
    "nextStep": 0.1,
    "shutdownGrace": 0.5,
    "shutdownPoll": 0.25,
}
"""Seconds; Rally's own are 5, 5, 1, 3 and 1."""
ACTORS_PATIENCE = timedelta(seconds=60)
"""How long Rally's actor system may take to start; with its own 5 s a machine that stalls ends the race."""


class SampleFile:
    """Appends each of Rally's samples to a file, as it reaches the driver."""

    def __init__(self, path: Path) -> None:
        self._out = path.open("a", encoding="utf-8", buffering=1 << 20)
        self._tasks: dict[Any, int] = {}
        self._hits: dict[int, tuple[int, int]] = {}
        self.count = 0
        self.first_at: float | None = None

    def add(self, samples: list[Any]) -> None:
        """Write Rally's `samples`; format: see `fairlap_race.rally.samples`."""
        lines = []
        last, task = None, 0
        for sample in samples:
            # Samples of one message share their task object, and hashing a task is slow.
            if sample.task is not last:
                last = sample.task
                known = self._tasks.get(last)
                task = self._declare(sample) if known is None else known
            if self.first_at is None or sample.absolute_time < self.first_at:
                self.first_at = sample.absolute_time
            meta = sample.request_meta_data or {}
            success = meta.get("success", True)
            lost = documents_lost(meta, sample.total_ops, sample.total_ops_unit) if success else 0
            done = sample.total_ops - lost if success else meta.get("success-count", 0)
            lines.append(
                f"{task},{int(sample.sample_type)},{1 if success else 0},{sample.absolute_time:.6f},"
                f"{sample.request_start:.6f},{sample.service_time:.6f},{sample.processing_time:.6f},"
                f"{sample.latency - sample.service_time:.6f},{sample.client_id},{done},{sample.total_ops_unit}\n"
            )
            if not success:
                lines.append("!" + json.dumps([task, _error_text(meta)]) + "\n")
            retries = meta.get("retry-count") or 0
            if retries or lost:
                lines.append("~" + json.dumps([task, retries, meta.get("error-count") or 0, lost]) + "\n")
            if success and type(hits := meta.get("hits")) is int:
                low, high = self._hits.get(task, (hits, hits))
                if task not in self._hits or not low <= hits <= high:
                    self._hits[task] = min(low, hits), max(high, hits)
                    lines.append("=" + json.dumps([task, hits]) + "\n")
            if success and int(sample.sample_type) == 1 and any(parts := _in_part(meta)):
                lines.append("?" + json.dumps([task, *parts]) + "\n")
        self.count += len(samples)
        self._out.write("".join(lines))
        self._out.flush()

    def _declare(self, sample: Any) -> int:
        number = self._tasks[sample.task] = len(self._tasks)
        target = sample.task.target_throughput
        about = {
            "task": sample.task.name,
            "operation": sample.task.operation.name,
            "type": str(sample.task.operation.type),
            "clients": sample.task.clients,
            "target": target.value if target else None,
            "timed": getattr(sample.task, "time_period", None) is not None,
            "warmup": getattr(sample.task, "warmup_time_period", None),
            "own_schedule": follows_own_schedule(sample.task),
        }
        self._out.write("#" + json.dumps([number, about]) + "\n")
        return number


def documents_lost(meta: dict[str, Any], sent: float, unit: str) -> int:
    """Return how many of what was `sent` (in `unit`) are documents that Elasticsearch never took, of a success.

    After a retry Rally asks only whether the last answer still has a 429 (driver/runner.py, BulkStats.success).
    """
    taken = meta.get("success-count")
    if unit != "docs" or not meta.get("error-count") or not isinstance(taken, int | float):
        return 0
    return max(0, round(sent - taken))


def _in_part(meta: dict[str, Any]) -> tuple[int, int]:
    """Return 1 for a search that timed out, and 1 for one with failed shards, where Rally read that; else 0."""
    shards = meta.get("shards")
    failed = shards.get("failed") if isinstance(shards, dict) else None
    return int(meta.get("timed_out") is True), int(isinstance(failed, int) and failed > 0)


def _error_text(meta: dict[str, Any]) -> str:
    text = str(meta.get("error-description") or "no description")[:600]
    status = meta.get("http-status")
    return f"HTTP {status}: {text}" if status else text


class BetweenSteps:
    """Looks at Elasticsearch when a step has ended, if the runner planned it; whatever fails there ends no race."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._looks: StepLooks | None = None
        self._began = False

    def look(self, driver: Any, finished: bool) -> None:
        """Look if Rally's `driver` says that all its clients wait for the next step."""
        if not finished:
            return
        try:
            if not self._began:
                self._began, self._looks = True, StepLooks.planned(self._directory)
            if self._looks is not None:
                step = driver.current_step
                self._looks.look(step + 1, _names(driver, step), _names(driver, step + 1))
        except Exception:
            logging.getLogger(__name__).exception("Elasticsearch was not looked at after step %s", driver.current_step)
            self._looks = None


def _names(driver: Any, step: int) -> list[str]:
    """Return the names of the tasks in a step of Rally's `driver`; none before the first and after the last."""
    steps = driver.tasks_per_join_point
    return [task.name for task in steps[step]] if 0 <= step < len(steps) else []


class Observer:
    """Writes where the race is into one small file, replaced at once, so that a reader never sees half of it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._samples: SampleFile | None = None

    def samples(self, received: list[Any]) -> None:
        """Take the samples that a worker sent to the driver."""
        if received:
            if self._samples is None:
                self._samples = SampleFile(self._directory / SAMPLES)
            self._samples.add(received)

    def state(self, driver: Any, finished: bool) -> None:
        """Write the step, tasks and share done of Rally's `driver`."""
        if driver.current_step < 0 or driver.current_step >= driver.number_of_steps:
            step, tasks, percent = max(0, driver.current_step), [], 0
        else:
            step = driver.current_step + 1
            tasks = sorted(task.name for task in driver.tasks_per_join_point[driver.current_step])
            shares = [s.percent_completed for s in driver.most_recent_sample_per_client.values()]
            known = [share for share in shares if share is not None]
            percent = 100 if finished else round(100 * sum(known) / max(1, len(known)))
        state = {
            "at": time.time(),
            "step": step,
            "steps": driver.number_of_steps,
            "tasks": tasks,
            "percent": percent,
            "samples": self._samples.count if self._samples else 0,
            "firstRequestAt": self._samples.first_at if self._samples else None,
        }
        replace_json(self._directory / STATE, state)


class _ShorterSleep:
    """Stands for the `time` module in Rally's shutdown, whose two sleeps only wait for other processes."""

    def __init__(self, shutdown_marker: Path, still_running: Any) -> None:
        self._marker = shutdown_marker
        self._still_running = still_running

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def sleep(self, seconds: float) -> None:
        if not self._marker.exists():
            self._marker.touch()
            time.sleep(min(seconds, POLL_INTERVALS["shutdownGrace"]))
            return
        end = time.monotonic() + seconds
        while time.monotonic() < end and self._still_running():
            time.sleep(POLL_INTERVALS["shutdownPoll"])


def install(directory: Path) -> None:
    """Change Rally in this process and all that it forks; writes into `directory`. Raises RuntimeError when the
    installed Rally is not a version this module knows."""
    from esrally import actor, metrics, racecontrol, rally, telemetry, version  # noqa: PLC0415
    from esrally import track as track_package  # noqa: PLC0415
    from esrally.driver import driver  # noqa: PLC0415
    from esrally.track import track  # noqa: PLC0415
    from thespian.system import multiprocCommon  # noqa: PLC0415

    release = version.version().split(" ")[0]
    releases.adapt(release)
    if not hasattr(multiprocCommon, "MAX_ADMIN_STARTUP_DELAY"):
        raise RuntimeError("Rally's actors have their patience elsewhere than expected")
    multiprocCommon.MAX_ADMIN_STARTUP_DELAY = ACTORS_PATIENCE
    driver.Worker.WAKEUP_INTERVAL_SECONDS = POLL_INTERVALS["workerWakeup"]
    next_step_at_once.install(release, POLL_INTERVALS["nextStep"])
    rally.time = _ShorterSleep(directory / SHUTDOWN, actor.actor_system_already_running)
    _after(driver.TaskExecutionActor, "__init__", _poll_preparation)
    _after(driver.Driver, "__init__", lambda *_: pid_file(directory, "driver").write_text(str(os.getpid())))
    _after(
        racecontrol.BenchmarkCoordinator,
        "__init__",
        lambda *_: pid_file(directory, "benchmark").write_text(str(os.getpid())),
    )
    client_addresses.install(directory)
    accepted_errors.install(directory, track.Task)
    steps_in_the_track.install(directory, track_package)
    if hasattr(driver.Driver, "create_api_key"):
        made = directory / CLIENT_KEYS
        _after(driver.Driver, "create_api_key", lambda it, *_: replace_json(made, it.generated_api_key_ids))
    kept = down_sampling.TimesKept(directory / down_sampling.KEPT)
    _after(driver.SamplePostprocessor, "__call__", lambda it, raw: kept.count(it.downsample_factor, raw))
    lean_documents.install(metrics.InMemoryMetricsStore)
    telemetry_file.install(directory, metrics.MetricsStore, telemetry.SegmentStats, telemetry.TransformStatsRecorder)
    store_documents.install(directory, racecontrol.BenchmarkCoordinator, metrics.IndexTemplateProvider)
    same_choices.install(driver, track_package)
    prolonged_warmup.install(directory, driver, metrics.SampleType)
    taking_turns.install(directory, driver)
    search_rates.install(directory, driver, metrics.SampleType, _names)
    observer = Observer(directory)
    _after(driver.Driver, "update_samples", lambda _, samples: observer.samples(samples))
    _after(driver.Driver, "update_progress_message", lambda it, task_finished=False: observer.state(it, task_finished))
    between = BetweenSteps(directory)
    _after(driver.Driver, "update_progress_message", lambda it, task_finished=False: between.look(it, task_finished))
    if metrics.SampleType.Normal <= metrics.SampleType.Warmup:
        raise RuntimeError("Rally numbers its sample types differently than expected")


def _poll_preparation(executor: Any, *_: Any) -> None:
    executor.wakeup_interval = POLL_INTERVALS["trackPreparation"]


def _after(owner: Any, name: str, extra: Any) -> None:
    original = getattr(owner, name)

    def both(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        extra(self, *args, **kwargs)
        return result

    setattr(owner, name, both)


def main() -> None:
    """Run Rally with the process's arguments; exits with Rally's exit code."""
    directory = Path(sys.argv[1])
    # A shell that starts a job in the background leaves SIGINT ignored, and Rally would never see it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    install(directory)
    from esrally import rally  # noqa: PLC0415

    sys.argv = ["rally", *sys.argv[2:]]
    rally.main()


if __name__ == "__main__":
    main()
