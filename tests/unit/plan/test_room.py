"""No machine has room: how long a place is held, who gets it, and that nothing that has begun gives anything up."""

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from test_interleavings import World
from world import START, cluster, good_record, job, later, pod, progress, seen, spec

from fairlap.api.phases import OVER
from fairlap.api.status import BenchmarkStatus, NodeProcessors, RaceStatus, Step
from fairlap.plan.basis.conditions import condition, stamp
from fairlap.plan.basis.seen import Children, Plan, Seen
from fairlap.plan.benchmark import plan
from fairlap.plan.explain.trouble import Trouble, explain_unschedulable, find_troubles
from fairlap.plan.room import may_share
from fairlap.queue.turn import Turn
from fairlap_race.contract.reasons import Reason

CHECKED = spec(race={"params": {"bulk_size": 100}}, smokeTest=False)
HELD = Turn(may_go=True)
WANTED = Turn(may_go=True, wanted=stamp(START))
LENT = Turn(may_go=True, wanted=stamp(START), led_by="upgrade")
PATIENCE = 301
"""seconds after which a place is given up"""


def without_machine(name: str, role: str = "elasticsearch", lacks: str = "memory", words: str = "") -> dict[str, Any]:
    message = words or f"0/2 nodes are available: 2 Insufficient {lacks}."
    scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return pod(name, role, ready=False, containerStatuses=[], conditions=[scheduled])


BUILDING = Children(elasticsearch=cluster(phase="ApplyingChanges"), pods=[without_machine("es-0")])
RALLY = without_machine("rally", "load-generator")
LOADING = Children(elasticsearch=cluster(), job=job(), pods=[pod("es-0"), RALLY], ready_endpoints=1, progress="")


def at(step: str, stage: str, **more: Any) -> BenchmarkStatus:
    begun = plan(seen()).status
    uid = "job-1" if stage == "Running" else None
    changes = {"step": Step(name=step, stage=stage, since=stamp(START), job_uid=uid), **more}  # type: ignore[arg-type]
    return begun.model_copy(update={"admitted_time": stamp(START), "phase": "Provisioning", **changes})


def builds(turn: Turn = WANTED, seconds: float = PATIENCE, **status: Any) -> Seen:
    return seen(at("race-1", "Provisioning", **status), children=BUILDING, turn=turn, now=later(seconds=seconds))


def loads(turn: Turn = WANTED, seconds: float = PATIENCE, **status: Any) -> Seen:
    now, records = later(seconds=seconds), {"race-1": None}
    return seen(at("race-1", "Running", **status), children=LOADING, turn=turn, now=now, records=records)


@pytest.mark.parametrize("look", [builds, loads])
def test_after_a_bounded_time_the_place_is_given_up_to_who_waits(look: Any) -> None:
    for held in (look(seconds=299), look(HELD)):
        todo = plan(held)
        assert todo.status.step.stage == held.status.step.stage and todo.status.gave_way == 0
        assert "Unschedulable" in todo.status.progress
    assert plan(look(HELD, 150)).wake_in == 150, "then it may be somebody else's turn"
    assert plan(look(HELD)).wake_in == 30, "nobody tells it that somebody has begun to wait"
    said = plan(look())
    assert not (said.delete or said.create or said.start_job), "it is said first"
    status = said.status
    assert status.step and (status.step.stage, status.step.gives_way, status.gave_way) == ("Cleaning", True, 1)
    assert status.admitted_time, "the place is kept until what it was for is removed"
    assert status.queued_time == stamp(later(seconds=PATIENCE)) and "gives its place up" in status.progress
    doing = plan(replace(look(), status=status))
    assert doing.delete == (("elasticsearch",) if look is builds else ("job", "elasticsearch"))
    gone = plan(replace(look(), status=doing.status, children=Children(), confirmed=True)).status
    assert (gone.phase, gone.admitted_time, gone.step, gone.finished_step) == ("Queued", None, None, None)
    assert gone.queued_time == status.queued_time and gone.reason == "" and not gone.races
    ready = condition(gone, "ClusterReady")
    assert ready and (ready.status, ready.reason) == ("False", "ClusterRemoved")
    waits = plan(seen(gone, turn=Turn(may_go=False, ahead=1, behind="ns/other")))
    assert waits.status.phase == "Queued" and waits.status.queued_time
    again = plan(seen(waits.status, spec(smokeTest=False), now=later(seconds=900))).status
    assert again.step and again.step.stage == "Provisioning"
    assert (again.admitted_time, again.queued_time, again.gave_way) == (stamp(later(seconds=900)), None, 1)


