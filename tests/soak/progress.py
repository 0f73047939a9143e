"""What of the long proofs has passed, kept in `.soak/` so that a run goes on where the last one was stopped.

`SOAK_SEED=N` is where chunks are counted from (a random one when nothing is kept), `SOAK_MINUTES=M` is how long each
proof that has no end goes on. What passed counts for exactly these sources: other code begins anew.
"""

import hashlib
import json
import os
import random
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".soak"
MINUTES = float(os.environ.get("SOAK_MINUTES", "10"))
PROVED = ("operator", "crds", "charts", "tests/api", "tests/soak", "tests/unit/record_fuzz.py")


@cache
def sources() -> str:
    """Return a digest of everything that a proof is about."""
    found = (
        file for name in PROVED for file in ((ROOT / name).rglob("*") if (ROOT / name).is_dir() else [ROOT / name])
    )
    files = sorted(file for file in found if file.suffix in (".py", ".yaml"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


class Progress:
    """Of one test; its file holds the seed, the chunks that passed, and their figures."""

    def __init__(self, test: str, folder: Path = FOLDER, code: str = "", minutes: float = MINUTES) -> None:
        name = test.removeprefix("tests/soak/").replace("/", "-").replace("::", "-")
        self.file = folder / f"{name}.json"
        self._minutes = minutes
        fresh: Json = {"test": test, "code": code or sources(), "seed": _seed(folder), "done": False, "chunks": {}}
        kept = json.loads(self.file.read_text()) if self.file.exists() else {}
        asked = int(os.environ.get("SOAK_SEED", "0"))
        same = kept.get("code") == fresh["code"] and asked in (0, kept.get("seed"))
        self.state = kept if same else fresh

    @property
    def seed(self) -> int:
        """What this run's choices follow from."""
        return int(self.state["seed"])

    @property
    def done(self) -> bool:
        """Whether the test has passed with these sources and this seed."""
        return bool(self.state["done"])

    def chunks(self, most: int | None = None) -> Iterator[int]:
        """Yield the seeds of the chunks that have not passed: `most` in all, or until the time is over."""
        end, number = time.monotonic() + self._minutes * 60, self.seed
        while most is None or number < self.seed + most:
            if most is None and time.monotonic() > end:
                return
            if str(number) not in self.state["chunks"]:
                yield number
            number += 1

    def passed(self, chunk: int, figures: Json) -> None:
        """Keep that a chunk passed, and what was counted in it."""
        self.state["chunks"][str(chunk)] = figures
        self._keep()

    def finish(self) -> None:
        """Keep that the whole test passed."""
        self.state["done"] = True
        self._keep()

    def _keep(self) -> None:
        self.file.parent.mkdir(exist_ok=True)
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps(self.state, indent=1))
        fresh.replace(self.file)

    def words(self) -> str:
        """Tell seed and figures: numbers are added up, but those called most, slowest or memory."""
        chunks = self.state["chunks"]
        told = " ".join(f"{key}={value}" for key, value in summed(list(chunks.values())).items())
        return f"seed {self.seed}, {len(chunks)} chunks passed{', done' if self.done else ''}: {told}"


def _seed(folder: Path) -> int:
    """Return the seed that is asked for, or the one that the other tests of this run have."""
    asked = int(os.environ.get("SOAK_SEED", "0"))
    kept = folder / "seed"
    if asked or not kept.exists():
        folder.mkdir(exist_ok=True)
        kept.write_text(str(asked or random.SystemRandom().randrange(1, 10**6)))
    return int(kept.read_text())


def summed(figures: list[Json]) -> Json:
    """Return figures of several chunks as one: of what is called most, slowest or memory the greatest, else sums."""
    told: Json = {}
    for name, value in ((name, value) for each in figures for name, value in each.items()):
        before = told.get(name)
        if isinstance(value, dict):
            told[name] = summed([before or {}, value])
        elif isinstance(value, str):
            continue
        elif before is None:
            told[name] = value
        else:
            greatest = name.startswith(("most", "slowest", "memory"))
            told[name] = max(before, value) if greatest else before + value
    return told
