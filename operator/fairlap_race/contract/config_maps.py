"""The two ConfigMaps of a step: a small one that tells how far it is, and its record, which is written once.

The record's texts are kept compressed, as `KEY.gz` in `binaryData`; those of earlier race images are plain in `data`.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping
from typing import Any

from fairlap_race.contract.untrusted import MAX_JSON_CHARACTERS, unpacked


def progress_name(record: str) -> str:
    """Return the name of the ConfigMap that tells how far the step is whose record is `record`."""
    return f"{record}-progress"


def compressed(text: str) -> bytes:
    """Return the text as gzip, always the same for the same text."""
    return gzip.compress(text.encode(), mtime=0)


def packed(texts: Mapping[str, str]) -> dict[str, str]:
    """Return texts by their keys as the entries of a record's `binaryData`."""
    return {f"{key}.gz": base64.b64encode(compressed(text)).decode() for key, text in texts.items()}


def text_of(config_map: Mapping[str, Any] | None, key: str) -> str | None:
    """Return a text of a record as the API server has it; None when there is none that can be read."""
    there = config_map or {}
    entry = (there.get("binaryData") or {}).get(f"{key}.gz")
    if not entry:
        found = (there.get("data") or {}).get(key)
        return found if isinstance(found, str) else None
    text = unpacked(entry, MAX_JSON_CHARACTERS) if isinstance(entry, str) else None
    return None if text is None else text.decode("utf-8", "replace")
