"""Keeps everything that goes into the ConfigMap within its bounds, and secrets out of it."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from esbench_race.record import MAX_ARTIFACT_BYTES, MAX_RECORD_BYTES, Outcome, Record

MAX_MESSAGE = 2000
MAX_TEXT = 600
MAX_ITEMS = 200
TAIL_BYTES = 4 << 20


def shorten(text: str, limit: int = MAX_MESSAGE) -> str:
    """Return `text` of at most `limit` characters; the middle goes, since errors name their cause at either end."""
    if len(text) <= limit:
        return text
    half = (limit - 5) // 2
    return f"{text[:half]} ... {text[-half:]}"


def scrub(text: str, secrets: tuple[str, ...]) -> str:
    """Return `text` with every secret, plain or as part of basic authentication, replaced by asterisks."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "*****")
    return text


def bounded(record: Record) -> Record:
    """Return `record`, with the least important parts dropped as far as needed to fit the bound of its JSON."""
    record = replace(
        record,
        outcome=Outcome(record.outcome.reason, shorten(record.outcome.message)),
        rally=replace(record.rally, warnings=tuple(shorten(w, MAX_TEXT) for w in record.rally.warnings[:20])),
        tasks=tuple(replace(t, first_error=t.first_error and shorten(t.first_error, MAX_TEXT)) for t in record.tasks),
    )
    steps: tuple[Callable[[Record], Record], ...] = (
        lambda r: replace(r, track=replace(r.track, exposed_params=())),
        lambda r: replace(r, environment=replace(r.environment, nodes=r.environment.nodes[:20])),
        lambda r: replace(
            r, indices=r.indices and r.indices[:MAX_ITEMS], pipelines=r.pipelines and r.pipelines[:MAX_ITEMS]
        ),
        lambda r: replace(r, shards=r.shards and r.shards[:MAX_ITEMS]),
        lambda r: replace(r, target=r.target and replace(r.target, touches=r.target.touches[:MAX_ITEMS])),
        lambda r: replace(r, tasks=tuple(replace(t, first_error=None) for t in r.tasks)),
        lambda r: replace(r, tasks=r.tasks[:MAX_ITEMS], track=replace(r.track, tasks=r.track.tasks[:MAX_ITEMS])),
        lambda r: replace(r, track=replace(r.track, params={"dropped": "too large for the record"})),
    )
    for step in steps:
        if len(record.to_json().encode()) <= MAX_RECORD_BYTES:
            break
        record = step(record)
    return record


def packed_tail(path: Path, secrets: tuple[str, ...]) -> str | None:
    """Return the end of the text file at `path`, compressed within the bound and in base64; None when there is none."""
    try:
        with path.open("rb") as content:
            size = content.seek(0, 2)
            content.seek(max(0, size - TAIL_BYTES))
            text = content.read()
    except OSError:
        return None
    clean = scrub(text.decode("utf-8", "replace"), secrets).encode()
    while True:
        packed = gzip.compress(clean, mtime=0)
        if len(packed) <= MAX_ARTIFACT_BYTES:
            return base64.b64encode(packed).decode()
        clean = clean[len(clean) // 4 :]
