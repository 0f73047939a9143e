"""Comparisons as the operator leaves them behind, made up from a seed and judged by the product's own statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random
from statistics import fmean, median, stdev
from typing import Any

from fairlap.api.block_record import TWIN, BlockRecord, Curve, Measured, RaceRecord
from fairlap.api.status import RemarkStatus
from fairlap.statistics.gates import SEQUENTIAL, Gate, GateFinding, judge_as_seen
from fairlap.statistics.sentences import change_of, describe

Json = dict[str, Any]
WORDS = {
    "throughput": "throughput",
    "serviceTimeP50": "p50",
    "serviceTimeP99": "p99",
    "storeBytes": "size of the store",
}
UNITS = {"throughput": "docs/s", "serviceTimeP50": "ms", "serviceTimeP99": "ms", "storeBytes": "bytes"}
GATES = (("throughput", 5.0), ("serviceTimeP50", 5.0), ("serviceTimeP99", 10.0), ("storeBytes", 2.0))
TASKS = ("bulk-index", "search-term", "search-phrase", "aggregate-by-hour")
BASES = {"throughput": 24_310.0, "serviceTimeP50": 11.4, "serviceTimeP99": 48.0, "serviceTimeP90": 23.0}


class Made:
    """A Comparison with its blocks."""

    def __init__(
        self,
        contenders: Mapping[str, Mapping[str, float]],
        *,
        baseline: str = "8.11.0",
        blocks: int = 5,
        tasks: Sequence[str] = TASKS,
        noise: float = 0.02,
        twin: bool = True,
        void: Sequence[int] = (),
        disturbed: Sequence[int] = (),
        seed: int = 7,
        asked: Mapping[str, float] | None = None,
    ) -> None:
        """`asked`: the rate that each variant's first task was asked for; the others ran at full load."""
        self.random = Random(seed)
        self.baseline, self.tasks, self.noise, self.effects = baseline, tuple(tasks), noise, contenders
        self.asked = asked or {}
        self.names = [baseline, *contenders, *([baseline + TWIN] if twin else [])]
        self.blocks: list[BlockRecord] = []
        self.told: list[Json] = []
        for number in range(1, blocks + 1):
            if number in void:
                self._block(number, 1, lost=True)
            if number in disturbed:
                self._set_aside(number)
            self._block(number, 2 if number in (*void, *disturbed) else 1, lost=False)
        self.contenders = [self._judged(name, blocks) for name in contenders] if blocks > 2 else []
        self.comparison = self._comparison(blocks, void)

    def _block(self, number: int, attempt: int, lost: bool) -> None:
        order = list(self.names)
        self.random.shuffle(order)
        drift = math.exp(self.random.gauss(0, 0.05))
        races = [self._race(name, place, attempt, drift) for place, name in enumerate(order)]
        if lost:
            races[1] = races[1].model_copy(
                update={"valid": False, "reason": "OutOfMemory", "message": "Elasticsearch was killed: out of memory"}
            )
            races = races[:2]
        self.blocks.append(BlockRecord(number=number, attempt=attempt, races=races))
        self.told.append(
            {
                "number": number,
                "attempt": attempt,
                "order": order,
                "valid": not lost,
                "record": f"upgrade-block-{number}",
                "reason": "RaceInvalid" if lost else "",
                "races": [_race_of_block(race) for race in races],
            }
        )

    def _set_aside(self, number: int) -> None:
        """Have a whole block that is raced again, since the machine of its second race was disturbed."""
        self._block(number, 1, lost=False)
        block, told = self.blocks.pop(), self.told[-1]
        how = "the load generator's machine was disturbed: the hypervisor took 9 % of its processors' time in a task"
        other = block.races[1].model_copy(update={"remarks": [RemarkStatus(reason="MachineDisturbed", message=how)]})
        self.blocks.append(block.model_copy(update={"races": [block.races[0], other, *block.races[2:]]}))
        told |= {"valid": False, "reason": "MachineDisturbed"}
        told["races"][1] |= {"reason": "MachineDisturbed", "message": how}

    def _race(self, name: str, place: int, attempt: int, drift: float) -> RaceRecord:
        effects = self.effects.get(name, {})
        jitter = math.exp(self.random.gauss(0, self.noise / math.sqrt(2)))
        numbers, times, rates = [], [], []
        asked = {self.tasks[0]: rate} if (rate := self.asked.get(name.rstrip(TWIN))) else {}
        first = self.tasks[0].partition("@")[0]
        for step, task in enumerate(self.tasks):
            scale = drift * jitter * math.exp(self.random.gauss(0, self.noise / 3)) * (1 + 0.4 * step)
            for metric, base in BASES.items():
                factor = effects.get(metric, 1.0) * (1 / scale if metric == "throughput" else scale)
                unit = ("docs/s" if task.partition("@")[0] == first else "ops/s") if metric == "throughput" else ""
                numbers.append(Measured(task=task, metric=metric, value=base * factor, unit=unit))
            p50 = BASES["serviceTimeP50"] * effects.get("serviceTimeP50", 1.0) * scale
            points = [
                (p, p50 * (0.6 + 0.4 * p / 50 if p < 50 else 1 + 1.1 * -(math.log10(1 - p / 100) ** 1.0)))
                for p in (1, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.99)
            ]
            times.append(Curve(task=task, points=points))
            rate = BASES["throughput"] * effects.get("throughput", 1.0) / scale
            seconds = [
                (float(second), rate * (0.7 + 0.3 * min(second / 20, 1)) * math.exp(self.random.gauss(0, 0.03)))
                for second in range(1, 120, 3)
            ]
            rates.append(Curve(task=task, points=seconds))
        whole = {
            "storeBytes": 3.1 * 2**30,
            "segments": 24.0,
            "documents": 2e6,
            "memoryPeakBytes": 3.7 * 2**30,
            "diskWriteBytes": 11.2 * 2**30,
        }
        for metric, value in whole.items():
            noise = 1.0 if metric in ("segments", "documents") else math.exp(self.random.gauss(0, 0.003))
            numbers.append(Measured(metric=metric, value=value * effects.get(metric, 1.0) * noise))
        numbers += [Measured(task=task, metric="cpuSecondsPerOperation", value=0.00021 * jitter) for task in self.tasks]
        letter = "z" if name.endswith(TWIN) else "abcdefghijkl"[self.names.index(name)]
        number, minutes = len(self.told), 8 * (len(self.told) * len(self.names) + place)
        return RaceRecord(
            variant=name,
            benchmark=f"upgrade-{number}{letter}{f'-{attempt}' if attempt > 1 else ''}",
            seconds=412.0 * drift,
            started_at=f"2026-11-{20 + minutes // 900:02d}T{9 + minutes % 900 // 60:02d}:{minutes % 60:02d}:00Z",
            numbers=numbers,
            task_usage=[
                Measured(task=task, metric=metric, value=value * (step + 1))
                for step, task in enumerate(self.tasks)
                for metric, value in (("memoryPeakBytes", 2.0**30), ("diskWriteBytes", 0.0))
            ],
            target_throughput=asked,
            service_times=times,
            latencies=[
                curve.model_copy(update={"points": [(p, ms + 2) for p, ms in curve.points]})
                for curve in times
                if curve.task in asked
            ],
            rates=rates,
            facts={"Elasticsearch": name.rstrip(TWIN), "java": "21.0.1", "machine": "worker-1"},
        )

    def _value(self, race: RaceRecord, metric: str) -> float:
        return math.exp(fmean(math.log(each.value) for each in race.numbers if each.metric == metric))

    def series(self, name: str, metric: str) -> list[tuple[float, float]]:
        valid = [block for block, told in zip(self.blocks, self.told, strict=True) if told["valid"]]
        races = [{race.variant: race for race in block.races} for block in valid]
        return [(self._value(each[self.baseline], metric), self._value(each[name], metric)) for each in races]

    def _logs(self, name: str, metric: str) -> list[float]:
        return [math.log(two / one) for one, two in self.series(name, metric)]

    def _judged(self, name: str, blocks: int) -> Json:
        costs = [
            [-each if metric == "throughput" else each for each in self._logs(name, metric)] for metric, _ in GATES
        ]
        at = [{look: each[: look.blocks] for look in SEQUENTIAL if look.blocks <= len(each)} for each in costs]
        findings = judge_as_seen(at, [Gate(margin / 100) for _, margin in GATES])
        gates = [
            self._gate(name, metric, margin, findings[number], blocks) for number, (metric, margin) in enumerate(GATES)
        ]
        verdicts = {gate["verdict"] for gate in gates}
        overall = next(each for each in ORDER if each in verdicts)
        worse, better = (
            verdicts & {"Regressed", "RegressedWithinMargin"},
            verdicts & {"Improved", "ImprovedWithinMargin"},
        )
        if worse and better:
            overall = "Mixed"
        return {
            "name": name,
            "verdict": overall,
            "sentence": f"{name} against {self.baseline}: {gates[0]['sentence']}",
            "gates": gates,
        }

    def _gate(self, name: str, metric: str, margin: float, found: GateFinding, blocks: int) -> Json:
        more = metric == "throughput"
        change, low, high = change_of(found, more_is_better=more)
        pairs, logs = self.series(name, metric), self._logs(name, metric)
        twins = self._logs(self.baseline + TWIN, metric) if self.baseline + TWIN in self.names else []
        gate = {
            "metric": metric,
            "tasks": [] if metric == "storeBytes" else list(self.tasks),
            "margin": margin,
            "policy": "requireNonInferior",
            "verdict": str(found.verdict),
            "change": change * 100,
            "low": low * 100,
            "high": high * 100,
            "confidence": found.confidence * 100,
            "baseline": median(one for one, _ in pairs),
            "contender": median(two for _, two in pairs),
            "unit": UNITS[metric],
            "blocks": blocks,
            "spread": math.expm1(stdev(logs)) * 100,
            "moreBlocks": found.more_blocks,
            "passed": found.not_worse,
            "sentence": describe(WORDS[metric], found, margin / 100, more_is_better=more),
        }
        return gate | ({"noise": math.expm1(stdev(twins)) * 100} if len(twins) > 1 else {})

    def _comparison(self, blocks: int, void: Sequence[int]) -> Json:
        verdicts = [each["verdict"] for each in self.contenders]
        verdict = next((each for each in ORDER if each in verdicts), "Inconclusive")
        passed = bool(self.contenders) and all(gate["passed"] for each in self.contenders for gate in each["gates"])
        sentence = (
            " ".join(each["sentence"] + "." for each in self.contenders) or "Cannot tell: one block has no spread."
        )
        lost = (
            [f"{len(void)} of {blocks + len(void)} blocks were raced again: {self.names[1]} ran out of memory"]
            if void
            else []
        )
        release = {
            "what": "index.codec default",
            "rule": "FollowsRelease",
            "fair": True,
            "values": {self.baseline: "best_speed", self.names[1]: "best_speed (zstd)"},
        }
        return {
            "apiVersion": "fairlap.dev/v1alpha1",
            "kind": "Comparison",
            "metadata": {
                "name": "upgrade",
                "namespace": "search-team",
                "uid": "u-1",
                "managedFields": [{"manager": "x"}],
            },
            "spec": {
                "template": {"elasticsearch": {"java": 21}, "race": {"track": {"builtin": {"name": "log_ingest"}}}},
                "variants": [
                    {"name": name, "patch": {"elasticsearch": {"version": name}}}
                    for name in [self.baseline, *self.effects]
                ],
                "baseline": self.baseline,
                "design": {"stop": "sequential", "maxBlocks": 10},
                "suspend": False,
            },
            "status": {
                "phase": "Complete",
                "verdict": verdict,
                "progress": sentence,
                "seed": 1234567,
                "calibrateEvery": 1,
                "completionTime": "2026-11-20T17:03:00Z",
                "contenders": self.contenders,
                "blocks": self.told,
                "blocksDone": f"{blocks} of 10",
                "costRaces": sum(len(each.races) for each in self.blocks),
                "costSeconds": 8200.0,
                "variants": [
                    {
                        "name": name,
                        "letter": "abcdefghijkl"[place],
                        "changed": ["elasticsearch.version"] if place else [],
                    }
                    for place, name in enumerate([self.baseline, *self.effects])
                ],
                "conditions": [
                    condition("Fair", True, "OnlyDeclaredDiffers", "only what is compared differs"),
                    condition(
                        "GatePassed",
                        passed,
                        "AllGatesPassed" if passed else "GateNotPassed",
                        "all gates are passed" if passed else "a gate is not passed",
                    ),
                    condition("Complete", True, verdict, sentence),
                ],
                "differences": [
                    {
                        "what": "elasticsearch.version",
                        "rule": "Declared",
                        "fair": True,
                        "values": {name: name for name in [self.baseline, *self.effects]},
                    },
                    {
                        "what": "lucene",
                        "rule": "MayFollow",
                        "fair": True,
                        "values": {self.baseline: "9.8.0", self.names[1]: "10.1.0"},
                        "message": "Lucene comes with Elasticsearch and cannot be held",
                    },
                    release,
                ],
                "findings": lost,
                "scope": [
                    "these machines: worker-1 (4 cores, 16 GiB)",
                    "this data: 3.1 GiB against 3 GiB of page cache",
                    "this load: 8 clients at full speed",
                ],
                "expected": {"blocks": [3, 5, 7, 10], "races": 33, "minutes": 230.0, "smallestChange": 3.4},
            },
        }


