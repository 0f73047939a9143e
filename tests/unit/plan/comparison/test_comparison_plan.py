"""What follows for a Comparison, stage by stage."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from comparison_world import FIXED_2, Court, Film, Said, SaidOfFairness, accepted, comparison, record_of, said, seen
from world import START

from fairlap.api.comparison_status import ComparisonStatus, ContenderStatus, DifferenceStatus, Expected, GateStatus
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import PlannedTask
from fairlap.comparison.facts.fairness import diff
from fairlap.comparison.judging.foresight import Foreseen
from fairlap.kube.api_error import ApiError
from fairlap.plan.basis.conditions import moment, stamp
from fairlap.plan.basis.node_processors import MachineCapacity
from fairlap.plan.comparison.block_words import expectation, outlook
from fairlap.plan.comparison.comparison_plan import plan_comparison
from fairlap.plan.comparison.comparison_seen import ComparisonPlan
from fairlap.plan.comparison.judges import Judges
from fairlap.queue.turn import Turn
from fairlap.statistics.moderation import Prior

FULL = ApiError(403, 'b "x" is forbidden: exceeded quota: full, requested: count/benchmarks.fairlap.dev=1')


def test_it_begins_with_questions_and_then_says_what_it_will_race() -> None:
    court = Court()
    first = plan_comparison(seen(machines=None), court.judges)
    assert first.look == ("dry_runs", "priors", "machines") and first.status == ComparisonStatus()
    asked = seen(dry_runs={"8.11.0": "", "9.0.0": ""}, priors={}, machines=None)
    assert plan_comparison(asked, court.judges).look == first.look
    status = accepted(seen(), court).status
    assert [(each.name, each.letter, each.changed) for each in status.variants] == [
        ("8.11.0", "a", []), ("9.0.0", "b", ["elasticsearch.version"]),
    ]  # fmt: skip
    assert (status.phase, status.blocks_done, status.calibrate_every, status.seed) == ("Pending", "0/10", 1, 950877268)
    assert status.expected and status.progress == "2 variants, 12 races at most without those raced again"
    assert accepted(seen(comparison(calibrate=False, design={"seed": 0})), court).status.seed == 0
    assert accepted(seen(comparison(calibrate=False)), court).status.calibrate_every == 0


@pytest.mark.parametrize(
    ("minutes", "change", "words"),
    [
        (None, None, ""), (40.2, None, ", 40 min"), (0.1, None, ", 1 min"), (150.0, None, ", 2.5 h"),
        (40.2, 3.44, ", 40 min; changes from 3.4 % on are found four times in five"),
        (None, 3.44, "; changes from 3.4 % on are found four times in five"),
        (None, 210.0, "; changes from 210 % on are found four times in five"),
    ],
)  # fmt: skip
def test_what_is_expected_before_the_first_race(minutes: float | None, change: float | None, words: str) -> None:
    expected = Expected(races=12, minutes=minutes, smallest_change=change)
    assert expectation(2, expected) == f"2 variants, 12 races at most without those raced again{words}"


@pytest.mark.parametrize(
    ("of", "dry_runs", "reason", "sentence"),
    [
        (comparison(baseline="nobody"), None, "InvalidSpec", "baseline nobody is none of the variants"),
        (comparison(), {"8.11.0": "", "9.0.0": "spec.race: too odd"}, "InvalidVariant",
         "variant 9.0.0: spec.race: too odd"),
        (comparison(variants=[{"name": "8.11.0"}, {"name": "b", "patch": {"elasticsearch": {"java": 99}}}]), None,
         "InvalidVariant", "variant b: elasticsearch.java is 99, but this installation has JDK images for: 17, 21"),
    ],
)  # fmt: skip
def test_what_cannot_be_raced_is_refused(of: Any, dry_runs: Any, reason: str, sentence: str) -> None:
    todo = plan_comparison(seen(of, dry_runs=dry_runs, priors={}), Court().judges)
    assert (todo.status.phase, todo.status.reason) == ("Failed", reason)
    assert sentence in todo.status.message
    assert said(todo)["Accepted"] == ("False", reason) and said(todo)["Failed"] == ("True", reason)
    assert said(todo)["Complete"] == ("False", reason) == said(todo)["GatePassed"]


def test_of_several_refusals_the_progress_is_the_first_whatever_stands_in_it() -> None:
    dry_runs = {"8.11.0": "spec.race: no. Say more", "9.0.0": "spec.race: too odd"}
    status = plan_comparison(seen(dry_runs=dry_runs, priors={}), Court().judges).status
    assert status.progress == "variant 8.11.0: spec.race: no. Say more"
    assert status.message == f"{status.progress}. variant 9.0.0: spec.race: too odd"


def test_a_whole_comparison() -> None:
    film = Film().run()
    assert [(race.name, race.variant) for race in film.created] == [
        ("upgrade-0a", "8.11.0"), ("upgrade-0b", "9.0.0"),
        *[(f"upgrade-{block}{'z' if name.endswith('*') else {'8.11.0': 'a', '9.0.0': 'b'}[name]}", name)
          for block in (1, 2) for name in film.status.blocks[block].order],
    ]  # fmt: skip
    status = film.status
    assert (status.phase, status.verdict, status.blocks_done) == ("Complete", "NoDifference", "2/2")
    assert status.progress == "no difference that matters" and status.block is None and status.admitted_time is None
    assert (status.cost_races, status.cost_preparations, status.cost_seconds) == (6, 2, 8 * 60)
    assert {each.type: each.status for each in status.conditions} == {
        "Accepted": "True", "Fair": "True", "Compared": "True", "GatePassed": "True", "Complete": "True",
        "Failed": "False",
    }  # fmt: skip
    assert [block.record for block in status.blocks] == ["", "upgrade-block-1", "upgrade-block-2"]
    assert film.court.asked == [(2, (2,), True)] and status.scope == ["these machines"]
    assert max(map(len, film.progress)) <= 120


def test_what_is_over_is_never_changed() -> None:
    film = Film().run()
    film.status = film.status.model_copy(update={"progress": "as it was"})
    todo = film.step(records=None, races={}, confirmed=False, turn=Turn(may_go=False))
    assert todo == ComparisonPlan(film.status)


def test_the_specs_of_the_races() -> None:
    gates = [{"task": "bulk", "metric": "throughput", "margin": 5}, {"metric": "storeBytes", "margin": 2}]
    film = Film(comparison(design=FIXED_2, gates=gates)).run()
    prepared, races = film.created[:2], film.created[2:]
    for race in film.created:
        assert race.spec["race"]["requireTasks"] == ["bulk"]
    assert [race.spec["repetitions"] for race in prepared] == [0, 0] and prepared[0].spec["smokeTest"] is True
    for race in races:
        assert (race.spec["repetitions"], race.spec["smokeTest"]) == (1, False)
        assert race.spec["checkedBy"] == ("upgrade-0b" if race.variant == "9.0.0" else "upgrade-0a")
    first, second, third = races[:3]
    assert first.spec["elasticsearch"].get("scheduling") is None, "there is no block before the first"
    for race in (second, third):
        assert race.spec["elasticsearch"]["scheduling"]["machines"] == [f"m-{first.name}"]
        assert race.spec["race"]["scheduling"]["machines"] == ["lg"]
    following = races[3].spec
    assert following["elasticsearch"]["scheduling"]["avoidMachines"] == [f"m-{first.name}"]
    assert following["race"]["scheduling"]["avoidMachines"] == ["lg"]
    assert races[4].spec["elasticsearch"]["scheduling"]["machines"] == [f"m-{races[3].name}"]


def test_a_block_keeps_off_the_machines_of_all_blocks_before_it_of_the_last_one_first() -> None:
    """Off the last block's alone, two of three machines would do for a whole Comparison."""
    races = Film(comparison(design={"stop": "fixed", "blocks": 4}, calibrate=False)).run().created[2:]
    firsts = races[::2]
    for number, race in enumerate(firsts[1:], 1):
        before = [f"m-{first.name}" for first in reversed(firsts[:number])]
        assert race.spec["elasticsearch"]["scheduling"]["avoidMachines"] == before
        assert race.spec["race"]["scheduling"]["avoidMachines"] == ["lg"], "each once"


