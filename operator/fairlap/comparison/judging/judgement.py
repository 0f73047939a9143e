"""The verdict on a Comparison: what its blocks say of each contender at a look, gate by gate. Pure.

Only whole looks count, and what one look settles stays settled. All gates of all contenders are one family of tests.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, variance
from typing import NamedTuple, Protocol

from fairlap.api.base import LONGEST_TEXT
from fairlap.api.block_record import BlockRecord
from fairlap.api.comparison_spec import ComparisonSpec, GateSpec
from fairlap.api.comparison_status import AllBlocksStatus, ContenderStatus, GateStatus, Verdict
from fairlap.comparison.facts.installation import installation_findings
from fairlap.comparison.facts.remarked_races import remark_findings
from fairlap.comparison.facts.verdict_scope import scope
from fairlap.comparison.judging.gate_words import (
    contender_sentence,
    exact_sentence,
    failed_apart_words,
    gate_title,
    left_out_sentence,
    noise_words,
    other_mean_words,
    unsteady_sentence,
    with_worsening_told,
)
from fairlap.comparison.judging.hints import hints, twin_findings
from fairlap.comparison.numbers.block_numbers import AS_PLANNED, BlockNumbers, Pairs
from fairlap.comparison.terms.gate_metrics import METRICS, family, gates_of
from fairlap.comparison.terms.verdicts import BETTER, WORSE, ComparisonVerdict, together
from fairlap.statistics.gates import (
    AllBlocks,
    Gate,
    GateFinding,
    Look,
    blocks_to_rule_out,
    is_flat,
    is_futile,
    is_open,
    judge_as_seen,
    over_all_blocks,
)
from fairlap.statistics.moderation import Prior
from fairlap.statistics.paired import LARGEST_CHANGE, as_change
from fairlap.statistics.sentences import all_blocks_words, change_of, describe
from fairlap_race.contract.some_of import some_of

_FEW_REQUESTS = 2
_MOST_TASKS = 10
"""named in one sentence"""


class Named(Protocol):
    """A variant."""

    @property
    def name(self) -> str:
        """Its name."""


class Judgement(NamedTuple):
    """What the numbers of all blocks say."""

    contenders: list[ContenderStatus]
    verdict: Verdict
    sentence: str
    settled: bool
    """more blocks would change nothing"""
    futile: bool
    """not even all blocks would settle what is open"""
    gate_passed: bool | None
    """None while it is open, and where no gate decides"""
    findings: list[str]
    scope: list[str]


class _JudgedGate(NamedTuple):
    """What is known of one gate of one contender."""

    contender: str
    gate: GateSpec
    pairs: Pairs
    verdict: ComparisonVerdict
    finding: GateFinding | None = None
    """of a number with noise"""
    all_blocks: AllBlocks | None = None
    """where more blocks were raced than its finding is of"""
    shift: float | None = None
    """ln of the cost ratio of a number without any, where it is known"""
    text: str = ""
    """why it cannot be told; beside a finding or a shift, why later blocks could not judge it any more"""
    alpha: float = 0.0
    """level of the look that its finding is of"""

    @property
    def is_open(self) -> bool:
        """A later look may say more; none can of what is shown, and cannot be judged any more."""
        if self.finding:
            return not self.text and is_open(self.finding, _statistical(self.gate))
        return self.verdict == ComparisonVerdict.INCONCLUSIVE

    @property
    def differs_for_the_worse(self) -> bool:
        if self.finding:
            return self.finding.differs and self.finding.estimate.mean > 0
        return self.verdict in WORSE or (self.shift or 0) > 0

    @property
    def not_worse(self) -> bool:
        if self.finding:
            return self.finding.not_worse
        return not self.is_open and self.verdict not in WORSE


class _SeenGate(NamedTuple):
    """One gate of one contender, as the looks saw it."""

    contender: str
    gate: GateSpec
    last: Pairs
    """of all blocks that count; its obstacle is why they cannot judge it, or not any more"""
    at: Mapping[Look, Pairs]
    """of those that were there at each look that could judge it"""

    @property
    def newest(self) -> Pairs:
        """What the last of these looks saw."""
        return self.at[max(self.at)]

    def cost_ratios(self) -> dict[Look, list[float]]:
        """Return its cost ratios at each of these looks."""
        more = METRICS[self.gate.metric].more_is_better
        return {look: pairs.cost_ratios(more_is_better=more) for look, pairs in self.at.items()}


def judge_blocks(
    spec: ComparisonSpec,
    variants: Sequence[Named],
    blocks: Sequence[BlockRecord],
    looks: Sequence[Look],
    priors: Mapping[str, Prior],
    last: bool,
) -> Judgement:
    """Return what the blocks that count say; `variants`: the baseline first; `last`: no look comes after this one."""
    baseline, *others = [variant.name for variant in variants]
    reached = [look for look in looks if look.blocks <= len(blocks)]
    counted = blocks[: reached[-1].blocks] if reached else ()
    numbers = BlockNumbers(counted, baseline)
    told, dropped = _without_unmeasured(spec, _judged_gates(spec, others, numbers, reached, priors))
    deciding = _deciding(told)
    settled = bool(told) and not any(each.is_open for each in deciding)
    futile = not settled and bool(reached) and _is_futile(told, deciding, looks[-1])
    final = last or settled
    contenders = [
        _contender(spec, name, [each for each in told if each.contender == name], numbers, final) for name in others
    ]
    verdict = together(contender.verdict for contender in contenders)
    early = settled and bool(reached) and reached[-1].blocks < looks[-1].blocks
    sentence = _sentence(contenders, verdict)
    if early:
        sentence += f"; decided early, after {reached[-1].blocks} of at most {looks[-1].blocks} blocks"
    elif futile and reached[-1].blocks < looks[-1].blocks:
        sentence += _given_up(verdict, deciding, looks[-1])
    elif not reached and looks:
        sentence = f"cannot tell: {len(blocks)} blocks count, and the first look needs {looks[0].blocks}"
    found = [*remark_findings((baseline, *others), counted), *installation_findings(counted)]
    found += [*_findings(told, numbers, early=early), *dropped]
    if reached:
        found += twin_findings(spec, numbers) + hints(spec, others, numbers, priors)
    passed = _gates_passed(contenders) if final else None
    value: Verdict = verdict.value
    return Judgement(
        contenders,
        value,
        sentence,
        settled,
        futile,
        passed,
        [each[:LONGEST_TEXT] for each in found[:20]],
        scope(blocks, spec.design),
    )


def _judged_gates(
    spec: ComparisonSpec,
    contenders: Sequence[str],
    numbers: BlockNumbers,
    reached: Sequence[Look],
    priors: Mapping[str, Prior],
) -> list[_JudgedGate]:
    """Return what is known of each gate of each contender; those with noise are judged together."""
    cells = [(name, gate) for name in contenders for gate in gates_of(spec)]
    if not reached:
        return [
            _JudgedGate(*cell, Pairs(), ComparisonVerdict.INCONCLUSIVE, text="no look is reached yet") for cell in cells
        ]
    found: dict[int, _JudgedGate] = {}
    noisy: dict[int, _SeenGate] = {}
    for number, (name, gate) in enumerate(cells):
        kind, seen = METRICS[gate.metric], _seen(numbers, reached, name, gate)
        if not seen.at:
            found[number] = _JudgedGate(name, gate, seen.last, ComparisonVerdict.INCONCLUSIVE, text=seen.last.obstacle)
            continue
        shifts = [] if kind.exact else seen.newest.cost_ratios(more_is_better=kind.more_is_better)
        if shifts and not is_flat(shifts):
            noisy[number] = seen
            continue
        flat = _constant(name, gate, seen.newest, fmean(shifts)) if shifts else _exact(name, gate, seen.newest)
        found[number] = _as_before(flat, seen.last.obstacle)
    told = _judged_together(list(noisy.values()), reached[-1], priors)
    found |= dict(zip(noisy, told, strict=True))
    return [_unless_failed(found[number], numbers) for number in range(len(cells))]


def _unless_failed(told: _JudgedGate, numbers: BlockNumbers) -> _JudgedGate:
    """Return what is known of a gate, which is nothing where errors may have made it: one of both had more of them.

    They are mostly fast, and spare the others work; so what is better with fewer of them stays. So does what the gate
    fails by, whoever had more: else `onInconclusive` could pass it.
    """
    kind, pairs = METRICS[told.gate.metric], told.pairs
    fails = told.differs_for_the_worse and not _passes(told)
    seen = numbers.first(told.finding.blocks) if told.finding else numbers
    for task in (pairs.tasks or (told.gate.task or "",)) if kind.of_tasks and not pairs.obstacle else ():
        ours, theirs = seen.failed_shares(told.contender, task)
        stays = fails or (told.verdict in BETTER and theirs < ours)
        if abs(theirs - ours) > kind.most_failed and not stays:
            text = failed_apart_words(task, (numbers.baseline, told.contender), (ours, theirs))
            return _JudgedGate(told.contender, told.gate, pairs, ComparisonVerdict.INCONCLUSIVE, text=text)
    return told


def _seen(numbers: BlockNumbers, reached: Sequence[Look], name: str, gate: GateSpec) -> _SeenGate:
    """Return a gate's numbers as they were at each look that could judge it."""
    at: dict[Look, Pairs] = {}
    last = Pairs()
    for look in reached:
        last = numbers.first(look.blocks).pairs(name, gate.task or "", gate.metric)
        if at and not last.obstacle:
            last = last._replace(obstacle=other_mean_words(gate, at[max(at)], last))
        if not last.obstacle:
            at[look] = last
    return _SeenGate(name, gate, last, at)