ORDER = (
    "NotComparable",
    "Mixed",
    "Regressed",
    "RegressedWithinMargin",
    "Inconclusive",
    "Improved",
    "ImprovedWithinMargin",
    "NoDifference",
)


def condition(kind: str, holds: bool, reason: str, message: str) -> Json:
    """Return a condition."""
    return {
        "type": kind,
        "status": str(holds),
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-11-20T17:03:00Z",
    }


def _race_of_block(race: RaceRecord) -> Json:
    """Return what the status tells of a race: its seconds have the building of the cluster in them."""
    took = 3 * (race.seconds or 0.0)
    return {"variant": race.variant, "benchmark": race.benchmark, "valid": race.valid, "seconds": took}


def not_comparable() -> Made:
    """Return a Comparison that ended after one block, since Java differs."""
    made = Made({"9.0.0": {"throughput": 1.1}}, blocks=1)
    status = made.comparison["status"]
    message = "java is 17 for 8.11.0 and 21 for 9.0.0: write spec.template.elasticsearch.java: 21"
    status |= {"verdict": "NotComparable", "progress": f"Not comparable: {message}", "contenders": []}
    status["conditions"] = [
        condition("Fair", False, "MoreDiffers", message),
        condition("GatePassed", False, "NotComparable", "nothing was compared"),
        condition("Complete", True, "NotComparable", message),
    ]
    status["differences"] = [
        {
            "what": "java",
            "rule": "MustMatch",
            "fair": False,
            "values": {"8.11.0": "17.0.9", "9.0.0": "21.0.1"},
            "message": "write spec.template.elasticsearch.java: 21",
        },
        *status["differences"],
    ]
    return made