@pytest.mark.parametrize("part", ["elasticsearch", "race"])
@pytest.mark.parametrize("field", ["nodeSelector", "machines", "tolerations"])
def test_machines_that_variants_ask_for_themselves_are_theirs(part: str, field: str) -> None:
    """Bound to the machines of the block's first race as well, the other's pods found no machine at all."""
    wanted: dict[str, Any] = {
        "nodeSelector": [{"disk": "hdd"}, {"disk": "ssd"}], "machines": [["n1"], ["n2"]],
        "tolerations": [[{"key": "a", "operator": "Exists"}], [{"key": "b", "operator": "Exists"}]],
    }[field]  # fmt: skip
    variants = [{"name": n, "patch": {part: {"scheduling": {field: at}}}} for n, at in zip("ab", wanted, strict=True)]
    film = Film(comparison(variants=variants, baseline="a", design=FIXED_2)).run()
    first, *others = [race for race in film.created if race.block == 1]
    own = dict(zip("ab", wanted, strict=True))
    for race in others:
        at, alike = race.spec[part]["scheduling"], race.variant[0] == first.variant[0]
        bound = at.pop("machines") if alike else []
        assert bool(bound) is alike, "it may run where its like did, and nowhere else"
        assert alike or at[field] == own[race.variant]


@pytest.mark.parametrize("reason", ["ElasticsearchRestarted", "NodeLeft", "ClusterUnreachable", "Evicted"])
def test_a_preparation_that_the_cluster_ended_is_made_again(reason: str) -> None:
    film = Film().until("Running", 0)
    film.finish("Failed", reason=reason)
    film.step()
    assert film.until("Running", 0).status.block.attempt == 2


def test_a_gate_on_a_task_without_numbers_is_refused_before_a_race() -> None:
    gates = [{"task": "create-index", "metric": "throughput", "margin": 5}]
    film = Film(comparison(design=FIXED_2, gates=gates)).until("Running", 0)
    tasks = (PlannedTask(name="create-index", reported=False), PlannedTask(name="bulk"), PlannedTask(name="search"))
    film.finish(tasks=tasks)
    film.run()
    assert (film.status.reason, len(film.created)) == ("UnknownTask", 1)
    assert film.status.message == (
        "gates[].task: variant 8.11.0: Rally reports no numbers of create-index. Of these it does: bulk, search"
    )


def test_what_is_under_way_outlasts_an_operator_that_asks_for_more() -> None:
    odd = [{"name": "8.11.0"}, {"name": "2-cpus", "patch": {"elasticsearch": {"resources": {"limits": {"cpu": "4"}}}}}]
    film = Film()
    film.spec = comparison(design=FIXED_2, variants=odd)
    look = film.look()
    assert plan_comparison(look, film.court.judges).status.reason == "InvalidSpec"
    going_on = replace(look, subject=replace(look.subject, accepted=True))
    assert plan_comparison(going_on, film.court.judges).status.phase != "Failed"


@pytest.mark.parametrize("deadline", ["2h", "2000h"])
def test_kept_clusters_are_built_once_and_raced_on(deadline: str) -> None:
    """They stay beyond the deadline, which lets a block end and does not count while the Comparison is suspended."""
    kept = {**FIXED_2, "state": "Kept", "tasks": ["search"]}
    film = Film(comparison(design=kept, deadline=deadline)).run()
    prepared, races = film.created[:2], film.created[2:]
    for race in prepared:
        assert (race.spec["repetitions"], race.spec["keepCluster"], race.spec["keepClusterFor"]) == (
            1,
            "Always",
            "720h",
        )
        assert race.spec["race"]["includeTasks"] == [] and race.spec["race"]["requireTasks"] == ["search"]
        BenchmarkSpec.model_validate(race.spec)
    assert prepared[0].spec["elasticsearch"].get("scheduling") is None
    assert prepared[1].spec["elasticsearch"]["scheduling"]["machines"] == [f"m-{prepared[0].name}"]
    assert film.status.progress == "no difference that matters" and len(races) == 6
    assert "the clusters of all 2 variants were built, filled and raced on once" in " ".join(film.progress)
    builders = {"8.11.0": "upgrade-0a", "8.11.0*": "upgrade-0a", "9.0.0": "upgrade-0b"}
    for race in races:
        host = f"https://{builders[race.variant]}-race-1-es-http.ns.svc:9200"
        assert race.spec["target"]["hosts"] == [host] and "elasticsearch" not in race.spec
        assert race.spec["race"]["includeTasks"] == ["search"] and race.spec["keepCluster"] == "Never"
        BenchmarkSpec.model_validate(race.spec)
    assert [race.spec.get("checkedBy") for race in races[:3]] == [None] * 3, "what is there is looked at"
    assert {race.spec["checkedBy"] for race in races[3:]} == {"upgrade-1a", "upgrade-1b"}


@pytest.mark.parametrize(("reason", "rebuilt"), [("ClusterUnreachable", True), ("RaceSuspended", False)])
def test_kept_clusters_are_built_again_after_a_race_that_failed(reason: str, rebuilt: bool) -> None:
    kept = {**FIXED_2, "state": "Kept", "tasks": ["search"], "retries": 1}
    film = Film(comparison(design=kept)).until("Running", 2, 2)
    if reason == "RaceSuspended":
        film.races[film.created[-1].name] = replace(film.races[film.created[-1].name], suspended=True)
        film.now += timedelta(minutes=16)
        film.step()
    else:
        film.finish("Failed", reason=reason, message="no answer")
        film.step(confirmed=True)
    film.run()
    assert (film.status.phase, film.status.blocks_done) == ("Complete", "2/2"), "one block was void, and retries is 1"
    names = [race.name for race in film.created]
    assert ("upgrade-0a-2" in names) is ("upgrade-0b-2" in names) is rebuilt
    assert any(name.startswith("upgrade-2") and name.endswith("-2") for name in names)
    builder = "upgrade-0a-2" if rebuilt else "upgrade-0a"
    (last,) = {race.spec["target"]["hosts"][0] for race in film.created[-3:] if race.variant == "8.11.0"}
    assert last.startswith(f"https://{builder}-race-1-es-http")


