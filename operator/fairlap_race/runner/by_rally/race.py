"""One race that Rally runs, from its specification to its record: connect, prepare, run, collect.

Each step is a function of `race_steps`, takes what those before it returned, and returns what those after it take. What
the record says of it is in the race's frame by then, as far as it came.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fairlap_race.contract.recorded.record import (
    KEY_LOG,
    KEY_RACE,
    KEY_TELEMETRY,
    Progress,
    Record,
    TargetReport,
    timestamp,
)
from fairlap_race.contract.specification.race_spec import RaceSpec
from fairlap_race.elasticsearch.client import ElasticsearchClient
from fairlap_race.rally.config import Files
from fairlap_race.runner.by_rally.client_keys import remove_client_keys
from fairlap_race.runner.by_rally.race_steps import (
    RaceGround,
    begin_watching,
    collect,
    prepare,
    reach_elasticsearch,
    run_rally,
    take_place,
    visit,
)
from fairlap_race.runner.guest import Site
from fairlap_race.runner.race_frame import texts_of


class RaceRunner:
    """A race in the making."""

    def __init__(
        self, spec: RaceSpec, files: Files, publish: Callable[[Progress], None], stop: threading.Event
    ) -> None:
        """Open what the race holds until its end."""
        self._ground = RaceGround(spec, files, publish, stop)

    def run(self) -> Record:
        """Run the race and return its record, whatever happened: what was known before a bug is kept, too."""
        it = self._ground
        it.publish(Progress(at=timestamp(time.time()), stage="preparing"))
        try:
            with it.frame.keeping_failure():
                it.in_turn.open()
                self._take_steps()
        finally:
            it.in_turn.close(finished=it.frame.record.outcome.reason is None)
            it.corpora.close()
        return it.frame.finished(it.frame.record)

    def survey(self, checked: Record | None = None) -> Record:
        """Return the record of a first look at an existing cluster, after the track's check if there was one."""
        it = self._ground
        it.frame.base = checked or it.frame.base
        planned = it.frame.base.target or TargetReport()
        with it.frame.keeping_failure():
            reached = reach_elasticsearch(it)
            visit(it, reached.connection.client, planned.touches, planned.unforeseen)
        return it.frame.finished(it.frame.record)

    def artifacts(self) -> dict[str, str]:
        """Return the compressed files for the record's ConfigMap, in base64, by key."""
        it, files = self._ground, self._ground.files
        found = it.frame.artifacts({KEY_RACE: files.race_json(it.spec.race_id), KEY_LOG: self._log()})
        telemetry = it.frame.parts.telemetry
        return {**found, KEY_TELEMETRY: telemetry.packed} if telemetry and telemetry.packed else found

    def texts(self) -> dict[str, str]:
        """Return what else goes into the record's ConfigMap as text, by key."""
        return texts_of(self._ground.frame.parts.resources)

    def _log(self) -> Path:
        # Before Rally has a log, what it printed is all there is.
        files = self._ground.files
        return files.log if files.log.exists() else files.output

    def _take_steps(self) -> None:
        it = self._ground
        host = take_place(it)
        reached = reach_elasticsearch(it)
        prepared = prepare(it, host, reached)
        client = reached.connection.client
        watching = begin_watching(it, host, client)
        try:
            # A failure is known before the guest leaves: it decides whether what the race created stays.
            with it.frame.keeping_failure():
                ended = run_rally(it, host, reached, prepared.track)
                watching.machines.stop()
                collect(it, host, reached, prepared, ended, watching)
        finally:
            watching.machines.stop()
            self._leave(client, prepared.site)

    def _leave(self, client: ElasticsearchClient, site: Site | None) -> None:
        """Leave Elasticsearch as it was, as far as that was asked for."""
        keys = remove_client_keys(client, self._ground.files.live)
        if site is not None:
            site.leave(self._ground.frame.record)
            site.report = replace(site.report, left=(*site.report.left, *(f"API key {key}" for key in keys)))
        client.close()
