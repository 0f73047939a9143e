"""What should happen next to one Benchmark.

`plan` looks at the status that was last said and at the children there are, and answers with the status to say and
the acts to carry out. The reconciler writes a status that is new and looks again; it acts only where it stands. Thus a
crash between any two operations loses nothing, and a race number never runs twice: a Job is created suspended, its
uid is recorded, and only then is it let run; if it vanishes, the race has failed.
"""

from dataclasses import replace

from fairlap.api.phases import OVER
from fairlap.plan.basis.deadline import begun_by, lined_up_by
from fairlap.plan.basis.seen import Plan, Seen
from fairlap.plan.finish import finish
from fairlap.plan.stages.beginning import begin
from fairlap.plan.stages.between_steps import between_steps
from fairlap.plan.stages.cleaning import cleaning
from fairlap.plan.stages.provisioning import provisioning
from fairlap.plan.stages.running import running
from fairlap.plan.stages.starting import starting
from fairlap.plan.transition import update


def plan(seen: Seen) -> Plan:
    """Return what follows from what is seen; deterministic, and repeatable until something changes."""
    if seen.status.phase in OVER:
        return Plan(seen.status)
    decided = _decide(seen)
    if decided.status.failing and not seen.status.failing and not seen.confirmed and seen.status.step:
        # What an index lacks may be there, and what it shows may be old: the objects themselves are asked first.
        return Plan(seen.status, look=("children",))
    status = finish(decided.status, decided.observed, seen.subject.generation, seen.pruned, seen.now)
    return replace(decided, status=status, observed=())


def _decide(seen: Seen) -> Plan:
    status = seen.status
    step = status.step and begun_by(seen.now, status.step, "since", "job_started_at")
    begun = begun_by(seen.now, update(status, step=step), "start_time")
    begun = lined_up_by(seen.now, begun, seen.turn, seen.check_turn)
    if begun != status:
        return Plan(begun)
    if status.phase is None:
        return begin(seen)
    if status.step is None:
        return between_steps(seen)
    match status.step.stage:
        case "Provisioning":
            return provisioning(seen, status.step)
        case "Starting":
            return starting(seen, status.step)
        case "Running":
            return running(seen, status.step)
        case "Cleaning":
            return cleaning(seen, status.step)
