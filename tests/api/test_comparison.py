"""Comparisons against a real API server: whole blocks, whoever waits, deletes or kills."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from .controlplane import ControlPlane
from .kill_points import counted, kill_points, killed, sample, until_killed_or
from .manifests import Json, benchmark, comparison
from .operator_process import Operator
from .stage import Stage

pytestmark = pytest.mark.independent
TWO_BLOCKS = {"stop": "fixed", "blocks": 2}
DUET = {**TWO_BLOCKS, "kind": "Duet"}
KEPT = {**TWO_BLOCKS, "state": "Kept", "tasks": ["search-request"]}
FAST = {"eck": (0.0, 0.05), "run": (0.05, 0.1)}
RACES = ["cmp-0a", "cmp-0b", *(f"cmp-{block}{letter}" for block in (1, 2, 3) for letter in "ab")]


@contextmanager
def comparing(plane: ControlPlane, namespace: str, **values: object) -> Iterator[Operator]:
    """An operator that must end without a word of anything that was not foreseen."""
    operator = Operator(plane, namespace, **values)
    operator.start()
    operator.wait_ready()
    yield operator
    operator.lives()
    assert operator.stop() == 0
    assert not operator.refused(), operator.refused()[:3]
    assert "Traceback" not in operator.log.read_text(), operator.log.read_text()[-3000:]


def raced(stage: Stage, namespace: str) -> list[str]:
    """Return the Benchmarks in the order in which their steps began."""
    return [name.removesuffix("-race-1").removesuffix("-smoke") for name in stage.runs(namespace)]


def ended_well(stage: Stage, namespace: str, name: str = "cmp", seconds: float = 60.0) -> Json:
    status = stage.compares(namespace, name, seconds=seconds)
    assert status["phase"] == "Complete", (status.get("reason"), status.get("message"))
    return status


def test_a_whole_comparison(stage: Stage, plane: ControlPlane, namespace: str) -> None:
    """Another Benchmark waits all the time: it races between two blocks and never inside one."""
    stage.behave(namespace, **FAST)
    with comparing(plane, namespace) as operator:
        stage.apply(comparison(namespace))
        stage.compares(namespace, "cmp", "Preparing")
        stage.apply(*(benchmark(namespace, name, smokeTest=False) for name in ("x", "y")))
        status = ended_well(stage, namespace)
        assert (
            status["verdict"]
            and status["completionTime"]
            and (status["costRaces"], status["costPreparations"]) == (6, 2)
        )
        for name in ("x", "y"):
            assert stage.ends(namespace, name)["phase"] == "Succeeded"
        order = raced(stage, namespace)
        assert sorted(order) == sorted([*RACES, "x", "y"])
        assert stage.world.most_running[namespace] == 1
        for block in "0123":
            places = [number for number, name in enumerate(order) if name.startswith(f"cmp-{block}")]
            assert places[1] == places[0] + 1, f"a stranger raced within block {block}: {order}"
        assert order.index("x") < order.index("cmp-3a"), "it was its turn between two blocks"
        blocks = [block for block in status["blocks"] if block["number"]]
        assert [block["record"] for block in blocks] == [f"cmp-block-{number}" for number in (1, 2, 3)]
        assert all(block["valid"] and len(block["races"]) == 2 for block in blocks)
        kept = stage.find("configmaps", namespace, "cmp-block-1")
        assert kept and kept["binaryData"]["block.json.gz"] and kept["metadata"]["ownerReferences"][0]["controller"]
        child = stage.benchmark(namespace, "cmp-1a")
        assert child["metadata"]["labels"]["fairlap.dev/variant"] == "8.11.0"
        assert (
            child["spec"]["checkedBy"] == "cmp-0a" and child["metadata"]["ownerReferences"][0]["kind"] == "Comparison"
        )
        code, metrics = operator.answer("/metrics")
        assert code == 200 and 'fairlap_comparisons{phase="Complete"} 1.0' in metrics
        counted = f'fairlap_comparison_verdicts_total{{verdict="{status["verdict"]}"}} 1.0'
        stage.until(lambda: counted in operator.answer("/metrics")[1], counted, 20)
        told = [e for e in stage.all("events", namespace) if e["involvedObject"]["kind"] == "Comparison"]
        assert {"Preparing", "Racing", "Complete"} <= {event["reason"] for event in told}
        stage.delete("comparisons", namespace, "cmp")
        stage.until(lambda: len(stage.all("benchmarks", namespace)) == 2, "its Benchmarks go", 30)
        stage.is_clean(namespace)


def test_suspend_resume_and_kubectl_wait(stage: Stage, plane: ControlPlane, namespace: str) -> None:
    """kubectl takes what was said of an older generation for not met, and each change of suspend makes a new one."""
    stage.behave(namespace, **FAST)
    with comparing(plane, namespace):
        stage.apply(comparison(namespace, design=TWO_BLOCKS))
        stage.compares(namespace, "cmp", "Preparing")
        stage.patch("comparisons", namespace, "cmp", {"spec": {"suspend": True}})
        words = "suspended before "
        stage.until(lambda: words in stage.comparison(namespace, "cmp").get("progress", ""), "it says suspended", 60)
        stage.patch("comparisons", namespace, "cmp", {"spec": {"suspend": False}})
        wait = ("wait", "--for=condition=Complete", "cmp/cmp", f"--namespace={namespace}", "--timeout=120s")
        assert plane.kubectl(*wait).returncode == 0
        status = ended_well(stage, namespace)
        assert status["observedGeneration"] == 3
        assert {told["observedGeneration"] for told in status["conditions"]} == {3}
        stage.patch("comparisons", namespace, "cmp", {"spec": {"suspend": True}})
        stage.until(lambda: stage.comparison(namespace, "cmp")["observedGeneration"] == 4, "the newest is said", 20)
        later = stage.comparison(namespace, "cmp")
        assert {told["observedGeneration"] for told in later["conditions"]} == {4}
        assert later["completionTime"] == status["completionTime"] and plane.kubectl(*wait).returncode == 0


def test_what_the_api_server_would_refuse_is_said_at_once(stage: Stage, plane: ControlPlane, namespace: str) -> None:
    wrong = {"name": "odd", "patch": {"elasticsearch": {"version": "nine"}}}
    with comparing(plane, namespace):
        stage.apply(comparison(namespace, variants=[{"name": "8.11.0"}, wrong]))
        status = stage.compares(namespace, "cmp")
        accepted = next(c for c in status["conditions"] if c["type"] == "Accepted")
        assert (status["phase"], accepted["status"]) == ("Failed", "False")
        assert "variant odd" in accepted["message"], accepted
        assert not stage.all("benchmarks", namespace)


def test_what_the_specs_show_to_be_unfair_is_never_raced(stage: Stage, plane: ControlPlane, namespace: str) -> None:
    newer = {"name": "9.0.0", "patch": {"elasticsearch": {"version": "9.0.0", "java": 21}}}
    with comparing(plane, namespace):
        manifest = comparison(namespace, template__elasticsearch__java=17, variants=[{"name": "8.11.0"}, newer])
        stage.apply(manifest)
        status = stage.compares(namespace, "cmp")
        assert (status["phase"], status["verdict"]) == ("Complete", "NotComparable"), status
        told = {each["what"]: each["values"] for each in status["differences"] if not each["fair"]}
        assert told["elasticsearch.java"] == {"8.11.0": "17", "9.0.0": "21"}, told
        assert not stage.all("benchmarks", namespace) and not stage.runs(namespace)


@pytest.mark.long
def test_a_deleted_race_and_a_failed_one_are_raced_again(stage: Stage, plane: ControlPlane, namespace: str) -> None:
    """As whole blocks, each with its reason; the race that fails again and again ends it all."""
    stage.behave(namespace, **FAST)
    stage.behave(namespace, "cmp-1a", race="hangs")
    stage.behave(namespace, "cmp-1b", race="hangs")
    with comparing(plane, namespace):
        stage.apply(comparison(namespace, design={"stop": "fixed", "blocks": 2, "retries": 2}))
        stage.until(lambda: any(name.startswith("cmp-1") for name in raced(stage, namespace)), "block 1 begins", 60)
        first = next(name for name in raced(stage, namespace) if name.startswith("cmp-1"))
        stage.behave(namespace, "cmp-2a", race="documents", **FAST)
        stage.behave(namespace, "cmp-2b", race="documents", **FAST)
        stage.delete("benchmarks", namespace, first)
        status = ended_well(stage, namespace)
        void = [(b["number"], b.get("attempt", 1), b["reason"]) for b in status["blocks"] if not b["valid"]]
        assert [(number, attempt) for number, attempt, _ in void] == [(1, 1), (2, 1)]
        assert void[0][2] == "RaceDeleted"
        done = [(b["number"], b.get("attempt", 1)) for b in status["blocks"] if b["valid"] and b["number"]]
        assert done == [(1, 2), (2, 2)]
        assert stage.find("configmaps", namespace, "cmp-block-1-2")
        stage.apply(comparison(namespace, "bad", design={"stop": "fixed", "blocks": 2, "retries": 1}))
        for attempt in ("", "-2"):
            for letter in "ab":
                stage.behave(namespace, f"bad-1{letter}{attempt}", race="documents", **FAST)
        status = stage.compares(namespace, "bad")
        assert (status["phase"], status["reason"]) == ("Failed", "RacesInvalid")
        assert len([b for b in status["blocks"] if not b["valid"]]) == 2


@pytest.mark.long
def test_disturbed_blocks_are_raced_again_until_the_bound_is_spent(
    stage: Stage, plane: ControlPlane, namespace: str
) -> None:
    """All races are disturbed: of two blocks one is raced again, with Count none; both end with a verdict."""
    stage.behave(namespace, race="disturbed", **FAST)
    with comparing(plane, namespace):
        stage.apply(comparison(namespace, design={**TWO_BLOCKS, "retries": 0}))
        status = ended_well(stage, namespace)
        told = [(b["number"], b.get("attempt", 1), b["valid"], b.get("reason", "")) for b in status["blocks"][1:]]
        assert told == [(1, 1, False, "MachineDisturbed"), (1, 2, True, ""), (2, 1, True, "")]
        races = [f"cmp-{block}{letter}{suffix}" for block, suffix in ((1, ""), (1, "-2"), (2, "")) for letter in "ab"]
        assert sorted(raced(stage, namespace)) == sorted(["cmp-0a", "cmp-0b", *races]), "with all its variants"
        first = status["blocks"][1]["races"][0]
        assert (first["valid"], first["reason"]) == (True, "MachineDisturbed")
        assert "the hypervisor took 20 % of its processors' time in task search-request" in first["message"]
        words = "the machine was disturbed in 2 of the 2 blocks that count, after 1 was raced again for that"
        assert status["findings"][0] == words, status["findings"]
        assert all(stage.find("configmaps", namespace, f"cmp-block-1{again}") for again in ("", "-2"))
        events = [e["message"] for e in stage.all("events", namespace) if e["reason"] == "BlockInvalid"]
        assert any("block 1 does not count: MachineDisturbed: the load" in text for text in events), events
        stage.apply(comparison(namespace, "shared", design={**TWO_BLOCKS, "disturbed": "Count"}))
        status = ended_well(stage, namespace, "shared")
        assert [(b["number"], b["valid"]) for b in status["blocks"]] == [(0, True), (1, True), (2, True)]
        assert status["findings"][0] == "the machine was disturbed in 2 of the 2 blocks that count"


@pytest.mark.long
def test_a_saturated_load_generator_is_a_finding(stage: Stage, plane: ControlPlane, namespace: str) -> None:
    stage.behave(namespace, race="saturated", **FAST)
    with comparing(plane, namespace):
        stage.apply(comparison(namespace, design=TWO_BLOCKS))
        status = ended_well(stage, namespace)
        who = " and ".join(f"2 of 2 races of {variant['name']}" for variant in status["variants"])
        assert status["findings"][0].startswith(f"the load generator was saturated in {who}: "), status["findings"]


@pytest.mark.long
def test_one_that_is_deleted_in_a_block_leaves_nothing(stage: Stage, plane: ControlPlane, namespace: str) -> None:
    stage.behave(namespace, **FAST)
    for letter in "ab":
        stage.behave(namespace, f"cmp-1{letter}", race="hangs")
    with comparing(plane, namespace):
        stage.apply(comparison(namespace))
        stage.until(lambda: any(name.startswith("cmp-1") for name in raced(stage, namespace)), "block 1 begins", 60)
        stage.apply(benchmark(namespace, "next", smokeTest=False))
        stage.reaches(namespace, "next", "Queued")
        stage.delete("comparisons", namespace, "cmp")
        assert stage.ends(namespace, "next")["phase"] == "Succeeded"
        stage.until(lambda: len(stage.all("benchmarks", namespace)) == 1, "its Benchmarks go", 30)
        stage.is_clean(namespace)


@pytest.mark.long
def test_strangers_share_no_machine_with_a_block(stage: Stage, plane: ControlPlane, namespace: str) -> None:
    """And a Benchmark that names somebody's Comparison as its owner never races."""
    stage.behave(namespace, **FAST)
    for letter in "ab":
        stage.behave(namespace, f"cmp-1{letter}", race="hangs")
    with comparing(plane, namespace, maxActive=2):
        stage.apply(comparison(namespace))
        stage.until(lambda: any(name.startswith("cmp-1") for name in raced(stage, namespace)), "block 1 begins", 60)
        there = stage.find("comparisons", namespace, "cmp")
        assert there is not None
        forged = benchmark(namespace, "forged", smokeTest=False)
        owner = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Comparison", "name": "cmp", "controller": True}
        forged["metadata"]["ownerReferences"] = [{**owner, "uid": there["metadata"]["uid"]}]
        stage.apply(forged, benchmark(namespace, "other", smokeTest=False))
        assert stage.ends(namespace, "other")["phase"] == "Succeeded", "there is a second place"
        assert stage.status(namespace, "forged")["progress"] == "waiting for its Comparison cmp"
        first = next(name for name in raced(stage, namespace) if name.startswith("cmp-1"))
        uid = stage.benchmark(namespace, first)["metadata"]["uid"]
        pods = [p for p in stage.all("pods", namespace) if p["metadata"]["labels"].get("fairlap.dev/uid") == uid]
        assert len(pods) == 2
        for pod in pods:
            (term,) = pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            assert [uid] in [each.get("values") for each in term["labelSelector"]["matchExpressions"]]
        for name in ("cmp", "forged"):
            stage.delete("comparisons" if name == "cmp" else "benchmarks", namespace, name)


