"""Whether another Benchmark's track check holds for this one, too, and what follows from it then."""

from fairlap.api.condition_types import ConditionReason, ConditionType
from fairlap.api.spec import BenchmarkSpec, IndexSettings
from fairlap.api.status import BenchmarkStatus
from fairlap.plan.basis.conditions import Observation, condition
from fairlap.plan.basis.seen import Seen
from fairlap.plan.basis.steps import PROBE
from fairlap.plan.verdict.judged import Judged

_PASSED = (ConditionReason.TRACK_RENDERED, ConditionReason.REQUESTS_READ, ConditionReason.CHECKED_BY_OTHER)
OF_NO_MATTER = frozenset({"scheduling", "resources", "user_tags", "require_tasks"})
"""fields of `race` that change nothing in what a check finds; of the required tasks those checked must be enough"""


def judge_other(seen: Seen) -> Judged | None:
    """Return what follows from the check of the Benchmark that checkedBy names; None when it does not hold here."""
    spec, checker = seen.subject.spec, seen.checker
    if checker is None or checker.spec is None:
        return None
    name, known = spec.checked_by, checker.status
    accepted = condition(known, ConditionType.ACCEPTED)
    passed = accepted and accepted.status == "True" and accepted.reason in _PASSED
    if accepted is None or not passed or known.finished_step in (None, PROBE):
        return None
    if not _checks_the_same(spec, checker.spec):
        return None
    observed = [
        Observation(
            ConditionType.ACCEPTED, True, ConditionReason.CHECKED_BY_OTHER, f"checked by {name}: {accepted.message}"
        )
    ]
    if spec.target is not None and not spec.over_http:  # its hosts are asked again in each race
        changes = condition(known, ConditionType.TARGET_CHECKED)
        if changes is None or not _is_same_cluster(seen.status, known):
            return None
        text = f"{changes.message} (found by the check of {name})"
        observed.append(Observation(ConditionType.TARGET_CHECKED, True, changes.reason, text))
    found = {
        "challenge": known.challenge,
        "tasks": known.tasks,
        "expected_documents": known.expected_documents,
        "track_revision": known.track_revision,
        "node_settings": known.node_settings,
        "track_services": known.track_services,
    }
    return Judged(seen.status.model_copy(update=found), tuple(observed))


def _checks_the_same(ours: BenchmarkSpec, theirs: BenchmarkSpec) -> bool:
    same_race = ours.race.model_dump(exclude=set(OF_NO_MATTER)) == theirs.race.model_dump(exclude=set(OF_NO_MATTER))
    same_index = (ours.index or IndexSettings()) == (theirs.index or IndexSettings())
    enough = set(ours.race.require_tasks) <= set(theirs.race.require_tasks)
    # What stays on a target is part of what the check says that the track will do there.
    same_stay = ours.target is None or ours.keep_cluster == theirs.keep_cluster
    # What may run on a kept cluster is refused on any other.
    same_place = ours.target == theirs.target and ours.raced_again == theirs.raced_again
    return same_race and same_index and enough and same_place and same_stay


def _is_same_cluster(ours: BenchmarkStatus, theirs: BenchmarkStatus) -> bool:
    one, other = ours.target, theirs.target
    if one is None or other is None or not one.cluster_uuid:
        return False
    return (one.cluster_uuid, one.rally, ours.version) == (other.cluster_uuid, other.rally, theirs.version)