def _judged_together(seen: Sequence[_SeenGate], last: Look, priors: Mapping[str, Prior]) -> list[_JudgedGate]:
    """Return what is known of gates with noise, which are judged together; `last`: the last look that is reached."""
    if not seen:
        return []
    gates = [_statistical(each.gate) for each in seen]
    ratios = [each.cost_ratios() for each in seen]
    findings = judge_as_seen(ratios, gates, priors)
    whole = [place for place, at in enumerate(ratios) if last in at]
    present = [ratios[place][last] for place in whole]
    later = over_all_blocks(present, [gates[place] for place in whole], last, priors, tests=len(seen))
    over_all = dict(zip(whole, later, strict=True))
    return [_settled_or_open(each, findings[place], over_all.get(place)) for place, each in enumerate(seen)]


def _settled_or_open(seen: _SeenGate, finding: GateFinding, over_all: AllBlocks | None) -> _JudgedGate:
    """Return what is known of a gate: where later blocks cannot judge it any more, what was settled or shown before."""
    name, gate, newest, obstacle = seen.contender, seen.gate, seen.newest, seen.last.obstacle
    if obstacle and is_open(finding, _statistical(gate)) and not (finding.differs or finding.not_worse):
        return _JudgedGate(name, gate, newest, ComparisonVerdict.INCONCLUSIVE, text=obstacle)
    look, judged = next(it for it in seen.at.items() if it[0].blocks == finding.blocks)
    if newest.tasks != judged.tasks:  # a mean of more tasks is another number
        newest, over_all = judged, None
    if over_all and over_all.blocks == finding.blocks:
        over_all = None  # its finding says it
    verdict = ComparisonVerdict(finding.verdict)
    return _JudgedGate(name, gate, newest, verdict, finding, over_all, text=obstacle, alpha=look.alpha)