def failed() -> Made:
    """Return a Comparison that lost too many races."""
    made = Made({"9.0.0": {}}, blocks=1, void=(1,))
    status = made.comparison["status"]
    for key in ("verdict", "contenders", "progress"):
        status.pop(key)
    status |= {
        "phase": "Failed",
        "reason": "RacesInvalid",
        "message": "9.0.0 ran out of memory in 4 of 5 races",
        "conditions": [],
    }
    return made


HOSTILE = "<script>alert(1)</script>"


def hostile() -> Made:
    """Return a Comparison whose names try to become markup, formulas and mentions."""
    tasks = (
        "a\"b'c</title></svg><script>alert(2)</script>",
        '=HYPERLINK("http://x.example")',
        "@everyone | `x` \x00\u202e <!--",
        "]]>&amp;",
    )
    made = Made({HOSTILE: {"throughput": 0.9}}, baseline='"><img src=http://x.example/y onerror=alert(3)>', tasks=tasks)
    made.comparison["metadata"]["name"] = "</style><script>alert(4)</script>"
    made.comparison["status"]["findings"] = ["</script><script>alert(5)</script>", "[link](http://x.example)"]
    return made


SLOW = {"throughput": 0.91, "serviceTimeP50": 1.1, "serviceTimeP99": 1.16}
CASES: dict[str, Callable[[], Made]] = {
    "regressed": lambda: Made({"9.0.0": SLOW}, void=(3,)),
    "three": lambda: Made(
        {
            "8.17.0": {"throughput": 1.01},
            "9.0.0": SLOW,
            "9.1.0": {"throughput": 1.12, "serviceTimeP50": 0.88, "storeBytes": 1.31},
        }
    ),
    "disturbed": lambda: Made({"9.0.0": SLOW}, disturbed=(2,)),
    "inconclusive": lambda: Made({"9.0.0": {"throughput": 0.97}}, noise=0.09, blocks=10),
    "mixed": lambda: Made({"9.0.0": {"throughput": 1.12, "serviceTimeP50": 0.9, "storeBytes": 1.3}}, noise=0.01),
    "equal-load": lambda: Made({"9.0.0": SLOW}, blocks=3, asked={"8.11.0": 50.0, "9.0.0": 50.0}),
    "no-twin": lambda: Made({"9.0.0": {}}, twin=False, blocks=3),
    "one-block": lambda: Made({"9.0.0": {}}, blocks=1),
    "not-comparable": not_comparable,
    "failed": failed,
    "hostile": hostile,
    "long-names": lambda: Made(
        {"9.0.0-with-a-name-that-goes-on-and-on-0123": SLOW}, tasks=["x" * 200, "a-task-" * 28, *TASKS], blocks=3
    ),
    "sixty-tasks": lambda: Made(
        {"9.0.0": SLOW}, tasks=[f"task-{number:02d}-of-a-large-track" for number in range(60)], blocks=10
    ),
}
"""what makes a Comparison of each kind, by its name; all of them take seconds"""


@cache
def made_once(name: str) -> Made:
    """Return a Comparison of `CASES` that is made once: nobody may change it."""
    return CASES[name]()


def cases() -> dict[str, Made]:
    """Return Comparisons of all kinds by name."""
    return {name: make() for name, make in CASES.items()}
