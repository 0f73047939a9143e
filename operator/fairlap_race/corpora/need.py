"""What a track needs of corpora: which files, whether they come with it, and how far it is to have them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from fairlap_race.contract.address_secrets import shown
from fairlap_race.contract.reasons import Reason
from fairlap_race.errors import TrackError

ShowProgress = Callable[[str, int | None], None]
"""Takes what is being done and the percentage of it, None when it is not known."""


def shown_base(url: str) -> str:
    """Return a base-url, or an address below one, as others may read it."""
    return shown(url, "its base-url")


@dataclass(frozen=True)
class CorpusFile:
    """One file of documents that a track uses, as the track describes it."""

    corpus: str = ""
    document_file: str = ""
    document_archive: str | None = None
    base_url: str | None = None
    compressed_bytes: int | None = None
    uncompressed_bytes: int | None = None
    lines: int = 0
    """lines that the documents must have"""

    def __post_init__(self) -> None:
        """Take "./documents.json" for "documents.json", as whoever opens it does."""
        object.__setattr__(self, "document_file", _plain(self.document_file))
        object.__setattr__(self, "document_archive", self.document_archive and _plain(self.document_archive))

    @property
    def file(self) -> str:
        """The file to download."""
        return self.document_archive or self.document_file

    @property
    def url(self) -> str:
        """Where the file is."""
        return f"{(self.base_url or '').rstrip('/')}/{quote(self.file)}"

    @property
    def shown_url(self) -> str:
        """The same for messages and records."""
        return shown_base(self.url)


def check_names(need: CorpusFile) -> None:
    """Raise TrackError for a name, of the corpus or of a file, that leads out of the directory it is put into."""
    for name in (need.corpus, need.document_file, need.file):
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise TrackError(Reason.TRACK_INVALID, f"corpus {need.corpus}: {name} leaves the directory of the corpora")


def key_of(need: CorpusFile) -> str:
    """Return the name of a corpus file in the store: the same for the same address and sizes, else number of lines."""
    parts = [need.url, need.document_file, need.compressed_bytes, need.uncompressed_bytes]
    if need.compressed_bytes is None and need.uncompressed_bytes is None:
        parts.append(need.lines)
    return f"corpus-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]}"


def _plain(name: str) -> str:
    return PurePosixPath(name).as_posix() if name else name


def beside(track: Path, need: CorpusFile) -> bool:
    """Tell whether the corpus comes with the track: Rally takes it from there."""
    names = [need.document_file, *([need.document_archive] if need.document_archive else [])]
    return any((track / name).is_file() for name in names)
