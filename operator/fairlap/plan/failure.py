"""How a stage fails: with its reason, the words of the part that failed, and its cleaning up still to come."""

from collections.abc import Sequence

from fairlap.api.base import Json
from fairlap.plan.basis.seen import Plan, Seen
from fairlap.plan.explain.trouble import Trouble, is_ready, running_log
from fairlap.plan.explain.warned import why_not_ready
from fairlap.plan.transition import enter
from fairlap.plan.verdict import collect
from fairlap.plan.verdict.judged import mark_failing
from fairlap_race.contract.reasons import Reason


def fail(seen: Seen, reason: Reason, message: str) -> Plan:
    """Return the plan after the current step has failed without a record."""
    step = seen.status.step
    assert step is not None  # noqa: S101 - only stages fail
    status, observed = collect.judge_without_record(seen, step, reason, message)
    return Plan(enter(mark_failing(status, reason, message), step.name, "Cleaning", seen), observed=observed)


def fail_with_log(seen: Seen, trouble: Trouble) -> Plan:
    """Return the plan for a trouble that ends the step, with the end of the log that tells more, where there is one."""
    if trouble.log is None:
        return fail(seen, trouble.reason, trouble.message)
    if trouble.log not in seen.logs:
        return Plan(seen.status, look=(trouble.log,))
    words = seen.logs[trouble.log].strip()
    return fail(seen, trouble.reason, f"{trouble.message}; its log ends with: {words}" if words else trouble.message)


def fail_unready(seen: Seen, trouble: Trouble, pods: Sequence[Json], wanted: int, *owners: str) -> Plan:
    """Fail for pods that are missing or not ready at their deadline, with what Kubernetes and their log say of it."""
    unready = [pod for pod in pods if not is_ready(pod)]
    if seen.children.foreign or len(pods) - len(unready) >= wanted:
        return fail(seen, trouble.reason, trouble.message)
    if seen.warnings is None:
        return Plan(seen.status, look=("warnings",))
    log = running_log(unready)
    parts = (
        trouble.message,
        why_not_ready(seen.warnings, pods, wanted, owners),
        f"pod {log.pod} runs but is not ready" if log else "",
    )
    return fail_with_log(seen, trouble._replace(message="; ".join(filter(None, parts)), log=log))


def fail_if_refused(seen: Seen) -> Plan | None:
    """Return the plan for an object that the API server would not take; None when it took all."""
    if seen.refusal is None:
        return None
    return fail(seen, Reason.INVALID_SPEC, f"the {seen.refusal.what} was refused: {seen.refusal.message}")