@pytest.mark.parametrize(
    "design",
    [pytest.param(DUET, id="fresh"), pytest.param({**KEPT, "kind": "Duet"}, id="kept")],
)
@pytest.mark.long
def test_races_in_turn_are_raced_together_in_one_place(
    stage: Stage, plane: ControlPlane, namespace: str, design: Json
) -> None:
    stage.behave(namespace, **FAST)
    with comparing(plane, namespace):
        stage.apply(comparison(namespace, design=design))
        stage.until(lambda: len(stage.world.tables) and in_block(stage, namespace, 1), "block 1 is raced", 60)
        stage.apply(benchmark(namespace, "other", smokeTest=False))
        status = ended_well(stage, namespace)
        assert [block["valid"] for block in status["blocks"]] == [True] * 3, status["blocks"]
        assert stage.ends(namespace, "other")["phase"] == "Succeeded"
        assert stage.world.most_running[namespace] == 1, "those of a block have one place together"
        for block in (1, 2):
            (one, two) = (stage.benchmark(namespace, f"cmp-{block}{letter}") for letter in "ab")
            turns = sorted((it["spec"]["inTurn"] for it in (one, two)), key=lambda it: it["number"])
            assert [(it["number"], it.get("at")) for it in turns] == [(0, None), (1, "10.0.0.7:9330")]
            assert turns[0]["block"] == turns[1]["block"] and turns[0]["races"] == 2
        metrics = {gate["metric"] for contender in status["contenders"] for gate in contender["gates"]}
        assert {"serviceTimeP50"} <= metrics <= {"serviceTimeP50", "serviceTimeP99", "storeBytes"}
        assert any("sent in turn" in text for text in status["scope"])
        stage.promises_kept(namespace)


