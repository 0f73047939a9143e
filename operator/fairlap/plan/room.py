"""When no machine has room for a Benchmark's pods: how long it holds its place, and how it gives it up to who waits.

So does one whose place others have got, while the API server refused it everything.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Final, NamedTuple

from fairlap.api.condition_types import ConditionReason, ConditionType
from fairlap.api.names import is_race
from fairlap.api.status import BenchmarkStatus, Step
from fairlap.plan.basis.conditions import Observation, stamp
from fairlap.plan.basis.deadline import Deadline
from fairlap.plan.basis.node_processors import share_instead
from fairlap.plan.basis.seen import Plan, Seen
from fairlap.plan.basis.steps import CHECK, builds_cluster, title
from fairlap.plan.explain.trouble import Trouble, elasticsearch_pods, is_running, load_generators, machines_of
from fairlap.plan.failure import fail
from fairlap.plan.transition import enter, one_line, update
from fairlap.queue.turn import Turn
from fairlap_race.contract.reasons import Reason

# Nobody tells a Benchmark without a machine that somebody has begun to wait for its place.
_LOOK_AGAIN_SECONDS = 30.0
_TO_OTHERS: Final = "gives its place up to others"


class RoomSearch(NamedTuple):
    """How long a step may look for machines."""

    this_try: Deadline
    """then it gives its place up if somebody waits for it"""
    all_tries: Deadline
    """then it has failed: the time of all tries together is what one is allowed"""


def room_search(seen: Seen, stage: Deadline) -> RoomSearch:
    """Return how long a step may look for machines; `stage`: the deadline of the stage that asks for them."""
    patience, (since, allowed) = timedelta(seconds=seen.settings.unschedulable_seconds), stage
    earlier = patience * seen.status.gave_way
    return RoomSearch(Deadline(since, patience), Deadline(since, allowed - min(earlier, allowed)))


def give_way(seen: Seen, step: Step, trouble: Trouble | None, search: RoomSearch) -> Plan | None:
    """Return the plan that gives the place up, or None while it is held.

    It is given up when no machine has room, patience is over, and another Benchmark could go on in this place, or will
    when its track is checked. What was begun is removed first; no race has begun, since its pod has no machine.
    A race of a Comparison has failed. Whole processors that nobody wrote are given up for a share, whoever waits.
    """
    turn = _turn(seen, step)
    if trouble is None or trouble.reason != Reason.UNSCHEDULABLE or _has_begun(seen):
        return None
    shares = may_share(seen, trouble)
    if not (turn.wanted or shares) or not search.this_try.passed(seen.now):
        return None
    if turn.led_by and not shares:  # the place is its Comparison's, which lines up with the whole block
        status = update(seen.status, gave_way=seen.status.gave_way + 1)
        words = f"its place was given up to others: {trouble.message}"
        return fail(replace(seen, status=status), Reason.UNSCHEDULABLE, words)
    to_others = bool(turn.wanted) and not turn.led_by
    what = "begins again with shared processors" if shares else _TO_OTHERS
    words = one_line(f"{title(seen.subject.spec, step.name)} · {what}", trouble)
    return Plan(_leaving(seen, step, words, to_others=to_others, lacks=trouble.lacks_cpu if shares else ""))


def give_lost_place_up(seen: Seen, step: Step, allowed: timedelta) -> Plan | None:
    """Return the plan of one whose place others have got while it was refused everything: what it began is removed.

    None where it has its place, or its race has begun: that was never stopped. `allowed`: the provisioning timeout,
    which all such tries together have. A race that its Comparison lends no place any more has failed.
    """
    if not seen.lost_place or _has_begun(seen):
        return None
    if not seen.confirmed:  # a watch may be blind for the pod that has begun
        return Plan(seen.status, look=("children",))
    tries = seen.status.gave_way + 1
    # A race of a Comparison never lines up.
    if seen.turn.led_by or timedelta(seconds=seen.settings.cleanup_seconds) * tries >= allowed:
        words = "the API server refused what it asked for so long that others got its place"
        return fail(seen, Reason.PROVISIONING_TIMEOUT, f"{words}, {tries} time(s)")
    words = one_line(f"{title(seen.subject.spec, step.name)} · {_TO_OTHERS}")
    return Plan(_leaving(seen, step, words, to_others=True))


def _leaving(seen: Seen, step: Step, words: str, *, to_others: bool, lacks: str = "") -> BenchmarkStatus:
    """Return the status of one that removes what it began, and then lines up behind all who wait."""
    status = enter(seen.status, step.name, "Cleaning", seen, job_uid=step.job_uid)
    return update(
        status,
        step=status.step and Step.model_validate({**dict(status.step), "gives_way": True, "lacks_processors": lacks}),
        queued_time=stamp(_turn(seen, step).end_of_line(seen.now)),
        gave_way=status.gave_way + to_others,
        progress=words,
    )


def may_share(seen: Seen, trouble: Trouble) -> bool:
    """Return whether whole processors, which no machine has, may be given up for a share: no number stands on them yet.

    In a Comparison the preparation alone decides that, for all races of all variants. What others of ours have taken
    they give back, and a share would be kept off their machines as well; so would a cluster be built anew for nothing
    where the load generator finds no processor on machines that Elasticsearch is not on.
    """
    given = seen.status.node_processors
    raced = any(is_race(race.name) for race in seen.status.races)
    of_block = bool(seen.turn.led_by) and seen.subject.spec.repetitions > 0
    theirs = bool(seen.kept) or seen.others_race
    lacks = bool(trouble.lacks_cpu) and _could_be_with_elasticsearch(seen)
    return bool(given and given.whole) and lacks and not (raced or of_block or theirs)


def _could_be_with_elasticsearch(seen: Seen) -> bool:
    """Return whether the load generator may use a machine that has Elasticsearch, where it is the one that waits."""
    there, wanted = machines_of(elasticsearch_pods(seen.children.pods)), seen.subject.spec.race.scheduling
    if not load_generators(seen.children.pods) or wanted is None:
        return True
    built = seen.subject.spec.elasticsearch
    labels = built.scheduling.node_selector if built and built.scheduling else {}
    return set(wanted.machines or there) & set(there) != set() and wanted.node_selector.items() <= labels.items()


def take_back(seen: Seen, step: Step) -> Plan | None:
    """Return the plan when a Job found its machine after all, while its place was being given up; else None.

    As long as the Job was not deleted it goes on. Else it has failed: what has begun is not begun again in silence.
    """
    if not step.gives_way or not _has_begun(seen):
        return None
    job = seen.children.job
    if job is not None and not job["metadata"].get("deletionTimestamp"):
        there = enter(seen.status, step.name, "Running", seen, job_uid=step.job_uid)
        return Plan(update(there, queued_time=None))
    return fail(seen, Reason.UNSCHEDULABLE, "the load generator's pod got its machine while its place was given up")


def line_up_again(seen: Seen, step: Step) -> Plan:
    """Return the plan after everything of a step that gives way was removed: the place is free.

    What its nodes are given changes only here: until now its load generator might have begun on the cluster there was.
    """
    text = f"{title(seen.subject.spec, step.name)} has given its place up: it lines up again"
    phase = "Pending" if step.name == CHECK else "Queued"
    status = update(seen.status, step=None, admitted_time=None, phase=phase, progress=text)
    if step.lacks_processors:
        status = update(status, node_processors=share_instead(step.lacks_processors))
    removed = Observation(ConditionType.CLUSTER_READY, False, ConditionReason.CLUSTER_REMOVED, text)
    return Plan(status, observed=(removed,) if builds_cluster(seen.subject.spec, step.name) else ())


def look_again_in(seen: Seen, trouble: Trouble | None, search: RoomSearch, otherwise: float) -> float:
    """Return the seconds until the next look at a step that may have no machine; `otherwise`: what its others ask."""
    if trouble is None or trouble.reason != Reason.UNSCHEDULABLE:
        return otherwise
    left = search.this_try.left(seen.now).total_seconds()
    return min(otherwise, left if left > 0 else _LOOK_AGAIN_SECONDS)


def _has_begun(seen: Seen) -> bool:
    return bool(seen.children.progress) or any(is_running(pod) for pod in load_generators(seen.children.pods))


def _turn(seen: Seen, step: Step) -> Turn:
    return seen.turn if seen.status.admitted_time or step.name != CHECK else seen.check_turn
