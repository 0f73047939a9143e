"""What gates and contenders say, in sentences. Pure."""

from collections.abc import Collection, Mapping, Sequence

from fairlap.api.comparison_spec import GateSpec
from fairlap.api.comparison_status import GateStatus
from fairlap.comparison.numbers.block_numbers import AS_PLANNED, Pairs
from fairlap.comparison.terms.gate_metrics import METRICS, change_in_words
from fairlap.comparison.terms.verdicts import BETTER, WORSE, ComparisonVerdict
from fairlap.statistics.sentences import about_so_many
from fairlap.wording.counts import counted
from fairlap.wording.numerals import figure_text
from fairlap.wording.percentages import change_digits, short_percent, signed
from fairlap_race.contract.some_of import some_clauses, some_of

_MOST_GATES = 3
"""in one sentence"""
_MOST_SHOWN = 1
"""beside what cannot be told: a column of kubectl's is short"""
_MOST_TASKS = 10


def gate_title(gate: GateSpec, pairs: Pairs) -> str:
    """Return what a gate is about, for example "service time p99 of search"."""
    words = METRICS[gate.metric].words
    if gate.task:
        return f"{words} of {gate.task}"
    if not METRICS[gate.metric].of_tasks:
        return f"{words} (the whole device, whoever wrote)" if pairs.of_device else words
    if not pairs.tasks:
        return f"{words}, geometric mean"
    return f"{words}, geometric mean of {len(pairs.tasks)} task{'s' if len(pairs.tasks) > 1 else ''}"


def left_out_sentence(gate: GateSpec, pairs: Pairs, told: Collection[str]) -> str:
    """Return which tasks a geometric mean is without, and why, "" for none; `told`: absent ones told elsewhere."""
    untold = {task: why for task, why in pairs.left_out.items() if not (why == "absent" and task in told)}
    return f"{gate_title(gate, pairs)}, leaves out: {_left_out_words(gate, untold)}" if untold else ""


def _left_out_words(gate: GateSpec, left_out: Mapping[str, str]) -> str:
    """Return which tasks are not in a geometric mean, each with why in words."""
    kind = METRICS[gate.metric]
    whys = {
        "requests": f"without the {kind.requests} requests in every race that {kind.percentile} needs",
        "rate": "without one target throughput in all races",
        "absent": "not measured in every race of both" + ("" if kind.columns != "cpu" else ", or beside other tasks"),
        "units": "told in different units",
        "sources": "told by different sources, which do not mean the same",
        "paced": AS_PLANNED,
    }
    of_why = {why: [task for task, each in left_out.items() if each == why] for why in whys}
    return "; ".join(f"{some_of(tasks, _MOST_TASKS)} ({whys[why]})" for why, tasks in of_why.items() if tasks)


def other_mean_words(gate: GateSpec, before: Pairs, now: Pairs) -> str:
    """Return why a mean is another number than at the look that judged it before; "" where it may go on.

    It goes on with a task that fell behind its rate, and without one that kept it after all: the mean is to say that.
    """
    joined = {task for task in now.tasks if task not in before.tasks and before.left_out.get(task) != "paced"}
    lost = {task for task in before.tasks if task not in now.tasks and now.left_out.get(task) != "paced"}
    if not joined and not lost:
        return ""
    words = _left_out_words(gate, {task: why for task, why in now.left_out.items() if task in lost})
    without = f", without {words}" if words else ""
    return (
        f"with the blocks since then it would be a mean over other tasks{without}, which is another number: "
        "gate on tasks by their names, or let each race have what all of them need"
    )


def failed_apart_words(task: str, names: tuple[str, str], shares: tuple[float, float]) -> str:
    """Return why a number is no answer where not the same share of requests failed (`shares`) in the races of both."""
    both = [f"{short_percent(share)} in the races of {name}" for share, name in zip(shares, names, strict=True)]
    return (
        f"failed requests of {task} are {' and '.join(both)}, and errors are mostly fast: remove what makes them fail, "
        "or ask for less"
    )


def noise_words(noise: float | None, pairs: int) -> str:
    """Return what the baseline showed against itself, in so many pairs of races; "" where it was not raced."""
    found_in = f" ({counted(pairs, 'pair')})"
    return "" if noise is None else f"; the baseline against itself: ±{change_digits(noise / 100)} %{found_in}"


def exact_sentence(title: str, change: float | None, blocks: int, medians: tuple[float, float], unit: str = "") -> str:
    """Return the sentence of a number that is the same in all blocks.

    `change`: a share of the baseline's, None where that is 0; `unit`: of both, where the title does not say it.
    """
    values = f"{figure_text(medians[0])}, then {figure_text(medians[1])}{f' {unit}' if unit else ''}"
    if medians[0] == medians[1] or change == 0:
        return f"{title}: the same in all {blocks} pairs"
    if change is None:
        return f"{title}: {values} in all {blocks} pairs, without any noise"
    return f"{title}: {signed(change)} in all {blocks} pairs, without any noise (median {values})"


