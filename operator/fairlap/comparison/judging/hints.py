"""What stands out beside the gates, and whether the baseline is the same as itself. Decides nothing. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import variance
from typing import NamedTuple

from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.comparison.numbers.block_numbers import BlockNumbers
from fairlap.comparison.terms.gate_metrics import METRICS, family, gates_of
from fairlap.statistics.gates import is_flat
from fairlap.statistics.moderation import Prior, fitted_to, moderated
from fairlap.statistics.multiplicity import holm, q_values
from fairlap.statistics.paired import Estimate, as_change, paired
from fairlap.wording.percentages import signed

_FALSE_SHARE = 0.05
_TWIN_LEVEL = 0.01
"""A baseline that differs from itself is said with so few false alarms, over all gates."""
_LEAST_BLOCKS = 3
_MOST_HINTS = 8


class _Number(NamedTuple):
    what: str
    estimate: Estimate


class _Series(NamedTuple):
    what: str
    family: str
    ratios: list[float]

    @property
    def noise(self) -> tuple[float, float]:
        """Variance and its degrees of freedom."""
        return variance(self.ratios), len(self.ratios) - 1.0


def hints(
    spec: ComparisonSpec, contenders: Sequence[str], numbers: BlockNumbers, priors: Mapping[str, Prior]
) -> list[str]:
    """Return a sentence for each number that is no gate and stands out (Benjamini and Hochberg, q below 0.05)."""
    if numbers.count < _LEAST_BLOCKS:
        return []
    found = _moderated(list(_series(spec, contenders, numbers)), priors)
    if not found:
        return []
    q = q_values([each.estimate.p_value() for each in found])
    standing = sorted((share, each) for share, each in zip(q, found, strict=True) if share < _FALSE_SHARE)
    told = [
        f"hint: {each.what}: {signed(as_change(each.estimate.mean))} (q {share:.2g}); no gate, so it decides nothing"
        for share, each in standing[:_MOST_HINTS]
    ]
    more = len(standing) - len(told)
    return [*told, f"hint: {more} more numbers stand out"] if more > 0 else told


def _series(spec: ComparisonSpec, contenders: Sequence[str], numbers: BlockNumbers) -> Iterator[_Series]:
    """Yield the log ratios of each number that is no gate and has noise."""
    gated = {(gate.task or "", gate.metric) for gate in gates_of(spec)}
    for name in contenders:
        # A mean over one task is that task's number.
        alone = {
            (tasks[0], gate.metric)
            for gate in gates_of(spec)
            if len(tasks := numbers.pairs(name, gate.task or "", gate.metric).tasks) == 1
        }
        for task, metric in numbers.keys(name):
            if METRICS[metric].exact or (task, metric) in gated | alone:
                continue
            pairs = numbers.pairs(name, task, metric)
            if pairs.obstacle:
                continue
            ratios = pairs.cost_ratios(more_is_better=False)
            if is_flat(ratios):
                continue
            what = METRICS[metric].words + (f" of {task}" if task else "")
            what = f"{what} of {name}" if len(contenders) > 1 else what
            yield _Series(what, family(metric, task or None), ratios)


def _moderated(found: Sequence[_Series], priors: Mapping[str, Prior]) -> list[_Number]:
    """Return the estimate of each with its family's prior, which is never believed to be less noise than there is."""
    fitted = {
        name: fitted_to(priors[name], [each.noise for each in found if each.family == name])
        for name in {each.family for each in found} & priors.keys()
    }
    return [
        _Number(each.what, moderated(paired(each.ratios), len(each.ratios), fitted.get(each.family))) for each in found
    ]


def twin_findings(spec: ComparisonSpec, numbers: BlockNumbers) -> list[str]:
    """Return a sentence for each gate in which the baseline differs from itself, where it was raced often enough."""
    tested = []
    for gate in gates_of(spec):
        kind = METRICS[gate.metric]
        if kind.exact:
            continue
        pairs = numbers.pairs(numbers.baseline, gate.task or "", gate.metric)
        ratios = numbers.twin_ratios(pairs.tasks or (gate.task or "",), gate.metric)
        if pairs.obstacle or len(ratios) < _LEAST_BLOCKS or is_flat(ratios):
            continue
        what = kind.words + (f" of {gate.task}" if gate.task else "")
        tested.append(_Number(what, paired(ratios)))
    results = holm([each.estimate.p_value() for each in tested], _TWIN_LEVEL)
    return [
        f"the baseline differs from itself in {each.what} by {signed(as_change(each.estimate.mean))}, which it should "
        "not: something between the races of a block is not the same each time; trust no small difference here"
        for each, result in zip(tested, results, strict=True)
        if result.rejected
    ]