def in_block(stage: Stage, namespace: str, number: int) -> bool:
    return any(name.startswith(f"cmp-{number}") for name in raced(stage, namespace))


@pytest.mark.long
def test_with_places_for_others_races_in_turn_share_their_machine(
    stage: Stage, plane: ControlPlane, namespace: str
) -> None:
    """Both demand to be away from strangers, and the first is made before the second is known."""
    stage.behave(namespace, **FAST)
    with comparing(plane, namespace, maxActive=2):
        stage.apply(comparison(namespace, design=DUET))
        stage.until(lambda: len(in_turn(stage, namespace)) == 4, "two clusters and two load generators", 60)
        pods = in_turn(stage, namespace)
        for pod in pods:
            affinity, labels = pod["spec"]["affinity"], pod["metadata"]["labels"]
            (term,) = affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            own = {"key": "fairlap.dev/in-turn", "operator": "NotIn", "values": [labels["fairlap.dev/in-turn"]]}
            assert own in term["labelSelector"]["matchExpressions"]
        nodes = {(pod["metadata"]["labels"]["fairlap.dev/role"], pod["spec"]["nodeName"]) for pod in pods}
        assert len(nodes) == 2, "on the machines of the first one"
        ended_well(stage, namespace)


def in_turn(stage: Stage, namespace: str) -> list[Json]:
    return [pod for pod in stage.all("pods", namespace) if "fairlap.dev/in-turn" in pod["metadata"]["labels"]]