def test_who_needs_more_machines_than_the_first_race_had_is_not_bound_to_them() -> None:
    variants = [{"name": "8.11.0"}, {"name": "three", "patch": {"elasticsearch": {"nodes": 3}}}]
    film = Film(comparison(design=FIXED_2, variants=variants)).run()
    for race in film.created[2:]:
        bound = "machines" in (race.spec["elasticsearch"].get("scheduling") or {})
        first = film.status.blocks[race.block].order[0]
        assert bound == (race.variant != first and not (race.variant == "three" and first != "three"))


def test_the_place_is_held_over_a_block_and_given_up_after_it() -> None:
    film = Film()
    film.turn = Turn(may_go=False, ahead=2, behind="ns/other")
    film.step()
    assert (film.status.phase, film.status.admitted_time) == ("Queued", None)
    assert film.status.progress == "preparing · waiting for 2 before it in the queue, the last is ns/other"
    film.turn = Turn(may_go=True, wanted="2026-01-01T00:10:00Z")
    film.until("Recording", 1, 3)
    assert film.status.admitted_time and film.status.queued_time is None
    film.step(), film.step()
    assert film.status.block is None and film.status.admitted_time is None
    assert film.status.queued_time == "2026-01-01T00:10:01Z", "behind who waits, whatever their clock"
    assert film.status.progress == "block 2/2 is next, 1 block counts, 1 min of races at most without those raced again"


def test_progress_reads_like_a_sentence() -> None:
    film = Film(comparison(design={"seed": 1})).until("Running", 1, 2)
    name = film.status.block.races[-1].benchmark  # type: ignore[union-attr]
    film.races[name] = replace(film.races[name], progress="race 1/1 · bulk-index 43 %")
    film.step()
    variant = film.status.block.order[1]  # type: ignore[union-attr]
    assert film.status.progress == f"block 1/10 · {variant} (2 of 3) · race 1/1 · bulk-index 43 %"
    film.races[name] = replace(film.races[name], progress="x" * 300)
    film.step()
    assert len(film.status.progress) == 120


def test_before_it_begins_and_between_blocks_it_says_what_is_to_come() -> None:
    known = Expected(races=20, minutes=30, smallest_change=3.14)
    assert (
        expectation(2, known)
        == "2 variants, 20 races at most without those raced again, 30 min; changes from 3.1 % on are found four times "
        "in five"
    )
    film = Film(comparison(design={"stop": "fixed", "blocks": 4, "seed": 1}, calibrate=False)).until("Recording", 1, 2)
    while film.status.block:
        film.step()
    assert film.status.progress == "block 2/4 is next, 1 block counts, 1 min of races at most without those raced again"
    long = film.status.model_copy(update={"expected": Expected(minutes=800)})
    assert outlook(film.spec, long).endswith("1 block counts, 10.0 h of races at most without those raced again")


def test_nothing_is_believed_lost_before_the_api_server_was_asked() -> None:
    film = Film().until("Running", 1)
    for races in ({}, {name: replace(race, uid="other") for name, race in film.races.items()},
                  {name: replace(race, phase="Failed") for name, race in film.races.items()}):  # fmt: skip
        assert plan_comparison(film.look(races=races, confirmed=False), film.court.judges).look == ("races",)
    film.races = {}
    film.step()
    assert film.status.block and (film.status.block.stage, film.status.block.reason) == ("Recording", "RaceDeleted")


def test_a_deleted_race_voids_its_block_which_is_raced_again_as_a_whole() -> None:
    film = Film().until("Running", 1, 2)
    order, name = film.status.block.order, film.status.block.races[-1].benchmark  # type: ignore[union-attr]
    del film.races[name]
    film.step()
    film.run()
    status = film.status
    void = status.blocks[1]
    assert (void.number, void.attempt, void.valid, void.reason) == (1, 1, False, "RaceDeleted")
    assert void.record == "upgrade-block-1" and [race.valid for race in void.races] == [True, False]
    again = status.blocks[2]
    assert (again.number, again.attempt, again.valid, again.record) == (1, 2, True, "upgrade-block-1-2")
    assert again.order == order and {race.benchmark[-2:] for race in again.races} == {"-2"}
    assert status.verdict == "NoDifference" and status.findings == [], "nobody's fault"


def test_races_that_fail_are_bounded_and_who_lost_them_is_told() -> None:
    film = Film(comparison(design={**FIXED_2, "retries": 1}))
    for _ in range(300):
        block = film.status.block
        if block and block.number and block.races[-1].variant == "9.0.0":
            film.finish("Failed", reason="OutOfMemory", message="a node ran out of memory")
        else:
            film.finish()
        film.step()
        if film.status.completion_time:
            break
    status = film.status
    assert (status.phase, status.reason) == ("Failed", "RacesInvalid")
    assert "2 blocks did not count, and design.retries is 1" in status.message
    assert "9.0.0 2 of 2 (OutOfMemory 2 times)" in status.message and "8.11.0 none of" in status.message
    assert "a node ran out of memory" in status.message
    assert status.findings and status.findings[0].startswith("not all variants lost as many races: 9.0.0 2 of 2")
    assert [block.valid for block in status.blocks] == [True, False, False]


def test_a_race_whose_record_says_it_does_not_count_voids_its_block() -> None:
    film = Film().until("Recording", 1, 3)
    film.records[1] = record_of(film.status, **{"9.0.0": "Throttled"})
    film.step()
    assert [block.valid for block in film.status.blocks] == [True, False]
    assert film.status.blocks[1].reason == "Throttled" and film.status.findings
    film.run()
    assert film.status.phase == "Complete" and film.status.findings[0].startswith("not all variants lost as many")


def test_a_record_that_somebody_deleted_makes_its_block_void() -> None:
    film = Film().until("Recording", 2, 3)
    film.records = {2: record_of(film.status)}
    film.step()
    assert [(block.number, block.valid, block.reason) for block in film.status.blocks] == [
        (0, True, ""), (1, False, "RecordLost"), (2, True, ""),
    ]  # fmt: skip
    assert film.status.phase == "Queued"
    film.run()
    assert film.status.verdict == "NoDifference" and film.court.asked == [(2, (2,), True)]


KEPT_SEARCH = {**FIXED_2, "state": "Kept", "tasks": ["search"]}
GATE_ON_A_TASK = [{"task": "search", "metric": "throughput", "margin": 5}]


