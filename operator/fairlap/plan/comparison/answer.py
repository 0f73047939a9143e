"""What the blocks so far say: whether it is fair, whether more blocks are needed, and the verdict when they are not."""

from collections.abc import Collection, Mapping, Sequence

from fairlap.api.block_record import BlockRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import (
    ComparisonStatus,
    ContenderStatus,
    DifferenceStatus,
    KnownNoise,
    NoiseOfKind,
)
from fairlap.api.condition_types import ComparisonCondition, ComparisonReason
from fairlap.comparison.noise.expectation import design_looks
from fairlap.comparison.variants.variants import ResolvedVariant
from fairlap.plan.basis.conditions import Observation, stamp
from fairlap.plan.comparison.block_words import block_findings, counting, seconds_of_a_race, with_blocks
from fairlap.plan.comparison.comparison_seen import ComparisonPlan, ComparisonSeen
from fairlap.plan.comparison.disturbed_blocks import counted_at_the_end
from fairlap.plan.comparison.judges import BlocksJudged, Judge, Judges
from fairlap.plan.comparison.looks import looks_cut_short, most_blocks
from fairlap.plan.comparison.verdict_reached import changed, complete, continued, fail
from fairlap.statistics.gates import Look
from fairlap.statistics.moderation import Prior

_MOST_DIFFERENCES_BYTES = 300_000
_FAIR, _COMPARED = ComparisonCondition.FAIR, ComparisonCondition.COMPARED


def answer(
    seen: ComparisonSeen, status: ComparisonStatus, variants: Sequence[ResolvedVariant], judges: Judges
) -> ComparisonPlan:
    """Return what the blocks of `status` say after one more counts: a look, an end, or the status to go on with."""
    spec, blocks = seen.subject.spec, _records(seen, status)
    design = design_looks(spec.design)
    reached = any(look.blocks == len(blocks) for look in design)
    priors = _priors(seen, status)
    if priors is None and (reached or len(blocks) == 1):
        return ComparisonPlan(seen.status, look=("priors",))
    priors = priors or {}
    if reached:
        status = _remembering(seen, status, priors)
    if len(blocks) == 1:
        raced = {variant.name for variant in status.variants}
        racing = [variant for variant in variants if variant.name in raced]
        status = changed(status, expected=judges.expect(spec, racing, seconds_of_a_race(status.blocks), priors))
    status, fair, left_out, end = _fairness(seen, status, variants, blocks, judges)
    if end:
        return end
    comparable = [variant for variant in variants if variant.name not in left_out]
    if len(blocks) == 1 and not reached:
        foreseen = judges.foresee(spec, comparable, blocks)
        status = changed(status, findings=[*dict.fromkeys([*status.findings, *foreseen.findings])][:20])
        if foreseen.hopeless:
            return continued(_unjudgeable(seen, status, foreseen.hopeless, left_out), fair)
    if not reached:
        following = next(look.blocks for look in design if look.blocks > len(blocks))
        text = f"{len(blocks)} of {most_blocks(spec.design)} blocks count, the next look is after {following}"
        return ComparisonPlan(status, observed=(fair, Observation(_COMPARED, False, ComparisonReason.RACING, text)))
    judged, ends = judged_at_look(spec, comparable, blocks, design, priors, judges.judge)
    status = _with(status, judged, left_out)
    if ends:
        return continued(_ended(seen, status, judged, left_out), fair)
    open_yet = Observation(_COMPARED, False, ComparisonReason.RACING, judged.sentence)
    return ComparisonPlan(status, observed=(fair, open_yet))


def _priors(seen: ComparisonSeen, status: ComparisonStatus) -> Mapping[str, Prior] | None:
    """Return what was known of the noise at the first look, else what is known now; None: not read yet."""
    if status.known_noise is None:
        return seen.priors
    return {each.kind: Prior(each.variance, each.weight) for each in status.known_noise.kinds}


