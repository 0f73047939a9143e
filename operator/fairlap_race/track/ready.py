"""Gets the track of a race from wherever it comes, into a directory that Rally can use."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from fairlap_race.contract.specification.race_spec import TRACK_MOUNT, Mode, RaceSpec
from fairlap_race.corpora.corpora import CorporaSource
from fairlap_race.corpora.need import ShowProgress
from fairlap_race.errors import StoppedError
from fairlap_race.track.git import check_source, fetch
from fairlap_race.track.prepare import GENERATOR, beside, digest, generate, generator_options, prepare
from fairlap_race.track.request_source import add_requests

BUILTIN_TRACKS = Path("/opt/fairlap/tracks")
"""Where the race image keeps the tracks that ship with it."""


@dataclass(frozen=True)
class Ready:
    """A track that is ready for Rally."""

    path: Path
    digest: str
    """over the track's own files, what is generated and what it uses from beside it on its volume included"""
    repository: str | None = None
    revision: str | None = None
    """the commit"""
    known: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the files that come from the corpora cache, by name"""
    writes: tuple[str, ...] | None = None
    """of a replay: method and path of its requests that do more than read"""


def get_ready(
    spec: RaceSpec,
    work: Path,
    corpora: CorporaSource,
    show_progress: ShowProgress,
    stop: threading.Event,
    builtin_tracks: Path = BUILTIN_TRACKS,
) -> Ready:
    """Return the track of `spec`, ready in a directory below `work`. Raises TrackError and StoppedError."""
    source = spec.track
    if source.git is not None:
        check_source(source.git)
        show_progress(f"fetching the track from {source.git.url}", None)
        checkout = fetch(source.git, work, stop, first=spec.mode is Mode.CHECK)
        return Ready(checkout.track, digest(checkout.track), source.git.url, checkout.commit)
    known: dict[str, str] = {}

    def generate_once(track: Path, target: Path, params: Mapping[str, Any]) -> None:
        options = repr(generator_options(track / GENERATOR, params))
        key = hashlib.sha256((track / GENERATOR).read_bytes() + options.encode()).hexdigest()
        made = corpora.generated(key[:32], track.name, lambda into, watch: generate(track, into, params, watch), target)
        known.update(made)

    def watch() -> None:
        if stop.is_set():
            raise StoppedError

    target = prepare(
        source.path or builtin_tracks / str(source.builtin),
        work,
        spec.params,
        builtin=source.builtin is not None,
        generator=generate_once if corpora.shared else partial(generate, watch=watch),
        volume=_volume(source.path) if source.path else None,
    )
    if spec.requests is None:
        return Ready(target, digest(target, known, beside(target)), known=known)
    replayed = add_requests(spec, spec.requests, target, work, stop)
    return Ready(target, digest(target, known), replayed.repository, replayed.commit, known, replayed.writes)


def _volume(track: Path) -> Path:
    # Outside of a pod a track may use all that is there, as with Rally alone.
    return TRACK_MOUNT if track.is_relative_to(TRACK_MOUNT) else Path(track.anchor)
