"""Tells the operator how far the race is, from a thread of its own, so that a slow API server never delays the race."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from fairlap_race.contract.config_maps import packed
from fairlap_race.contract.recorded.record import KEY_PROGRESS, Progress, timestamp
from fairlap_race.runner.telling.config_map import PatchError, patch

LOG = logging.getLogger(__name__)
MIN_INTERVAL = 2.0
"""Seconds between two progress patches."""
FINAL_PATIENCE = 900.0
"""Seconds for which the record waits for an API server that is down."""

PatchOnce = Callable[[Mapping[str, str], Mapping[str, str]], None]
"""patches texts and binary parts (base64) into a ConfigMap, once"""


class Publisher:
    """Patches progress whenever it changed, at most every 2 s, and at last the record, each in its own ConfigMap."""

    def __init__(
        self, progress: PatchOnce, record: PatchOnce, final_patience: Callable[[], float] = lambda: FINAL_PATIENCE
    ) -> None:
        """`progress` and `record` patch the ConfigMaps of these names."""
        self._once = progress
        self._record = record
        self._final_patience = final_patience
        self._wanted: Progress | None = None
        self._last = Progress()
        self._change = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="publish", daemon=True)
        self._thread.start()

    def progress(self, progress: Progress) -> None:
        """Publish `progress` soon; a newer one replaces one that is still waiting."""
        if replace(progress, at="") != replace(self._last, at=""):
            self._last = self._wanted = progress
            self._change.set()

    def finish(self, texts: Mapping[str, str], binary: Mapping[str, str]) -> None:
        """Publish the record in one request: `texts` and `binary` parts (base64) by their keys; then say 'done'.

        Raises PatchError when time runs out before the record stands. 'done' only wakes the operator, which reads the
        record of a Job that has ended in any case.
        """
        self._stop.set()
        self._change.set()
        self._thread.join(30)
        entries = {**packed(texts), **binary}
        patch(lambda: self._record({}, entries), self._final_patience)
        done = replace(self._last, at=timestamp(time.time()), stage="done")
        try:
            patch(lambda: self._once({KEY_PROGRESS: done.to_json()}, {}), self._final_patience)
        except PatchError as error:
            LOG.warning("the record stands, but that the race is over could not be said: %s", error)

    def _run(self) -> None:
        while True:
            self._change.wait()
            if self._stop.is_set():
                return
            self._change.clear()
            wanted, self._wanted = self._wanted, None
            if wanted is None:
                continue
            try:
                self._once({KEY_PROGRESS: wanted.to_json()}, {})
            except PatchError as error:
                LOG.warning("progress could not be published: %s", error)
                # Unless something newer came, this is still what the operator must learn.
                self._wanted = self._wanted or wanted
                self._change.set()
            self._stop.wait(MIN_INTERVAL)
