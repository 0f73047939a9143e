"""Says which tests of another checkout this one no longer has, and which `make test` ran there and no longer runs.

A table tells what moved, and why a test was left to `make test-long` (tests/moved_tests.txt).

    git worktree add /tmp/before b65a33f
    .venv/bin/python tests/same_tests.py /tmp/before

Nothing is run. A checkout is read with its own .venv and .venv-rally, or else with this one's.

pytest numbers a parameter's value that has no words of its own (`texts14`), and a row that is written above it moves
that number: of ids that differ in such numbers alone, none is missing while there are as many.
"""

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = Path(__file__).with_name("moved_tests.txt")
SUITES = {
    **dict.fromkeys(("unit", "api", "race", "report", "e2e", "soak"), ".venv"),
    "rally": ".venv-rally",
}
"""The suites, each collected by itself as it is run, and the environment it needs."""
GONE = "-"
NO_TESTS = 5
"""pytest's exit code where nothing was selected"""
LEFT = "long "
"""so begins a row of the table that says why `make test` runs a test no longer"""
FIRST_NAME, NAME = "es" + "bench", "fairlap"


def all_tests(checkout: Path) -> tuple[set[str], set[str]]:
    """Return the ids of all tests of a checkout, and of those that its `make test` runs.

    Raises RuntimeError when they cannot be collected.
    """
    makefile = (checkout / "Makefile").read_text(encoding="utf-8")
    found: set[str] = set()
    run: set[str] = set()
    for suite in (name for name in SUITES if (checkout / "tests" / name).is_dir()):
        there, marks = collected(checkout, suite), marks_of_make_test(makefile, suite)
        found |= there
        if marks is not None:
            run |= collected(checkout, suite, marks) if marks else there
    return found, run


def marks_of_make_test(makefile: str, suite: str) -> str | None:
    """Return the marks by which `make test` chooses among the tests of a suite, "" for all of them, None for none.

    It runs each by a target of its own: test-api runs tests/api.
    """
    target = re.search(rf"^test-{suite}:.*\n((?:\t.*\n)+)", makefile, re.M)
    line = next((it for it in (target[1].splitlines() if target else ()) if f"tests/{suite}" in it), None)
    if line is None:
        return None
    marks = re.search(r'-m "([^"]*)"', line)
    return marks[1] if marks else ""


def collected(checkout: Path, suite: str, marks: str = "") -> set[str]:
    """Return the ids of the tests of a suite that have these marks; raises RuntimeError when it cannot be collected."""
    venv = SUITES[suite]
    own = checkout / venv / "bin/python"
    python = own if own.exists() else ROOT / venv / "bin/python"
    path = f"{checkout / 'operator'}:{checkout}"
    argv = [str(python), "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", f"tests/{suite}"]
    argv += ["-m", marks] if marks else []
    done = subprocess.run(
        argv, cwd=checkout, env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    nothing = bool(marks) and done.returncode == NO_TESTS
    if done.returncode and not nothing:
        raise RuntimeError(f"{' '.join(argv)} in {checkout}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return {line for line in done.stdout.splitlines() if line.startswith("tests/") and "::" in line}


def read_table(text: str) -> dict[str, str]:
    """Return what became of files, tests and parameters: old name to new one, or to `-` for what was removed."""
    lines = [line for line in _rows(text) if not line.startswith(LEFT)]
    # Parameters may have spaces in them.
    pairs = [tuple(line.split(" -> ") if " -> " in line else line.split()[:2]) for line in lines]
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a name stands twice in the table")
    return table


def read_reasons(text: str) -> dict[str, str]:
    """Return why `make test` runs a test no longer, by its id of now; raises ValueError for a row without a reason."""
    found = {}
    for line in _rows(text):
        if line.startswith(LEFT):
            name, _, why = line.removeprefix(LEFT).partition(" -> ")
            if not why.strip() or name.strip() in found:
                raise ValueError(f"write once `{LEFT}{name} -> ` and the reason")
            found[name.strip()] = why.strip()
    return found


def _rows(text: str) -> list[str]:
    return [row for line in text.splitlines() if (row := line.split("#")[0].strip())]


def moved(test: str, table: Mapping[str, str]) -> str:
    """Return the id that a test has now, `-` for one that was removed.

    The longest name of the table counts: the whole id, then without parameters, then the file. A parameter is looked
    up as well, since some tests have one for each source file.
    """
    for _ in table:
        head, bracket, parameter = test.partition("[")
        file, colons, name = head.partition("::")
        if test in table:
            after = table[test]
        elif head in table and not (bracket and "[" in table[head]):  # else it has its parameter already
            after = table[head] + bracket + parameter if table[head] != GONE else GONE
        elif file in table:
            after = table[file] + colons + name + bracket + parameter if table[file] != GONE else GONE
        elif parameter.rstrip("]") in table:
            now = table[parameter.rstrip("]")]
            after = f"{head}[{now}]" if now != GONE else GONE
        else:
            return test
        if after == GONE:
            return GONE
        test = after
    raise ValueError(f"the table leads {test} in a circle")


def missing(before: Iterable[str], now: set[str], table: Mapping[str, str]) -> list[str]:
    """Return the ids from before, with what they should be now, that this checkout does not have."""
    return [f"{test} -> {name}" for test, name in lost(before, now, table).items()]


def left_out(before: tuple[set[str], set[str]], now: tuple[set[str], set[str]], table: Mapping[str, str]) -> list[str]:
    """Return the ids of now of tests that `make test` ran before, that are still there, and that it runs no longer.

    `before`, `now`: all tests, and those of `make test`.
    """
    not_run, gone = lost(before[1], now[1], table), lost(before[1], now[0], table)
    return [name for test, name in not_run.items() if test not in gone]


def lost(before: Iterable[str], now: set[str], table: Mapping[str, str]) -> dict[str, str]:
    """Return what the ids from before should be now, of those that are not among the ids of now."""
    named = {test: test.replace(FIRST_NAME, NAME).replace(FIRST_NAME.upper(), NAME.upper()) for test in before}
    expected = {test: moved(name, table) for test, name in named.items()}
    there = Counter(map(without_numbers, now - set(expected.values())))
    found = {}
    for test, name in sorted(expected.items()):
        if name == GONE or name in now:
            continue
        if there[without_numbers(name)] > 0:
            there[without_numbers(name)] -= 1
        else:
            found[test] = name
    return found


def without_numbers(test: str) -> str:
    """Return the id without the numbers that pytest gives to parameters' values which have no words of their own."""
    head, bracket, parameter = test.partition("[")
    return head + bracket + re.sub(r"(?<![^-])([a-z_]+)\d+(?=[-\]])", r"\1", parameter)


def main() -> int:
    """Print what is missing, and what is left out without a reason; the exit code says whether something is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="a checkout of the state before")
    before, now = all_tests(parser.parse_args().before.resolve()), all_tests(ROOT)
    text = TABLE.read_text(encoding="utf-8")
    gone, left = missing(before[0], now[0], read_table(text)), left_out(before, now, read_table(text))
    reasons = read_reasons(text)
    unsaid = [name for name in left if name not in reasons]
    print("\n".join([
        *gone,
        *(f"left out of `make test`: {name}: {reasons.get(name, 'for no reason that the table has')}" for name in left),
        f"{len(before[0])} tests before, {len(now[0])} now, {len(gone)} missing",
        f"`make test` ran {len(before[1])}, now {len(now[1])}; {len(left)} of before are left out, {len(unsaid)} of "
        "them for no reason that the table has",
    ]))  # fmt: skip
    return 1 if gone or unsaid else 0


if __name__ == "__main__":
    sys.exit(main())
