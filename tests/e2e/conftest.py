"""The operator, installed by its chart into a namespace of its own, with the chart's permissions and no more."""

import os
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from small_examples import FULL_SIZE

from kube import PROMETHEUS, ROOT, Namespace, environment, localkube, run, tool

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
# Each worker has an operator and a queue of its own: most of a small race is waiting, so several share the machine.
NAMESPACE = f"fairlap-e2e-{WORKER}" if WORKER else "fairlap-e2e"
_tries: Counter[str] = Counter()


def fresh(name: str) -> str:
    """A name that was not used in this run: a test that is run once more does not wait for what failed to go."""
    _tries[name] += 1
    return name if _tries[name] == 1 else f"{name}-{_tries[name]}"


@pytest.fixture(scope="session")
def namespace() -> Iterator[Namespace]:
    """A clean namespace with the operator running in it."""
    values = ["--set", f"prometheus.url={PROMETHEUS},canarySeconds=1"] if FULL_SIZE else []
    with installed(fresh(NAMESPACE), *values) as there:
        yield there


@pytest.fixture(scope="module")
def crowd() -> Iterator[Namespace]:
    """The same, for Benchmarks that may run side by side since each of them does little but wait."""
    with installed(fresh(f"{NAMESPACE}-crowd"), "--set", "maxActive=3") as there:
        yield there


@pytest.fixture
def leaving() -> Iterator[Namespace]:
    """The same, for a test that uninstalls the operator."""
    with installed(fresh(f"{NAMESPACE}-leaving")) as there:
        yield there


@contextmanager
def installed(name: str, *values: str) -> Iterator[Namespace]:
    """A namespace that begins and ends without anything, with an operator of its own."""
    there = Namespace(name)
    there.attempt("delete", "cmp,bm", "--all", "--wait=true", "--timeout=400s", seconds=420)
    there.attempt("delete", "namespace", name, "--ignore-not-found", "--wait=true", seconds=420)
    there.kubectl("create", "namespace", name)
    own = shlex.split(os.environ.get("HELM_ARGS", "")) if os.environ.get("CLUSTER") == "current" else _images()
    there.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
    subprocess.run(
        [tool("helm"), "upgrade", "--install", "fairlap", str(ROOT / "charts/fairlap"), "-n", name,
         "--wait", "--timeout", "400s", "--skip-crds", "--set", "canarySeconds=0", *values, *own],
        env=environment(), check=True, cwd=ROOT, timeout=500,
    )  # fmt: skip
    yield there
    there.attempt("delete", "cmp,bm", "--all", "--wait=true", "--timeout=400s", seconds=420)
    run(tool("helm"), "-n", name, "uninstall", "fairlap")
    there.attempt("delete", "namespace", name, "--wait=false")


def _images() -> list[str]:
    localkube("images")
    return shlex.split(localkube("image-values"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """On a failure, show what the operator said: the cluster may be gone when somebody looks."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    there = next((it for it in getattr(item, "funcargs", {}).values() if isinstance(it, Namespace)), None)
    if report.failed and there is not None:
        log = there.attempt("logs", "deployment/fairlap", "--tail=40").stdout
        events = there.attempt("get", "events", "--sort-by=.lastTimestamp").stdout
        report.sections.append(("operator log", log))
        report.sections.append(("events", "\n".join(events.splitlines()[-40:])))
        report.sections += _logs_of_invalid_races(there)


def _logs_of_invalid_races(there: Namespace) -> Iterator[tuple[str, str]]:
    invalid = "{range .items[*].status.races[?(@.reason)]}{.record} {end}"
    for record in there.attempt("get", "bm", "-o", f"jsonpath={invalid}").stdout.split():
        yield f"Rally's log of {record}", there.rally_log(record)[-8000:]