@pytest.mark.parametrize(
    ("of", "reason", "wanted", "field"),
    [
        ({}, "TrackNotFound", "PreparationFailed", "variant 9.0.0: TrackNotFound: requireTasks"),
        ({"gates": GATE_ON_A_TASK}, "UnknownTask", "UnknownTask", "gates[].task: variant 9.0.0"),
        ({"design": KEPT_SEARCH}, "UnknownTask", "UnknownTask", "design.tasks: variant 9.0.0"),
        ({}, "UnknownTask", "UnknownTask", "template.race.requireTasks: variant 9.0.0"),
    ],
)
def test_a_preparation_that_fails_ends_it(of: Any, reason: str, wanted: str, field: str) -> None:
    film = Film(comparison(**{"design": FIXED_2, **of})).until("Running", 0, 2)
    film.finish("Failed", reason=reason, message="requireTasks: there are: a, b", field="requireTasks")
    film.step(), film.step()
    assert (film.status.phase, film.status.reason) == ("Failed", wanted)
    assert film.status.message == f"{field}: there are: a, b"
    assert {each.type: each.status for each in film.status.conditions}["Accepted"] == "False"


@pytest.mark.parametrize("reason", ["Evicted", "ProvisioningTimeout", "JobLost", "RaceAborted"])
def test_a_preparation_that_the_cluster_ended_is_made_again_within_the_retries(reason: str) -> None:
    film = Film(comparison(design={**FIXED_2, "retries": 1})).until("Running", 0, 2)
    film.finish("Failed", reason=reason, message="a pod went away"), film.step()
    assert film.run().status.phase == "Complete"
    assert [(block.number, block.attempt, block.reason) for block in film.status.blocks][:2] == [
        (0, 1, reason), (0, 2, ""),
    ]  # fmt: skip
    film = Film(comparison(design={**FIXED_2, "retries": 0})).until("Running", 0, 2)
    film.finish("Failed", reason=reason, message="a pod went away"), film.step()
    film.run()
    assert (film.status.phase, film.status.reason) == ("Failed", "RacesInvalid")
    assert "design.retries is 0" in film.status.message and "a pod went away" in film.status.message


def test_a_preparation_for_which_a_quota_has_no_room_is_made_again() -> None:
    film = Film().until("Starting", 0)
    words = FULL.quota_words
    film.step(hindrance=words)
    film.now += timedelta(minutes=16)
    film.step(hindrance=words)
    assert film.run().status.phase == "Complete" and film.status.blocks[0].reason == "RaceRefused"


@pytest.mark.parametrize(
    ("design", "valid", "phase", "verdict", "looks"),
    [
        ({"stop": "fixed", "blocks": 5}, 1, "Failed", None, ()),
        ({"stop": "fixed", "blocks": 5}, 3, "Complete", "NoDifference", (3,)),
        ({}, 2, "Failed", None, ()),
        ({}, 4, "Complete", "NoDifference", (3,)),
        ({"stop": "fixed", "blocks": 5, "state": "Kept", "tasks": ["search"]}, 3, "Complete", "NoDifference", (3,)),
    ],
)
def test_blocks_that_count_keep_their_verdict_when_later_ones_fail(
    design: Any, valid: int, phase: str, verdict: Any, looks: tuple[int, ...]
) -> None:
    film = Film(comparison(design={**design, "seed": 1, "retries": 0}), court=Court(Said(settled=False)))
    film.until("Running", valid + 1)
    film.finish("Failed", reason="OutOfMemory", message="a node ran out of memory"), film.step()
    film.run()
    assert (film.status.phase, film.status.verdict, film.status.blocks[-1].reason) == (phase, verdict, "OutOfMemory")
    if verdict:
        assert film.court.asked[-1] == (valid, looks, True)
        assert (
            f"1 blocks did not count, and design.retries is 0, so it ended after {valid} of"
            in (film.status.findings[-1])
        )
    else:
        assert film.status.reason == "RacesInvalid"


def test_kept_clusters_that_cannot_be_built_again_leave_the_blocks_their_verdict() -> None:
    film = Film(comparison(design={**KEPT_SEARCH, "blocks": 5, "retries": 1})).until("Running", 4)
    film.finish("Failed", reason="OutOfMemory", message="a node ran out of memory"), film.step()
    film.until("Running", 0)
    film.finish("Failed", reason="TrackFetchFailed", message="no route to the host"), film.step()
    film.run()
    assert (film.status.phase, film.status.verdict) == ("Complete", "NoDifference")
    assert film.court.asked[-1] == (3, (3,), True)


def test_a_preparation_that_somebody_deleted_is_made_again() -> None:
    film = Film().until("Running", 0, 2)
    film.races.clear()
    film.run()
    assert film.status.phase == "Complete" and [race.name for race in film.created][2:4] == [
        "upgrade-0a-2",
        "upgrade-0b-2",
    ]


def test_a_record_that_the_api_server_refuses_is_told_in_its_words() -> None:
    film = Film().until("Recording", 1, 3)
    film.step(refusal="Too long: may not be more than 1048576 bytes")
    assert film.status.blocks[-1].reason == "RecordLost"
    assert "may not be more than 1048576" in film.status.progress


def test_differences_never_make_a_status_too_large() -> None:
    film = Film()
    one = DifferenceStatus(what="x", rule="MustMatch", fair=False, values={f"v{n}": "é" * 4096 for n in range(12)})
    film.court.fairness = SaidOfFairness(False, [one] * 100, sentence="much differs")
    film.run()
    assert 0 < len(film.status.differences) < 100
    assert len(film.status.model_dump_json().encode()) < 500_000


@pytest.mark.parametrize("dry_run", ["", "spec.race: too odd"])
def test_what_the_specs_show_to_be_unfair_is_never_raced(dry_run: str) -> None:
    court = Court()
    judges = court.judges._replace(diff=diff)
    newer = {"name": "9.0.0", "patch": {"elasticsearch": {"version": "9.0.0", "java": 21}}}
    template = {**comparison().template.to_json(), "elasticsearch": {"version": "8.11.0", "java": 17}}
    of = comparison(template=template, variants=[{"name": "8.11.0"}, newer])
    todo = plan_comparison(seen(of, dry_runs={"8.11.0": "", "9.0.0": dry_run}, priors={}), judges)
    status = todo.status
    assert not (todo.create or todo.learn or todo.record) and not status.blocks and status.completion_time
    if dry_run:
        assert (status.phase, status.reason) == ("Failed", "InvalidVariant"), "what cannot be raced is said first"
        return
    assert (status.phase, status.verdict) == ("Complete", "NotComparable")
    assert said(todo)["Fair"] == ("False", "MoreDiffers") and said(todo)["Complete"] == ("True", "NotComparable")
    assert said(todo)["GatePassed"] == ("False", "NotComparable") == said(todo)["Compared"]
    told = {each.what: each.values for each in status.differences if not each.fair}
    assert told["elasticsearch.java"] == {"8.11.0": "17", "9.0.0": "21"} and "elasticsearch.version" in told
    assert plan_comparison(seen(of, status), judges) == ComparisonPlan(status)


