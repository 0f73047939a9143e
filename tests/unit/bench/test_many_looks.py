"""The Comparisons that are simulated many at once end as the operator's own do, one by one."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from parts import many_looks
from parts.many_looks import Level, Rules, ends

from fairlap.api.block_record import BlockRecord, Measured, RaceRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import GateStatus
from fairlap.comparison.judging.judgement import judge_blocks
from fairlap.comparison.variants.variants import expand
from fairlap.plan.comparison.answer import judged_at_look
from fairlap.statistics.gates import SEQUENTIAL, GateVerdict
from fairlap.statistics.moderation import Prior

METRIC, USUAL = "serviceTimeP50", 10.0
VERDICTS = [GateVerdict(each).value for each in GateVerdict]
LEVELS = [Level(look.blocks, look.alpha, look.alpha) for look in SEQUENTIAL]


def spec(gates: int, policy: str, on_inconclusive: str) -> ComparisonSpec:
    return ComparisonSpec.model_validate(
        {
            "template": {"elasticsearch": {"version": "9.0.0"}, "race": {"track": {"builtin": "log_ingest"}}},
            "variants": [{"name": "base"}, {"name": "other", "patch": {"elasticsearch": {"java": "21"}}}],
            "baseline": "base",
            "gates": [{"task": f"task {n}", "metric": METRIC, "margin": 5, "policy": policy} for n in range(gates)],
            "onInconclusive": on_inconclusive,
        }
    )


def block(number: int, ratios: Sequence[float]) -> BlockRecord:
    costs = {"base": [USUAL] * len(ratios), "other": [USUAL * math.exp(ratio) for ratio in ratios]}
    races = [
        RaceRecord(
            variant=name, benchmark=name,
            numbers=[Measured(task=f"task {n}", metric=METRIC, value=value) for n, value in enumerate(values)],
        )
        for name, values in costs.items()
    ]  # fmt: skip
    return BlockRecord(number=number, races=races)


def by_the_operator(
    subject: ComparisonSpec, ratios: np.ndarray, prior: Prior | None
) -> tuple[Sequence[GateStatus], int]:
    blocks: list[BlockRecord] = []
    priors = {METRIC: prior} if prior else {}
    for look in SEQUENTIAL:
        blocks += [block(number + 1, ratios[:, number]) for number in range(len(blocks), look.blocks)]
        judged, ended = judged_at_look(subject, expand(subject), blocks, SEQUENTIAL, priors, judge_blocks)
        if ended:
            return judged.contenders[0].gates, len(blocks)
    raise AssertionError("the last look ends a Comparison")


@pytest.mark.parametrize(
    ("policy", "on_inconclusive"),
    [("requireNonInferior", "fail"), ("requireNonInferior", "extend"), ("failOnRegression", "fail")],
)
@pytest.mark.parametrize("prior", [None, Prior(0.03**2, 4.0)])
@pytest.mark.parametrize("gates", [1, 3])
def test_many_comparisons_end_as_the_operator_ends_each(
    gates: int, prior: Prior | None, policy: str, on_inconclusive: str
) -> None:
    draw = np.random.default_rng(gates)
    noise = draw.choice([0.005, 0.02, 0.04, 0.10], (40, gates, 1))
    ratios = draw.choice([0.0, 0.02, 0.04, math.log1p(0.05), -0.04], (40, gates, 1)) + draw.normal(
        0, noise, (40, gates, 10)
    )
    rules = Rules(LEVELS, races_on=policy == "requireNonInferior", gives_up=on_inconclusive != "extend")
    many = ends(ratios, 0.05, rules, prior)
    assert {many_looks.REGRESSED_WITHIN, many_looks.SAME, many_looks.OPEN} <= set(many.verdicts.ravel())
    subject = spec(gates, policy, on_inconclusive)
    for number, each in enumerate(ratios):
        found, blocks = by_the_operator(subject, each, prior)
        assert [gate.verdict for gate in found] == [VERDICTS[verdict] for verdict in many.verdicts[number]]
        assert ([gate.blocks for gate in found], blocks) == (list(many.reached[number]), many.blocks[number])
        if policy == "requireNonInferior":
            assert [gate.passed for gate in found] == list(many.not_worse[number])
