"""Which image a container ran, from what a kubelet tells of it."""

import re
from collections.abc import Iterable
from typing import Final

_DIGEST: Final = re.compile(r"@?sha(?:256|512):\w+\Z")
PULLED: Final = "@"
"""Begins the digest of a manifest, as an image has it that came from a registry. One that was loaded onto its machine
has the digest of its configuration, or of a manifest that was written for it then, which is never the same: the two
cannot be held against each other."""
_IMPORTED: Final = re.compile(r"(?:\A|[/\s])import-\d{4}-\d\d-\d\d\Z")
"""What containerd names a loaded image after where its digest was to be told, as kind does: the day."""


def image_digests(told: Iterable[str]) -> list[str]:
    """Return the digests of images, in order and each once; what is told without a digest stays as it is.

    Any name before it is one of those that the machine has for the image, and may be another one on the next machine.
    """
    return sorted({_digest(each) for each in told})


def _digest(told: str) -> str:
    found = _DIGEST.search(told)
    if found is None:
        return told
    loaded = _IMPORTED.search(told[: found.start()])
    return found.group().removeprefix(PULLED) if loaded else found.group()
