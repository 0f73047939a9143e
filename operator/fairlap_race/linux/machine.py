"""What the kernel says of the machine itself."""

from __future__ import annotations

import re
from pathlib import Path


def cpu_model(path: Path = Path("/proc/cpuinfo")) -> str | None:
    """Return the name of the first CPU; None where the kernel does not tell, as on many ARM machines."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r"^model name\s*:\s*(\S.*)$", text, re.MULTILINE)
    return found[1].strip() if found else None
