"""Benchmarks with specs made from the schema, all at once under one operator, and what must hold for every one.

What the API server takes ends within a bounded time with a reason of the closed list, gives its place back and leaves
nothing behind; what it refuses is told in words that name a field that was written.
"""

import asyncio
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from fairlap.api.phases import is_over
from fairlap.api.quantity import parse_duration

from .manifests import benchmark
from .operator_process import Operator
from .rest import Json, RestError
from .schema_specs import CLAIM, SECRET, TRACK, Made
from .stage import Stage
from .tools import patience

MOST_WRITES = 20
"""a second, of one Benchmark; counted over some seconds, since a race that is begun needs its objects at once"""
WRITE_SECONDS = 10.0
MOST_MEMORY = 200 * 2**20
KEPT = {"labels": {"tests": "keep"}}
INTERNAL = "InternalError"


@dataclass
class Figures:
    """What was seen, for whoever started it."""

    examples: int = 0
    accepted: int = 0
    refused: int = 0
    patient: int = 0
    """ones that wait for something until a deadline of their own that is later than a test can wait"""
    ended: Counter[str] = field(default_factory=Counter)
    most_writes: float = 0.0
    """a second, of one Benchmark, over some seconds"""
    slowest: float = 0.0
    slowest_spec: str = ""
    memory_mib: int = 0

    def as_json(self) -> Json:
        """Return them as they are printed and kept."""
        return {**vars(self), "ended": dict(self.ended.most_common()), "slowest": round(self.slowest, 1)}