def _without_unmeasured(spec: ComparisonSpec, told: list[_JudgedGate]) -> tuple[list[_JudgedGate], list[str]]:
    """Return the gates without default ones that no look could judge, and what is said of those.

    Nobody asked for them by name, so a track of few requests is not inconclusive because of its p99. A contender of
    which nothing at all was measured, or that ran other tasks, keeps its gates: it passes none of these.
    """
    if spec.gates:
        return told, []
    judged = {each.contender for each in told if not each.pairs.obstacle}
    lacking: dict[str, list[str]] = {}
    kept = []
    for each in told:
        if not each.pairs.obstacle or each.pairs.other_work or each.contender not in judged:
            kept.append(each)
            continue
        lacking.setdefault(f"{gate_title(each.gate, each.pairs)}: {each.pairs.obstacle}", []).append(each.contender)
    everyone = {each.contender for each in told}
    sentences = [
        f"no gate{'' if everyone == set(names) else ' of ' + ', '.join(names)}: {why}" for why, names in lacking.items()
    ]
    return kept, sentences


def _statistical(gate: GateSpec) -> Gate:
    return Gate(_margin(gate), family(gate.metric, gate.task), to_rule_out=gate.policy == "requireNonInferior")


def _margin(gate: GateSpec) -> float:
    return (gate.margin or 0) / 100