@pytest.mark.long
def test_killed_at_random_moments_no_race_is_lost_or_doubled(stage: Stage, plane: ControlPlane, namespace: str) -> None:
    seed = random.SystemRandom().randrange(1, 10**6)
    print(f"seed {seed}")
    dice = random.Random(seed)
    stage.behave(namespace, **FAST)
    operator = Operator(plane, namespace)
    stage.apply(comparison(namespace))
    for _ in range(8):
        operator.start()
        time.sleep(dice.uniform(0.9, 2.2))
        operator.lives()
        operator.kill()
    operator.start()
    try:
        status = ended_well(stage, namespace)
        assert [block["valid"] for block in status["blocks"]] == [True] * 4, status["blocks"]
        assert sorted(raced(stage, namespace)) == RACES and stage.world.most_running[namespace] == 1
        stage.is_clean(namespace)
        operator.lives()
    finally:
        operator.stop()
    assert not operator.refused(), operator.refused()[:3]


@pytest.mark.parametrize(
    ("design", "times"),
    [
        pytest.param(TWO_BLOCKS, 1, id="fresh-once", marks=pytest.mark.long),
        pytest.param(TWO_BLOCKS, 3, id="fresh", marks=pytest.mark.long),
        pytest.param(KEPT, 3, id="kept", marks=pytest.mark.long),
        pytest.param(DUET, 3, id="duet", marks=pytest.mark.long),
    ],
)
def test_killed_at_some_of_its_writes(
    stage: Stage, plane: ControlPlane, namespace: str, design: Json, times: int
) -> None:
    """Each of them in tests/soak; here a sample, each in a Comparison of its own."""
    seed = random.SystemRandom().randrange(1, 10**6)
    print(f"seed {seed}")
    stage.behave(namespace, **FAST)
    operator = Operator(plane, namespace)
    whole = list(operator.command)
    operator.start()
    one_comparison(stage, operator, namespace, "whole", design)
    operator.stop()
    points = kill_points(counted(plane, operator, namespace))
    for at, when in sample(points, times, random.Random(seed)):
        name = f"k{at}-{when[0]}"
        killed_at(stage, operator, namespace, name, killed(whole[0], at, when), design)


