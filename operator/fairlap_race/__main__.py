"""`python -m fairlap_race`: run the step in FAIRLAP_RACE_SPEC and leave its record in the step's ConfigMap."""

from __future__ import annotations

import json
import logging
import os
import queue
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import FrameType

from fairlap_race.contract.config_maps import progress_name
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import KEY_RECORD, Outcome, Progress, Record, timestamp
from fairlap_race.contract.specification.race_spec import SPEC_VARIABLE, Mode, RaceSpec, SpecError, parse_spec
from fairlap_race.linux import process
from fairlap_race.rally.config import Files
from fairlap_race.runner.by_rally.race import RaceRunner
from fairlap_race.runner.by_rally.store_metrics import objection
from fairlap_race.runner.over_http.http_race import HttpRace
from fairlap_race.runner.telling import bounds
from fairlap_race.runner.telling.config_map import ConfigMap, PatchError
from fairlap_race.runner.telling.publish import FINAL_PATIENCE, Publisher

LOG = logging.getLogger("fairlap_race")
WORK = Path("/work")
STOPPED_PATIENCE = 20.0
"""Seconds for the last patch after SIGTERM: what is left of a pod's grace period of 60 s after Rally had 30."""


def main() -> int:
    """Return the process's exit code: 0 when a record was written."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr)
    stop = stop_on_signals()
    process.become_subreaper()
    text = os.environ.get(SPEC_VARIABLE, "")
    started = time.time()
    try:
        spec = parse_spec(text)
    except SpecError as error:
        return _refuse(text, str(error), started)
    work = Path(os.environ.get("FAIRLAP_RACE_WORK", WORK))
    try:
        publisher = _publisher(spec.namespace, spec.record, stop)
    except PatchError as error:
        LOG.error("%s", error)
        return 2
    record, artifacts, texts = _step(spec, work, publisher, stop)
    return _finish(publisher, record, artifacts, texts)


def stop_on_signals() -> threading.Event:
    """Return an event that SIGTERM and SIGINT set from now on."""
    stop = threading.Event()
    # Setting the event in the handler itself could deadlock with a wait for it; putting into this queue cannot.
    received: queue.SimpleQueue[int] = queue.SimpleQueue()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        received.put(number)

    def pass_on() -> None:
        LOG.warning("received %s: ending the race", signal.Signals(received.get()).name)
        stop.set()

    threading.Thread(target=pass_on, name="signals", daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    return stop


def _publisher(namespace: str, name: str, stop: threading.Event) -> Publisher:
    return Publisher(
        ConfigMap.of_pod(namespace, progress_name(name)).patch_once,
        ConfigMap.of_pod(namespace, name).patch_once,
        lambda: STOPPED_PATIENCE if stop.is_set() else FINAL_PATIENCE,
    )


StepOutput = tuple[Record, dict[str, str], dict[str, str]]
"""The record, compressed files in base64, and further texts, by their keys in the ConfigMap."""


def _step(spec: RaceSpec, work: Path, publisher: Publisher, stop: threading.Event) -> StepOutput:
    started = time.time()
    if spec.http is not None:
        over_http = HttpRace(spec, work, publisher.progress, stop)
        return over_http.run(), over_http.artifacts(), over_http.texts()
    race = RaceRunner(spec, Files(work), publisher.progress, stop)
    try:
        if spec.mode is Mode.CHECK:
            from fairlap_race.track.check.step import check  # noqa: PLC0415 - a race must not fail for what only a check needs

            def show_progress(words: str, percent: int | None) -> None:
                now = timestamp(time.time())
                publisher.progress(Progress(at=now, stage="preparing", task=words, percent=percent))

            publisher.progress(Progress(at=timestamp(started), stage="preparing"))
            record = check(spec, work, show_progress, stop)
            if record.outcome.reason is None and (refused := objection(spec)):
                record = replace(record, outcome=refused)
            return record if record.outcome.reason or not spec.target else race.survey(record), {}, {}
        if spec.mode is Mode.PROBE:
            return race.survey(), {}, {}
        return race.run(), race.artifacts(), race.texts()
    except Exception as error:
        # A bug must end in a record too, or the operator could only guess.
        LOG.exception("the runner failed")
        outcome = Outcome(Reason.RALLY_FAILED, bounds.bug_words(error))
        return bounds.bounded(_failed(spec.mode, spec.race_id, started, outcome)), {}, {}


def _failed(mode: str, race_id: str, started: float, outcome: Outcome) -> Record:
    return Record(
        mode=mode,
        race_id=race_id,
        started_at=timestamp(started),
        finished_at=timestamp(time.time()),
        outcome=outcome,
    )


def _finish(
    publisher: Publisher, record: Record, artifacts: dict[str, str], texts: dict[str, str] | None = None
) -> int:
    LOG.info("outcome: %s %s", record.outcome.reason or "complete", record.outcome.message)
    try:
        publisher.finish({KEY_RECORD: record.to_json(), **(texts or {})}, artifacts)
    except PatchError as error:
        LOG.error("the record could not be written: %s", error)
        return 1
    return 0


def _refuse(text: str, message: str, started: float) -> int:
    """Write a record for a specification that cannot be read, as far as it says where to."""
    LOG.error("%s: %s", SPEC_VARIABLE, message)
    try:
        data = json.loads(text)
        namespace, name = str(data["namespace"]), str(data["record"])
        publisher = _publisher(namespace, name, threading.Event())
    except (ValueError, KeyError, TypeError, PatchError):
        return 2
    outcome = Outcome(Reason.INVALID_SPEC, message)
    record = _failed(str(data.get("mode", "")), str(data.get("raceId", "")), started, outcome)
    return _finish(publisher, record, {})


if __name__ == "__main__":
    sys.exit(main())