@pytest.mark.parametrize("look", [builds, loads])
def test_a_race_of_a_comparison_fails_where_others_could_go_on(look: Any) -> None:
    """Its place is the Comparison's: it was held for all of timeouts.provisioning, a day at most, by every race."""
    for patient in (look(Turn(may_go=True, led_by="upgrade")), look(LENT, seconds=299)):
        todo = plan(patient).status
        assert not todo.failing and todo.gave_way == 0
    status = plan(look(LENT)).status
    assert (status.failing, status.reason, status.gave_way) == (True, "Unschedulable", 1)
    assert status.message.startswith("its place was given up to others: pod ")
    assert status.step and status.step.stage == "Cleaning" and not status.step.gives_way and status.queued_time is None


def test_it_lines_up_behind_all_who_wait_whatever_their_clock_says() -> None:
    ahead = builds(Turn(may_go=True, wanted=stamp(later(hours=1))))
    assert plan(ahead).status.queued_time == stamp(later(hours=1, seconds=1))


@pytest.mark.parametrize("look", [builds, loads])
@pytest.mark.parametrize("turn", [WANTED, HELD])
def test_all_tries_together_have_the_time_of_one(look: Any, turn: Turn) -> None:
    assert plan(look(turn, 290, gave_way=2)).status.step.stage != "Cleaning"
    todo = plan(look(turn, 301, gave_way=2)).status
    assert (todo.failing, todo.reason, todo.step and todo.step.gives_way) == (True, "Unschedulable", False)
    assert "given its place up to others 2 time(s)" in todo.message
    assert plan(look(turn, 1, gave_way=9)).status.failing, "whatever the timeouts are now"


def test_only_the_time_without_a_machine_counts_for_all_tries() -> None:
    starting = replace(BUILDING, pods=[pod("es-0", ready=False)])
    todo = plan(replace(builds(seconds=800, gave_way=2), children=starting)).status
    assert todo.step and todo.step.stage == "Provisioning" and not todo.failing
    done = at("race-1", "Cleaning", gave_way=2)
    assert plan(seen(done, spec(repetitions=2), confirmed=True)).status.gave_way == 0, "the next race has all of it"


def test_a_kept_cluster_is_not_kept_for_who_gives_way() -> None:
    status = plan(builds()).status
    todo = plan(replace(builds(), status=status, subject=seen(of=spec(keepCluster="Always")).subject))
    assert todo.delete == ("elasticsearch",)


@pytest.mark.parametrize(
    "children",
    [
        replace(LOADING, pods=[pod("es-0"), pod("rally", "load-generator")]),
        replace(LOADING, progress=progress("racing", "bulk", 1)),
    ],
)
def test_nothing_that_has_begun_gives_anything_up(children: Children) -> None:
    before = replace(loads(), children=children)
    assert plan(before).status.step.stage == "Running"  # type: ignore[union-attr]
    # It began after it was said that its place is given up, and before the Job was deleted: it goes on.
    said = plan(loads()).status
    back = plan(replace(loads(), status=said, children=children)).status
    assert back.step and (back.step.stage, back.step.job_uid, back.step.gives_way) == ("Running", "job-1", False)
    assert back.queued_time is None and back.admitted_time
    # After the Job was deleted nothing brings it back, and it is not begun again in silence.
    dying = {**job(), "metadata": {**job()["metadata"], "deletionTimestamp": stamp(START)}}
    for lost in (replace(children, job=None), replace(children, job=dying)):
        failed = plan(replace(loads(), status=said, children=lost)).status
        assert (failed.failing, failed.reason) == (True, "Unschedulable") and failed.step
        assert not failed.step.gives_way and [race.valid for race in failed.races] == [False]


