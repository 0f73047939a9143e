"""The two ConfigMaps of a step: a small one that tells how far it is, and its record, which is written once.

The record's texts are kept compressed, as `KEY.gz` in `binaryData`; those of earlier race images are plain in `data`.
"""

from __future__ import annotations

import base64
import gzip
import zlib
from collections.abc import Mapping
from typing import Any

MAX_UNPACKED_BYTES = 8 << 20
"""What a text of a record may take unpacked: who can write a record may not fill the reader's memory."""
_GZIP = 31
"""zlib's window bits for a stream with gzip's header"""


def progress_name(record: str) -> str:
    """Return the name of the ConfigMap that tells how far the step is whose record is `record`."""
    return f"{record}-progress"


def compressed(text: str) -> bytes:
    """Return the text as gzip, always the same for the same text."""
    return gzip.compress(text.encode(), mtime=0)


def packed(texts: Mapping[str, str]) -> dict[str, str]:
    """Return texts by their keys as the entries of a record's `binaryData`."""
    return {f"{key}.gz": base64.b64encode(compressed(text)).decode() for key, text in texts.items()}


def unpacked(entry: object, most: int = MAX_UNPACKED_BYTES) -> str | None:
    """Return the text of an entry of `binaryData`; None when it is none, or larger than `most` bytes. Never raises."""
    if not isinstance(entry, str):
        return None
    try:
        stream = zlib.decompressobj(_GZIP)
        text = stream.decompress(base64.b64decode(entry), most)
    except (ValueError, zlib.error):
        return None
    return text.decode("utf-8", "replace") if stream.eof else None


def text_of(config_map: Mapping[str, Any] | None, key: str) -> str | None:
    """Return a text of a record as the API server has it; None when there is none that can be read."""
    there = config_map or {}
    entry = (there.get("binaryData") or {}).get(f"{key}.gz")
    found = unpacked(entry) if entry else (there.get("data") or {}).get(key)
    return found if isinstance(found, str) else None
