"""What was remarked on races that count, and what failed in them, where it bounds what their numbers say. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from fairlap.api.block_record import BlockRecord
from fairlap_race.contract.reasons import Reason

_BOUNDS: Final[Mapping[Reason, str]] = {
    Reason.LOAD_GENERATOR_SATURATED: (
        "the load generator was saturated in {}: what it could not send is in no number, so the variants may differ by "
        "more than is seen here; give it more CPU (race.resources.limits.cpu), or ask for what takes longer"
    ),
    Reason.SCHEDULE_NOT_KEPT: (
        "requests were not sent when they were planned in {}: of such a task the throughput tells what could be "
        "carried, and the latencies have the waiting in them; ask for a lower rate (target-throughput)"
    ),
    Reason.NOT_SETTLED: (
        "what is measured had not settled in {}: after a longer warm-up the variants may differ by less or by more"
    ),
}


_FAILED: Final = (
    "measured requests failed in {}: their times are among the percentiles, and errors are mostly fast; the remark "
    "ErrorsAccepted of each race has how many, and the first answer"
)


def remark_findings(names: Sequence[str], blocks: Sequence[BlockRecord]) -> list[str]:
    """Return a sentence for each such reason that was remarked on a race of these variants, with how many each has.

    So for failed requests; that remark alone would tell of those in a warm-up, and of probes in which they answer.
    """
    races = [race for block in blocks for race in block.races if race.valid and race.variant in names]
    every = [race.variant for race in races]
    known = {
        sentence: [race.variant for race in races if any(remark.reason == reason for remark in race.remarks)]
        for reason, sentence in _BOUNDS.items()
    }
    known[_FAILED] = [race.variant for race in races if race.failed_shares]
    found = []
    for sentence, told in known.items():
        parts = [f"{told.count(name)} of {every.count(name)} races of {name}" for name in names if name in told]
        if parts:
            found.append(sentence.format(" and ".join(parts)))
    return found