def test_what_does_not_go_away_is_said_and_ends_it() -> None:
    said = plan(builds()).status
    late = replace(builds(seconds=PATIENCE + 601), status=said, confirmed=True)
    todo = plan(late).status
    assert (todo.phase, todo.reason) == ("Failed", "CleanupTimeout")


def test_a_track_check_without_a_machine_gives_its_place_up_too() -> None:
    status = at("check", "Running", admitted_time=None, phase="Pending")
    held = seen(status, CHECKED, children=replace(LOADING, elasticsearch=None, pods=[RALLY]),
                now=later(seconds=PATIENCE), turn=WANTED, records={"check": None})  # fmt: skip
    assert plan(held).status.step.stage == "Running", "nobody waits for a check"  # type: ignore[union-attr]
    said = plan(replace(held, check_turn=WANTED)).status
    assert said.step and said.step.gives_way
    gone = plan(replace(held, status=said, children=Children(), confirmed=True)).status
    assert (gone.phase, gone.step, gone.queued_time is None) == ("Pending", None, False)
    behind = Turn(may_go=False, ahead=3, behind="ns/c")
    waits = plan(seen(gone, CHECKED, check_turn=behind, now=held.now)).status
    assert waits.progress == "waiting for 3 before it in the line for track checks, the last is ns/c"
    again = plan(seen(waits, CHECKED, now=held.now)).status
    assert again.step and (again.step.name, again.step.stage, again.queued_time) == ("check", "Starting", None)


def test_what_a_namespace_waits_for_is_said() -> None:
    status = at("check", "Cleaning", finished_step="check", admitted_time=None).model_copy(update={"step": None})
    todo = plan(seen(status, CHECKED, turn=Turn(may_go=False, ahead=2, behind="ns/other", share=1))).status
    assert todo.phase == "Queued"
    assert todo.progress == (
        "waiting for 2 before it in its namespace, whose share of 1 is taken, the last is ns/other"
    )


LOST = Turn(may_go=False, ahead=1, behind="ns/other", after=stamp(later(seconds=700)))
"""of one that comes to the end of the line: others have its place, and one has lined up a minute ahead of its clock"""


def lost(at_stage: str, children: Children, **status: Any) -> Seen:
    look = seen(at("race-1", at_stage, **status), children=children, turn=LOST, now=later(seconds=630))
    return replace(look, lost_place=True, records={"race-1": None})


@pytest.mark.parametrize(
    ("at_stage", "children"),
    [
        ("Provisioning", Children()),
        ("Provisioning", Children(elasticsearch=cluster(phase="ApplyingChanges"))),
        ("Starting", replace(LOADING, job=None, pods=[pod("es-0")])),
        ("Running", replace(LOADING, job=job(suspend=True), pods=[pod("es-0")])),
        ("Running", LOADING),
    ],
)
def test_one_whose_place_others_have_got_removes_what_it_began_and_lines_up_again(
    at_stage: str, children: Children
) -> None:
    """A webhook that failed for ten minutes: what came back raced beside the one that had got its place."""
    look = lost(at_stage, children)
    assert plan(replace(look, confirmed=False)).look == ("children",), "its race may have begun"
    todo = plan(look)
    status = todo.status
    assert not (todo.create or todo.delete or todo.start_job), "it is said first"
    assert status.step and (status.step.stage, status.step.gives_way, status.gave_way) == ("Cleaning", True, 1)
    assert status.queued_time == stamp(later(seconds=701)) and "gives its place up to others" in status.progress
    gone = plan(replace(look, status=status, children=Children(), lost_place=False)).status
    assert (gone.phase, gone.admitted_time, gone.step, gone.failing) == ("Queued", None, None, False)
    assert gone.races == [] and gone.queued_time == status.queued_time


def test_a_race_that_has_begun_goes_on_whoever_has_its_place() -> None:
    begun = replace(LOADING, pods=[pod("es-0"), pod("rally", "load-generator")])
    todo = plan(lost("Running", begun)).status
    assert todo.step and (todo.step.stage, todo.step.job_started, todo.gave_way) == ("Running", True, 0)