class EverySpec:
    """Proves it for some specs in one namespace, whose operator lets `places` Benchmarks race at once."""

    def __init__(self, stage: Stage, namespace: str, operator: Operator, places: int) -> None:
        self.stage, self.namespace, self.operator, self.places = stage, namespace, operator, places
        self.figures, self.problems = Figures(), list[str]()
        self._made: dict[str, Made] = {}
        stage.behave(namespace, eck=(0.02, 0.1), run=(0.2, 0.4))
        stage.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": self._meta(TRACK), "data": {"track.json": "{}"}},
            {"apiVersion": "v1", "kind": "Secret", "metadata": self._meta(SECRET), "stringData": {"username": "x"}},
            {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": self._meta(CLAIM),
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            },
        )  # fmt: skip

    def _meta(self, name: str) -> Json:
        return {"name": name, "namespace": self.namespace, **KEPT}

    def prove(self, made: Sequence[Made], seconds: float) -> None:
        """Submit them and wait at most so many seconds for their ends; what is wrong is in `problems` afterwards."""
        read = self.operator.log.stat().st_size
        written = len(self.stage.plane.writes(self.operator.account, self.namespace))
        self._made = {self._name(number, one): one for number, one in enumerate(made)}
        accepted = self.stage.do(self._submit())
        self._wait(accepted, patience(seconds))
        self._count_writes(written)
        self._remove_what_keeps(accepted)
        self._places_are_free()
        self._nothing_is_left(accepted)
        self._log_is_quiet(read)
        self.operator.lives()
        self.figures.memory_mib = max(self.figures.memory_mib, self.operator.memory("VmHWM") // 2**20)
        if self.figures.memory_mib > MOST_MEMORY // 2**20:
            self.problems.append(f"the operator has needed {self.figures.memory_mib} MiB")

    def _name(self, number: int, one: Made) -> str:
        # The first four letters tell whose a child is; some names are as long as they may be.
        return f"s{number:03d}" + ("-" + "x" * 22 if len(one.changes) == 2 else "")

    async def _submit(self) -> list[str]:
        answers = await asyncio.gather(*(self._create(name, one) for name, one in self._made.items()))
        accepted = [name for name, taken in zip(self._made, answers, strict=True) if taken]
        self.figures.examples += len(answers)
        self.figures.accepted += len(accepted)
        self.figures.refused += len(answers) - len(accepted)
        return accepted

    async def _create(self, name: str, one: Made) -> bool:
        manifest = benchmark(self.namespace, name) | {"spec": one.spec}
        try:
            await self.stage.world.rest.create("benchmarks", self.namespace, manifest)
        except RestError as error:
            written = {part for path, _ in one.changes for part in path}
            if error.code != 422 or not any(part in str(error) for part in written):
                self._blame(name, f"refused, and no field that was written is named: {str(error)[:300]}")
            return False
        return True

    def _blame(self, name: str, words: str) -> None:
        self.problems.append(f"{name}: {words}\n    {self._made[name].words()}")

    def _wait(self, accepted: Iterable[str], seconds: float) -> None:
        began, left = time.monotonic(), set(accepted)
        while left and time.monotonic() - began < seconds:
            for bench in self.stage.all("benchmarks", self.namespace):
                name, status = bench["metadata"]["name"], bench.get("status") or {}
                if name not in left:
                    continue
                if is_over(bench):
                    left.discard(name)
                    self._judge(name, status, time.monotonic() - began)
                elif time.monotonic() - began > 60 and self._may_wait(name, bench):
                    left.discard(name)
                    self.figures.patient += 1
            time.sleep(0.3)
        for name in sorted(left):
            status = self.stage.status(self.namespace, name)
            told = {key: status.get(key) for key in ("phase", "reason", "message", "step")}
            self._blame(name, f"not over after {seconds:.0f} s: {json.dumps(told)[:400]}")

    def _judge(self, name: str, status: Json, took: float) -> None:
        if took > self.figures.slowest:
            self.figures.slowest, self.figures.slowest_spec = took, self._made[name].words()
        reason = "Succeeded" if status["phase"] == "Succeeded" else str(status.get("reason"))
        self.figures.ended[reason] += 1
        if reason in (INTERNAL, "None"):
            self._blame(name, f"ended with {reason}: {str(status.get('message'))[:300]}")

    def _may_wait(self, name: str, bench: Json) -> bool:
        """Tell whether something will never come up, and the spec itself says to wait long for it."""
        timeouts, phase = bench["spec"]["timeouts"], (bench.get("status") or {}).get("phase")
        try:
            allowed = parse_duration(timeouts["provisioning"]).total_seconds()
        except (OverflowError, ValueError):
            return False
        return phase in ("Checking", "Provisioning", "SmokeTesting", "Racing") and allowed > 45

    def _count_writes(self, before: int) -> None:
        moments: defaultdict[str, list[float]] = defaultdict(list)
        for entry in self.stage.plane.writes(self.operator.account, self.namespace)[before:]:
            moment = datetime.fromisoformat(entry["requestReceivedTimestamp"]).timestamp()
            moments[entry["objectRef"].get("name", "")[:4]].append(moment)
        for name in self._made:
            rate = busiest(moments[name[:4]], WRITE_SECONDS)
            self.figures.most_writes = max(self.figures.most_writes, rate)
            if rate >= MOST_WRITES:
                self._blame(name, f"{rate:.0f} writes a second")

    def _remove_what_keeps(self, accepted: Iterable[str]) -> None:
        """Remove what may rightly keep its place or its cluster."""
        for name in accepted:
            bench = self.stage.benchmark(self.namespace, name)
            over = is_over(bench)
            if not over or bench["spec"]["keepCluster"] != "Never":
                self.stage.delete("benchmarks", self.namespace, name)

    def _places_are_free(self) -> None:
        """As many as there are places race at once, and one more has to wait for them, and then succeeds."""
        names = [f"place-{number}" for number in range(self.places)]
        for name in names:
            self.stage.behave(self.namespace, name, race="hangs")
        self.stage.apply(*(benchmark(self.namespace, name, smokeTest=False) for name in names))

        def all_race() -> bool:
            return all(self.stage.status(self.namespace, name).get("phase") == "Racing" for name in names)

        try:
            self.stage.until(all_race, "as many race as there are places", 30)
        except AssertionError:
            phases = {name: self.stage.status(self.namespace, name).get("phase") for name in names}
            self.problems.append(f"not every place is free: {phases}")
        for name in names:
            self.stage.delete("benchmarks", self.namespace, name)
        self.stage.apply(benchmark(self.namespace, "canary", smokeTest=False))
        try:
            status = self.stage.ends(self.namespace, "canary", seconds=30)
        except AssertionError as error:
            self.problems.append(f"a Benchmark after these does not end: {error}")
        else:
            if status["phase"] != "Succeeded":
                self.problems.append(f"a Benchmark after these fails: {status.get('reason')}: {status.get('message')}")
        self.stage.delete("benchmarks", self.namespace, "canary")

    def _nothing_is_left(self, accepted: Iterable[str]) -> None:
        for name in accepted:
            self.stage.delete("benchmarks", self.namespace, name)
        try:
            self.stage.until(lambda: not self.stage.all("benchmarks", self.namespace), "the Benchmarks go", 30)
            self.stage.is_clean(self.namespace)
        except AssertionError as error:
            self.problems.append(str(error)[:2000])
        # Secrets that a spec names are the user's to make: a real pod would wait for them. What ECK may not create,
        # since the spec asks for something impossible, it tries again until the operator gives it up.
        said = self.stage.world.violations
        for sentence in said.pop(self.namespace, []) + said.pop("*", []):
            if "mounts a secret that is not there" not in sentence and ": 422: " not in sentence:
                self.problems.append(f"a promise is broken: {sentence[:500]}")

    def _log_is_quiet(self, read: int) -> None:
        found = loud(self.operator.log, read)
        self.problems += [f"{count} times in the log: {words}" for words, count in found.most_common(10)]


def busiest(moments: Sequence[float], seconds: float) -> float:
    """Return the highest rate a second of these moments over a span of so many seconds."""
    first, most = 0, 0
    for last, moment in enumerate(moments):
        while moment - moments[first] > seconds:
            first += 1
        most = max(most, last - first + 1)
    return most / seconds


def loud(log: Path, read: int = 0) -> Counter[str]:
    """Count the errors and tracebacks in an operator's log, from a position on."""
    found: Counter[str] = Counter()
    with log.open("rb") as lines:
        lines.seek(read)
        for raw in lines:
            line = raw.decode(errors="replace")
            entry = _entry(line)
            if "Traceback" in line or str(entry.get("severity", "")).lower() in ("error", "critical"):
                trace = [part for part in str(entry.get("exc_info", "")).splitlines() if part.strip()]
                about = str((entry.get("k8s") or {}).get("name", ""))
                found[f"{about}: {str(entry.get('message', line))[:300]} {' | '.join(trace[-3:])[-600:]}"] += 1
    return found


def _entry(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}