MATRIX = comparison(
    variants=None,
    matrix={
        "axes": [
            {"path": "elasticsearch.version", "values": ["8.11.0", "8.12.0"]},
            {"path": "elasticsearch.java", "values": [17, 21]},
        ]
    },
    baseline="8.11.0-17",
    design=FIXED_2,
)
IN_TWO = "8.12.0-21 differs from 8.11.0-17 in 2 variables, "


def test_a_cell_of_a_matrix_that_the_specs_show_to_be_unfair_is_not_raced() -> None:
    court = Counting()
    film = Film(MATRIX, court)
    status = film.status
    assert status.phase == "Pending" and not status.differences
    assert [each.name for each in status.variants] == ["8.11.0-17", "8.11.0-21", "8.12.0-17"]
    (left_out,) = status.contenders
    assert (left_out.name, left_out.verdict) == ("8.12.0-21", "NotComparable")
    assert (
        left_out.sentence.startswith(f"not raced: {IN_TWO}")
        and status.progress == "3 variants, 12 races at most without those raced again"
    )
    status = film.run().status
    raced = {race.variant for race in film.created}
    assert raced == {"8.11.0-17", "8.11.0-17*", "8.11.0-21", "8.12.0-17"} and len(film.created) == 3 + 2 * 4
    assert {*court.counted[1:]} == {("8.11.0-17", "8.11.0-21", "8.12.0-17")}, "what it takes is reckoned of these alone"
    assert court.judged == ["8.11.0-17", "8.11.0-21", "8.12.0-17"] and status.verdict == "NoDifference"
    assert [(each.name, each.sentence[:10]) for each in status.contenders] == [("8.12.0-21", "not raced:")]
    told = {each.type: (each.status, each.reason, each.message) for each in status.conditions}
    assert told["Fair"][:2] == ("True", "OnlyDeclaredDiffers")
    assert told["GatePassed"][:2] == ("False", "NotComparable") and IN_TWO in told["GatePassed"][2]


class Counting(Court):
    """A court that knows what the specs allow to compare, and remembers of whom it was asked what they will take."""

    @property
    def judges(self) -> Judges:
        self.counted: list[tuple[str, ...]] = getattr(self, "counted", [])

        def expect(spec: Any, variants: Any, *known: Any) -> Expected:
            self.counted.append(tuple(variant.name for variant in variants))
            return self.expect(spec, variants, *known)

        return Judges(self.judge, lambda spec, variants, _: diff(spec, variants, ()), expect, self.foresee)


LARGE = {"name": "large", "patch": {"elasticsearch": {"resources": {"limits": {"memory": "64Gi"}}}}}
LACKING = "elasticsearch.resources.limits.memory is 64Gi, and the largest machine that it may use, m, has 8192Mi"


def with_large(machine_gib: int | None = 8, **changes: Any) -> Film:
    """A Comparison of a variant of 64 GiB on one machine, after its first status was written."""
    of = comparison(variants=[{"name": "8.11.0"}, LARGE], **{"design": FIXED_2, **changes})
    film = Film(of)
    machines = () if machine_gib is None else (MachineCapacity("m", 4000, {}, (), machine_gib * 2**30),)
    asked = seen(of, dry_runs={"8.11.0": "", "large": ""}, priors={}, machines=machines)
    film.status = plan_comparison(asked, film.court.judges).status
    return film


def test_more_memory_than_any_machine_has_is_said_and_a_test_race_shows_it_before_all_others() -> None:
    template = {**comparison().template.to_json(), "smokeTest": False}
    film = with_large(template=template)
    status = film.status
    assert status.phase == "Pending" and status.progress.startswith(f"variant large: {LACKING}"[:100])
    assert [each.startswith(f"variant large: {LACKING}") for each in status.findings] == [True]
    assert [each.lacking_memory[: len(LACKING)] for each in status.variants] == ["", LACKING]
    film.until("Running", 0, 1)
    (first,) = film.created
    assert (first.name, first.spec["smokeTest"]) == ("upgrade-0b", True), "the other one has cost nothing yet"
    film.finish("Failed", reason="Unschedulable", message="pod es-0: 0/1 nodes")
    while not film.status.completion_time:
        film.step(confirmed=True)
    assert (film.status.phase, film.status.reason) == ("Failed", "PreparationFailed")
    assert film.status.message == "variant large: Unschedulable: pod es-0: 0/1 nodes" and len(film.created) == 1
    assert film.status.findings and not film.status.cost_races


def test_a_preparation_that_gave_its_place_up_is_made_again_in_turn_and_not_for_ever() -> None:
    film, retries = with_large(template={**comparison().template.to_json(), "smokeTest": False}), 3
    for attempt in range(1, retries + 2):
        film.until("Running", 0, 1)
        assert film.status.block and film.status.block.attempt == attempt and film.status.admitted_time
        film.finish("Failed", reason="Unschedulable", message="pod es-0: 0/1 nodes", gave_way=True)
        while film.status.block:
            film.step(confirmed=True)
        assert film.status.admitted_time is None
        if attempt <= retries:
            assert film.status.phase == "Queued" and film.status.queued_time
    assert (film.status.phase, film.status.reason) == ("Failed", "PreparationFailed")
    assert film.status.message == "variant large: Unschedulable: pod es-0: 0/1 nodes"


@pytest.mark.parametrize("refused", [1, 2])
def test_once_a_preparation_finds_no_whole_processors_all_races_of_all_variants_share_them(refused: int) -> None:
    film = Film()
    film.until("Running", 0, refused)
    there = film.created[-1]
    film.races[there.name] = replace(film.races[there.name], processors_refused=True)
    film.run()
    asked = [race.spec["elasticsearch"]["resources"].get("requests", {}).get("cpu") for race in film.created]
    assert asked == [None] * refused + ["100m"] * (len(film.created) - refused)
    assert "no machine had a whole processor to spare for each node of variant" in film.status.findings[0]
    void = Film()
    void.until("Running", 0, 1)
    assert not void.run().status.findings


def test_a_share_outlasts_the_preparation_that_asked_for_it() -> None:
    film = Film().until("Running", 0, 1)
    film.races["upgrade-0a"] = replace(film.races["upgrade-0a"], processors_refused=True)
    film.until("Starting", 1, 1)
    film.races = {name: race for name, race in film.races.items() if not name.startswith("upgrade-0")}
    film.until("Running", 1, 1)
    assert film.created[-1].spec["elasticsearch"]["resources"]["requests"]["cpu"] == "100m"


