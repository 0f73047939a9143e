"""Watched namespaces that are gone or forbidden stop nobody else, and nothing that we made keeps one in Terminating."""

import time
from collections.abc import Iterator

import pytest

from .controlplane import ControlPlane
from .manifests import benchmark
from .operator_process import Operator
from .stage import Stage

RELEASE_ROLE = "fairlap"
HOLD = "tests.example/hold"


def delete_namespace(stage: Stage, name: str) -> None:
    done = stage.plane.kubectl("delete", "namespace", name, "--wait=false")
    assert done.returncode == 0, done.stderr


def is_gone(stage: Stage, name: str) -> bool:
    return "NotFound" in stage.plane.kubectl("get", "namespace", name).stderr


@pytest.fixture(scope="module")
def three(stage: Stage, plane: ControlPlane) -> Iterator[tuple[Operator, str]]:
    """An operator, not started; of the namespaces that it watches one is gone, and one it may not read."""
    allowed, gone, forbidden = (stage.make_namespace(f"watched-{name}") for name in ("allowed", "gone", "forbidden"))
    operator = Operator(plane, allowed, scope__namespaces=[allowed, gone, forbidden])
    operator.environment["FAIRLAP_UNREACHABLE_SECONDS"] = "2"
    operator.environment["FAIRLAP_SWEEP_SECONDS"] = "2"
    delete_namespace(stage, gone)
    stage.until(lambda: is_gone(stage, gone), "the namespace is gone")
    done = plane.kubectl("delete", "rolebinding", RELEASE_ROLE, f"--namespace={forbidden}")
    assert done.returncode == 0, done.stderr
    yield operator, forbidden
    operator.lives()
    operator.stop()


def test_namespaces_that_cannot_be_read_stop_no_other(stage: Stage, three: tuple[Operator, str]) -> None:
    operator, forbidden = three
    allowed = operator.namespace
    stage.behave(allowed, "first", race="hangs")
    stage.apply(benchmark(allowed, "first", smokeTest=False), benchmark(forbidden, "waits", smokeTest=False))
    operator.start()
    stage.reaches(allowed, "first", "Racing")
    code, words = operator.answer("/readyz")
    assert code == 200 and words.count("is left out") == 2, words
    text = operator.answer("/metrics")[1]
    states = [f'fairlap_namespace_ready{{watched="watched-{name}"}} {value}' for name, value in (
        ("allowed", "1.0"), ("gone", "0.0"), ("forbidden", "0.0"))]  # fmt: skip
    assert all(state in text for state in [*states, "fairlap_leader 1.0"]), text
    assert not stage.status(forbidden, "waits")


def test_a_namespace_that_can_be_read_again_is_taken_up(stage: Stage, three: tuple[Operator, str]) -> None:
    """Its Benchmark lines up behind the one that holds the place; nobody restarts the operator."""
    operator, forbidden = three
    operator_account = f"--serviceaccount={operator.namespace}:{operator.account}"
    done = stage.plane.kubectl(
        "create", "rolebinding", RELEASE_ROLE, f"--role={RELEASE_ROLE}", operator_account, f"--namespace={forbidden}"
    )
    assert done.returncode == 0, done.stderr
    stage.reaches(forbidden, "waits", "Queued")
    assert f'fairlap_namespace_ready{{watched="{forbidden}"}} 1.0' in operator.answer("/metrics")[1]
    stage.delete("benchmarks", operator.namespace, "first")
    assert stage.ends(forbidden, "waits")["phase"] == "Succeeded"


def test_no_finalizer_is_ever_set_and_an_earlier_one_is_taken_off(stage: Stage, three: tuple[Operator, str]) -> None:
    namespace = three[0].namespace
    stage.behave(namespace, "held", run=(1.0, 1.0))
    earlier = benchmark(namespace, "held", smokeTest=False)
    earlier["metadata"]["finalizers"] = ["fairlap.dev/operator", HOLD]
    stage.apply(earlier, benchmark(namespace, "next", smokeTest=False))

    def finalizers() -> list[str]:
        found: list[str] = stage.benchmark(namespace, "held")["metadata"].get("finalizers", [])
        return found

    stage.until(lambda: finalizers() == [HOLD], "the finalizer is gone")
    stage.delete("benchmarks", namespace, "held")  # it stays, since somebody else holds it
    seen = set()
    while stage.status(namespace, "held").get("phase") not in ("Succeeded", "Failed"):
        seen |= {*finalizers(), *stage.benchmark(namespace, "next")["metadata"].get("finalizers", [])}
        time.sleep(0.05)
    assert seen == {HOLD}
    assert stage.ends(namespace, "next")["phase"] == "Succeeded", "it got the place of the one that is held"
    stage.patch("benchmarks", namespace, "held", {"metadata": {"finalizers": None}})


def test_a_namespace_is_removed_in_the_middle_of_a_race_without_the_operator(
    stage: Stage, three: tuple[Operator, str]
) -> None:
    """As after `helm uninstall`: the operator and its rights go first, then what it was at work on."""
    operator, forbidden = three
    allowed = operator.namespace
    for namespace in (allowed, forbidden):
        stage.behave(namespace, race="hangs")
    stage.apply(benchmark(allowed, "going", smokeTest=False))
    stage.reaches(allowed, "going", "Racing")
    operator.stop()
    for kind in ("rolebinding", "role"):
        stage.plane.kubectl("delete", kind, "--all", f"--namespace={allowed}")
    stage.delete("benchmarks", allowed, "going")
    stage.until(lambda: not stage.find("benchmarks", allowed, "going"), "the Benchmark is gone", 10)
    stage.is_clean(allowed)
    delete_namespace(stage, forbidden)
    stage.until(lambda: is_gone(stage, forbidden), "the namespace is gone")
