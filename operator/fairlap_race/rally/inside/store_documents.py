"""The documents that Rally would send to a metrics store of Elasticsearch, written to files when a race is over.

Rally itself keeps them in memory: nothing is sent anywhere while it measures. What they hold, their index templates and
the names of their indices are Rally's own (esrally/metrics.py: EsMetricsStore, EsResultsStore, EsRaceStore).
"""

from __future__ import annotations

import gzip
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = "metrics-store"
"""The folder of these files, beside those of `live_files`; it is there where they are wanted."""
KINDS = ("metrics", "results", "races")
"""What Rally keeps apart, in indices rally-KIND-YYYY-MM with a template rally-KIND each."""
_ABOUT = "about.json"
LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Kept:
    """The documents of one race, as they lie in its folder."""

    folder: Path
    race_id: str
    month: str
    """of the race's begin, as 2026-01"""
    templates: dict[str, Any]
    """index template by kind"""

    def index(self, kind: str) -> str:
        """Return the index of a kind of documents."""
        return f"rally-{kind}-{self.month}"

    def document_lines(self, kind: str) -> Iterator[str]:
        """Yield its documents, one a line without its end. Raises OSError."""
        with gzip.open(_file(self.folder, kind), "rt", encoding="utf-8") as lines:
            for line in lines:
                yield line.rstrip("\n")


def want(directory: Path) -> None:
    """Let Rally's process write its documents below `directory`."""
    (directory / FOLDER).mkdir(exist_ok=True)


def read(directory: Path) -> Kept | None:
    """Return what Rally's process wrote; None where it never came so far."""
    try:
        about = json.loads((directory / FOLDER / _ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return Kept(directory / FOLDER, about["raceId"], about["month"], about["templates"])


def install(directory: Path, coordinator_class: Any, provider_class: Any) -> None:
    """Change Rally's coordinator so that it writes its documents when a race is over, if they are wanted."""
    folder = directory / FOLDER
    if not folder.is_dir():
        return
    original = coordinator_class.on_benchmark_complete

    def on_benchmark_complete(self: Any, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        try:
            provider = provider_class(self.cfg)
            write(folder, self.race, self.metrics_store.docs, lambda kind: getattr(provider, f"{kind}_template")())
        except Exception:  # the race itself is over and counts
            LOG.exception("the documents for the metrics store were not written")

    coordinator_class.on_benchmark_complete = on_benchmark_complete


def write(folder: Path, race: Any, documents: Iterable[Any], template: Callable[[str], str]) -> None:
    """Write Rally's `race`, its results and the `documents` of its metrics store into `folder`; `about` comes last."""
    _write_lines(folder, "metrics", documents)
    _write_lines(folder, "results", race.to_result_dicts() if race.results else ())
    _write_lines(folder, "races", (race.as_dict(),))
    about = {
        "raceId": race.race_id,
        "month": f"{race.race_timestamp:%Y-%m}",
        "templates": {kind: json.loads(template(kind)) for kind in KINDS},
    }
    (folder / _ABOUT).write_text(json.dumps(about), encoding="utf-8")


def _write_lines(folder: Path, kind: str, documents: Iterable[Any]) -> None:
    with gzip.open(_file(folder, kind), "wt", compresslevel=1, encoding="utf-8") as out:
        for document in documents:
            out.write(json.dumps(dict(document), default=str, separators=(",", ":")) + "\n")


def _file(folder: Path, kind: str) -> Path:
    return folder / f"{kind}.jsonl.gz"