def test_a_machine_that_comes_is_raced_on_and_nothing_is_said_any_more() -> None:
    film = with_large(template={**comparison().template.to_json(), "smokeTest": False}).run()
    prepared, races = film.created[:2], film.created[2:]
    assert [(race.name, race.spec["smokeTest"]) for race in prepared] == [("upgrade-0b", True), ("upgrade-0a", False)]
    assert {race.spec["smokeTest"] for race in races} == {False} and film.status.verdict == "NoDifference"
    assert races[0].spec["checkedBy"] in ("upgrade-0a", "upgrade-0b") and film.status.findings == []


@pytest.mark.parametrize("gib", [None, 64])
def test_where_there_is_a_machine_or_none_is_known_nothing_changes(gib: int | None) -> None:
    film = with_large(gib, template={**comparison().template.to_json(), "smokeTest": False})
    assert not film.status.findings and film.status.progress == "2 variants, 12 races at most without those raced again"
    film.run()
    assert [(race.name, race.spec["smokeTest"]) for race in film.created[:2]] == [
        ("upgrade-0a", False), ("upgrade-0b", False),
    ]  # fmt: skip


def test_kept_clusters_that_are_too_much_together_are_said_and_the_largest_is_filled_first() -> None:
    kept = {**FIXED_2, "state": "Kept", "tasks": ["search"]}
    film = with_large(65, design=kept)
    assert [each.split(",")[0] for each in film.status.findings] == [
        "design.state: Kept needs the clusters of all variants at once"
    ]
    film.run()
    assert film.created[0].name == "upgrade-0a", "each of them has a machine"
    film = with_large(8, design=kept, template={**comparison().template.to_json(), "smokeTest": False})
    assert len(film.status.findings) == 2
    film.run()
    first, second = film.created[:2]
    assert (first.name, first.spec["smokeTest"]) == ("upgrade-0b", False), "its filling shows it"
    assert second.spec["elasticsearch"]["scheduling"]["machines"] == ["m-upgrade-0b"]


@pytest.mark.parametrize(
    ("hopeless", "more", "passed", "counted"),
    [
        ("", {}, "True", 3),
        ("latency p99 of search: no rate", {}, "False", 1),
        ("latency p99 of search: no rate", {"onInconclusive": "pass"}, "True", 1),
    ],
)
def test_what_no_block_can_judge_is_told_after_the_first_and_ends_it(
    hopeless: str, more: dict[str, Any], passed: str, counted: int
) -> None:
    film = Film(comparison(design={"stop": "fixed", "blocks": 3, "seed": 1}, **more))
    film.court.foreseen = Foreseen(["block 1 could not judge it"], hopeless)
    if not hopeless:
        assert "block 1 could not judge it" in film.until("Running", 2).status.findings
    status = film.run().status
    gate = next(each for each in status.conditions if each.type == "GatePassed")
    assert (status.phase, status.blocks_done, gate.status) == ("Complete", f"{counted}/3", passed)
    assert bool(film.court.asked) != bool(hopeless)
    if hopeless:
        assert (status.verdict, gate.reason, status.findings) == (
            "Inconclusive", "Inconclusive", ["block 1 could not judge it"],
        )  # fmt: skip
        assert status.progress == f"cannot tell, whatever more blocks show: {hopeless}"


def test_an_unfair_comparison_ends_at_once() -> None:
    film = Film()
    film.court.fairness = SaidOfFairness(False, sentence="java differs, too: 17 and 21")
    film.run()
    status = film.status
    assert (status.phase, status.verdict, status.blocks_done) == ("Complete", "NotComparable", "1/2")
    found = {each.type: (each.status, each.reason) for each in status.conditions}
    assert found["Fair"] == ("False", "MoreDiffers") and found["Compared"] == ("False", "NotComparable")
    assert found["GatePassed"] == ("False", "NotComparable") and found["Complete"][0] == "True"
    assert film.court.asked == []


@pytest.mark.parametrize("cut_short", [False, True], ids=["to the end", "to the deadline"])
@pytest.mark.parametrize("known", [{}, {"throughput": Prior(0.1 / 3, 4.0), "serviceTimeP99": Prior(1e-300, 0.3)}])
def test_every_look_stands_on_what_was_known_of_the_noise_at_the_first_one(
    known: dict[str, Prior], cut_short: bool
) -> None:
    """Others end meanwhile and entries grow old: what is known by then would open a gate again that was settled."""
    film = Film(comparison(design={"seed": 1}), court=Court(Said("Inconclusive")))
    film.until("Running", 3)
    assert film.status.known_noise is None
    for _ in range(400):
        if film.status.completion_time:
            break
        others = known if film.status.known_noise is None else {"throughput": Prior(len(film.progress), 4.0)}
        film.status = ComparisonStatus.model_validate_json(film.status.model_dump_json(by_alias=True))
        if cut_short and len(film.court.asked) == 2:
            film.now += timedelta(days=8)
        film.finish()
        film.step(priors=others)
    assert film.status.phase == "Complete" and len(film.court.asked) >= 3
    assert film.court.priors == [known] * len(film.court.asked)


def test_what_turns_out_to_be_unfair_keeps_no_number_that_an_earlier_look_judged() -> None:
    film = Film(comparison(design={"seed": 1}))
    gates = [GateStatus(metric="throughput", policy="requireNonInferior", verdict="Improved", change=9.0, passed=True)]
    better = ContenderStatus(name="9.0.0", verdict="Improved", sentence="9 % more", gates=gates)
    film.court.said = Said("Inconclusive", contenders=[better], findings=["the throughput of search differs, too"])
    film.until("Running", 4)
    assert film.status.contenders == [better] and film.status.findings
    film.court.fairness = SaidOfFairness(False, sentence="java differs, too: 17 and 21")
    film.run()
    status = film.status
    (found,) = status.contenders
    assert status.verdict == "NotComparable" and not status.findings
    assert (found.name, found.verdict, found.gates) == ("9.0.0", "NotComparable", [])
    assert found.sentence == "java differs, too: 17 and 21"


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (Said(), ("False", "NotComparable")),
        (Said("Inconclusive"), ("False", "NotComparable")),
        (Said("Inconclusive", gate_passed=False), ("False", "Inconclusive")),
        (Said("Regressed", gate_passed=False), ("False", "GateNotPassed")),
        (Said("Regressed", gate_passed=None), ("True", "NothingToDecide")),
    ],
)
def test_who_cannot_be_compared_among_others_is_left_out_and_passes_no_gate(
    answer: Said, wanted: tuple[str, str]
) -> None:
    variants = [*comparison().to_json()["variants"], {"name": "odd", "patch": {"elasticsearch": {"heap": "1g"}}}]
    film = Film(comparison(design=FIXED_2, variants=variants))
    film.court.fairness = SaidOfFairness(not_comparable={"odd": "its Java differs"})
    film.court.said = answer
    film.run()
    assert film.court.judged == ["8.11.0", "9.0.0"] and film.status.verdict == answer.verdict
    assert [(each.name, each.verdict) for each in film.status.contenders] == [("odd", "NotComparable")]
    gate = next(each for each in film.status.conditions if each.type == "GatePassed")
    assert (gate.status, gate.reason) == wanted
    named = gate.message.startswith("not comparable: odd; ") and gate.message.endswith("its Java differs")
    assert named == (wanted[1] == "NotComparable"), gate.message


