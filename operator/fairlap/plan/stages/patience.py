"""How long a stage waits for its pods, and what follows when something keeps them from running."""

from datetime import timedelta
from typing import Final

from fairlap.api.status import Step
from fairlap.plan.basis.conditions import moment
from fairlap.plan.basis.deadline import Deadline, is_ahead
from fairlap.plan.basis.seen import Plan, Seen
from fairlap.plan.explain.readiness import is_refused
from fairlap.plan.explain.trouble import Trouble
from fairlap.plan.explain.warned import find_objection, find_refusal, is_refusal
from fairlap.plan.failure import fail, fail_with_log
from fairlap.plan.room import RoomSearch, give_way
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.untrusted import parse_time

# A pull (or a start) that fails this long has failed at least three times (kubelet backs off 10, 20, 40 s);
# only room for a pod may still come later, when something else ends or a machine is added.
PULL_PATIENCE: Final = timedelta(seconds=120)
# Controllers make pods within seconds; an event that says why there is none comes with the first attempt.
_POD_PATIENCE: Final = timedelta(seconds=15)


def stage_deadline(
    seen: Seen, step: Step, allowed: timedelta, *, begun: bool = True, at: str | None = None
) -> Deadline:
    """Return the deadline of the stage a step is in; `begun`: what takes the time goes on without the operator.

    `at`: when that began, where Kubernetes says so.
    """
    since = waited = moment(step.since)
    if seen.taken_up and seen.taken_up <= seen.now:  # a clock that was ahead then is not believed
        # While the operator was away, nothing could happen that only it begins.
        waited = max(since, seen.taken_up)
    if not begun:
        return Deadline(waited, allowed)
    began = parse_time(at)
    if began is None or is_ahead(began, seen.now):
        return Deadline(since, allowed)
    # What somebody deletes, so that it is begun again and again, has no more time for that.
    return Deadline(max(since, min(began, waited + allowed)), allowed)


def pull_deadline(stage: Deadline, trouble: Trouble | None) -> Deadline:
    """Return the deadline of a trouble that is no lack of room: before the pod had its machine, nothing could fail."""
    return Deadline(max(stage.since, (trouble and trouble.since) or stage.since), PULL_PATIENCE)


def cluster_refused(seen: Seen, step: Step) -> Plan | None:
    """Return the plan for a cluster that ECK will not build: to ask for its words, or to fail with them; else None."""
    if not is_refused(seen.children.elasticsearch):
        return None
    if seen.warnings is None:
        return Plan(seen.status, look=("warnings",))
    words = find_objection(seen.warnings)
    # Its event may show a little after its status; who may not read events never sees it.
    if not is_refusal(words) and not stage_deadline(seen, step, PULL_PATIENCE).passed(seen.now):
        return None
    told = words or "its log has the reason"
    return fail(seen, Reason.INVALID_SPEC, f"ECK does not build what elasticsearch asks for: {told}")


def pods_refused(seen: Seen, step: Step, missing: bool, owner: str) -> Plan | None:
    """Return the plan for pods that are `missing` for a while: to ask whether Kubernetes refuses them, or to fail."""
    if not missing or not stage_deadline(seen, step, _POD_PATIENCE).passed(seen.now):
        return None
    if seen.warnings is None:
        return Plan(seen.status, look=("warnings",))
    refusal = find_refusal(seen.warnings, (owner,))
    return fail(seen, refusal.reason, refusal.message) if refusal and refusal.final else None


def until_pods(seconds: float, missing: bool) -> float:
    """Return when to look again: soon while pods are `missing`, for no event tells that Kubernetes refuses them."""
    return min(seconds, _POD_PATIENCE.total_seconds()) if missing else seconds


def fail_or_give_way(
    seen: Seen, step: Step, trouble: Trouble | None, deadline: Deadline, pull: Deadline, room: RoomSearch
) -> Plan | None:
    """Return the plan for what keeps pods from running: to fail, or to give the place up; None while it is waited for.

    `deadline`: of the stage; `pull`: of a trouble that is no lack of room.
    """
    if trouble is None:
        return None
    in_vain = room.all_tries if trouble.reason == Reason.UNSCHEDULABLE else pull
    if trouble.final or in_vain.passed(seen.now) or deadline.passed(seen.now):
        return fail_with_log(seen, trouble)
    return give_way(seen, step, trouble, room)