def _exact(name: str, gate: GateSpec, pairs: Pairs) -> _JudgedGate:
    """Return what a number without noise says: any change that is the same in all blocks is real."""
    one, two = set(pairs.baseline), set(pairs.contender)
    if pairs.baseline == pairs.contender:
        return _JudgedGate(name, gate, pairs, ComparisonVerdict.NO_DIFFERENCE, shift=0.0)
    if len(one) > 1 or len(two) > 1:
        text = unsteady_sentence(gate_title(gate, pairs), pairs)
        return _JudgedGate(name, gate, pairs, ComparisonVerdict.INCONCLUSIVE, text=text)
    more = pairs.contender[0] > pairs.baseline[0]
    worse = METRICS[gate.metric].any_change_is_worse or more != METRICS[gate.metric].more_is_better
    verdict = ComparisonVerdict.REGRESSED if worse else ComparisonVerdict.IMPROVED
    return _JudgedGate(name, gate, pairs, verdict, shift=1.0 if worse else -1.0)


def _constant(name: str, gate: GateSpec, pairs: Pairs, shift: float) -> _JudgedGate:
    """Return what a number says that could have noise and showed none: no test, its change against the margin."""
    if abs(shift) < math.log1p(_margin(gate)):
        verdict = ComparisonVerdict.NO_DIFFERENCE
    else:
        verdict = ComparisonVerdict.REGRESSED if shift > 0 else ComparisonVerdict.IMPROVED
    return _JudgedGate(name, gate, pairs, verdict, shift=shift)


def _as_before(told: _JudgedGate, obstacle: str) -> _JudgedGate:
    """Return what a number without noise says, or what it said before later blocks could not judge it any more.

    That none was worse is known of all blocks or of none; that some were is not taken back.
    """
    if not obstacle or told.verdict in WORSE:
        return told._replace(text=obstacle or told.text)
    return told._replace(verdict=ComparisonVerdict.INCONCLUSIVE, shift=None, text=obstacle)


def _deciding(told: Sequence[_JudgedGate]) -> list[_JudgedGate]:
    """Return the gates without those that are only reported, or all where every one is."""
    return [each for each in told if each.gate.policy != "reportOnly"] or list(told)


def _is_futile(told: Sequence[_JudgedGate], deciding: Sequence[_JudgedGate], last: Look) -> bool:
    # What is only reported shares the level, too; what is shown already shares it no more.
    tests = sum(each.verdict == ComparisonVerdict.INCONCLUSIVE for each in told)
    still = [each for each in deciding if each.is_open]
    return all(each.finding is None or is_futile(each.finding, _margin(each.gate), last, tests) for each in still)


def _given_up(verdict: ComparisonVerdict, deciding: Sequence[_JudgedGate], last: Look) -> str:
    """Return why it need not be raced to the last look, where the verdict does not say it."""
    if verdict == ComparisonVerdict.INCONCLUSIVE:
        return f"; not even {last.blocks} blocks would settle it at this noise"
    within = [each for each in deciding if each.is_open and each.verdict == ComparisonVerdict.REGRESSED_WITHIN_MARGIN]
    return f"; not even {last.blocks} blocks would rule the margin out at this noise" if within else ""


