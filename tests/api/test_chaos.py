"""The operator is killed at random moments, again and again, while users delete things: nothing may go wrong.

`FAIRLAP_CHAOS_SEED=N` repeats a run's choices (not its timing); `FAIRLAP_CHAOS_KILLS=N` makes it longer.
"""

import os
import random
import time

import pytest

from .controlplane import ControlPlane
from .manifests import benchmark
from .operator_process import Operator
from .stage import Stage

pytestmark = pytest.mark.longest(2)
KILLS = int(os.environ.get("FAIRLAP_CHAOS_KILLS", "50"))
IN_FLIGHT = 20
OVER = ("Succeeded", "Failed")
# The operator needs about a second from its start to its first decision.
LIFE_SECONDS = (0.8, 1.7)
# What may happen to a Benchmark, and how it must end; None: by the user's doing, in whatever way.
FATES: tuple[tuple[int, dict[str, object], str], ...] = (
    (6, {}, "Succeeded"),
    (1, {"race": "documents"}, "DocumentCountMismatch"),
    (1, {"race": "error-rate"}, "ErrorRate"),
    (1, {"race": "out-of-memory"}, "LoadGeneratorOutOfMemory"),
    (1, {"race": "garbage"}, "RecordMissing"),
    (1, {"cluster": "crash-loop"}, "ElasticsearchBootstrap"),
    (1, {"cluster": "restart"}, "ElasticsearchRestarted"),
)


class Chaos:
    """Benchmarks with random fates under an operator that dies all the time."""

    def __init__(self, stage: Stage, plane: ControlPlane, namespace: str, seed: int) -> None:
        self.stage, self.namespace = stage, namespace
        self.dice = random.Random(seed)
        self.operator = Operator(plane, namespace, maxActive=1000, maxChecks=5)
        self.fates: dict[str, str] = {}
        self.deleted: set[str] = set()
        self.disturbed: set[str] = set()
        """whose Job the user deleted: lost, or too late to matter"""
        self.in_flight: list[int] = []

    def add(self, count: int) -> None:
        """Create more Benchmarks."""
        manifests = []
        for _ in range(count):
            name = f"c{len(self.fates)}"
            _, knobs, end = self.dice.choices(FATES, weights=[fate[0] for fate in FATES])[0]
            self.stage.behave(self.namespace, name, eck=(0.1, 1.0), run=(0.2, 5.0), **knobs)
            self.fates[name] = end
            spec = {
                "smokeTest": self.dice.random() < 0.5,
                "repetitions": self.dice.choice((1, 1, 2)),
                "elasticsearch__nodes": self.dice.choice((1, 2)),
                **({"race__params": {"bulk_size": 100}} if self.dice.random() < 0.3 else {}),
                **({"elasticsearch__storage": {"size": "1Gi"}} if self.dice.random() < 0.3 else {}),
            }
            manifests.append(benchmark(self.namespace, name, **spec))
        self.stage.apply(*manifests)

    def active(self) -> list[str]:
        """Return the names of the Benchmarks that are not over."""
        found = self.stage.all("benchmarks", self.namespace)
        return [b["metadata"]["name"] for b in found if (b.get("status") or {}).get("phase") not in OVER]

    def one_life(self) -> None:
        """Let the operator live for a moment, disturb it, and kill it."""
        self.operator.start()
        life = self.dice.uniform(*LIFE_SECONDS)
        time.sleep(life / 2)
        self.disturb()
        time.sleep(life / 2)
        self.operator.lives()
        self.operator.kill()
        active = self.active()
        self.in_flight.append(len(active))
        if len(active) < IN_FLIGHT + 10:
            self.add(IN_FLIGHT + 12 - len(active))

    def disturb(self) -> None:
        """Do now and then what users do: delete a Benchmark, or a Job."""
        if self.dice.random() < 0.15:
            name = self.dice.choice(sorted(set(self.fates) - self.deleted))
            self.deleted.add(name)
            self.stage.delete("benchmarks", self.namespace, name)
        elif self.dice.random() < 0.15:
            jobs = sorted(job["metadata"]["name"] for job in self.stage.all("jobs", self.namespace))
            if jobs:
                job = self.dice.choice(jobs)
                self.disturbed.add(job.split("-")[0])
                self.stage.delete("jobs", self.namespace, job)

    def verdicts(self) -> list[str]:
        """Return a sentence for each Benchmark that did not end as it had to."""
        wrong = []
        for name, end in self.fates.items():
            found = self.stage.find("benchmarks", self.namespace, name)
            if name in self.deleted or found is None:
                if not (name in self.deleted and found is None):
                    wrong.append(f"{name}: deleted {name in self.deleted}, there {found is not None}")
                continue
            status = found["status"]
            told = "Succeeded" if status["phase"] == "Succeeded" else status["reason"]
            if told not in ((end, "JobLost") if name in self.disturbed else (end,)):
                wrong.append(f"{name}: {told} instead of {end}: {status.get('message')}")
            races = [race["name"] for race in status.get("races", ())]
            if len(races) != len(set(races)):
                wrong.append(f"{name}: a race is listed twice: {races}")
        return wrong


def test_killed_at_random_moments(stage: Stage, plane: ControlPlane) -> None:
    seed = int(os.environ.get("FAIRLAP_CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
    print(f"FAIRLAP_CHAOS_SEED={seed}")
    namespace = stage.make_namespace(f"chaos-{seed}")
    chaos = Chaos(stage, plane, namespace, seed)
    chaos.add(IN_FLIGHT + 12)
    began = time.monotonic()
    for _ in range(KILLS):
        chaos.one_life()
    print(f"{KILLS} kills in {time.monotonic() - began:.0f} s, {len(chaos.fates)} Benchmarks, "
          f"in flight at a kill: {min(chaos.in_flight)} to {max(chaos.in_flight)}, "
          f"races started: {len(stage.runs(namespace))}, deleted: {len(chaos.deleted)} Benchmarks and "
          f"Jobs of {len(chaos.disturbed)}")  # fmt: skip
    assert min(chaos.in_flight) >= IN_FLIGHT
    chaos.operator.start()
    try:
        began = time.monotonic()
        stage.until(lambda: not chaos.active(), f"every Benchmark ends; seed {seed}", 120)
        print(f"the rest ended in {time.monotonic() - began:.0f} s")
        assert not chaos.verdicts(), f"seed {seed}"
        attempts = [(run.benchmark_uid, run.step) for run in stage.world.runs if run.namespace == namespace]
        assert len(attempts) == len(set(attempts)), "no race number runs twice"
        stage.promises_kept(namespace)
        stage.is_clean(namespace)
        chaos.operator.lives()
    finally:
        chaos.operator.stop()
    assert not chaos.operator.refused(), chaos.operator.refused()[:3]
    # Without the operator: nothing carries a finalizer, and the records go with their Benchmarks.
    for name in chaos.fates:
        stage.delete("benchmarks", namespace, name)
    stage.until(lambda: not stage.all("benchmarks", namespace), "the Benchmarks go without the operator", 20)
    stage.is_clean(namespace)