def _remembering(seen: ComparisonSeen, status: ComparisonStatus, priors: Mapping[str, Prior]) -> ComparisonStatus:
    """Return the status with what is known of the noise at the first look: others' races must not move later ones."""
    if status.known_noise is not None:
        return status
    kinds = [NoiseOfKind(kind=kind, variance=it.variance, weight=it.df) for kind, it in sorted(priors.items())]
    return changed(status, known_noise=KnownNoise(at=stamp(seen.now), kinds=kinds[:50]))


def _unjudgeable(
    seen: ComparisonSeen, status: ComparisonStatus, why: str, left_out: Mapping[str, str]
) -> ComparisonPlan:
    """Return the end of one whose further blocks could tell nothing."""
    passed = _passes_unknown(seen.subject.spec)
    sentence = f"cannot tell, whatever more blocks show: {why}"
    return complete(seen, status, "Inconclusive", sentence, gate_passed=passed, left_out=left_out)


def unfair_by_specs(
    seen: ComparisonSeen, status: ComparisonStatus, variants: Sequence[ResolvedVariant], judges: Judges
) -> tuple[Mapping[str, str], ComparisonPlan | None]:
    """Return what no race could make fair: cells of a matrix, each with the reason, and the end where it is all of it.

    What ran is held against the same specs later, and may add to what they show, never take from it.
    """
    _, _, left_out, end = _fairness(seen, status, variants, (), judges)
    return left_out, end


def rows_left_out(left_out: Mapping[str, str], raced: Collection[str]) -> list[ContenderStatus]:
    """Return what is said of those that cannot be compared, and why; `raced`: the names of those that are raced."""
    return [
        ContenderStatus(name=name, verdict="NotComparable", sentence=why if name in raced else f"not raced: {why}")
        for name, why in left_out.items()
    ]


def judged_at_look(
    spec: ComparisonSpec,
    variants: Sequence[ResolvedVariant],
    blocks: Sequence[BlockRecord],
    looks: Sequence[Look],
    priors: Mapping[str, Prior],
    judge: Judge,
) -> tuple[BlocksJudged, bool]:
    """Return what the blocks of a look say, and whether the Comparison ends with it."""
    last = len(blocks) >= looks[-1].blocks
    judged = judge(spec, variants, blocks, looks, priors, last)
    if last or not (judged.settled or (judged.futile and spec.on_inconclusive != "extend")):
        return judged, last
    return judge(spec, variants, blocks, looks, priors, True), True


def answer_at_deadline(seen: ComparisonSeen, variants: Sequence[ResolvedVariant], judges: Judges) -> ComparisonPlan:
    """Return the end of one whose time is over: what the blocks so far say."""
    return _answer_cut_short(seen, variants, judges, f"the deadline of {seen.subject.spec.deadline} was reached")


def answer_without_retries(
    seen: ComparisonSeen, variants: Sequence[ResolvedVariant], judges: Judges, spent: str
) -> ComparisonPlan:
    """Return the end of one that may race no block again, though enough count: what they say; `spent`: why."""
    return _answer_cut_short(seen, variants, judges, f"{spent}, so it ended", ComparisonReason.RACES_INVALID)