def _contender(
    spec: ComparisonSpec, name: str, told: Sequence[_JudgedGate], numbers: BlockNumbers, final: bool
) -> ContenderStatus:
    gates = [with_worsening_told(_gate_status(spec, each, numbers, final)) for each in told]
    deciding = [gate for gate in gates if gate.policy != "reportOnly"] or gates
    verdict = together(gate.verdict for gate in deciding)
    value: Verdict = verdict.value
    sentence = contender_sentence(name, spec.baseline, deciding, verdict)
    return ContenderStatus(name=name, verdict=value, sentence=sentence, gates=gates)


def _gate_status(spec: ComparisonSpec, told: _JudgedGate, numbers: BlockNumbers, final: bool) -> GateStatus:
    gate, pairs, kind = told.gate, told.pairs, METRICS[told.gate.metric]
    known = bool(pairs.baseline)
    one, two = pairs.medians() if known else (None, None)
    twins = numbers.twin_ratios(pairs.tasks or (gate.task or "",), gate.metric) if known and not kind.exact else []
    noise = _noise(twins)
    change, low, high, confidence = _interval(told)
    value: Verdict = told.verdict.value
    return GateStatus(
        task=gate.task or "",
        metric=gate.metric,
        tasks=list(pairs.tasks),
        margin=gate.margin or 0,
        policy=gate.policy,
        verdict=value,
        change=change,
        low=low,
        high=high,
        confidence=confidence,
        baseline=one,
        contender=two,
        unit=pairs.unit,
        blocks=told.finding.blocks if told.finding else len(pairs.baseline),
        all_blocks=_all_blocks(told),
        noise=noise,
        spread=_spread(told),
        more_blocks=_more_blocks(told),
        passed=_passed(spec, told, final),
        sentence=_gate_sentence(told, change, noise_words(noise, len(twins))),
    )


def _more_blocks(told: _JudgedGate) -> int:
    """Return about how many more blocks would settle a gate; 0 for one that is settled, or where it is not known."""
    if told.finding is None or not told.is_open:
        return 0
    if told.verdict == ComparisonVerdict.REGRESSED_WITHIN_MARGIN:
        return blocks_to_rule_out(told.finding, _margin(told.gate), told.alpha)
    return told.finding.more_blocks


def _gate_sentence(told: _JudgedGate, change: float | None, noise: str) -> str:
    title = gate_title(told.gate, told.pairs)
    if told.finding:
        more = METRICS[told.gate.metric].more_is_better
        text = describe(title, told.finding, _margin(told.gate), more_is_better=more)
        text += all_blocks_words(told.all_blocks, more_is_better=more) + noise
        before = told.finding.ruled_out_before and told.gate.policy == "requireNonInferior"
        return f"{text}; an earlier look ruled the margin out, so it passes" if before else text
    if told.shift is None:
        return told.text if told.text.startswith(title) else f"{title}: cannot tell: {told.text}"
    share = None if change is None else change / 100
    unit = "" if told.pairs.unit == title else told.pairs.unit
    return exact_sentence(title, share, len(told.pairs.baseline), told.pairs.medians(), unit)


def _interval(told: _JudgedGate) -> tuple[float | None, float | None, float | None, float | None]:
    """Return change, both ends of its interval and its confidence, in per cent, as far as they are known."""
    if told.finding:
        more = METRICS[told.gate.metric].more_is_better
        change, low, high = (100 * each for each in change_of(told.finding, more_is_better=more))
        return change, low, high, 100 * told.finding.confidence
    if told.shift is None:
        return None, None, None, None
    one, two = told.pairs.medians()
    exact = 100 * min(two / one - 1, LARGEST_CHANGE) if one else None
    return exact, exact, exact, None


def _all_blocks(told: _JudgedGate) -> AllBlocksStatus | None:
    if told.all_blocks is None:
        return None
    more = METRICS[told.gate.metric].more_is_better
    change, low, high = (100 * each for each in change_of(told.all_blocks, more_is_better=more))
    confidence = 100 * told.all_blocks.confidence
    return AllBlocksStatus(blocks=told.all_blocks.blocks, change=change, low=low, high=high, confidence=confidence)


def _spread(told: _JudgedGate) -> float | None:
    kind, pairs = METRICS[told.gate.metric], told.pairs
    if kind.exact or len(pairs.baseline) < 2:
        return None
    blocks = told.finding.blocks if told.finding else len(pairs.baseline)
    ratios = pairs.cost_ratios(more_is_better=False)[:blocks]
    return 100 * as_change(math.sqrt(variance(ratios)))