def test_who_cannot_be_compared_passes_no_gate_at_a_deadline_either() -> None:
    design = {"stop": "fixed", "blocks": 5, "seed": 1}
    film = Film(comparison(design=design, calibrate=False, onInconclusive="pass"))
    film.court.fairness = SaidOfFairness(not_comparable={"9.0.0": "its Java differs"})
    film.until("Recording", 1, 2)
    while film.status.block:
        film.step()
    film.now += timedelta(hours=168)
    film.step()
    gate = next(each for each in film.status.conditions if each.type == "GatePassed")
    assert (film.status.verdict, gate.status, gate.reason) == ("Inconclusive", "False", "NotComparable")


@pytest.mark.parametrize(
    ("answer", "inconclusive", "blocks", "asked"),
    [
        (Said(settled=True), "fail", 3, [(3, False), (3, True)]),
        (Said("Inconclusive", futile=True, gate_passed=False), "fail", 3, [(3, False), (3, True)]),
        (Said("Inconclusive", futile=True, gate_passed=False), "extend", 5, [(3, False), (5, True)]),
        (Said("Inconclusive", gate_passed=False), "fail", 5, [(3, False), (5, True)]),
    ],
)
def test_when_a_sequential_design_stops(answer: Said, inconclusive: str, blocks: int, asked: Any) -> None:
    film = Film(comparison(design={"seed": 1, "maxBlocks": 5}, onInconclusive=inconclusive, calibrate=False))
    film.court.said = answer
    film.run()
    assert film.status.blocks_done == f"{blocks}/5" and film.status.verdict == answer.verdict
    assert film.court.asked == [(count, (3, 5), last) for count, last in asked]
    gate = next(each for each in film.status.conditions if each.type == "GatePassed")
    assert gate.reason == ("AllGatesPassed" if answer.gate_passed else "Inconclusive")


@pytest.mark.parametrize(
    ("passed", "verdict", "wanted"),
    [(None, "Improved", ("True", "NothingToDecide")), (False, "Regressed", ("False", "GateNotPassed")),
     (True, "Inconclusive", ("True", "Inconclusive"))],
)  # fmt: skip
def test_what_the_gates_say(passed: bool | None, verdict: Any, wanted: tuple[str, str]) -> None:
    film = Film()
    film.court.said = Said(verdict, gate_passed=passed)
    film.run()
    assert next((e.status, e.reason) for e in film.status.conditions if e.type == "GatePassed") == wanted


def test_the_noise_is_learnt_with_the_end() -> None:
    film = Film().until("Recording", 2, 3)
    plans = [film.step() for _ in range(4)]
    assert [todo.learn for todo in plans] == [False, True, False, False] and film.status.completion_time


@pytest.mark.parametrize(
    ("design", "after", "phase", "verdict"),
    [
        (FIXED_2, 0, "Failed", None),
        ({"stop": "fixed", "blocks": 5}, 1, "Complete", "Inconclusive"),
        ({"stop": "fixed", "blocks": 5}, 3, "Complete", "NoDifference"),
        ({}, 2, "Complete", "Inconclusive"),
        ({}, 4, "Complete", "NoDifference"),
    ],
)
def test_at_the_deadline_the_blocks_so_far_speak(design: Any, after: int, phase: str, verdict: Any) -> None:
    film = Film(comparison(design={**design, "seed": 1}, calibrate=False))
    film.until("Recording", after, 2) if after else film.step()
    while film.status.block:
        film.finish()
        film.step()
    film.now += timedelta(hours=168)
    assert plan_comparison(film.look(records=None), film.court.judges).look == (("records", "priors") if after else ())
    film.step()
    assert (film.status.phase, film.status.verdict) == (phase, verdict)
    words = f"the deadline of 168h was reached after {after} of"
    assert words in (film.status.findings[-1] if after else film.status.message)
    if verdict == "NoDifference":
        assert film.court.asked[-1] == (after, (3,), True)


def test_suspended_between_blocks() -> None:
    film = Film().until("Running", 1)
    film.spec = film.spec.model_copy(update={"suspend": True})
    for _ in range(30):
        film.finish()
        film.step()
    assert (film.status.phase, film.status.progress) == ("Pending", "suspended before block 2/2")
    assert film.status.admitted_time is None and film.status.blocks_done == "1/2"
    film.spec = film.spec.model_copy(update={"suspend": False})
    assert film.run().status.phase == "Complete"


def test_each_pass_speaks_of_the_newest_generation() -> None:
    """kubectl wait takes a condition of an older one for not met: it waited for ever after any change of suspend."""
    film = Film().until("Running", 1)
    assert film.status.observed_generation == 1 and film.status.conditions
    toggled = replace(film.look().subject, generation=3)
    film.step(subject=toggled)
    assert film.status.observed_generation == 3
    assert all(each.observed_generation == 3 for each in film.status.conditions)


@pytest.mark.parametrize(("after", "ends"), [(timedelta(hours=23), False), (timedelta(hours=25), True)])
def test_a_deadline_does_not_count_while_it_is_suspended_before_it_began(after: timedelta, ends: bool) -> None:
    film = Film(comparison(design=FIXED_2, deadline="24h", suspend=True))
    film.step()
    film.now += timedelta(days=8)
    film.step()
    assert (film.status.phase, film.status.progress) == ("Pending", "suspended before the preparation")
    film.spec = film.spec.model_copy(update={"suspend": False})
    film.turn = Turn(may_go=False)
    film.step()
    assert film.status.phase == "Queued" and film.status.start_time == stamp(film.now)
    film.turn, film.now = Turn(may_go=True), film.now + after
    film.step()
    assert (film.status.reason == "DeadlineReached") is ends


@pytest.mark.parametrize(("after", "ends"), [(timedelta(hours=23), False), (timedelta(hours=25), True)])
def test_a_deadline_does_not_count_while_it_is_suspended_between_blocks(after: timedelta, ends: bool) -> None:
    film = Film(comparison(design={"stop": "fixed", "blocks": 3, "seed": 1}, deadline="24h")).until("Running", 1)
    for days in (8, 2):
        film.spec = film.spec.model_copy(update={"suspend": True})
        while film.status.phase != "Pending":
            film.finish(), film.step()
        film.now += timedelta(days=days)
        assert film.step().wake_in is None and film.status.suspended_time
        film.spec = film.spec.model_copy(update={"suspend": False})
        film.turn = Turn(may_go=False)
        film.step()
        assert film.status.phase == "Queued" and film.status.suspended_time is None
    film.turn, film.now = Turn(may_go=True), film.now + after
    film.step()
    assert (film.status.completion_time is not None) is ends
    assert ("the deadline of 24h was reached" in " ".join([film.status.progress, *film.status.findings])) is ends


