"""What the first block already shows of gates that cannot be judged, before the others are raced. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from fairlap.api.block_record import BlockRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.comparison.judging.gate_words import gate_title
from fairlap.comparison.judging.judgement import Named
from fairlap.comparison.numbers.block_numbers import BlockNumbers
from fairlap.comparison.terms.gate_metrics import LATENCIES, gates_of


class Foreseen(NamedTuple):
    """What is known of the gates before any look."""

    findings: list[str]
    """a sentence for each gate that the blocks so far could not judge"""
    hopeless: str
    """why no gate that decides can ever be judged; "" where more blocks may"""


def foresee(spec: ComparisonSpec, variants: Sequence[Named], blocks: Sequence[BlockRecord]) -> Foreseen:
    """Return what the blocks show of gates without a number; `variants`: the baseline first.

    A latency that nothing is asked at a rate for is hopeless: the track says so, in each block alike. So is a capacity
    that a race of this block did not find, which every block must have. Numbers of requests may be others in the next.
    """
    baseline, *others = [variant.name for variant in variants]
    numbers = BlockNumbers(blocks, baseline)
    declared = gates_of(spec)
    deciding = [gate for gate in declared if gate.policy != "reportOnly"] or declared
    found: list[str] = []
    hopeless: list[str] = []
    hope = not others
    for gate in declared:
        for name in others:
            pairs = numbers.pairs(name, gate.task or "", gate.metric)
            text = f"{gate_title(gate, pairs)}: {pairs.obstacle}"
            if pairs.obstacle:
                found.append(f"block {len(blocks)} could not judge {text}")
            if gate in deciding:
                never = gate.metric == "capacity" or (
                    gate.metric in LATENCIES and numbers.is_never_paced(name, gate.task or "")
                )
                hope = hope or not (pairs.obstacle and never)
                hopeless.append(text)
    return Foreseen(list(dict.fromkeys(found)), "" if hope else "; ".join(dict.fromkeys(hopeless)))