@pytest.mark.parametrize("at_stage", ["Provisioning", "Starting"])
def test_who_loses_its_place_again_and_again_fails_some_day(at_stage: str) -> None:
    todo = plan(lost(at_stage, Children(elasticsearch=cluster(phase="ApplyingChanges")), gave_way=1)).status
    assert (todo.failing, todo.reason) == (True, "ProvisioningTimeout")
    words = "the API server refused what it asked for so long that others got its place"
    assert todo.message == f"{words}, 2 time(s)"


@pytest.mark.parametrize("at_stage", ["Provisioning", "Starting"])
def test_a_race_that_its_comparison_went_on_without_fails_since_it_never_lines_up(at_stage: str) -> None:
    """It came back when it was not refused any more, and raced beside the next block."""
    look = lost(at_stage, Children(elasticsearch=cluster(phase="ApplyingChanges")))
    todo = plan(replace(look, turn=Turn(may_go=False, led_by="upgrade"))).status
    assert (todo.failing, todo.reason, todo.gave_way) == (True, "ProvisioningTimeout", 0)
    assert todo.step and todo.step.stage == "Cleaning" and not todo.step.gives_way


def test_one_that_lost_its_place_between_two_races_lines_up_again() -> None:
    """It kept its place by its status while it waited, and raced on beside the one that had got it."""
    between = at("race-1", "Cleaning", finished_step="race-1").model_copy(update={"step": None})
    look = replace(seen(between, spec(repetitions=2), turn=LOST), lost_place=True)
    waits = plan(look).status
    assert (waits.phase, waits.admitted_time, waits.step, waits.failing) == ("Queued", None, None, False)
    again = plan(seen(waits, spec(repetitions=2), now=later(seconds=900))).status
    assert again.step and (again.step.name, again.admitted_time) == ("race-2", stamp(later(seconds=900)))


def test_whose_kept_cluster_is_in_the_way_is_said() -> None:
    ready = condition(plan(replace(builds(HELD), kept={"u": "team/old", "v": "team/older"})).status, "ClusterReady")
    assert ready and "kept cluster: there is that of team/old and 1 more, until its keepClusterFor" in ready.message


class Crowded(World):
    """Machines come and go: a pod that has none may get one at any moment, also while its place is given up."""

    def __init__(self, seed: int, room: float) -> None:
        super().__init__(seed)
        self.room, self.began = room, list[str]()

    def act(self, step: str, todo: Plan) -> None:
        super().act(step, todo)
        mine = self.of(step)
        if mine["job"] is None:
            mine["pods"] = [p for p in mine["pods"] if p["metadata"]["name"] != "rally"]
            mine["progress"] = mine["progress"] or None

    def move(self) -> None:
        for step, mine in self.children.items():
            if self.random.random() < 0.5:
                continue
            pods = {p["metadata"]["name"]: p for p in mine["pods"]}
            if mine["es"] is None:
                pods.pop("es-0", None)
            elif "es-0" not in pods:
                pods["es-0"] = without_machine("es-0")
            elif self.random.random() < self.room:
                pods["es-0"], mine["es"] = pod("es-0"), cluster()
            if mine["job"] and not mine["job"]["spec"]["suspend"]:
                if mine["progress"]:
                    mine["progress"] = self.random.choice([progress("racing", "bulk", 3), progress("done")])
                    self.recorded |= {step} if mine["progress"] == progress("done") else set()
                elif "rally" not in pods:
                    pods["rally"] = without_machine("rally", "load-generator")
                elif self.random.random() < self.room:
                    pods["rally"], mine["progress"] = pod("rally", "load-generator"), progress("racing", "bulk", 1)
                    self.began.append(step)
            mine["pods"] = list(pods.values())

    def view(self, status: BenchmarkStatus) -> Children:
        found = super().view(status)
        return replace(found, ready_endpoints=sum(p["metadata"]["name"] == "es-0" for p in found.pods))


