"""Long proofs: what passed is not run again for the same sources and seed, and each run ends with seed and figures."""

import json
from collections.abc import Generator, Iterator

import pytest
from tests.api.conftest import install, namespace, plane, stage  # noqa: F401 - the API tests' fixtures serve here, too
from tests.race.conftest import account, elasticsearch, folder, runner  # noqa: F401 - and those of the races

from .progress import FOLDER, Progress


@pytest.fixture
def progress(request: pytest.FixtureRequest) -> Iterator[Progress]:
    """The test's chunks: `for seed in progress.chunks(): ...; progress.passed(seed, figures)`."""
    yield request.node.stash[_PROGRESS]


_PROGRESS = pytest.StashKey[Progress]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out what has passed already."""
    item.stash[_PROGRESS] = progress = Progress(item.nodeid)
    if progress.done:
        pytest.skip(f"passed already with seed {progress.seed} and these sources; rm -r .soak runs it again")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Keep that a test has passed."""
    yield
    item.stash[_PROGRESS].finish()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print seed and figures of everything that was run."""
    terminalreporter.section("long proofs: seeds and figures")
    for file in sorted(FOLDER.glob("*.json")):
        progress = Progress(json.loads(file.read_text())["test"])
        if progress.done or progress.state["chunks"]:  # else it is of other sources
            terminalreporter.line(f"{progress.state['test']}: {progress.words()}")