def _answer_cut_short(
    seen: ComparisonSeen,
    variants: Sequence[ResolvedVariant],
    judges: Judges,
    why: str,
    reason: ComparisonReason = ComparisonReason.DEADLINE,
) -> ComparisonPlan:
    spec, status = seen.subject.spec, seen.status
    told = counted_at_the_end(status.blocks)
    if told != status.blocks:  # said first: their records are read as those of blocks that count
        return ComparisonPlan(with_blocks(spec, status, told))
    there, most = len(counting(status.blocks)), most_blocks(spec.design)
    said = f"{why} after {there} of {most} blocks"
    if not there:
        text = f"{said}; write a longer spec.deadline"
        return fail(seen, status, ComparisonReason.DEADLINE, text)
    priors = _priors(seen, status)
    if seen.records is None or priors is None:
        return ComparisonPlan(status, look=("records", "priors"))
    blocks = _records(seen, status)
    design = looks_cut_short(spec.design, len(blocks))
    if not blocks:
        return fail(seen, status, reason, f"{said}, and none of their records is there any more")
    status, fair, left_out, end = _fairness(seen, status, variants, blocks, judges)
    if end:
        return end
    comparable = [variant for variant in variants if variant.name not in left_out]
    if design:
        judged = judges.judge(spec, comparable, blocks, design, priors, True)
        status = _with(status, judged, left_out)
        status = changed(status, findings=[*status.findings[:19], said])
        return continued(_ended(seen, status, judged, left_out), fair)
    least = design_looks(spec.design)[0].blocks if spec.design.stop == "sequential" else 2
    sentence = f"cannot tell: {said}, and the first look needs {least}"
    status = changed(status, findings=[*status.findings[:19], said])
    ended = complete(seen, status, "Inconclusive", sentence, gate_passed=_passes_unknown(spec), left_out=left_out)
    return continued(ended, fair)


def _fairness(
    seen: ComparisonSeen,
    status: ComparisonStatus,
    variants: Sequence[ResolvedVariant],
    blocks: Sequence[BlockRecord],
    judges: Judges,
) -> tuple[ComparisonStatus, Observation, Mapping[str, str], ComparisonPlan | None]:
    """Return the status with what differs, the condition Fair, who cannot be compared, and the end if nobody can."""
    found = judges.diff(seen.subject.spec, variants, blocks)
    status = changed(status, differences=_that_fit(found.differences))
    if found.fair:
        fair = Observation(_FAIR, True, ComparisonReason.ONLY_DECLARED_DIFFERS, found.sentence)
        return status, fair, found.not_comparable, None
    unfair = Observation(_FAIR, False, ComparisonReason.MORE_DIFFERS, found.sentence)
    # What an earlier look judged is no number of this end.
    unjudged = [
        ContenderStatus(
            name=each.name, verdict="NotComparable", sentence=found.not_comparable.get(each.name) or found.sentence
        )
        for each in status.contenders
    ]
    status = changed(status, contenders=unjudged, findings=block_findings(status))
    end = complete(seen, status, "NotComparable", found.sentence, gate_passed=False)
    return status, unfair, found.not_comparable, continued(end, unfair)


def _that_fit(differences: Sequence[DifferenceStatus]) -> list[DifferenceStatus]:
    """Return the first differences for which a status has room: etcd takes 1.5 MiB as a whole."""
    kept, room = [], _MOST_DIFFERENCES_BYTES
    for each in differences[:100]:
        room -= len(each.model_dump_json().encode())
        if room < 0:
            break
        kept.append(each)
    return kept


def _with(status: ComparisonStatus, judged: BlocksJudged, left_out: Mapping[str, str]) -> ComparisonStatus:
    """Return the status with what a look says; what is to be known of the blocks stays first among the findings."""
    first = block_findings(status)
    found = [*first, *(text for text in judged.findings if text not in first)]
    others = rows_left_out(left_out, [variant.name for variant in status.variants])
    return changed(status, contenders=[*judged.contenders, *others], findings=found[:20], scope=judged.scope)


def _ended(
    seen: ComparisonSeen, status: ComparisonStatus, judged: BlocksJudged, left_out: Mapping[str, str]
) -> ComparisonPlan:
    """Return the end with what a look says."""
    passed = judged.gate_passed
    return complete(seen, status, judged.verdict, judged.sentence, gate_passed=passed, left_out=left_out)


def _records(seen: ComparisonSeen, status: ComparisonStatus) -> list[BlockRecord]:
    """Return the records of the blocks that count, in the order of their numbers."""
    found = [(seen.records or {}).get(block.number) for block in counting(status.blocks)]
    return [record for record in found if record is not None]


def _passes_unknown(spec: ComparisonSpec) -> bool | None:
    """Return what it means for the gates that nothing could be told."""
    if spec.gates and all(gate.policy == "reportOnly" for gate in spec.gates):
        return None
    return spec.on_inconclusive == "pass"