def wait_or_go(world: Crowded, status: BenchmarkStatus) -> Turn:
    if status.admitted_time:
        return world.random.choice((HELD, WANTED))
    return world.random.choice((HELD, Turn(may_go=False, ahead=1, behind="ns/other")))


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("room", [0.0, 0.02, 0.3])
def test_every_interleaving_ends_and_no_race_begins_twice(seed: int, room: float) -> None:
    world, status = Crowded(seed, room), BenchmarkStatus()
    tries, steps = 0, random.Random(seed)
    for _ in range(3000):
        world.now += timedelta(seconds=steps.choice((0, 1, 60)))
        steps_there = ("smoke", "race-1", "race-2")
        records = {name: good_record(name) if name in world.recorded else None for name in steps_there}
        look = seen(status, spec(repetitions=2), children=world.view(status), now=world.now, records=records,
                    turn=wait_or_go(world, status))  # fmt: skip
        todo = plan(look)
        if todo.look == ("children",):
            todo = plan(replace(look, children=world.view(status), confirmed=True))
        assert todo.status.admitted_time or not todo.status.step, "only who has a place begins anything"
        if todo.status != status:
            if steps.random() < 0.8:  # else the write was refused, or the operator was killed before it
                tries = max(tries, todo.status.gave_way)
                status = todo.status
        elif status.step and steps.random() < 0.8:
            world.act(status.step.name, todo)
        world.move()
        if status.phase in OVER:
            break
    assert status.phase in OVER, status.progress
    assert len(world.began) == len(set(world.began)), "no race began twice"
    assert all(mine["es"] is None and mine["job"] is None for mine in world.children.values())
    assert tries <= 3
    if status.phase == "Failed":
        assert status.reason == "Unschedulable", status.message
    else:
        assert set(world.began) == {"smoke", "race-1", "race-2"}
    if room == 0:
        assert status.phase == "Failed" and not world.began


@pytest.mark.parametrize(
    ("words", "given", "told"),
    [
        ("0/1 nodes are available: 1 Insufficient cpu.", NodeProcessors(cpu="1", whole=True), True),
        ("0/1 nodes are available: 1 Insufficient memory.", NodeProcessors(cpu="1", whole=True), False),
        ("0/1 nodes are available: 1 Insufficient cpu.", NodeProcessors(cpu="500m"), False),
        ("0/1 nodes are available: 1 Insufficient cpu.", None, False),
    ],
)
def test_whoever_was_given_whole_processors_is_told_how_to_share(
    words: str, given: NodeProcessors | None, told: bool
) -> None:
    waits = seen(BenchmarkStatus(node_processors=given))
    (trouble,) = find_troubles([without_machine("es-0", words=words)])
    found = explain_unschedulable(trouble, waits)
    assert found is not None and ("elasticsearch.resources.requests.cpu, for example 500m" in found.message) is told


ALONE = "scheduling.machines allows a, b, c, d, e and 1 more alone"


@pytest.mark.parametrize(("look", "field"), [(builds, "elasticsearch"), (loads, "race")])
def test_the_machines_that_the_spec_allows_are_told(look: Any, field: str) -> None:
    only, other = {"scheduling": {"machines": list("abcdef")}}, "race" if field == "elasticsearch" else "elasticsearch"
    for asked, told in ((field, True), (other, False)):
        waits = look(HELD)
        of = replace(waits, subject=replace(waits.subject, spec=spec(**{asked: only})), now=later(seconds=901))
        status = plan(of).status
        assert status.reason == "Unschedulable"
        assert (f"Insufficient memory.; {asked}.{ALONE}" in status.message) is told


WHOLE = NodeProcessors(cpu="1", whole=True)
NO_CPU = without_machine("es-0", lacks="cpu")
NO_CPU_BUILDING = replace(BUILDING, pods=[NO_CPU])
NO_CPU_LOADING = replace(LOADING, pods=[pod("es-0"), without_machine("rally", "load-generator", lacks="cpu")])


def crowded(look: Any, turn: Turn = HELD, seconds: float = PATIENCE, of: Any = None, **status: Any) -> Seen:
    """Return what is seen of a Benchmark that was given whole processors, which no machine has."""
    found: Seen = look(turn, seconds, **{"node_processors": WHOLE, **status})
    children = NO_CPU_BUILDING if look is builds else NO_CPU_LOADING
    subject = seen(of=of).subject if of else found.subject
    return replace(found, children=children, subject=subject)


def emptied(look: Seen, said: BenchmarkStatus) -> BenchmarkStatus:
    """Return the status once everything of a step that gives way is gone."""
    return plan(replace(look, status=said, children=Children(), confirmed=True)).status


