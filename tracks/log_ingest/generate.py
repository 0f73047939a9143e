"""Generates the web-access logs of the log_ingest track; needs nothing but Python's standard library.

Writes into DIR: documents-first.json (the first fifth of them), documents-rest.json (all others),
documents-quarter.json (the first quarter, for the ramp-up challenge), documents-head.json (the first 100,000, for the
challenges quick and ramp-up where no number is asked for), and of each file the first 1,000 documents as
`-1k` file, which Rally uses in test mode. The same seed and number of
documents give the same bytes on every machine: only `random.Random.random`, whose sequence Python promises to keep,
and whole-number arithmetic decide what is written.
"""

from __future__ import annotations

import argparse
import datetime
import random
import sys
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import accumulate, islice
from pathlib import Path

PARAMETERS = ("seed", "documents")
"""The track parameters that decide what is generated."""
DEFAULT_SEED = 42
DEFAULT_DOCUMENTS = 1_750_000
FEWEST_DOCUMENTS = 5
HEAD_DOCUMENTS = 100_000
TEST_MODE_DOCUMENTS = 1000
"""What Rally's test mode takes of every corpus that is larger."""
FIRST_DAY = datetime.date(2025, 1, 1)
MEAN_GAP_MILLIS = 850
"""100,000 documents are about one day of logs."""

_SLOTS = 1 << 14
_DAY_MILLIS = 86_400_000
_BATCH = 5000

_STATUS = {"200": 8640, "304": 520, "404": 390, "301": 180, "302": 110, "206": 60, "403": 40, "500": 35, "503": 25}
_METHODS = {"GET": 90, "POST": 7, "HEAD": 3}
# Mixed case on purpose: the pipeline's uppercase processor has to have work.
_SYSTEMS = {
    "Windows 11": 27, "windows 10": 18, "Android 14": 17, "iOS": 14, "macOS": 11, "Ubuntu": 6, "ChromeOS": 4,
    "Fedora": 3,
}  # fmt: skip
_RAM_GIB = {4: 9, 8: 31, 16: 37, 32: 17, 64: 6}
_SITES = (
    "search.example", "news.example", "social.example", "forum.example", "mail.example", "wiki.example",
    "video.example", "shop.example",
)  # fmt: skip
_SECTIONS = ("blog", "docs", "products", "images", "api/v1/orders", "api/v1/users", "static/css", "downloads")
_WORDS = (
    "search", "index", "shard", "replica", "cluster", "node", "query", "filter", "metric", "bucket", "token", "segment",
    "merge", "refresh", "snapshot", "pipeline", "mapping", "field", "latency", "throughput", "backup", "upgrade",
    "template", "alias", "vector", "highlight", "score", "cache", "monitor", "alert", "network", "storage", "memory",
    "garbage", "thread", "queue", "balance", "cursor", "route", "stream",
)  # fmt: skip