def killed_at(stage: Stage, operator: Operator, namespace: str, name: str, command: list[str], design: Json) -> bool:
    """Let an operator be killed by this command while it works for a new Comparison, and another one end that one.

    Returns whether it was killed.
    """
    stage.apply(comparison(namespace, name, design=design))
    whole, operator.command = operator.command, command
    operator.start()
    over = until_killed_or(lambda: "completionTime" in stage.comparison(namespace, name), operator)
    stage.until(over, f"{name} is killed, or it is over", 60)
    assert operator.process is not None
    was_killed = operator.process.poll() is not None
    if was_killed:
        operator.process = None
    else:
        operator.stop()
    operator.command = whole
    operator.start()
    one_comparison(stage, operator, namespace, name, design)
    operator.stop()
    assert not operator.refused(), operator.refused()[:3]
    return was_killed


def one_comparison(stage: Stage, operator: Operator, namespace: str, name: str, design: Json) -> None:
    """Let a Comparison of two blocks end, with each race once, and remove it; nothing may be left."""
    if stage.find("comparisons", namespace, name) is None:
        stage.apply(comparison(namespace, name, design=design))
    status = ended_well(stage, namespace, name)
    assert [block["valid"] for block in status["blocks"]] == [True] * 3, status["blocks"]
    looks = ("-check", "-probe")
    runs = sorted(each for each in stage.runs(namespace) if each.startswith(f"{name}-") and not each.endswith(looks))
    prepared = ("smoke", "race-1") if design == KEPT else ("smoke",)
    wanted = {0: prepared, 1: ("race-1",), 2: ("race-1",)}
    assert runs == sorted(
        f"{name}-{block}{letter}-{step}" for block in wanted for letter in "ab" for step in wanted[block]
    )
    assert (status["costRaces"], status["costPreparations"]) == (4, 2)
    if design == KEPT:  # each was built once for the test race and once to be kept, and nothing was built in the blocks
        built = stage.built(namespace, f"{name}-")
        assert sorted(built) == sorted(f"{name}-0{letter}-{step}" for letter in "ab" for step in prepared)
    stage.delete("comparisons", namespace, name)
    stage.until(lambda: not stage.all("benchmarks", namespace), f"the Benchmarks of {name} go", 30)
    stage.is_clean(namespace)
    stage.promises_kept(namespace)
    operator.lives()
