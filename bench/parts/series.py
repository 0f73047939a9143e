"""Comparisons that are raced one after the other, their ends kept in a file of a line each: a stopped run goes on."""

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from parts.kubectl import Json, Kubectl
from parts.lines import append, read
from parts.throwaway import DIGEST, take_down

LOOK_SECONDS = 300
FAILURES_IN_A_ROW = 3
LONGEST_SECONDS = 12 * 3600.0
WORSE, BETTER = ("Regressed", "RegressedWithinMargin"), ("Improved", "ImprovedWithinMargin")
DIFFERS = (*WORSE, *BETTER)
NOT_COMPARABLE = "NotComparable"


Prepare = Callable[[], None]
"""Makes what is raced against."""
Keep = Callable[[Json], Json]
"""From the status of a Comparison that is over to what is kept of it besides, while it is still there."""


def nothing_more(_status: Json) -> Json:
    """Keep nothing besides."""
    return {}


class Planned(NamedTuple):
    """A comparison to be raced."""

    key: Json
    """what it is of the series, for example its number"""
    manifest: Json
    prepare: Prepare
    """makes what it races against"""
    keep: Keep = nothing_more
    """reads what else its line is to have"""
    pairs: bool = False
    """whether it is raced for what its pairs of races measure, of which there are none where it is not comparable"""

    @property
    def name(self) -> str:
        """Name of the Comparison."""
        return str(self.manifest["metadata"]["name"])

    @property
    def design(self) -> str:
        """Digest of its spec: what was raced of another spec does not count here."""
        return str(self.manifest["metadata"]["labels"][DIGEST])


def line_of(planned: Planned, status: Json) -> Json:
    """Return what is kept of a Comparison that is over."""
    kept = ("task", "metric", "verdict", "change", "low", "high", "confidence", "spread", "blocks", "moreBlocks")
    gates = [gate for contender in status.get("contenders", ()) for gate in contender.get("gates", ())]
    fair = next((each["status"] for each in status.get("conditions", ()) if each["type"] == "Fair"), "Unknown")
    return {
        "key": planned.key,
        "design": planned.design,
        "at": status.get("completionTime", ""),
        "phase": status.get("phase", ""),
        "verdict": status.get("verdict", ""),
        "fair": fair,
        "told": status.get("message") or status.get("progress", ""),
        "races": status.get("costRaces", 0),
        "seconds": status.get("costSeconds", 0),
        "gates": [{name: gate[name] for name in kept if name in gate} for gate in gates],
    }


def counted(lines: Iterable[Json], planned: Sequence[Planned]) -> list[Json]:
    """Return the lines of this series that ended with a verdict, one a comparison."""
    wanted = {(json.dumps(each.key, sort_keys=True), each.design): each for each in planned}
    found = {}
    for line in lines:
        identity = (json.dumps(line.get("key"), sort_keys=True), line.get("design"))
        if identity in wanted and counts(line, wanted[identity]):
            found[identity] = line
    return list(found.values())


def counts(line: Json, planned: Planned) -> bool:
    """Return whether it need not be raced again: it ended with a verdict, and has pairs where they are wanted."""
    return line.get("phase") == "Complete" and not (planned.pairs and line.get("verdict") == NOT_COMPARABLE)


def judged(lines: Iterable[Json]) -> list[Json]:
    """Return the lines whose numbers were judged at all."""
    return [line for line in lines if line["verdict"] != NOT_COMPARABLE]


def left(seconds: Sequence[float], count: int) -> str:
    """Return how long `count` more comparisons take, in words, from how long earlier ones took."""
    if not seconds:
        return "time left unknown until the first is over"
    return f"about {fmean(seconds) * count / 60:.0f} minutes left"


def print_progress(text: str) -> None:
    """Print a line of progress with the time."""
    print(f"{datetime.now(UTC):%H:%M:%S}  {text}", flush=True)


def run(kubectl: Kubectl, bench: str, planned: Sequence[Planned], path: Path) -> list[Json]:
    """Race, remove all that was made, and return the lines of all that count.

    Raises SystemExit: when none counts; and when it is interrupted or the cluster does not answer, where it leaves all
    as it is, to go on later.
    """
    later = "The comparison under way goes on. The same command goes on here; --clean removes everything."
    try:
        lines = race(kubectl, planned, path)
    except KeyboardInterrupt:
        print(f"\nStopped. {later}", file=sys.stderr)
        raise SystemExit(130) from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{shlex.join(error.cmd)}: {error.stderr.strip()}\n{later}") from error
    except SystemExit:
        take_down(kubectl, bench)
        raise
    print_progress("removing what was built")
    take_down(kubectl, bench)
    if not lines:
        raise SystemExit(f"no comparison ended with a verdict; {path} says why")
    return lines


def race(kubectl: Kubectl, planned: Sequence[Planned], path: Path) -> list[Json]:
    """Race those that the file does not have yet, append each, and return the lines of all that count.

    One that is under way, of a run that was stopped, is followed to its end. Raises SystemExit after three failures in
    a row, and CalledProcessError.
    """
    done = counted(read(path), planned)
    over = {json.dumps(line["key"], sort_keys=True) for line in done}
    todo = [each for each in planned if json.dumps(each.key, sort_keys=True) not in over]
    took, failures = [line["took"] for line in done if line.get("took")], 0
    print_progress(f"{len(done)} of {len(planned)} comparisons are in {path}; {left(took, len(todo))}")
    for number, each in enumerate(todo, 1):
        began = time.monotonic()
        status = _one(kubectl, each)
        line = {**line_of(each, status), **each.keep(status)}
        failures = 0 if counts(line, each) else failures + 1
        took.append(time.monotonic() - began)
        append(path, {**line, "took": round(took[-1], 1)})
        kubectl("delete", "cmp", each.name, "--cascade=foreground", "--wait", "--timeout=10m")
        rest = left(took, len(todo) - number)
        how = line["verdict"] if counts(line, each) else f"{line['verdict'] or line['phase']}: {line['told']}"
        print_progress(f"{each.name}: {how}; {len(todo) - number} to race, {rest}")
        if failures == FAILURES_IN_A_ROW:
            raise SystemExit(f"{failures} comparisons failed in a row, the last one: {line['told']}")
    return counted(read(path), planned)


def _one(kubectl: Kubectl, planned: Planned) -> Json:
    """Return the status of a comparison that is over."""
    there = kubectl.get("cmp", planned.name)
    if there and there["metadata"].get("labels", {}).get(DIGEST) != planned.design:
        kubectl("delete", "cmp", planned.name, "--cascade=foreground", "--wait", "--timeout=10m")
        there = {}
    if not there:
        planned.prepare()
        kubectl.apply(planned.manifest)
    shown = ""
    deadline = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < deadline:
        # One kubectl that watches: each that asks costs a quarter of a second of CPU, which the races lack.
        wait = ("wait", "--for=jsonpath={.status.completionTime}", f"cmp/{planned.name}", f"--timeout={LOOK_SECONDS}s")
        over = kubectl.attempt(*wait).returncode == 0
        found = kubectl.get("cmp", planned.name)
        if not found:
            raise SystemExit(f"{planned.name} was deleted by somebody")
        status: Json = found.get("status", {})
        if over:
            return status
        if status.get("progress", "") != shown:
            shown = status["progress"]
            print_progress(f"{planned.name}: {shown}")
    raise SystemExit(f"{planned.name} did not end in {LONGEST_SECONDS / 3600:.0f} hours")
