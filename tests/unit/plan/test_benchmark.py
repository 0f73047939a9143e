"""The decision as a table: what is seen, and what follows."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from world import READY, SETTINGS, START, cluster, good_record, is_true, job, later, pod, progress, seen, spec

from fairlap.api.spec import BenchmarkSpec, Track
from fairlap.api.status import BenchmarkStatus, RaceStatus, Step
from fairlap.plan.acceptance.accept import objections
from fairlap.plan.basis.conditions import condition, stamp
from fairlap.plan.basis.seen import Children, LogOf, Plan, Refusal, Seen, Warned
from fairlap.plan.benchmark import plan
from fairlap.plan.explain.trouble import find_troubles
from fairlap.plan.lifetimes.keep import kept_until
from fairlap.plan.transition import PROGRESS_LENGTH, describe_progress, one_line
from fairlap.queue.turn import Turn
from fairlap.runtime.beside.races import seen_race
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.http_record import HttpAnswers, HttpHost, HttpRecord
from fairlap_race.contract.recorded.record import Outcome, Progress, Record

Json = dict[str, Any]
CHECKED = spec(race={"params": {"bulk_size": 100}})


RACED = RaceStatus(name="race-1", id="1", valid=True)


def at(step: str, stage: str, uid: str | None = None, **more: Any) -> BenchmarkStatus:
    begun = plan(seen()).status
    return begun.model_copy(update={"step": Step(name=step, stage=stage, since=stamp(START), job_uid=uid), **more})  # type: ignore[arg-type]


def stage(todo: Plan) -> str:
    return todo.status.step.stage if todo.status.step else ""


def running(step: str = "race-1", **changes: Any) -> Seen:
    children = {"elasticsearch": cluster(), "job": job(), "pods": [pod("es-0")], **changes}
    return seen(at(step, "Running", "job-1"), children=Children(**children))


def started(look: Seen, **after: float) -> Seen:
    """The same, once it was said that its Job has started, so long after the stage began."""
    assert look.status.step
    step = look.status.step.model_copy(update={"job_started": True, "job_started_at": stamp(later(**after))})
    return replace(look, status=look.status.model_copy(update={"step": step}))


def test_begins_with_a_status_and_nothing_else() -> None:
    todo = plan(seen())
    assert (todo.status.phase, todo.create, todo.delete) == ("Pending", (), ())
    assert todo.status.races_done == "0/1"


def test_a_builtin_track_as_it_is_needs_no_check() -> None:
    begun = plan(seen()).status
    assert is_true(begun, "Accepted")
    todo = plan(seen(begun))
    assert todo.status.step and (todo.status.step.name, stage(todo)) == ("smoke", "Provisioning")


def test_of_several_objections_the_progress_is_the_first_whatever_stands_in_it() -> None:
    wanted = spec(race={"telemetryParams": {"a. b": 1, "c": 2}}, elasticsearch={"java": 99})
    first, *others = objections(wanted, SETTINGS)
    refused = plan(seen(of=wanted)).status
    assert others and all(each.message in refused.message for each in (first, *others))
    assert refused.progress == one_line(first.message)
    alone = plan(seen(of=spec(race={"telemetryParams": {"a. b": 1}}))).status
    assert alone.progress.startswith("race.telemetryParams sets a. b, which is of no device")


def test_checks_the_track_before_it_asks_for_a_cluster() -> None:
    todo = plan(seen(plan(seen(of=CHECKED)).status, CHECKED))
    assert todo.status.step and (todo.status.step.name, stage(todo)) == ("check", "Starting")
    then = plan(seen(todo.status, CHECKED))
    assert then.create == ("record", "job")


def test_a_missing_config_map_is_said_before_anything_is_created() -> None:
    wanted = spec(race={"track": {"configMap": {"name": "mine"}}})
    first = seen(plan(seen(of=wanted)).status, wanted)
    assert plan(first).look == ("track",)
    early = plan(replace(first, track_keys=frozenset()))
    assert early.status.phase == "Pending" and "waiting for ConfigMap mine" in early.status.progress
    todo = plan(replace(first, track_keys=frozenset({"a.json"}), now=later(seconds=21)))
    assert (todo.status.phase, todo.status.reason) == ("Failed", "TrackNotFound")
    assert "has only a.json" in todo.status.message


def test_a_missing_file_of_requests_is_said_too() -> None:
    wanted = spec(
        race={"track": {"builtin": "replay"}, "requests": {"configMap": {"name": "mine"}, "file": "a.ndjson"}}
    )
    first = seen(plan(seen(of=wanted)).status, wanted)
    assert plan(first).look == ("track",)
    early = plan(replace(first, track_keys=frozenset()))
    assert "waiting for ConfigMap mine with the key a.ndjson" in early.status.progress
    todo = plan(replace(first, track_keys=frozenset(), now=later(seconds=21)))
    assert (todo.status.phase, todo.status.reason) == ("Failed", "RequestsInvalid")
    assert "race.requests.configMap mine does not exist: create it" in todo.status.message
    assert "with the key a.ndjson" in todo.status.message
    there = plan(replace(first, track_keys=frozenset({"a.ndjson"})))
    assert there.status.step and there.status.step.name == "check"


def test_waits_in_the_queue_and_says_for_whom() -> None:
    status = at("check", "Cleaning").model_copy(update={"step": None, "finished_step": None})
    todo = plan(seen(status, turn=Turn(may_go=False, ahead=2, behind="ns/other")))
    assert todo.status.phase == "Queued" and "ns/other" in todo.status.progress
    assert todo.status.admitted_time is None
    todo = plan(seen(todo.status))
    assert todo.status.admitted_time and stage(todo) == "Provisioning"


def test_a_place_that_its_comparison_no_longer_lends_is_given_up() -> None:
    """Between two steps nothing of it is there, and others wait."""
    status = at("check", "Cleaning").model_copy(
        update={"step": None, "finished_step": "smoke", "admitted_time": stamp(START)}
    )
    for gone in ("(not there)", "upgrade, which is over"):
        todo = plan(seen(status, turn=Turn(may_go=False, led_by=gone)))
        assert (todo.status.phase, todo.status.admitted_time) == ("Queued", None)
        assert todo.status.progress == f"waiting for its Comparison {gone}"


@pytest.mark.parametrize("finished", [None, "check", "smoke"])
def test_one_whose_comparison_is_over_ends_and_says_what_to_leave_out(finished: str | None) -> None:
    """As a copy of a race with its owner: it waited for ever."""
    status = at("check", "Cleaning").model_copy(update={"step": None, "finished_step": finished})
    over = Turn(may_go=False, led_by="upgrade, which is over", leader_over=True)
    for of in (spec(), spec(race={"params": {"a": 1}})):
        todo = plan(seen(status, of, turn=over, check_turn=over)).status
        assert (todo.phase, todo.reason) == ("Failed", "InvalidSpec")
        assert todo.message == (
            "this is a race of Comparison upgrade, which is over, so its turn never comes: delete it; a copy of your "
            "own must not have its metadata.ownerReferences"
        )
    waits = plan(seen(status, spec(suspend=True), turn=over, check_turn=over)).status
    assert waits.phase == "Pending", "nobody asks for its turn yet"


@pytest.mark.parametrize(
    ("turn", "kept_for_it", "refused"),
    [
        (Turn(may_go=True), False, True),
        (Turn(may_go=False, ahead=1, behind="ns/x"), False, True),
        (Turn(may_go=True, led_by="cmp"), False, True),
        (Turn(may_go=True, led_by="cmp"), True, False),
        (Turn(may_go=False, led_by="cmp"), True, False),
        (Turn(may_go=False, led_by="cmp"), False, False),
        (Turn(may_go=False, led_by="(not there)"), False, False),
    ],
    ids=["own", "waiting", "another target", "its race", "its race waiting", "in its name", "not there yet"],
)
def test_only_on_the_cluster_that_a_comparison_keeps_for_it_a_race_may_be_raced_again(
    turn: Turn, kept_for_it: bool, refused: bool
) -> None:
    """Tasks of any effect may run there: it would be a way around target.overwrite."""
    track = {"track": {"configMap": {"name": "t"}}}
    of = BenchmarkSpec.model_validate({"target": {"hosts": ["https://prod:9200"]}, "race": track, "racedAgain": ["x"]})
    begun = plan(seen(of=of, turn=turn)).status
    assert begun.phase == "Pending"
    todo = plan(seen(begun, of, turn=turn, kept_for_it=kept_for_it)).status
    assert (todo.phase == "Failed") is refused
    if refused:
        assert todo.reason == "InvalidSpec" and todo.message.startswith("racedAgain is what a Comparison writes")
        assert not is_true(todo, "Accepted")
    alone = plan(seen(begun, of.model_copy(update={"raced_again": None}), turn=turn)).status
    assert alone.phase != "Failed"


def test_suspend_stops_before_the_next_step_and_gives_up_the_place() -> None:
    status = at("smoke", "Cleaning").model_copy(
        update={"step": None, "finished_step": "smoke", "admitted_time": stamp(START)}
    )
    todo = plan(seen(status, spec(suspend=True)))
    assert todo.status.phase == "Pending" and todo.status.admitted_time is None
    assert todo.status.progress == "suspended before race 1/1"


@pytest.mark.parametrize(
    ("children", "lacking"),
    [
        (Children(), "requested"),
        (Children(elasticsearch=cluster()), "0/1 nodes ready"),
        (replace(READY, elasticsearch=cluster(generation=2, observedGeneration=1)), "not seen the specification"),
        (replace(READY, elasticsearch=cluster(phase="ApplyingChanges")), "ApplyingChanges"),
        (replace(READY, elasticsearch=cluster(health="yellow")), "yellow"),
        (replace(READY, ready_endpoints=0), "0/1 http endpoints"),
    ],
)
def test_a_cluster_is_ready_only_when_everything_is(children: Children, lacking: str) -> None:
    todo = plan(seen(at("race-1", "Provisioning"), children=children))
    assert stage(todo) == "Provisioning" and lacking in todo.status.progress
    assert (todo.create == ("elasticsearch",)) is (children.elasticsearch is None)


def test_a_ready_cluster_is_raced_against() -> None:
    todo = plan(seen(at("race-1", "Provisioning"), children=READY))
    assert stage(todo) == "Starting" and is_true(todo.status, "ClusterReady")


UNSCHEDULABLE = pod("es-0", ready=False, containerStatuses=[], conditions=[
    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes: cpu"}])  # fmt: skip


def waiting(reason: str, **more: Any) -> Json:
    container = {"name": "elasticsearch", "image": "no:such", "state": {"waiting": {"reason": reason, **more}}}
    return pod("es-0", ready=False, containerStatuses=[{**container, "restartCount": 0}])


def test_what_keeps_a_cluster_from_being_ready_is_told_at_once() -> None:
    full = f"0/1 nodes: {'cpu, ' * 50}"
    stuck = deepcopy(UNSCHEDULABLE)
    stuck["status"]["conditions"][0]["message"] = full
    children = Children(elasticsearch=cluster(phase="ApplyingChanges"), pods=[stuck])
    todo = plan(seen(at("race-1", "Provisioning"), children=children))
    ready = condition(todo.status, "ClusterReady")
    assert ready and ready.reason == "Unschedulable" and full.strip() in ready.message
    assert "nodes ready (Unschedulable: pod es-0: 0/1 nodes: cpu" in todo.status.progress
    assert len(todo.status.progress) == PROGRESS_LENGTH and todo.status.progress.endswith("…")


@pytest.mark.parametrize(
    ("pods", "seconds", "reason", "words"),
    [
        ([UNSCHEDULABLE], 901, "Unschedulable", "0/1 nodes: cpu"),
        ([waiting("ImagePullBackOff", message="Back-off")], 121, "ImagePull", "no:such"),
        ([waiting("InvalidImageName")], 1, "ImagePull", "no:such"),
        ([waiting("ContainerCreating")], 901, "ProvisioningTimeout", "0/1 nodes ready"),
        ([], 901, "ProvisioningTimeout", "0/1 nodes ready"),
    ],
)
def test_provisioning_fails_with_a_named_cause(pods: list[Json], seconds: int, reason: str, words: str) -> None:
    children = Children(elasticsearch=cluster(phase="ApplyingChanges"), pods=pods)
    status = at("race-1", "Provisioning")
    assert stage(plan(seen(status, children=children))) in ("Provisioning", "Cleaning")
    todo = plan(seen(status, children=children, now=later(seconds=seconds), warnings=()))
    assert (stage(todo), todo.status.reason, todo.status.failing) == ("Cleaning", reason, True)
    assert words in todo.status.message


OF_ECK = 'Elasticsearch.elasticsearch.k8s.elastic.co "bm-race-1" is invalid: spec.nodeSets: needs a master node'


def test_a_cluster_that_eck_will_not_build_ends_at_once_with_its_words() -> None:
    """It makes no pod for it, ever: the place would be held until timeouts.provisioning."""
    there = Children(elasticsearch=cluster(phase="Invalid", health="unknown"))
    at_once = seen(at("race-1", "Provisioning"), children=there)
    assert plan(at_once).look == ("warnings",)
    invalid = Warned("Elasticsearch", "bm-race-1", "es", "Validation", f"{OF_ECK}. ")
    others = (invalid._replace(message="a setting is odd"), invalid._replace(reason="Unhealthy", message="no node"))
    todo = plan(replace(at_once, warnings=(*others, invalid)))
    assert (stage(todo), todo.status.reason, todo.status.failing) == ("Cleaning", "InvalidSpec", True)
    assert todo.status.message == f"ECK does not build what elasticsearch asks for: {OF_ECK}"
    template = "Validation of PodTemplate for StatefulSet ns/es failed for the following reasons: [no such port]"
    todo = plan(replace(at_once, warnings=(*others, invalid._replace(message=template))))
    assert todo.status.message == f"ECK does not build what elasticsearch asks for: {template}"
    assert not plan(replace(at_once, warnings=others)).status.failing, "a warning alone is not why"
    without_words = replace(at_once, warnings=others[1:])
    waits = plan(without_words)
    assert (waits.status.failing, waits.wake_in) == (False, 15.0), "its event may come a little later"
    late = plan(replace(without_words, now=later(seconds=120))).status
    assert (late.reason, late.message.partition(": ")[2]) == ("InvalidSpec", "its log has the reason")


def test_a_pod_that_was_never_made_is_explained_by_the_event() -> None:
    quota = 'create Pod es-0 failed error: pods "es-0" is forbidden: exceeded quota: full'
    children = Children(elasticsearch=cluster(phase="ApplyingChanges"))
    early = seen(at("race-1", "Provisioning"), children=children, now=later(seconds=14))
    assert plan(early).look == (), "no request in a good run"
    assert plan(replace(early, now=later(seconds=15))).look == ("warnings",)
    late = replace(early, now=later(seconds=901))
    assert plan(late).look == ("warnings",)
    todo = plan(replace(late, warnings=(Warned("StatefulSet", "bm-race-1-es-default", "s", "FailedCreate", quota),)))
    assert todo.status.reason == "ProvisioningTimeout"
    assert todo.status.message == (
        f"the cluster was not ready in time: 0/1 nodes ready; StatefulSet bm-race-1-es-default: FailedCreate: {quota}"
    )


def test_a_pod_that_runs_but_is_not_ready_is_explained_by_probe_and_log() -> None:
    children = Children(elasticsearch=cluster(phase="ApplyingChanges"), pods=[pod("es-0", ready=False)])
    probe = Warned("Pod", "es-0", "es-0", "Unhealthy", "Readiness probe failed: 503")
    late = seen(at("race-1", "Provisioning"), children=children, now=later(seconds=901), warnings=(probe,))
    log = LogOf("es-0", "elasticsearch", previous=False)
    assert plan(late).look == (log,)
    todo = plan(replace(late, logs={log: "master not discovered yet"}))
    assert todo.status.reason == "ProvisioningTimeout"
    assert todo.status.message.endswith(
        "0/1 nodes ready; Pod es-0: Unhealthy: Readiness probe failed: 503; "
        "pod es-0 runs but is not ready; its log ends with: master not discovered yet"
    )


def test_a_load_generator_that_was_never_made_is_explained_by_the_event() -> None:
    late = replace(running(), now=later(seconds=901), records={"race-1": None})
    assert plan(late).look == ("warnings",)
    of_cluster = Warned("Pod", "es-0", "es-0", "Unhealthy", "Readiness probe failed")
    refused = Warned("Job", "bm-race-1", "job-1", "FailedCreate", "Error creating: pods is forbidden: exceeded quota")
    todo = plan(replace(late, warnings=(of_cluster, refused)))
    assert todo.status.reason == "ProvisioningTimeout"
    assert todo.status.message == (
        "the load generator's pod did not start in time; "
        "Job bm-race-1: FailedCreate: Error creating: pods is forbidden: exceeded quota"
    )
    todo = plan(replace(late, warnings=()))
    assert todo.status.message == "the load generator's pod did not start in time"


SECURITY = 'pods "x" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false'


@pytest.mark.parametrize(("words", "final"), [(SECURITY, True), ('pods "x" is forbidden: exceeded quota', False)])
@pytest.mark.parametrize("owner", ["StatefulSet", "Job"])
def test_pods_that_kubernetes_refuses_are_told_soon(owner: str, words: str, final: bool) -> None:
    """What does not change by itself ends the race; a quota may have room later, so that it is only said."""
    provisioning = Children(elasticsearch=cluster(phase="ApplyingChanges"))
    waits = seen(at("race-1", "Provisioning"), children=provisioning) if owner == "StatefulSet" else running()
    assert (plan(waits).look, plan(waits).wake_in) == ((), 15.0)
    later_on = replace(waits, now=later(seconds=20))
    assert plan(later_on).look == ("warnings",)
    assert not plan(replace(later_on, warnings=())).status.failing
    refused = (Warned(owner, "bm-race-1", "u", "FailedCreate", words),)
    todo = plan(replace(later_on, warnings=refused, records={"race-1": None}))
    assert todo.status.failing is final
    if final:
        assert (todo.status.reason, todo.status.message) == ("PodRefused", f"{owner} bm-race-1: FailedCreate: {words}")
    else:
        assert f"(PodRefused: {owner} bm-race-1: FailedCreate" in todo.status.progress
        assert todo.wake_in == 15.0


def test_no_warning_is_asked_for_once_the_pods_are_there() -> None:
    unready = Children(elasticsearch=cluster(phase="ApplyingChanges"), pods=[pod("es-0", ready=False)])
    assert plan(seen(at("race-1", "Provisioning"), children=unready, now=later(seconds=60))).look == ()
    generator = pod("bm-race-1-x", "load-generator", ready=False)
    assert plan(replace(running(pods=[pod("es-0"), generator]), now=later(seconds=60))).look == ()


def test_a_job_whose_account_is_taken_waits_and_says_so() -> None:
    foreign = "waiting for ServiceAccount bm-race-1-0a, which is not of this Benchmark, to go away"
    waits = running(job=job(suspend=True), foreign=foreign)
    assert plan(waits).status.progress == foreign and plan(waits).create == ("record", "access")
    todo = plan(replace(waits, now=later(seconds=901)))
    assert (todo.status.reason, todo.status.message) == ("ProvisioningTimeout", foreign)


def test_a_job_that_could_not_be_let_run_in_time_ends() -> None:
    """As while a quota has no room for its account, or somebody suspends it again and again before its pod runs."""
    suspended = running(job=job(suspend=True), pods=[pod("es-0")])
    assert plan(replace(suspended, now=later(seconds=899))).start_job
    todo = plan(replace(suspended, now=later(seconds=901)))
    assert (stage(todo), todo.status.reason) == ("Cleaning", "ProvisioningTimeout") and not todo.start_job
    assert todo.status.message == "the race's Job could not be let run in time"


def test_a_job_whose_account_is_refused_ends() -> None:
    refused = plan(replace(running(job=job(suspend=True)), refusal=Refusal("request", "no")))
    assert (refused.status.reason, refused.status.message) == ("InvalidSpec", "the request was refused: no")


def test_patience_with_what_may_pass() -> None:
    for pods in ([UNSCHEDULABLE], [waiting("ImagePullBackOff")]):
        children = Children(elasticsearch=cluster(phase="ApplyingChanges"), pods=pods)
        todo = plan(seen(at("race-1", "Provisioning"), children=children, now=later(seconds=60)))
        assert not todo.status.failing and todo.wake_in is not None


def test_never_green_is_said_so() -> None:
    children = replace(READY, elasticsearch=cluster(health="yellow"))
    todo = plan(seen(at("race-1", "Provisioning"), children=children, now=later(minutes=16)))
    assert todo.status.reason == "ClusterNotGreen"


def test_a_crashing_container_is_explained_by_its_log() -> None:
    crashed = {
        "name": "elasticsearch", "restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"reason": "Error", "exitCode": 78}},
    }  # fmt: skip
    children = Children(elasticsearch=cluster(), pods=[pod("es-0", ready=False, containerStatuses=[crashed])])
    first = seen(at("race-1", "Provisioning"), children=children)
    log = LogOf("es-0", "elasticsearch", previous=True)
    assert plan(first).look == (log,)
    todo = plan(replace(first, logs={log: "unknown setting [x]"}))
    assert todo.status.reason == "ElasticsearchBootstrap"
    assert "exit code 78" in todo.status.message and "unknown setting [x]" in todo.status.message


@pytest.mark.parametrize(
    ("name", "restarts", "reason"),
    [
        ("elasticsearch", 2, "OutOfMemory"), ("elasticsearch", 1, ""),
        ("elastic-internal-init-filesystem", 2, "ElasticsearchBootstrap"),
    ],
)  # fmt: skip
def test_an_elasticsearch_that_is_killed_whenever_it_starts_lacks_memory(name: str, restarts: int, reason: str) -> None:
    """The kubelet may hear of the container's end before it hears of the kernel's kill, and says Error then."""
    killed = {
        "name": name, "restartCount": restarts, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"reason": "Error", "exitCode": 137}},
    }  # fmt: skip
    children = Children(elasticsearch=cluster(), pods=[pod("es-0", ready=False, containerStatuses=[killed])])
    first = seen(at("race-1", "Provisioning"), children=children)
    todo = plan(replace(first, logs={LogOf("es-0", name, previous=True): ""}))
    assert todo.status.reason == reason
    if reason == "OutOfMemory":
        assert "was killed (Error, exit code 137), most likely for lack of memory" in todo.status.message


def test_a_refused_object_fails_with_the_words_of_the_refusal() -> None:
    todo = plan(seen(at("race-1", "Provisioning"), refusal=Refusal("request", "denied: quota")))
    assert todo.status.reason == "InvalidSpec" and "denied: quota" in todo.status.message


def test_a_job_runs_only_after_its_uid_was_recorded() -> None:
    starting = seen(at("race-1", "Starting"), children=replace(READY, job=job(suspend=True)))
    todo = plan(starting)
    assert stage(todo) == "Running" and todo.status.step and todo.status.step.job_uid == "job-1"
    assert not todo.start_job
    then = plan(replace(starting, status=todo.status))
    then = plan(replace(starting, status=then.status))
    assert then.start_job and then.create == ("record", "access")


BEGUN: dict[str, dict[str, Any]] = {
    "its pod runs": {"pods": [pod("es-0"), pod("r", "load-generator")]},
    "it has told of its progress": {"progress": progress("racing", "bulk-index", 43)},
    "it was said that it has started": {},
}


@pytest.mark.parametrize("how", BEGUN)
def test_a_race_whose_job_somebody_suspends_is_never_begun_again(how: str) -> None:
    looked = running(**BEGUN[how])
    before = started(looked) if how == "it was said that it has started" else looked
    cut_off = replace(before, children=replace(looked.children, job=job(suspend=True)))
    assert plan(cut_off).look == ("records",), "the record alone would count"
    lost = replace(cut_off, records={"race-1": None})
    blind = plan(replace(lost, confirmed=False))
    assert blind.look == ("children",) and not blind.start_job, "the Job that is shown may be that of a moment ago"
    todo = plan(lost)
    assert (stage(todo), todo.status.reason, todo.start_job, todo.create) == ("Cleaning", "JobLost", False, ())
    assert todo.status.message == "the race's Job was suspended by somebody while it ran, which ends its pod"
    assert [race.valid for race in todo.status.races] == [False]
    written = plan(replace(cut_off, records={"race-1": good_record()}))
    assert stage(written) == "Cleaning" and not written.status.failing and written.status.races[0].valid


def test_an_operator_that_was_killed_before_it_let_the_job_run_lets_it_run() -> None:
    waits = replace(running(job=job(suspend=True)), now=later(seconds=30), taken_up=later(seconds=29))
    todo = plan(waits)
    assert todo.start_job and todo.look == () and todo.status.step and not todo.status.step.job_started


@pytest.mark.parametrize("lost", [None, job("another")])
def test_a_lost_job_is_a_failed_race_and_never_a_second_run(lost: Json | None) -> None:
    todo = plan(replace(running(job=lost), records={"race-1": None}))
    assert (stage(todo), todo.status.reason, todo.create) == ("Cleaning", "JobLost", ())
    assert todo.status.races[0].valid is False


@pytest.mark.parametrize("at_stage", ["Provisioning", "Starting", "Running"])
def test_nothing_fails_before_the_objects_themselves_were_asked(at_stage: str) -> None:
    """An index that is blind, or behind: the verdict waits for a look, which may show that nothing is wrong."""
    blind = seen(at("race-1", at_stage, "job-1"), now=later(minutes=16), warnings=(), confirmed=False)
    if at_stage == "Running":  # the cheaper question first
        assert plan(blind).look == ("records",) and plan(blind).status == blind.status
        blind = replace(blind, records={"race-1": None})
    assert plan(blind).look == ("children",) and plan(blind).status == blind.status
    todo = plan(replace(blind, confirmed=True))
    assert todo.status.failing and stage(todo) == "Cleaning"
    there = replace(READY, job=job(), pods=[pod("es-0"), pod("r", "load-generator")])
    in_time = replace(blind, now=later(minutes=14))
    assert not plan(replace(in_time, confirmed=True, children=there)).status.failing


@pytest.mark.parametrize(("ended", "waits"), [(-20, False), (-14, True), (0, True), (14, True), (3600, False)], ids=str)
def test_the_clock_that_stamped_the_end_of_a_job_may_be_another(ended: int, waits: bool) -> None:
    todo = plan(replace(running(job=job(ended="Complete", at=later(seconds=ended))), records={"race-1": None}))
    assert (todo.wake_in is not None) is waits and todo.status.failing is not waits


def test_what_is_not_stored_is_said_until_it_is() -> None:
    todo = plan(replace(running(), pruned=frozenset({"step.jobStarted"})))
    told = condition(todo.status, "CRDOutdated")
    assert told and told.status == "True" and "does not know status.step.jobStarted" in told.message
    assert "kubectl apply" in told.message
    mended = plan(replace(running(), status=todo.status, pruned=frozenset())).status
    assert not is_true(mended, "CRDOutdated") and condition(mended, "CRDOutdated")
    assert condition(plan(replace(running(), pruned=frozenset())).status, "CRDOutdated") is None


def test_progress_is_passed_on() -> None:
    todo = plan(running(progress=progress("racing", "bulk-index", 43)))
    assert (todo.status.phase, todo.status.progress) == ("Racing", "race 1/1 · bulk-index 43 %")
    assert plan(running("smoke", progress=progress("racing", "b", 1))).status.phase == "SmokeTesting"
    assert plan(running(progress=progress("collecting"))).status.phase == "Collecting"


def test_a_done_race_is_judged_by_its_record() -> None:
    done = running(progress=progress("done"))
    assert plan(done).look == ("records",)
    todo = plan(replace(done, records={"race-1": good_record()}))
    assert stage(todo) == "Cleaning" and not todo.status.failing
    assert todo.status.races_done == "1/1" and todo.status.results is not None
    throughput = todo.status.results.tasks[0].throughput
    assert throughput and throughput.median == 5000.0
    assert is_true(todo.status, "RacesValid") and is_true(todo.status, "SettingsVerified")


def test_a_record_counts_even_when_the_job_is_gone() -> None:
    todo = plan(replace(running(progress=progress("done"), job=None), records={"race-1": good_record()}))
    assert not todo.status.failing


LOST: dict[str, tuple[dict[str, Any], float]] = {
    "the Job has ended": ({"job": job(ended="Complete")}, 1),
    "the Job ended a while ago": ({"job": job(ended="Complete")}, 16),
    "the clock is an hour ahead": ({"job": job(ended="Complete")}, 3600),
    "the Job is gone": ({"job": None}, 1),
    "the Job is another": ({"job": job("another")}, 1),
    "the race is overdue": ({"pods": [pod("r", "load-generator")]}, 25_000),
    "its pod was never seen": ({}, 25_000),
}


@pytest.mark.parametrize("how", LOST)
def test_no_loss_before_the_record_itself_was_read(how: str) -> None:
    """A watch on ConfigMaps that has gone blind, and a clock that is ahead: what the record says is what happened."""
    children, seconds = LOST[how]
    raced = started(running(progress=progress("racing", "bulk-index", 43), **children))
    blind = replace(raced, now=later(seconds=seconds))
    todo = plan(blind)
    assert todo.look == ("records",) and not todo.status.failing
    todo = plan(replace(blind, records={"race-1": good_record()}))
    assert stage(todo) == "Cleaning" and not todo.status.failing and todo.status.races[0].valid


def test_what_of_the_spec_a_race_failed_for_is_kept_as_the_record_says_it() -> None:
    refused = Outcome(Reason.UNKNOWN_TASK, "requireTasks: no task b", "requireTasks")
    read = Record.from_json(replace(good_record(), outcome=refused).to_json())
    status = plan(replace(running(progress=progress("done")), records={"race-1": read})).status
    assert (status.field, status.message) == ("requireTasks", "race-1: requireTasks: no task b")
    assert seen_race({"metadata": {"name": "b", "uid": "u"}, "status": status.to_json()}).field == "requireTasks"
    forged = replace(good_record(), outcome=replace(refused, field="x" * 1000))
    assert plan(replace(running(progress=progress("done")), records={"race-1": forged})).status.field == "x" * 63


def test_an_unreadable_record_is_a_failed_race() -> None:
    todo = plan(replace(running(progress=progress("done")), records={"race-1": None}))
    assert todo.status.reason == "RecordMissing" and todo.status.failing


@pytest.mark.parametrize(
    ("how", "code", "reason"),
    [("OOMKilled", 137, "OutOfMemory"), ("Error", 3, "OutOfMemory"), ("Error", 143, "ElasticsearchRestarted")],
)
def test_a_restarted_pod_voids_the_race_whatever_the_record_says(how: str, code: int, reason: str) -> None:
    restarted = pod("es-0")
    restarted["status"]["containerStatuses"][0] |= {
        "restartCount": 1, "lastState": {"terminated": {"reason": how, "exitCode": code}}}  # fmt: skip
    done = running(progress=progress("done"), pods=[restarted])
    todo = plan(replace(done, records={"race-1": good_record()}))
    assert todo.status.reason == reason and f"{how}, exit code {code}" in todo.status.message
    # What the client met is a consequence; the cause is named first.
    cut_off = replace(good_record(), outcome=Outcome(Reason.CLUSTER_UNREACHABLE, "Connection refused"))
    todo = plan(replace(done, records={"race-1": cut_off}))
    assert todo.status.reason == reason and "the race ended with: Connection refused" in todo.status.message


@pytest.mark.parametrize(
    ("ended", "valid"), [(-1.0, True), (1.0, False), (None, False)], ids=["before", "during", "nobody knows"]
)
def test_a_container_that_restarted_before_the_race_began_voids_nothing(ended: float | None, valid: bool) -> None:
    restarted, rally = pod("es-0"), pod("bm-race-1-x", "load-generator")
    rally["metadata"]["creationTimestamp"] = stamp(START)
    last = {"reason": "OOMKilled", "exitCode": 137}
    last |= {} if ended is None else {"finishedAt": stamp(later(seconds=ended))}
    restarted["status"]["containerStatuses"][0] |= {"restartCount": 1, "lastState": {"terminated": last}}
    done = running(progress=progress("done"), pods=[restarted, rally])
    todo = plan(replace(done, records={"race-1": good_record()}))
    (race,) = todo.status.races
    assert (race.valid, race.reason) == (valid, "" if valid else "OutOfMemory")


def test_a_pod_that_its_machine_refuses_is_explained() -> None:
    """Kubelets that give whole cores alone take no pod with half of one."""
    refused = pod("es-0", ready=False, containerStatuses=[], conditions=[], phase="Failed",
                  reason="SMTAlignmentError", message="requested 1 cpus not multiple cpus per core = 2")  # fmt: skip
    (found,) = find_troubles([refused])
    assert found.reason == "Unschedulable" and not found.final
    assert found.message == (
        "pod es-0: its machine refused it: SMTAlignmentError: requested 1 cpus not multiple cpus per core = 2; it "
        "gives whole cores only: write as many CPUs in its resources.limits.cpu as some cores have threads, say 2"
    )


@pytest.mark.parametrize(
    ("reason", "words", "lacks"),
    [
        ("SMTAlignmentError", "SMT Alignment Error: requested 1 cpus not multiple cpus per core = 2", True),
        ("TopologyAffinityError", "Resources cannot be allocated with Topology locality", True),
        ("UnexpectedAdmissionError", "Allocate failed due to not enough cpus available to satisfy request", True),
        ("UnexpectedAdmissionError", "Allocate failed due to requested number of devices unavailable for x/gpu", False),
    ],
)
def test_a_machine_that_refuses_a_pod_for_its_processors_lacks_them(reason: str, words: str, lacks: bool) -> None:
    (found,) = find_troubles([pod("es-0", ready=False, conditions=[], phase="Failed", reason=reason, message=words)])
    assert found.reason == "Unschedulable" and words in found.message
    assert found.lacks_cpu == (found.message if lacks else "")


def test_an_evicted_pod_that_was_replaced_is_looked_for_in_the_events() -> None:
    young, old = pod("es-0"), cluster()
    old["metadata"]["creationTimestamp"] = stamp(START)
    young["metadata"]["creationTimestamp"] = stamp(later(seconds=40))
    done = replace(
        running(progress=progress("done"), pods=[young], elasticsearch=old), records={"race-1": good_record()}
    )
    assert plan(done).look == ("evictions",)
    assert not plan(replace(done, evictions={})).status.failing
    todo = plan(replace(done, evictions={"es-0": "Usage of EmptyDir volume exceeds the limit. "}))
    assert todo.status.reason == "Evicted"
    assert todo.status.message == "race-1: pod es-0 was evicted: Usage of EmptyDir volume exceeds the limit"


def test_a_track_that_changed_between_races_voids_the_race() -> None:
    other = replace(good_record(), track=replace(good_record().track, digest="sha256:2"))
    done = running("race-2", progress=progress("done"))
    todo = plan(replace(done, records={"race-1": other, "race-2": good_record()}))
    assert todo.status.reason == "TrackChanged"
    assert todo.status.message == "race-2: the track is not the same in race-1, race-2"


def test_requests_that_changed_between_races_are_told_as_what_they_are() -> None:
    over_http = BenchmarkSpec.model_validate(
        {
            "target": {"kind": "http", "hosts": ["http://one:10041"]},
            "race": {"requests": {"configMap": {"name": "queries"}}, "load": {}},
        }
    )
    good = replace(good_record(), http=HttpRecord(exit_code=0, hosts=(HttpHost("one:10041", 200),)))
    measured = tuple(replace(it, http=HttpAnswers()) for it in good.tasks)
    good = replace(good, tasks=measured, track=replace(good.track, tasks=good.track.tasks[-1:]))
    other = replace(good, track=replace(good.track, digest="sha256:2"))
    done = running("race-2", progress=progress("done"))
    done = replace(done, subject=replace(done.subject, spec=over_http), records={"race-1": other, "race-2": good})
    todo = plan(done)
    assert todo.status.reason == "TrackChanged"
    assert todo.status.message == "race-2: what race.requests sends is not the same in race-1, race-2"


def test_the_record_may_come_a_little_after_the_job_ended() -> None:
    ended = replace(running(job=job(ended="Complete")), records={"race-1": None})
    assert not plan(ended).status.failing and plan(ended).wake_in == 15
    dead = pod("rally-1", "load-generator", containerStatuses=[
        {"name": "rally", "state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}])  # fmt: skip
    late = replace(running(job=job(ended="Failed"), pods=[dead]), now=later(seconds=20), records={"race-1": None})
    todo = plan(late)
    assert isinstance(todo.look[0], LogOf)
    todo = plan(replace(late, logs={todo.look[0]: ""}))
    assert todo.status.reason == "LoadGeneratorOutOfMemory"


def test_a_race_that_never_ends_is_ended() -> None:
    raced = started(running(pods=[pod("r", "load-generator")]))
    late = replace(raced, now=later(hours=7), records={"race-1": None})
    log = LogOf("r", "load-generator", previous=False)
    assert plan(late).look == (log,)
    todo = plan(replace(late, logs={log: "ERROR stuck"}))
    assert todo.status.reason == "RaceTimeout"
    assert todo.status.message == "the race was not over after 6h; its log ends with: ERROR stuck"


def test_the_time_of_a_race_counts_from_its_start() -> None:
    """It may have waited long for a machine: that is no part of timeouts.race, and not called so."""
    quick = spec(timeouts={"provisioning": "15m", "race": "1m"})
    raced = running(pods=[pod("es-0"), pod("r", "load-generator")])
    raced = replace(raced, subject=seen(of=quick).subject, records={"race-1": None})
    first = plan(replace(raced, now=later(minutes=10)))
    step = first.status.step
    assert step and (step.stage, step.job_started, step.job_started_at) == ("Running", True, stamp(later(minutes=10)))
    assert step.since == stamp(START) and first.wake_in == 180
    then = plan(replace(raced, status=first.status, now=later(minutes=12)))
    assert then.status.step == step, "it is first seen once"
    assert plan(replace(raced, status=then.status, now=later(seconds=779))).look == ()
    assert isinstance(plan(replace(raced, status=then.status, now=later(seconds=780))).look[0], LogOf), "it is over"


def test_a_race_without_a_machine_fails_for_that() -> None:
    quick = spec(timeouts={"provisioning": "15m", "race": "1m"})
    waits = [pod("es-0"), {**UNSCHEDULABLE, "metadata": pod("r", "load-generator")["metadata"]}]
    look = replace(running(pods=waits), subject=seen(of=quick).subject, records={"race-1": None})
    early = plan(replace(look, now=later(minutes=14)))
    assert stage(early) == "Running" and early.status.reason == "" and "Unschedulable" in early.status.progress
    assert plan(replace(look, now=later(minutes=16))).status.reason == "Unschedulable"


def test_a_start_that_an_older_operator_has_said_counts_from_the_stage() -> None:
    raced = started(running(pods=[pod("r", "load-generator")]))
    assert raced.status.step
    older = raced.status.step.model_copy(update={"job_started_at": None})
    raced = replace(raced, status=raced.status.model_copy(update={"step": older}), records={"race-1": None})
    assert plan(replace(raced, now=later(hours=6))).status.step == older
    assert isinstance(plan(replace(raced, now=later(hours=6, minutes=2))).look[0], LogOf)


@pytest.mark.parametrize(
    ("step", "what"), [("check", "the track check"), ("probe", "the look at the target")], ids=["check", "probe"]
)
def test_a_preparation_has_the_time_of_provisioning(step: str, what: str) -> None:
    runs = started(running(step, elasticsearch=None, pods=[pod("r", "load-generator")]))
    looked = replace(runs, now=later(minutes=16))
    log = LogOf("r", "load-generator", previous=False)
    todo = plan(looked)
    assert stage(todo) == "Running" and todo.wake_in == 60.0, "its record may come two minutes later"
    todo = plan(replace(looked, now=later(minutes=17), logs={log: ""}, records={step: None}))
    assert (stage(todo), todo.status.reason) == ("Cleaning", "ProvisioningTimeout")
    assert todo.status.message == f"{what} was not over after 15m (timeouts.provisioning)"
    failed = condition(todo.status, "Accepted")
    assert failed and (failed.status, failed.reason) == ("False", "ProvisioningTimeout")


def test_cleaning_waits_until_everything_is_gone() -> None:
    status = at("race-1", "Cleaning", finished_step="smoke", races_done="1/1", races=[RACED])
    todo = plan(seen(status, children=Children(elasticsearch=cluster(), job=job(), pods=[pod("es-0")])))
    assert todo.delete == ("elasticsearch", "job") and stage(todo) == "Cleaning"
    todo = plan(seen(status, children=Children(pods=[pod("es-0")])))
    assert todo.delete == () and stage(todo) == "Cleaning"
    unseen = seen(status, confirmed=False)
    assert plan(unseen).look == ("children",), "the index may not know of an object that was just created"
    todo = plan(replace(unseen, confirmed=True, children=Children(elasticsearch=cluster())))
    assert todo.delete == ("elasticsearch",)
    todo = plan(replace(unseen, confirmed=True))
    assert todo.status.phase == "Succeeded" and is_true(todo.status, "Complete")
    assert not is_true(todo.status, "Failed")


@pytest.mark.parametrize("races", [[], [RACED.model_copy(update={"valid": False})], [RACED, RACED]])
def test_without_all_its_races_nothing_succeeds(races: list[RaceStatus]) -> None:
    status = at("race-3", "Cleaning", finished_step="race-2", races=races)
    todo = plan(seen(status, spec(repetitions=3), confirmed=True)).status
    valid = sum(race.valid for race in races)
    assert (todo.phase, todo.reason) == ("Failed", "InternalError")
    assert todo.message.endswith(f"all steps have ended, and {valid}/3 races are valid")


def held() -> Children:
    elasticsearch, stuck = cluster(), pod("es-0")
    elasticsearch["metadata"] |= {"deletionTimestamp": stamp(START), "finalizers": ["example.com/hold"]}
    return Children(elasticsearch=elasticsearch, pods=[stuck])


HELD = "still there 600 s after the end of race-1: Elasticsearch bm-race-1 (finalizers: example.com/hold), pod es-0"


@pytest.mark.parametrize(
    ("failing", "refusal", "reason", "message"),
    [
        (False, None, "CleanupTimeout", HELD),
        (False, Refusal("request", "denied"), "CleanupTimeout", f"{HELD}; the API server said: denied"),
        (True, None, "ErrorRate", f"7 of 9 failed; {HELD}"),
    ],
)
def test_what_does_not_go_away_is_told(failing: bool, refusal: Refusal | None, reason: str, message: str) -> None:
    said = {"failing": True, "reason": "ErrorRate", "message": "7 of 9 failed."} if failing else {}
    status = at("race-1", "Cleaning", finished_step="smoke", **said)
    early = seen(status, children=held(), refusal=refusal, now=later(seconds=599), confirmed=False)
    assert stage(plan(early)) == "Cleaning" and plan(early).look == ()
    late = replace(early, now=later(seconds=600))
    assert plan(late).look == ("children",), "an index may still show what is gone"
    todo = plan(replace(late, confirmed=True))
    assert (todo.status.phase, todo.status.reason, todo.status.message) == ("Failed", reason, message)
    ready = condition(todo.status, "ClusterReady")
    assert ready and (ready.status, ready.reason) == ("False", "CleanupTimeout")


def test_an_operator_that_was_away_has_all_its_time_to_remove() -> None:
    status = at("race-1", "Cleaning", finished_step="smoke")
    back = seen(status, children=Children(elasticsearch=cluster()), now=later(seconds=4000))
    back = replace(back, confirmed=True, taken_up=later(seconds=3990))
    assert plan(back).delete == ("elasticsearch",)
    late = plan(replace(back, now=later(seconds=4590)))
    assert (late.status.phase, late.status.reason) == ("Failed", "CleanupTimeout")


def test_a_long_message_has_room_for_what_is_left_over() -> None:
    failing = at("race-1", "Cleaning", failing=True, reason="ErrorRate", message="x" * 4096, finished_step=None)
    todo = plan(seen(failing, children=held(), confirmed=True, now=later(minutes=11)))
    failed = condition(todo.status, "Failed")
    assert todo.status.message.endswith(HELD) and failed and HELD in failed.message


def test_what_went_away_while_no_operator_looked_is_no_failure() -> None:
    status = at("race-1", "Cleaning", finished_step="smoke", races_done="1/1", races=[RACED])
    todo = plan(seen(status, confirmed=True, now=later(hours=1)))
    assert todo.status.phase == "Succeeded"


def test_a_failed_step_is_the_last_one() -> None:
    failed = at("smoke", "Cleaning", failing=True, reason="ErrorRate", message="m", finished_step=None)
    todo = plan(seen(failed, confirmed=True))
    assert (todo.status.phase, todo.status.reason) == ("Failed", "ErrorRate")
    assert is_true(todo.status, "Failed") and todo.status.step is None
    told = condition(todo.status, "Failed")
    assert told and told.message == f"m. What to do: {Reason.ERROR_RATE.cure}" and todo.status.message == "m"
    unknown = plan(seen(failed.model_copy(update={"reason": "OfAnOlderOperator"}), confirmed=True)).status
    assert unknown.phase == "Failed" and unknown.reason == "OfAnOlderOperator"


@pytest.mark.parametrize(
    ("keep", "failing", "step", "kept"),
    [
        ("Never", True, "race-1", False),
        ("OnFailure", False, "race-1", False),
        ("OnFailure", True, "smoke", True),
        ("Always", False, "smoke", False),
        ("Always", False, "race-1", True),
    ],
)
def test_keep_cluster(keep: str, failing: bool, step: str, kept: bool) -> None:
    status = at(step, "Cleaning", failing=failing, reason="ErrorRate", message="m", finished_step=None)
    children = Children(elasticsearch=cluster(), pods=[pod("es-0")])
    todo = plan(seen(status, spec(keepCluster=keep), children=children))
    assert ("elasticsearch" not in todo.delete) is kept
    if kept:
        assert todo.status.phase in ("Failed", "Succeeded") and is_true(todo.status, "ClusterReady")
        told = condition(todo.status, "ClusterKept")
        assert told and told.status == "True" and "for 24h, until 2026-01-02T00:00:00Z" in told.message
        assert "port-forward service/bm-" in told.message and "base64decode" in told.message
        body = {"spec": {"keepClusterFor": "2h"}, "status": todo.status.model_dump(by_alias=True)}
        assert kept_until(body, START) == later(hours=2)
    else:
        assert condition(todo.status, "ClusterKept") is None


def test_a_terminal_record_never_changes() -> None:
    done = plan(seen(at("race-1", "Cleaning", races_done="1/1"), confirmed=True)).status
    todo = plan(seen(done, children=READY, now=later(days=3)))
    assert todo == Plan(done)


WRONG_SCHEDULINGS: list[tuple[Json, str]] = [
    ({"nodeSelector": {"a/b/c": "x"}}, "nodeSelector has 'a/b/c', which is no key of a label: write letters"),
    ({"nodeSelector": {"Team/disk": "x"}}, "nodeSelector has 'Team/disk', which is no key of a label"),
    ({"nodeSelector": {"x" * 64: "x"}}, "nodeSelector has 'xxx"),
    ({"nodeSelector": {"disk": "very fast"}}, "nodeSelector has 'very fast' for disk, which is no value of a label"),
    ({"nodeSelector": {"disk": "fast\n"}}, "nodeSelector has 'fast\\n' for disk, which is no value of a label"),
    ({"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
     "tolerations[0] has a value beside operator: Exists, which compares none: leave value out, or write operator"),
    ({"tolerations": [{"key": "ok"}, {"value": "b"}]}, "tolerations[1] has no key: write that of the taint"),
    ({"tolerations": [{"key": "-a"}]}, "tolerations[0] has the key '-a', which is none of a taint"),
    ({"tolerations": [{"key": "a", "value": "b c"}]}, "tolerations[0] has the value 'b c', which is none of a taint"),
    ({"tolerations": [{"key": "a", "tolerationSeconds": 5}]},
     "tolerations[0] has tolerationSeconds, which is for effect: NoExecute alone"),
]  # fmt: skip


def test_what_kubernetes_takes_as_scheduling_is_accepted() -> None:
    labels = {"disk": "", "example.com/Pool_1.a": "Fast-1", "kubernetes.io/hostname": "ip-10-0-0-1.internal"}
    taints = [
        {"operator": "Exists"}, {"key": "a.b/c", "operator": "Exists"}, {"key": "a"}, {"key": "a", "value": "b"},
        {"key": "a", "effect": "NoExecute", "tolerationSeconds": 0}, {"operator": "Exists", "value": ""},
    ]  # fmt: skip
    scheduling = {"scheduling": {"nodeSelector": labels, "tolerations": taints}}
    assert plan(seen(of=spec(elasticsearch=scheduling, race=scheduling))).status.phase == "Pending"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"elasticsearch": {"java": 25}}, "17, 21"),
        ({"elasticsearch": {"heap": "2g"}}, "at most half"),
        ({"elasticsearch": {"resources": {"limits": {"cpu": "1"}}}}, "limits.memory is missing"),
        ({"elasticsearch": {"resources": {"requests": {"cpu": 2}, "limits": {"cpu": 1, "memory": "2Gi"}}}}, "at most"),
        ({"elasticsearch": {"config": {"xpack": {"security": {"enabled": False}}}}}, "xpack.security.enabled"),
        ({"race": {"clientOptions": {"basic_auth_password": "x"}}}, "basic_auth_password"),
        ({"race": {"track": {"builtin": "nope"}}}, "log_ingest"),
        ({"race": {"challenge": "nope"}}, "high-concurrency"),
        *(
            ({part: {"scheduling": scheduling}}, f"{part}.scheduling.{words}")
            for part in ("elasticsearch", "race")
            for scheduling, words in WRONG_SCHEDULINGS
        ),
    ],
)
def test_what_cel_cannot_know_is_refused_before_anything_is_created(changes: Json, words: str) -> None:
    todo = plan(seen(of=spec(**changes)))
    assert todo.status.phase == "Failed" and words in todo.status.message
    assert not is_true(todo.status, "Accepted") and is_true(todo.status, "Failed")


GIT = spec(race={"track": {"git": {"url": "https://example.com/team/tracks.git", "revision": "main"}}})


def test_the_commit_that_was_checked_is_the_one_that_races() -> None:
    begun = plan(seen(of=GIT)).status
    assert begun.track == "tracks" and begun.track_revision == ""
    status = begun.model_copy(update={"step": Step(name="check", stage="Running", since=stamp(START), job_uid="job-1")})
    record = replace(good_record("check"), track=replace(good_record().track, revision="c" * 40))
    children = Children(job=job(), progress=progress("done"))
    todo = plan(seen(status, GIT, children=children, records={"check": record}))
    assert todo.status.track_revision == "c" * 40 and is_true(todo.status, "Accepted")
    assert any("c" * 40 in condition.message for condition in todo.status.conditions)
    then = plan(seen(todo.status, GIT, children=Children()))
    assert then.status.track_revision == "c" * 40


def test_a_missing_volume_claim_is_not_waited_for_long() -> None:
    message = '0/1 nodes are available: persistentvolumeclaim "tracks" not found. preemption: 0/1 nodes are available'
    stuck = pod("bm-check-x", "load-generator", ready=False, containerStatuses=[], conditions=[
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}])  # fmt: skip
    looked = running(pods=[stuck])
    early = plan(looked)
    assert stage(early) == "Running" and "(VolumeClaimMissing: pod bm-check-x: 0/1 nodes" in early.status.progress
    todo = plan(replace(looked, now=later(seconds=121), records={"race-1": None}))
    assert todo.status.reason == "VolumeClaimMissing" and "tracks" in todo.status.message


def job_since(hours: float) -> Json:
    there = job()
    return {**there, "status": {**there["status"], "startTime": stamp(later(hours=hours))}}


def cluster_since(**after: float) -> Json:
    there = cluster(phase="ApplyingChanges")
    there["metadata"]["creationTimestamp"] = stamp(later(**after))
    return there


@pytest.mark.parametrize(
    ("at_stage", "children", "goes_on"),
    [
        ("Provisioning", Children(), True),
        ("Provisioning", Children(elasticsearch=cluster(phase="ApplyingChanges")), False),
        ("Starting", Children(elasticsearch=cluster()), True),
        ("Running", Children(elasticsearch=cluster(), job=job(suspend=True)), True),
        ("Running", Children(elasticsearch=cluster(), job=job_since(0)), False),
        ("Provisioning", Children(elasticsearch=cluster_since(minutes=16, hours=8)), False),
        ("Provisioning", Children(elasticsearch=cluster_since(hours=9)), True),
        ("Provisioning", Children(elasticsearch=cluster_since(hours=10)), False),
        ("Running", Children(elasticsearch=cluster(), job=job()), True),
        ("Running", Children(elasticsearch=cluster(), job=job_since(9)), True),
        ("Running", Children(elasticsearch=cluster(), job=job_since(10)), False),
    ],
)
def test_an_outage_of_the_operator_counts_only_for_what_went_on_without_it(
    at_stage: str, children: Children, goes_on: bool
) -> None:
    status = at("race-1", at_stage, "job-1")
    todo = plan(seen(status, children=children, now=later(hours=9), taken_up=later(hours=9), warnings=(), logs={}))
    assert (stage(todo) == at_stage and todo.status.reason == "" and todo.look == ()) is goes_on


@pytest.mark.parametrize("at_stage", ["Provisioning", "Running"])
def test_what_is_begun_after_an_outage_has_all_its_time(at_stage: str) -> None:
    """It failed a second after it was made; and what somebody deletes again and again has no more than twice that."""
    status = at("race-1", at_stage, "job-1" if at_stage == "Running" else None)

    def look(began: float, now: float) -> Seen:
        there = cluster_since(minutes=began)
        started = job_since(began / 60) if at_stage == "Running" else None
        children = Children(elasticsearch=there, job=started)
        times = {"now": later(minutes=now), "taken_up": later(minutes=20)}
        return seen(status, children=children, warnings=(), logs={}, records={"race-1": None}, **times)

    assert stage(plan(look(21, 35.9))) == at_stage
    assert plan(look(21, 36)).status.reason == "ProvisioningTimeout"
    assert stage(plan(look(49, 49.9))) == at_stage and plan(look(49, 50)).status.failing


def test_no_machine_is_looked_for_in_vain_before_the_time_for_it_began() -> None:
    children = Children(elasticsearch=cluster_since(minutes=20), pods=[UNSCHEDULABLE])
    look = seen(at("race-1", "Provisioning"), children=children, taken_up=later(minutes=20), warnings=())
    assert stage(plan(replace(look, now=later(minutes=34)))) == "Provisioning"
    assert plan(replace(look, now=later(minutes=35))).status.reason == "Unschedulable"


def dying(seconds: float, name: str = "rally") -> Json:
    there = pod(name, "load-generator", node="n7")
    there["metadata"]["deletionTimestamp"] = stamp(later(seconds=seconds))
    return there


def test_a_load_generator_whose_machine_is_lost_ends_its_race() -> None:
    """No Job fails before its pod has ended, which a machine without power never says: six hours at least."""
    looked = started(running(pods=[pod("es-0"), dying(60)]))
    early = plan(replace(looked, now=later(seconds=134), records={"race-1": None}))
    assert (stage(early), early.wake_in) == ("Running", 1.0), "it is looked at again then"
    assert plan(replace(looked, now=later(seconds=30))).wake_in == 105
    late = replace(looked, now=later(seconds=135))
    assert plan(late).look == ("records",), "the record alone would count"
    assert plan(replace(late, records={"race-1": None}, confirmed=False)).look == ("children",)
    todo = plan(replace(late, records={"race-1": None}))
    assert (stage(todo), todo.status.reason) == ("Cleaning", "JobLost")
    assert todo.status.message == (
        f"pod rally was to end at {stamp(later(seconds=60))}, and its machine n7 does not say that it has"
    )
    written = plan(replace(late, records={"race-1": good_record()}))
    assert stage(written) == "Cleaning" and not written.status.failing and written.status.races[0].valid


def test_a_pod_that_was_replaced_is_not_waited_for() -> None:
    looked = started(running(pods=[pod("es-0"), dying(60), pod("another", "load-generator")]))
    todo = plan(replace(looked, now=later(minutes=5), records={"race-1": None}))
    assert stage(todo) == "Running" and not todo.status.failing


def test_a_load_generator_that_has_ended_is_not_counted_among_those_whose_machine_is_lost() -> None:
    """An evicted pod stays there, so that the race of the next one never ended; one that has ended is not lost."""
    evicted, ended = pod("evicted", "load-generator", phase="Failed"), dying(60, "ended")
    ended["status"]["phase"] = "Succeeded"
    looked = replace(started(running()), now=later(seconds=135), records={"race-1": None})

    def found(*pods: Json) -> Plan:
        return plan(replace(looked, children=replace(looked.children, pods=[pod("es-0"), *pods])))

    assert stage(found(evicted)) == "Running" == stage(found(ended))
    todo = found(evicted, dying(60), ended)
    assert (stage(todo), todo.status.reason) == ("Cleaning", "JobLost")
    assert todo.status.message == (
        f"pod rally was to end at {stamp(later(seconds=60))}, and its machine n7 does not say that it has"
    )


NAMES: list[tuple[Json, str]] = [
    ({"name": "elastic/logs"}, "elastic/logs"),
    ({"volume": {"claimName": "v", "path": "a/b"}}, "volume v/a/b"),
    ({"git": {"url": "https://h/tracks.git", "revision": "m", "path": "shop/books"}}, "shop/books"),
    ({"configMap": {"name": "mine"}}, "configMap mine"),
]


@pytest.mark.parametrize(("track", "words"), NAMES)
def test_every_track_has_a_name_for_people(track: Json, words: str) -> None:
    assert plan(seen(of=spec(race={"track": track}))).status.track == words


def test_no_source_of_a_track_is_without_a_name() -> None:
    sources = {each.alias for each in Track.model_fields.values()} - {"builtin", "revision", "repository"}
    assert sources == {source for track, _ in NAMES for source in track}


def test_what_is_downloaded_is_in_the_progress() -> None:
    assert (
        "downloading documents.json.bz2 43 %"
        in plan(running(progress=progress("preparing", "downloading documents.json.bz2", 43))).status.progress
    )
    said = plan(running(progress=progress("preparing", "fetching the track from https://h/x", None))).status.progress
    assert said.endswith("fetching the track from https://h/x")


@pytest.mark.parametrize(
    ("stage", "job_started", "by_rally", "by_k6"),
    [
        (None, False, "starting the load generator", "starting the load generator"),
        (None, True, "starting Rally", "starting k6"),
        ("preparing", True, "preparing the track", "preparing the requests"),
        ("collecting", True, "reading the results", "reading the results"),
    ],
)
def test_what_a_job_is_doing_names_what_sends_its_requests(
    stage: str | None, job_started: bool, by_rally: str, by_k6: str
) -> None:
    said = Progress(stage=stage) if stage else None
    assert describe_progress(said, started=job_started) == by_rally
    assert describe_progress(said, started=job_started, over_http=True) == by_k6