def unsteady_sentence(title: str, pairs: Pairs) -> str:
    """Return the sentence of a number that should have no noise and is not the same in all blocks."""
    spans = [_span(values) for values in (pairs.baseline, pairs.contender)]
    return (
        f"{title}: cannot tell: it is not the same in all blocks (baseline {spans[0]}, other {spans[1]}), and it is "
        "told only where it is: let the track end with the same work in every race, or gate on another metric"
    )


def with_worsening_told(gate: GateStatus) -> GateStatus:
    """Return a gate whose sentence says why it is not passed, where its verdict does not."""
    if _allows_none(gate):
        why = "yet a worsening is shown, and this gate allows none"
    elif gate.passed is False and gate.policy == "requireNonInferior" and gate.verdict == "RegressedWithinMargin":
        why = "the margin is not ruled out, which this gate asks for"
        if gate.more_blocks:
            why += f"; {_more_blocks(gate.more_blocks)} would settle it at this noise"
    else:
        return gate
    return gate.model_copy(update={"sentence": f"{gate.sentence}; {why}"})


def contender_sentence(name: str, baseline: str, gates: Sequence[GateStatus], verdict: ComparisonVerdict) -> str:
    """Return what all gates of one contender say together."""
    text = _of_verdict(name, baseline, gates, verdict)
    if strict := [gate for gate in gates if _allows_none(gate)]:
        allow = f"allow{'s' * (len(strict) == 1)}"
        text += f"; yet a worsening is shown in {counted(len(strict), 'gate')} that {allow} none"
    return text


def _allows_none(gate: GateStatus) -> bool:
    return gate.verdict == "NoDifference" and gate.passed is False


def _of_verdict(name: str, baseline: str, gates: Sequence[GateStatus], verdict: ComparisonVerdict) -> str:
    better = [gate for gate in gates if gate.verdict in BETTER]
    worse = [gate for gate in gates if gate.verdict in WORSE]
    still = [gate for gate in gates if gate.verdict == "Inconclusive"]
    match verdict:
        case ComparisonVerdict.MIXED:
            return f"{name} against {baseline}: {_trades(better)} for {_trades(worse)}{_untold(still)}"
        case ComparisonVerdict.REGRESSED | ComparisonVerdict.REGRESSED_WITHIN_MARGIN:
            return f"{name} is worse than {baseline}: {_sentences(worse)}{_untold(still)}"
        case ComparisonVerdict.IMPROVED | ComparisonVerdict.IMPROVED_WITHIN_MARGIN:
            return f"{name} is better than {baseline}: {_sentences(better)}"
        case ComparisonVerdict.NO_DIFFERENCE:
            return f"{name} and {baseline}: no difference that matters, in any of {counted(len(gates), 'gate')}"
        case _:
            return _open_sentence(name, baseline, gates, still)


def _untold(still: Sequence[GateStatus]) -> str:
    return f"; {counted(len(still), 'gate')} cannot be told" if still else ""


def _open_sentence(name: str, baseline: str, gates: Sequence[GateStatus], still: Sequence[GateStatus]) -> str:
    text = f"cannot tell {name} from {baseline} in {len(still)} of {counted(len(gates), 'gate')}"
    more = max((gate.more_blocks for gate in still), default=0)
    if more:
        text += f"; {_more_blocks(more)} would settle {'them' if len(still) > 1 else 'it'}"
    if shown := [gate for gate in gates if gate.verdict in BETTER]:  # else it would be worse, or a trade
        text += f"; shown is {_trades(shown, _MOST_SHOWN)}"
    without = [gate for gate in still if not gate.more_blocks]
    return f"{text}; {without[0].sentence}" if without else text


def _more_blocks(more: int) -> str:
    return f"{about_so_many(more)} more block{'s' * (more != 1)}"


def _trades(gates: Sequence[GateStatus], most: int = _MOST_GATES) -> str:
    shown = [
        change_in_words(gate.metric, None if gate.change is None else gate.change / 100, gate.unit)
        + (f" ({gate.task})" if gate.task else "")
        for gate in gates[:most]
    ]
    more = len(gates) - len(shown)
    return " and ".join(shown) + (f" and {more} more" if more else "")


def _sentences(gates: Sequence[GateStatus]) -> str:
    return some_clauses((gate.sentence for gate in gates), _MOST_GATES)


def _span(values: Sequence[float]) -> str:
    low, high = figure_text(min(values)), figure_text(max(values))
    return low if low == high else f"{low} to {high}"
