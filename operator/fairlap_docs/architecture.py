"""The picture in docs/architecture.md, drawn from the table of who may import whom that a test enforces."""

import re
from pathlib import Path

from fairlap_docs.floors import FLOORS, SHELVES

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
BEGIN, END = "<!-- Written by `make generate` from operator/fairlap_docs/floors.py -->", "<!-- End -->"


def architecture() -> str:
    """Return docs/architecture.md with the picture as it must be; raises ValueError when there is no place for it."""
    page = PAGE.read_text(encoding="utf-8")
    block = f"{BEGIN}\n\n```text\n{picture()}\n```\n\n{shelves()}\n\n{END}"
    drawn, places = re.subn(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: block, page, flags=re.DOTALL)
    if places != 1:
        raise ValueError(f"{PAGE} has {places} places between the lines {BEGIN} and {END}")
    return drawn


def picture() -> str:
    """Return the rooms in the order of their floors: a row says whom a room may import, a column who may import it.

    Nothing stands to the right of a room itself: it knows none of those later in the table, on higher floors.
    """
    rooms = list(FLOORS)
    short = [name.partition(".")[2] or name for name in rooms]
    width = max(map(len, short))
    numbers = [f"{number:>2}" for number in range(1, len(rooms) + 1)]  # written downwards, so that columns are narrow
    lines = [(" " * (width + 3) + "".join(f" {number[row]}" for number in numbers)).rstrip() for row in (0, 1)]
    above = ""
    for number, (name, shown) in enumerate(zip(rooms, short, strict=True), 1):
        package = name.split(".")[0]
        if package != above:
            lines += ["", package]
        above = package
        cells = "".join(f"{_cell(name, other):>2}" for other in rooms[:number])
        lines.append(f"{number:>2} {shown:<{width}}{cells}")
    return "\n".join(lines)


def shelves() -> str:
    """Return a table of the shelves of large rooms, in their order; what a room's own folder has is `·`."""
    rows = [
        f"| `{room}` | {' < '.join(f'`{name}`' if name else '·' for name in order)} |"
        for room, order in SHELVES.items()
    ]
    return "\n".join(
        ("| large room | its shelves, from the floor up (·: what stands in its own folder) |", "|---|---|", *rows)
    )


def _cell(room: str, other: str) -> str:
    if room == other:
        return "■"
    return "●" if other in FLOORS[room] else "·"
