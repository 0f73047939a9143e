"""A second try is given to tests against real servers alone, is told, and is noted; who is noted twice is a defect."""

from collections import Counter
from pathlib import Path

import pytest
from tests import reruns_plugin

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[3]
TESTS = """
import itertools
from pathlib import Path
import pytest

TRIES = Path(__file__).with_suffix(".tries")
names = itertools.count(1)

@pytest.fixture(scope="session")
def server():
    yield next(names)

@pytest.fixture(scope="module")
def namespace(server):
    yield f"n{server}"

def tried():
    TRIES.write_text(TRIES.read_text() + "x" if TRIES.exists() else "x")
    return len(TRIES.read_text())

def test_before(namespace):
    assert namespace == "n1"

def test_stalls(namespace):
    first = tried() == 1
    assert namespace == ("n1" if first else "n2")
    assert not first, "the machine stood still"

def test_after(namespace):
    assert namespace == "n2"
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with API tests, one of which fails the first time."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("CI", raising=False)
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\n")
    (pytester.path / "tests/api").mkdir(parents=True)
    (pytester.path / "tests/api/test_it.py").write_text(TESTS)
    (pytester.path / "tests/RERUNS.md").write_text("| Date | Test | What went wrong |\n|---|---|---|\n")
    return pytester


def run(suite: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    how = suite.runpytest_subprocess if "-n" in arguments else suite.runpytest_inprocess
    return how("-p", "tests.reruns_plugin", "-p", "no:cacheprovider", *arguments)


def notes(suite: pytest.Pytester) -> list[str]:
    return reruns_plugin.noted((suite.path / "tests/RERUNS.md").read_text())


@pytest.mark.parametrize("workers", [(), ("-n", "1", "--dist", "loadfile")])
def test_a_test_that_fails_once_passes_under_new_names_and_is_noted(
    suite: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    done = run(suite, *workers)

    assert done.parseoutcomes() == {"passed": 3, "rerun": 1}
    done.stdout.fnmatch_lines(["*1 run once more*", "passed then: tests/api/test_it.py::test_stalls: *stood still*"])
    assert notes(suite) == ["tests/api/test_it.py::test_stalls"]


def test_a_test_that_fails_twice_has_failed(suite: pytest.Pytester) -> None:
    (suite.path / "tests/api/test_it.py").write_text("def test_broken():\n    assert False\n")
    done = run(suite)

    assert done.parseoutcomes() == {"failed": 1, "rerun": 1}
    done.stdout.fnmatch_lines(["*1 run once more*", "failed again: tests/api/test_it.py::test_broken: *"])
    assert notes(suite) == []


def test_a_fixture_that_fails_once_is_made_again(suite: pytest.Pytester) -> None:
    text = TESTS.replace('    yield f"n{server}"', '    assert tried() > 1\n    yield "n2"').replace('"n1"', '"n2"')
    (suite.path / "tests/api/test_it.py").write_text(text)

    assert run(suite).parseoutcomes() == {"passed": 3, "rerun": 1}
    assert notes(suite) == ["tests/api/test_it.py::test_before"]


def test_a_first_try_whose_fixtures_do_not_end_well_is_told(suite: pytest.Pytester) -> None:
    ends = '    yield f"n{server}"\n    assert server > 1, "somebody else ended it"'
    (suite.path / "tests/api/test_it.py").write_text(TESTS.replace('    yield f"n{server}"', ends))
    done = run(suite)

    assert done.parseoutcomes() == {"passed": 3, "rerun": 1, "warnings": 1}
    done.stdout.fnmatch_lines(["*test_stalls: the first try's fixtures did not end well*somebody else ended it*"])


def test_unit_tests_have_no_second_try(suite: pytest.Pytester) -> None:
    (suite.path / "tests/api").rename(suite.path / "tests/unit")
    run(suite).assert_outcomes(passed=1, failed=2)
    assert notes(suite) == []


def test_a_pipeline_prints_what_it_would_note(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    done = run(suite)

    done.stdout.fnmatch_lines(["To be added to tests/RERUNS.md:", "| 2* | `tests/api/test_it.py::test_stalls` | *"])
    assert notes(suite) == []


def test_a_row_is_read_back() -> None:
    line = reruns_plugin.row("2026-11-22", "tests/api/test_it.py::test_a[x-y]", "a | b `c`")
    assert reruns_plugin.noted(f"| Date | `Test` |\n{line}\n") == ["tests/api/test_it.py::test_a[x-y]"]


def test_no_test_is_noted_twice() -> None:
    """Else it is a defect to mend: its rows go with the commit that mends it."""
    times = Counter(reruns_plugin.noted((ROOT / reruns_plugin.NOTES).read_text()))
    assert [test for test, count in times.items() if count > 1] == []
