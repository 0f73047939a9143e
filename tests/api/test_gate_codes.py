"""`fairlap gate` as a pipeline calls it: every exit code that it may end with, against a real API server."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .controlplane import ControlPlane
from .forked import called
from .manifests import Json, comparison
from .stage import Stage

NOW = "2026-01-01T00:00:00Z"


@dataclass
class Case:
    """How a Comparison stands, what is asked, and how the program ends."""

    code: int
    said: str
    status: Json | None
    words: tuple[str, ...] = ("gate", "cmp")
    server: str = ""
    """another one than that of the test"""


def stands(verdict: str, passed: bool | None, reason: str, *gates: tuple[str, bool | None], **more: Any) -> Json:
    """Return the status of a Comparison at its end; `gates`: verdict and whether it is passed."""
    rows = [
        {
            "metric": "throughput", "policy": "reportOnly" if ok is None else "requireNonInferior", "verdict": said,
            "sentence": f"throughput: {said}", **({} if ok is None else {"passed": ok}),
        }
        for said, ok in gates
    ]  # fmt: skip
    condition = {"type": "GatePassed", "status": str(passed), "reason": reason, "lastTransitionTime": NOW}
    return {
        "phase": "Complete",
        "verdict": verdict,
        "progress": f"all in all {verdict}",
        "conditions": [] if passed is None else [condition],
        "contenders": [{"name": "9.0.0", "verdict": verdict, "gates": rows}],
        **more,
    }


def with_odd(status: Json) -> Json:
    """Return the status with a contender that cannot be compared."""
    status["contenders"].append({"name": "odd", "verdict": "NotComparable", "sentence": "odd differs in two variables"})
    return status


RACING: Json = {"phase": "Racing", "progress": "block 1/3"}
WAIT = ("gate", "cmp", "--wait", "--timeout", "1s")
CASES: dict[str, Case] = {
    "passed": Case(
        0, "NoDifference: all in all", stands("NoDifference", True, "AllGatesPassed", ("NoDifference", True))
    ),
    "passed, waited for": Case(
        0, "* passed: 9.0.0", stands("Improved", True, "AllGatesPassed", ("Improved", True)), words=WAIT
    ),
    "nothing decides": Case(
        0, "* only reported", stands("Regressed", True, "NothingToDecide", ("Regressed", None))
    ),
    "inconclusive, which passes": Case(
        0, "Inconclusive: all", stands("Inconclusive", True, "Inconclusive", ("Inconclusive", True))
    ),
    "regressed": Case(
        1, "* NOT PASSED: 9.0.0: throughput: Regressed",
        stands("Regressed", False, "GateNotPassed", ("Regressed", False)),
    ),
    "regressed within the margin": Case(
        1, "RegressedWithinMargin", stands("RegressedWithinMargin", False, "GateNotPassed",
                                           ("RegressedWithinMargin", False)),
    ),
    "a trade": Case(
        1, "Mixed: all", stands("Mixed", False, "GateNotPassed", ("Improved", True), ("Regressed", False))
    ),
    "any regression, below the margin": Case(
        1, "* NOT PASSED: 9.0.0: throughput: NoDifference",
        stands("NoDifference", False, "GateNotPassed", ("NoDifference", False)),
    ),
    "inconclusive": Case(
        3, "Inconclusive: all", stands("Inconclusive", False, "Inconclusive", ("Inconclusive", False))
    ),
    "not comparable": Case(3, "NotComparable: all", stands("NotComparable", False, "NotComparable")),
    "a cell of a matrix not comparable": Case(
        3, "* NOT COMPARABLE: odd: odd differs",
        with_odd(stands("NoDifference", False, "NotComparable", ("NoDifference", True))),
    ),
    "failed": Case(
        3, "Failed: 4 blocks", {"phase": "Failed", "reason": "RacesInvalid", "message": "4 blocks did not count"}
    ),
    "not at an end": Case(3, "is not at an end, so nothing can be told; --wait waits for it", RACING),
    "never seen": Case(3, "not seen by the operator yet", None),
    "no cluster": Case(3, "fairlap: ", None, server="https://127.0.0.1:9"),
    "no name": Case(2, "", None, words=("gate",)),
    "a name that is not there": Case(2, "there is no Comparison nobody", None, words=("gate", "nobody")),
    "a time-out without --wait": Case(2, "--timeout", RACING, words=("gate", "cmp", "--timeout", "1m")),
    "a time-out that is none": Case(2, "--timeout", RACING, words=("gate", "cmp", "--wait", "--timeout", "soon")),
    "time-out": Case(124, "cmp is not at an end after 1 s; it goes on in the cluster", RACING, words=WAIT),
}  # fmt: skip
FIRST_OF_CODE = {case.code: name for name, case in reversed(CASES.items())}
"""the case of each exit code that is a process as a pipeline starts it; the others are forks, which take less"""


def really_called(words: tuple[str, ...], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "fairlap.cli", *words]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.parametrize("name", CASES)
def test_exit_codes(stage: Stage, plane: ControlPlane, namespace: str, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    stage.apply(comparison(namespace))
    if case.status:
        stage.patch("comparisons", namespace, "cmp", {"status": case.status}, "status")
    file = plane.write_kubeconfig(tmp_path / "kubeconfig", plane.admin_token, namespace)
    if case.server:
        file.write_text(file.read_text().replace(plane.server, case.server))
    call = really_called if FIRST_OF_CODE[case.code] == name else called
    done = call(case.words, {**os.environ, "KUBECONFIG": str(file)})
    assert (done.returncode, case.said in done.stdout + done.stderr) == (case.code, True), (done.stdout, done.stderr)
    stage.delete("comparisons", namespace, "cmp")
