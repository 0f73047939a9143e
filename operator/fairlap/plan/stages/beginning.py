"""A Benchmark that nothing was said of yet: its first status, or why its spec is not taken."""

from dataclasses import replace

from fairlap.api.condition_types import ConditionReason, ConditionType
from fairlap.api.status import BenchmarkStatus
from fairlap.plan.acceptance.accept import objections
from fairlap.plan.basis.conditions import Observation, stamp
from fairlap.plan.basis.seen import Plan, Seen
from fairlap.plan.basis.steps import needs_check, track_words
from fairlap.plan.stages.ending import end_failed


def begin(seen: Seen) -> Plan:
    """Return the plan with the first status of a Benchmark; it has failed at once where its spec is not taken."""
    spec = seen.subject.spec
    status = BenchmarkStatus(
        phase="Pending",
        progress="checking the specification",
        start_time=stamp(seen.now),
        version=spec.elasticsearch.version if spec.elasticsearch else "",
        track=track_words(spec.race),
        challenge=spec.race.challenge or "",
        races_done=f"0/{spec.repetitions}",
    )
    found = objections(spec, seen.settings)
    if not found:
        builtin = Observation(ConditionType.ACCEPTED, True, ConditionReason.BUILTIN_TRACK, f"track {status.track}")
        return Plan(status, observed=() if needs_check(spec) else (builtin,))
    message = ". ".join(objection.message for objection in found)
    refused = Observation(ConditionType.ACCEPTED, False, found[0].reason, message)
    return end_failed(replace(seen, status=status), found[0].reason, message, refused, told=found[0].message)
