"""One control plane for the whole run, a namespace for each test, and the operator where a test asks for one."""

import itertools
import secrets
from collections.abc import Callable, Generator, Iterator

import pytest

from .controlplane import ControlPlane
from .operator_process import Operator
from .stage import Stage

_numbers = itertools.count(1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of the operators' logs with a failed test: they are gone when somebody reads of it."""
    report = yield
    given: dict[str, object] = getattr(item, "funcargs", {})
    if report.failed and isinstance(plane := given.get("plane"), ControlPlane):
        logs = {value.log for value in given.values() if isinstance(value, Operator)}
        namespaces = [value for value in given.values() if isinstance(value, str)]
        logs |= {log for name in namespaces for log in plane.folder.glob(f"operator-{name}.*log")}
        for log in sorted(logs):
            lines = log.read_text(errors="replace").splitlines()
            report.sections.append((log.name, "\n".join(line[:400] for line in lines[-60:])))
    return report


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    """A running control plane with the CRDs."""
    plane = ControlPlane()
    plane.start()
    yield plane
    plane.stop()


@pytest.fixture(scope="session")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    """The control plane with fake controllers."""
    stage = Stage(plane)
    yield stage
    stage.close()


@pytest.fixture
def namespace(stage: Stage) -> Iterator[str]:
    """A fresh namespace; in the end every promise must have been kept in it."""
    name = stage.make_namespace(f"t{next(_numbers)}-{secrets.token_hex(3)}")
    yield name
    stage.promises_kept(name)
    stage.forget(name)


@pytest.fixture
def install(plane: ControlPlane) -> Iterator[Callable[..., Operator]]:
    """A function that installs the chart's objects for a namespace and starts the operator with their rights."""
    installed: list[Operator] = []

    def start(namespace: str, **values: object) -> Operator:
        operator = Operator(plane, namespace, **values)
        installed.append(operator)
        operator.start()
        return operator

    yield start
    for operator in installed:
        operator.lives()
        operator.stop()
        assert not operator.refused(), operator.refused()[:3]


@pytest.fixture(scope="module")
def operator(stage: Stage, plane: ControlPlane) -> Iterator[Operator]:
    """An operator for every namespace, with the chart's ClusterRole, shared by the tests of a file."""
    operator = Operator(plane, stage.make_namespace(f"system-{secrets.token_hex(3)}"), scope__clusterWide=True)
    operator.start()
    operator.wait_ready()
    yield operator
    operator.lives()
    operator.stop()
    assert not operator.refused(), operator.refused()[:3]