def _noise(found: Sequence[float]) -> float | None:
    """Return the standard deviation of the baseline against itself, in per cent: its true mean is known to be none."""
    return 100 * as_change(math.sqrt(fmean(each * each for each in found))) if found else None


def _passed(spec: ComparisonSpec, told: _JudgedGate, final: bool) -> bool | None:
    """Return what a gate means for the whole; None where it decides nothing, or is open."""
    if told.gate.policy == "reportOnly":
        return None
    passes = _passes(told)
    if passes and told.gate.policy == "requireNonInferior":
        return True
    if told.is_open and not final:
        return None
    return spec.on_inconclusive == "pass" if told.verdict == ComparisonVerdict.INCONCLUSIVE else passes


def _passes(told: _JudgedGate) -> bool:
    """Tell whether what is known of a gate passes, by its policy."""
    if told.gate.policy == "requireNonInferior":
        return told.not_worse
    if told.gate.policy == "failOnAnyRegression":
        return not told.differs_for_the_worse
    return told.verdict != ComparisonVerdict.REGRESSED


def _gates_passed(contenders: Sequence[ContenderStatus]) -> bool | None:
    decided = [gate.passed for contender in contenders for gate in contender.gates if gate.policy != "reportOnly"]
    return all(decided) if decided else None


def _sentence(contenders: Sequence[ContenderStatus], verdict: ComparisonVerdict) -> str:
    if len(contenders) == 1:
        return contenders[0].sentence
    ordered = sorted(contenders, key=lambda each: each.verdict != verdict)
    text = ". ".join(each.sentence for each in ordered)
    trades = any(each.verdict == "Mixed" for each in contenders)
    return f"variants disagree: {text}" if verdict == ComparisonVerdict.MIXED and not trades else text


def _paced(told: _JudgedGate, numbers: BlockNumbers) -> str:
    """Return that a task's throughput tells only whether its rate was kept, as a sentence; "" of all other gates."""
    gate = told.gate
    if gate.metric != "throughput" or not gate.task or not numbers.is_as_planned(told.contender, gate.task):
        return ""
    return f"{gate_title(gate, told.pairs)}: {AS_PLANNED}: gate on the task's latency or service time"


def _findings(told: Sequence[_JudgedGate], numbers: BlockNumbers, *, early: bool) -> list[str]:
    found = []
    if early and any(each.verdict in WORSE | BETTER for each in told if each.finding):
        found.append("what is decided early is estimated somewhat too large: more blocks would say its size better")
    for each in told:
        kind, requests = METRICS[each.gate.metric], each.pairs.requests
        title = gate_title(each.gate, each.pairs)
        if each.text and (each.finding or each.shift is not None):
            there = each.finding.blocks if each.finding else len(each.pairs.baseline)
            found.append(f"{title} of {each.contender} is as {there} blocks showed it: {each.text}")
        if kind.percentile and requests is not None and requests < _FEW_REQUESTS * kind.requests and each.finding:
            found.append(
                f"{title} of {each.contender} stands on {requests} requests a race at least and needs "
                f"{kind.requests}: more iterations would make it steadier"
            )
    found += dict.fromkeys(filter(None, (_paced(each, numbers) for each in told)))
    told_below = {name: numbers.left_out(name) for name in dict.fromkeys(each.contender for each in told)}
    lacking = [left_out_sentence(each.gate, each.pairs, told_below[each.contender]) for each in told]
    found += dict.fromkeys(filter(None, lacking))  # contenders mostly lack the same
    if numbers.tasks_left_out:
        found.append(
            f"not compared: {numbers.tasks_left_out} of a race's tasks, for whose numbers a block's record has no "
            "room: those of tasks that spec.gates name are kept"
        )
    for name, missing in told_below.items():
        if missing:
            shown = some_of(missing, _MOST_TASKS)
            found.append(f"not compared, since not every race of {name} and the baseline has it: {shown}")
    return found