def test_long_races_make_the_twin_seldom() -> None:
    film = Film(comparison(design={"stop": "fixed", "blocks": 4, "seed": 1}))
    film.minutes = 16
    film.run()
    assert film.status.calibrate_every == 3
    assert [len(block.order) for block in film.status.blocks] == [2, 3, 2, 2, 3]
    film = Film(comparison(design={"stop": "fixed", "blocks": 2, "seed": 1}, calibrateEvery=1))
    film.minutes = 16
    assert film.run().status.calibrate_every == 1


def test_a_name_that_something_else_has_is_waited_for_and_then_another_is_taken() -> None:
    film = Film().until("Starting", 1)
    words = "waiting for Benchmark upgrade-1a, which is not of this Comparison, to go away"
    film.step(foreign=words)
    assert words in film.status.progress and film.status.block
    film.now += timedelta(minutes=15)
    film.step(foreign=words)
    assert film.status.block.reason == "NameTaken"
    assert film.run().status.blocks[2].attempt == 2


def test_a_race_that_somebody_suspends_does_not_hold_the_place_for_ever() -> None:
    film = Film().until("Running", 1, 2)
    name = film.status.block.races[-1].benchmark  # type: ignore[union-attr]
    film.races[name] = replace(film.races[name], suspended=True, phase="Pending")
    film.step()
    assert (film.step().wake_in or 0) > 0 and film.status.admitted_time
    film.now += timedelta(minutes=15)
    film.step()
    assert film.status.block and film.status.block.reason == "RaceSuspended"
    film.step(), film.step()
    assert film.status.admitted_time is None and film.run().status.phase == "Complete"


def test_a_deleted_race_that_does_not_go_away_does_not_hold_the_place_for_ever() -> None:
    film = Film().until("Running", 1, 2)
    name = film.status.block.races[-1].benchmark  # type: ignore[union-attr]
    film.races[name] = replace(film.races[name], deleted=stamp(film.now))
    film.step()
    assert film.step().wake_in == 600 and film.status.admitted_time
    assert film.status.progress.endswith("waiting for its Benchmark, which was deleted, to go away")
    film.now += timedelta(minutes=10)
    assert plan_comparison(film.look(confirmed=False), film.court.judges).look == ("races",)
    film.step()
    assert film.status.block and film.status.block.reason == "RaceDeleted"
    film.step(), film.step()
    assert film.status.admitted_time is None and film.run().status.phase == "Complete"


def test_a_full_quota_does_not_hold_the_place_for_ever() -> None:
    film = Film().until("Starting", 1)
    words = FULL.quota_words
    film.step(hindrance=words)
    told = "quota exceeded (raise it, or delete what is over): full, requested: count/benchmarks"
    assert told in film.status.progress and film.status.block
    film.now += timedelta(minutes=16)
    film.step(hindrance=words)
    assert film.status.block.reason == "RaceRefused" and told in film.status.block.races[-1].message


def test_a_quota_that_is_not_full_is_not_called_full() -> None:
    film = Film().until("Starting", 1)
    film.step(hindrance=ApiError(403, "status unknown for quota: q, resources: pods").quota_words)
    assert "a quota is not counted yet" in film.status.progress and "exceeded" not in film.status.progress


def test_a_full_quota_before_it_begins_waits_no_longer_than_the_deadline() -> None:
    words, of = FULL.quota_words, comparison(deadline="1h")
    begun = plan_comparison(seen(of, hindrance=words), Court().judges).status
    assert begun.progress.startswith("not begun: quota exceeded") and begun.phase == "Pending"
    for minutes, phase in ((59, "Pending"), (61, "Failed")):
        look = seen(of, begun, hindrance=words, now=START + timedelta(minutes=minutes))
        ended = plan_comparison(look, Court().judges).status
        assert ended.phase == phase
    assert (ended.reason, ended.message) == (
        "DeadlineReached",
        "not begun within the deadline of 1h: quota exceeded (raise it, or delete what is over): full, requested: "
        "count/benchmarks.fairlap.dev=1",
    )


@pytest.mark.parametrize("obstacle", [{"hindrance": FULL.quota_words}, {"foreign": "waiting for x to go away"}])
def test_what_nobody_tried_while_the_operator_was_away_has_its_time_yet(obstacle: dict[str, str]) -> None:
    """The first try after an outage of twenty minutes voided the block within a second."""
    film = Film().until("Starting", 1)
    back = film.now + timedelta(minutes=20)

    def stage(minutes: int, taken_up: datetime = back) -> str:
        look = film.look(now=back + timedelta(minutes=minutes), taken_up=taken_up, **obstacle)
        block = plan_comparison(look, film.court.judges).status.block
        assert block
        return block.stage

    assert [stage(minutes) for minutes in (0, 14, 16)] == ["Starting", "Starting", "Recording"]
    assert stage(0, back + timedelta(hours=1)) == "Recording", "a clock that was ahead is not believed"


def test_an_operator_that_starts_again_and_again_does_not_wait_for_ever() -> None:
    film = Film().until("Starting", 1)
    assert film.status.block
    began = moment(film.status.block.since)

    def stage(minutes: int) -> str:
        now = began + timedelta(minutes=minutes)
        look = film.look(now=now, taken_up=now - timedelta(minutes=1), hindrance=FULL.quota_words)
        block = plan_comparison(look, film.court.judges).status.block
        assert block
        return block.stage

    assert [stage(minutes) for minutes in (30, 74, 76)] == ["Starting", "Starting", "Recording"]


def test_the_deadline_of_one_that_is_suspended_waits_for_a_quota_no_more_than_for_anything_else() -> None:
    of = comparison(deadline="1h", suspend=True)
    begun = plan_comparison(seen(of, hindrance=FULL.quota_words), Court().judges).status
    later = seen(of, begun, hindrance=FULL.quota_words, now=START + timedelta(hours=2))
    assert (begun.phase, plan_comparison(later, Court().judges).status.phase) == ("Pending", "Pending")
    goes_on = seen(comparison(deadline="1h"), begun, hindrance=FULL.quota_words, now=START + timedelta(hours=2))
    assert plan_comparison(goes_on, Court().judges).status.phase == "Pending", "it has an hour from now on"


def test_a_race_that_is_refused_voids_its_block() -> None:
    film = Film().until("Starting", 1)
    film.step(refusal="exceeded quota")
    assert film.status.block and film.status.block.reason == "RaceRefused"
    assert film.status.block.races[-1].message.endswith("was refused: exceeded quota")
    assert film.run().status.phase == "Complete"


def test_fields_that_are_not_stored_are_told() -> None:
    film = Film()
    film.step(pruned=frozenset({"block.order"}))
    assert next(each for each in film.status.conditions if each.type == "CRDOutdated").status == "True"
