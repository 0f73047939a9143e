"""What a record says of a JVM's flag that holds a secret."""

from __future__ import annotations

import hashlib
import re

_OF_A_SECRET = re.compile("passw|passphrase|secret|token|credential|api.?key", re.IGNORECASE)
_HASH = re.compile("sha256:[0-9a-f]{4}")


def without_secret(flag: str) -> str:
    """Return a flag of a JVM for others to read: a property that is a secret by its name has a hash as its value.

    Of one that has it already it is the same.
    """
    name, given, value = flag.partition("=")
    if not given or not name.startswith("-D") or not _OF_A_SECRET.search(name) or _HASH.fullmatch(value):
        return flag
    # Enough to tell all but one in 65,536 values apart, and too little to find the right one among guessed ones.
    return f"{name}=sha256:{hashlib.sha256(value.encode(errors='backslashreplace')).hexdigest()[:4]}"