@pytest.mark.parametrize("look", [builds, loads])
@pytest.mark.parametrize("turn", [HELD, WANTED])
def test_whole_processors_that_no_machine_has_become_a_share_after_a_bounded_time(look: Any, turn: Turn) -> None:
    early = plan(crowded(look, turn, 299)).status
    assert early.node_processors == WHOLE and early.step and early.step.stage != "Cleaning"
    said = plan(crowded(look, turn))
    assert not (said.delete or said.create), "it is said first"
    assert said.status.step and said.status.step.gives_way and "shared processors" in said.status.progress
    assert said.status.node_processors == WHOLE, "the cluster that there is was built with these"
    assert said.status.gave_way == bool(turn.wanted), "nobody else was given the place where nobody waited"
    gone = emptied(crowded(look, turn), said.status)
    given = gone.node_processors
    assert given and (given.cpu, given.whole, given.refused) == ("100m", False, True)
    assert "names no CPU" in given.message and given.message.count("Insufficient cpu") == 1
    again = plan(seen(gone, spec(smokeTest=False), now=later(seconds=900))).status
    assert again.step and (again.step.stage, again.step.lacks_processors) == ("Provisioning", "")
    assert again.node_processors == given and again.queued_time is None
    later_on = plan(crowded(look, HELD, of=spec(smokeTest=False), node_processors=given)).status
    assert later_on.step and later_on.step.stage != "Cleaning", "it is decided twice at most"


@pytest.mark.parametrize("look", [builds, loads])
def test_a_preparation_of_a_comparison_shares_and_a_race_of_its_blocks_never_does(look: Any) -> None:
    prepares = spec(repetitions=0, smokeTest=True)
    for turn in (LENT, Turn(may_go=True, led_by="upgrade")):
        prepared = crowded(look, turn, of=prepares)
        assert prepared.status.step
        smoke = prepared.status.step.model_copy(update={"name": "smoke"})
        prepared = replace(prepared, status=prepared.status.model_copy(update={"step": smoke}))
        said = plan(replace(prepared, records={"smoke": None})).status
        assert said.step and said.step.gives_way and not said.failing and said.gave_way == 0
        of_block = plan(crowded(look, turn)).status
        assert of_block.node_processors == WHOLE and not (of_block.step and of_block.step.gives_way)


@pytest.mark.parametrize("look", [builds, loads])
def test_after_a_race_with_whole_processors_all_others_have_them(look: Any) -> None:
    raced = RaceStatus(name="race-1", id="i", valid=True)
    todo = plan(crowded(look, of=spec(repetitions=2), races=[raced])).status
    assert todo.node_processors == WHOLE and todo.step and not todo.step.gives_way


@pytest.mark.parametrize(("lacks_cpu", "shares"), [("0/1 nodes: cpu", True), ("", False)])
def test_whether_processors_lack_is_a_fact_and_not_in_the_words_that_people_read(lacks_cpu: str, shares: bool) -> None:
    told = Trouble(Reason.UNSCHEDULABLE, "Insufficient cpu" if not shares else "", final=False, lacks_cpu=lacks_cpu)
    assert may_share(crowded(builds), told) is shares


def test_why_processors_are_shared_has_all_of_the_schedulers_words_and_none_of_ours() -> None:
    words = "0/2 nodes are available: 2 Insufficient cpu; preemption: 0/2 nodes are available."
    look = replace(crowded(builds), children=replace(BUILDING, pods=[without_machine("es-0", words=words)]))
    given = emptied(look, plan(look).status).node_processors
    assert given and f"(pod es-0: {words}): nodes share them" in given.message


def test_memory_that_no_machine_has_takes_no_whole_processors_away() -> None:
    for given in (WHOLE, NodeProcessors(cpu="500m"), None):
        todo = plan(builds(HELD, node_processors=given)).status
        assert todo.node_processors == given and todo.step and not todo.step.gives_way
    lined_up = plan(builds(WANTED, node_processors=WHOLE)).status
    assert emptied(builds(WANTED), lined_up).node_processors == WHOLE


