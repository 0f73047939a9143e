"""What a Comparison of examples/ found, kept as a line of results/examples.jsonl and printed as its README's table.

    kubectl -n fairlap get cmp storage -o json | .venv/bin/python bench/example_found.py \\
        --machine "2 virtual processors of an AMD EPYC, 24 GiB" [--stopped "by hand, after 3 of at most 10 blocks"]

The label `question` names the example's folder. A line of an earlier race of the same example is replaced.

With --smallest nothing is kept: only the table is printed.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime
from pathlib import Path

from parts.lines import Json, append, read

RESULTS = Path(__file__).parent / "results" / "examples.jsonl"
GATE = (
    *("task", "metric", "verdict", "change", "low", "high", "confidence"),
    *("spread", "noise", "blocks", "moreBlocks", "sentence"),
)
DIGITS = 3
"""after the point: a thousandth of a percent is less than any noise"""


def found(comparison: Json, machine: str, stopped: str) -> Json:
    """Return the line of one finished Comparison; of several contenders the first. Raises ValueError for others."""
    status = comparison.get("status") or {}
    question = (comparison["metadata"].get("labels") or {}).get("question")
    if not question or not status.get("completionTime") or not status.get("contenders"):
        raise ValueError("this is no finished Comparison with the label `question` and a contender")
    contender, took = status["contenders"][0], _time(status["completionTime"]) - _time(status["startTime"])
    about = {
        "example": question,
        "at": status["completionTime"],
        "machine": machine,
        "verdict": status["verdict"],
        "races": status["costRaces"],
        "preparations": status["costPreparations"],
        "seconds": round(took.total_seconds()),
        "contender": contender["name"],
        "design": comparison["spec"].get("design", {}),
        **({"stopped": stopped} if stopped else {}),
    }
    return {**about, "gates": [{key: _short(gate[key]) for key in GATE if key in gate} for gate in contender["gates"]]}


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _short(value: object) -> object:
    return round(value, DIGITS) if isinstance(value, float) else value


def table(line: Json) -> list[str]:
    """Return the rows that an example's README has of such a line, one a gate."""
    rows = ["| Gate | Change | Interval | Blocks | baseline against itself |", "|---|---:|---:|---:|---:|"]
    for gate in line["gates"]:
        interval = gate["sentence"].partition(" interval ")[2].partition(",")[0].removesuffix(")")
        name = f"`{gate['task']}`, `{gate['metric']}`" if gate.get("task") else f"`{gate['metric']}`"
        noise = f"±{gate['noise']:.1f} %" if "noise" in gate else ""
        cells = (name, f"{gate['change']:+.1f} %", f"{interval} ({gate['confidence']:.1f} %)", gate["blocks"], noise)
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return rows


def keep(path: Path, line: Json) -> None:
    """Write the line into the file of results, in the place of one of the same example."""
    others = [each for each in read(path) if each["example"] != line["example"]]
    whole = path.with_suffix(".new")
    whole.unlink(missing_ok=True)
    for each in (*others, line):
        append(whole, each)
    whole.replace(path)


def main() -> int:
    """Read a Comparison from the standard input, keep what it found and print its table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", default="", help="the machine in a few words; kept with the numbers")
    parser.add_argument("--stopped", default="", help="when it did not end by itself: how, and after how many blocks")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--smallest", action="store_true", help="keep nothing: only see that it works")
    asked = parser.parse_args()
    if not (asked.machine or asked.smallest):
        parser.error("--machine is needed: numbers mean nothing without it")
    try:
        line = found(json.load(sys.stdin), asked.machine, asked.stopped)
    except ValueError as error:
        parser.error(str(error))
    if not asked.smallest:
        keep(asked.results, line)
    print(*table(line), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
