"""Says which tests of another checkout this one no longer has; a table tells what moved (tests/moved_tests.txt).

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
FIRST_NAME, NAME = "es" + "bench", "fairlap"


def collected(checkout: Path) -> set[str]:
    """Return the ids of all tests of a checkout; raises RuntimeError when they cannot be collected."""
    found: set[str] = set()
    for suite, venv in SUITES.items():
        if not (checkout / "tests" / suite).is_dir():
            continue
        own = checkout / venv / "bin/python"
        python = own if own.exists() else ROOT / venv / "bin/python"
        path = f"{checkout / 'operator'}:{checkout}"
        argv = [str(python), "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", f"tests/{suite}"]
        done = subprocess.run(
            argv, cwd=checkout, env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{' '.join(argv)} in {checkout}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        found |= {line for line in done.stdout.splitlines() if line.startswith("tests/") and "::" in line}
    return found


def read_table(text: str) -> dict[str, str]:
    """Return what became of files, tests and parameters: old name to new one, or to `-` for what was removed."""
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    # Parameters may have spaces in them.
    pairs = [tuple(line.split(" -> ") if " -> " in line else line.split()[:2]) for line in lines if line]
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a name stands twice in the table")
    return table


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
    named = {test: test.replace(FIRST_NAME, NAME).replace(FIRST_NAME.upper(), NAME.upper()) for test in before}
    expected = {test: moved(name, table) for test, name in named.items()}
    there = Counter(map(without_numbers, now - set(expected.values())))
    lost = []
    for test, name in sorted(expected.items()):
        if name == GONE or name in now:
            continue
        if there[without_numbers(name)] > 0:
            there[without_numbers(name)] -= 1
        else:
            lost.append(f"{test} -> {name}")
    return lost


def without_numbers(test: str) -> str:
    """Return the id without the numbers that pytest gives to parameters' values which have no words of their own."""
    head, bracket, parameter = test.partition("[")
    return head + bracket + re.sub(r"(?<![^-])([a-z_]+)\d+(?=[-\]])", r"\1", parameter)


def main() -> int:
    """Print what is missing; the exit code says whether something is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="a checkout of the state before")
    before, now = collected(parser.parse_args().before.resolve()), collected(ROOT)
    lost = missing(before, now, read_table(TABLE.read_text(encoding="utf-8")))
    print("\n".join([*lost, f"{len(before)} tests before, {len(now)} now, {len(lost)} missing"]))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