@pytest.mark.parametrize("look", [builds, loads])
@pytest.mark.parametrize("theirs", [{"kept": {"u": "ns/old"}}, {"others_race": True}])
def test_processors_that_others_of_ours_have_are_waited_for(look: Any, theirs: Any) -> None:
    """A share would be kept off their machines as well, and be that of all races once they are gone."""
    todo = plan(replace(crowded(look), **theirs)).status
    assert todo.node_processors == WHOLE and todo.step and not todo.step.gives_way


@pytest.mark.parametrize(
    ("elasticsearch", "race", "shares"),
    [
        ({}, {}, True),
        ({"machines": ["m1", "m2"]}, {"machines": ["m1"]}, True),
        ({"machines": ["m1"]}, {"machines": ["m2"]}, False),
        ({"nodeSelector": {"pool": "data"}}, {"nodeSelector": {"pool": "load"}}, False),
        ({}, {"nodeSelector": {"pool": "load"}}, False),
        ({"nodeSelector": {"pool": "data"}}, {"nodeSelector": {"pool": "data"}}, True),
        ({"nodeSelector": {"pool": "data"}}, {}, True),
    ],
)
def test_a_cluster_is_not_built_anew_for_a_load_generator_that_goes_elsewhere(
    elasticsearch: Any, race: Any, shares: bool
) -> None:
    of = spec(elasticsearch={"scheduling": elasticsearch}, race={"scheduling": race})
    on = replace(NO_CPU_LOADING, pods=[pod("es-0", node="m1"), *NO_CPU_LOADING.pods[1:]])
    todo = plan(replace(crowded(loads, of=of), children=on)).status
    assert todo.step and todo.step.gives_way is shares
    building = plan(crowded(builds, of=of)).status
    assert building.step and building.step.gives_way, "it is Elasticsearch that finds none"


def test_a_load_generator_that_found_its_machine_after_all_keeps_the_cluster_as_it_was_built() -> None:
    before = crowded(loads)
    said = plan(before).status
    running = replace(NO_CPU_LOADING, pods=[pod("es-0"), pod("rally", "load-generator")])
    back = plan(replace(before, status=said, children=running)).status
    assert back.step and (back.step.stage, back.step.lacks_processors) == ("Running", "")
    assert back.node_processors == WHOLE


class Small(Crowded):
    """One machine that has room for shares only, and for whole processors by and by or never."""

    def move(self) -> None:
        super().move()
        for mine in self.children.values():
            for each in mine["pods"]:
                for told in each["status"].get("conditions", ()):
                    told |= {"message": told.get("message", "").replace("memory", "cpu")}


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("room", [0.0, 0.02, 0.3])
def test_in_every_interleaving_all_races_are_given_the_same(seed: int, room: float) -> None:
    world, status = Small(seed, room), BenchmarkStatus()
    built: list[tuple[str, NodeProcessors | None]] = []
    decisions, steps = list[NodeProcessors](), random.Random(seed)
    for _ in range(3000):
        world.now += timedelta(seconds=steps.choice((0, 1, 60)))
        records = {
            name: good_record(name) if name in world.recorded else None for name in ("smoke", "race-1", "race-2")
        }
        look = seen(status, spec(repetitions=2), children=world.view(status), now=world.now, records=records,
                    turn=wait_or_go(world, status))  # fmt: skip
        todo = plan(look)
        if todo.look == ("children",):
            todo = plan(replace(look, children=world.view(status), confirmed=True))
        if todo.status != status:
            if steps.random() < 0.8:  # else the write was refused, or the operator was killed before it
                status = todo.status
                given = status.node_processors
                decisions += [given] if given and given not in decisions else []
        elif status.step and steps.random() < 0.8:
            built += [(status.step.name, status.node_processors)] if "elasticsearch" in todo.create else []
            world.act(status.step.name, todo)
        world.move()
        if status.phase in OVER:
            break
    assert status.phase in OVER, status.progress
    assert len(world.began) == len(set(world.began)), "no race began twice"
    assert [each.whole for each in decisions] in ([True], [True, False])
    last = dict(built)  # of a step that began again what its last cluster was built with
    raced = [last[name] for name in world.began if name.startswith("race-")]
    assert all(each == raced[0] for each in raced)
    if room == 0:
        assert status.phase == "Failed" and decisions[-1].refused
