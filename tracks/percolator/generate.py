"""Generates the stored queries of the percolator track, and the documents that are percolated against them.

Writes into DIR: queries-first.json (a fifth of the corpus: one stored query a line), queries-rest.json (all others), of
each the first 1,000 as `-1k` file, which Rally uses in test mode, and percolated.json (the documents that track.py
sends). The same seed and number of queries give the same
bytes on every machine: only `random.Random.random`, whose sequence Python promises to keep, and whole-number
arithmetic decide what is written.
"""

from __future__ import annotations

import argparse
import random
import sys
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import accumulate, islice
from pathlib import Path

PARAMETERS = ("seed", "queries")
"""The track parameters that decide what is generated."""
DEFAULT_SEED = 42
DEFAULT_QUERIES = 200_000
FEWEST_QUERIES = 100
"""Fewer would not hold the rare term."""
TEST_MODE_QUERIES = 1000
"""What Rally's test mode takes of every corpus that is larger."""

PERCOLATED = 1000
"""Documents in percolated.json."""
WORDS_PER_DOCUMENT = 40
VOCABULARY = 20_000
COMMON_WORDS = 200
"""The most frequent words of the language: documents are full of them, and nobody stores a query for them."""
HIGHEST_PRICE = 1000

FREQUENT_TERM = "parcel"
FREQUENT_EVERY = 10
RARE_TERM = "quetzal"
RARE_EVERY = 25_000
"""One stored query in so many is for this term alone. No other query and no percolated document has either term."""
_FREQUENT_AT, _RARE_AT = 7, 50

_BATCH = 5000
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_SYLLABLES = [consonant + vowel for consonant in _CONSONANTS for vowel in _VOWELS]
# Without common factors with the number of words that three syllables make, so that all words differ.
_STRIDE = 1_299_709


def words() -> list[str]:
    """Return the vocabulary from the most to the least frequent word."""
    size = len(_SYLLABLES)
    numbers = [rank * _STRIDE % size**3 for rank in range(1, VOCABULARY + 1)]
    return [_SYLLABLES[n // size**2] + _SYLLABLES[n // size % size] + _SYLLABLES[n % size] for n in numbers]


def queries(seed: int, count: int) -> Iterator[str]:
    """Yield `count` documents that each hold one stored query, as lines of JSON with their line ends."""
    uniform = random.Random(seed).random  # noqa: S311  # the point is that it can be repeated
    word = _zipf(words(), COMMON_WORDS)
    for number in range(count):
        if number % RARE_EVERY == _RARE_AT:
            yield _stored(_match(RARE_TERM))
        elif number % FREQUENT_EVERY == _FREQUENT_AT:
            yield _stored(_match(FREQUENT_TERM))
        else:
            yield _stored(_query(uniform, word))


def documents(seed: int) -> Iterator[str]:
    """Yield the documents that are percolated, as lines of JSON with their line ends."""
    # Another sequence than that of the queries; the order of the two calls must not matter.
    uniform = random.Random(seed * 2 + 1).random  # noqa: S311
    word = _zipf(words(), 0)
    for _ in range(PERCOLATED):
        body = " ".join([word(uniform()) for _ in range(WORDS_PER_DOCUMENT)])
        yield f'{{"body":"{body}","price":{int(uniform() * HIGHEST_PRICE)}}}\n'


def write(seed: int, count: int, output: Path) -> None:
    """Write the five files for `count` stored queries into the directory `output`, which is made if need be.

    Raises ValueError when there are too few queries, OSError when the files cannot be written.
    """
    if count < FEWEST_QUERIES:
        raise ValueError(f"queries: at least {FEWEST_QUERIES} are needed, not {count}")
    output.mkdir(parents=True, exist_ok=True)
    (output / "percolated.json").write_text("".join(documents(seed)), encoding="ascii", newline="")
    parts = {"first": (0, count // 5), "rest": (count // 5, count)}
    with ExitStack() as files:
        targets = []
        for name, (start, end) in parts.items():
            for suffix, limit in (("", end), ("-1k", min(end, start + TEST_MODE_QUERIES))):
                path = output / f"queries-{name}{suffix}.json"
                targets.append((files.enter_context(path.open("w", encoding="ascii", newline="")), start, limit))
        done = 0
        lines = queries(seed, count)
        while batch := list(islice(lines, _BATCH)):
            for file, start, end in targets:
                file.write("".join(batch[max(0, start - done) : max(0, end - done)]))
            done += len(batch)


def _query(uniform: Callable[[], float], word: Callable[[float], str]) -> str:
    kind, first = int(uniform() * 100), word(uniform())
    if kind < 25:
        return _match(first)
    second = word(uniform())
    if kind < 55:
        return _match(f"{first} {second}", ',"operator":"and"')
    if kind < 70:
        return _match(f"{first} {second} {word(uniform())}", ',"operator":"and"')
    if kind < 80:
        return _match(f"{first} {second} {word(uniform())}", ',"minimum_should_match":2')
    if kind < 90:
        return f'{{"match_phrase":{{"body":"{first} {second}"}}}}'
    price = int(uniform() * HIGHEST_PRICE)
    return f'{{"bool":{{"must":[{_match(first)}],"filter":[{{"range":{{"price":{{"lte":{price}}}}}}}]}}}}'


def _match(text: str, more: str = "") -> str:
    return f'{{"match":{{"body":{{"query":"{text}"{more}}}}}}}'


def _stored(query: str) -> str:
    return f'{{"query":{query}}}\n'


def _zipf(values: Sequence[str], skipped: int) -> Callable[[float], str]:
    # The k-th value is drawn 1/k times as often as the first; whole numbers, so that no machine rounds differently.
    ranks = range(skipped + 1, len(values) + 1)
    bounds = list(accumulate(1_000_000_000 // rank for rank in ranks))
    total, kept = bounds[-1], values[skipped:]
    return lambda x: kept[bisect(bounds, int(x * total))]


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, write the files, return the exit code."""
    parser = argparse.ArgumentParser(description="Generate the stored queries of the Rally track percolator.")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="same seed, same bytes (default %(default)s)")
    parser.add_argument("--queries", type=int, default=DEFAULT_QUERIES, help="how many (default %(default)s)")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="where the files go")
    options = parser.parse_args(arguments)
    try:
        write(options.seed, options.queries, options.output)
    except ValueError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
