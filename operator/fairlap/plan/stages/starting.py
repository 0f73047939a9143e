"""Starting: the step's Job is created, suspended, and its uid recorded."""

from fairlap.api.quantity import parse_duration
from fairlap.api.status import Step
from fairlap.plan.basis.deadline import wake_in
from fairlap.plan.basis.seen import Plan, Seen
from fairlap.plan.basis.steps import title
from fairlap.plan.failure import fail, fail_if_refused
from fairlap.plan.room import give_lost_place_up
from fairlap.plan.stages.patience import stage_deadline
from fairlap.plan.transition import enter, one_line, update
from fairlap_race.contract.reasons import Reason


def starting(seen: Seen, step: Step) -> Plan:
    """Return the plan until the step's Job is there: its uid is recorded before it may run."""
    allowed = parse_duration(seen.subject.spec.timeouts.provisioning)
    deadline = stage_deadline(seen, step, allowed, begun=False)
    if stuck := fail_if_refused(seen) or give_lost_place_up(seen, step, allowed):
        return stuck
    if deadline.passed(seen.now):
        return fail(seen, Reason.PROVISIONING_TIMEOUT, seen.children.foreign or "the race's Job could not be created")
    job = seen.children.job
    if job is None:
        words = seen.children.foreign or f"{title(seen.subject.spec, step.name)} · starting"
        status = update(seen.status, progress=one_line(words))
        return Plan(status, create=("record", "job"), wake_in=wake_in(seen.now, deadline))
    return Plan(enter(seen.status, step.name, "Running", seen, job_uid=job["metadata"]["uid"]))