def documents(seed: int, count: int) -> Iterator[str]:
    """Yield `count` documents, each a line of JSON with its line end, in the order of their time stamps."""
    uniform = random.Random(seed).random  # noqa: S311  # the point is that it can be repeated
    client = _zipf([f"198.{18 + (n >> 16)}.{n >> 8 & 255}.{n & 255}" for n in _shuffled(uniform, 1 << 17, 20_000)])
    path = _zipf(_paths(uniform))
    referer = _zipf(["-", *(f"https://{site}/{word}" for word in _WORDS for site in _SITES)])
    status, method = _slots(_STATUS), _slots(_METHODS)
    system, ram = _slots(_SYSTEMS), _slots({str(gib << 30): weight for gib, weight in _RAM_GIB.items()})
    millis = 0
    date, next_day = FIRST_DAY.isoformat(), _DAY_MILLIS
    for _ in range(count):
        millis += 1 + int(uniform() * (2 * MEAN_GAP_MILLIS - 1))
        if millis >= next_day:
            next_day = (millis // _DAY_MILLIS + 1) * _DAY_MILLIS
            date = (FIRST_DAY + datetime.timedelta(days=millis // _DAY_MILLIS)).isoformat()
        seconds, fraction = divmod(millis % _DAY_MILLIS, 1000)
        yield (
            f'{{"@timestamp":"{date}T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}'
            f'.{fraction:03d}Z",'
            f'"clientip":"{client(uniform())}","response":"{status[int(uniform() * _SLOTS)]}",'
            f'"request":"{method[int(uniform() * _SLOTS)]} {path(uniform())} HTTP/1.1",'
            f'"machine":{{"os":"{system[int(uniform() * _SLOTS)]}","ram":{ram[int(uniform() * _SLOTS)]}}},'
            f'"referer":"{referer(uniform())}"}}\n'
        )


def write(seed: int, count: int, output: Path) -> None:
    """Write the six corpus files of `count` documents into the directory `output`, which is made if need be.

    Raises ValueError when `count` has no whole fifth, OSError when the files cannot be written.
    """
    if count < FEWEST_DOCUMENTS:
        raise ValueError(f"documents: at least {FEWEST_DOCUMENTS} are needed, not {count}")
    output.mkdir(parents=True, exist_ok=True)
    first = count // 5
    parts = {
        "first": (0, first),
        "rest": (first, count),
        "quarter": (0, count // 4),
        "head": (0, min(count, HEAD_DOCUMENTS)),
    }
    with ExitStack() as files:
        targets = []
        for name, (start, end) in parts.items():
            for suffix, limit in (("", end), ("-1k", min(end, start + TEST_MODE_DOCUMENTS))):
                path = output / f"documents-{name}{suffix}.json"
                targets.append((files.enter_context(path.open("w", encoding="ascii", newline="")), start, limit))
        done = 0
        lines = documents(seed, count)
        while batch := list(islice(lines, _BATCH)):
            for file, start, end in targets:
                file.write("".join(batch[max(0, start - done) : max(0, end - done)]))
            done += len(batch)


def _shuffled(uniform: Callable[[], float], population: int, size: int) -> list[int]:
    # Distinct numbers below `population`; own code, because random.sample may change between Python versions.
    seen: dict[int, None] = {}
    while len(seen) < size:
        seen[int(uniform() * population)] = None
    return list(seen)


def _paths(uniform: Callable[[], float]) -> list[str]:
    # From most to least asked for: the start page, then pages of two words each in random order.
    pages = [f"/{section}/{a}-{b}" for section in _SECTIONS[:4] for a in _WORDS for b in _WORDS[:20] if a != b]
    pages += [f"/{section}/{n}" for section in _SECTIONS[4:] for n in range(1, 201)]
    order = _shuffled(uniform, len(pages), len(pages) // 2)
    return ["/", "/favicon.ico", "/search?q=shard", *(pages[n] for n in order)]


def _zipf(values: Sequence[str]) -> Callable[[float], str]:
    # The k-th value is drawn 1/k times as often as the first; whole numbers, so that no machine rounds differently.
    bounds = list(accumulate(1_000_000_000 // rank for rank in range(1, len(values) + 1)))
    total = bounds[-1]
    return lambda x: values[bisect(bounds, int(x * total))]


def _slots(weights: dict[str, int]) -> list[str]:
    # A list to index with a uniform number: faster than bisect for the few-valued fields.
    total = sum(weights.values())
    bounds = list(accumulate(weights.values()))
    values = list(weights)
    return [values[bisect(bounds, slot * total // _SLOTS)] for slot in range(_SLOTS)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, write the files, return the exit code."""
    parser = argparse.ArgumentParser(description="Generate the corpus of the Rally track log_ingest.")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="same seed, same bytes (default %(default)s)")
    parser.add_argument("--documents", type=int, default=DEFAULT_DOCUMENTS, help="how many (default %(default)s)")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="where the files go")
    options = parser.parse_args(arguments)
    try:
        write(options.seed, options.documents, options.output)
    except ValueError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
