"""Generates the documents of the page_cache track: large stored fields, one half text, one half random bytes.

Writes into DIR: documents.json (the corpus) and, when it has more than 1,000 documents, documents-1k.json, which Rally
uses in test mode. Every line is exactly the size asked for. The same parameters give the same bytes on every
machine: `random.Random.random`, whose sequence Python promises to keep, SHAKE-128 and whole-number arithmetic decide
what is written. Memory stays at some tens of MiB whatever the size.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import random
import sys
from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

PARAMETERS = ("seed", "data_size_mb", "document_kb")
"""The track parameters that decide what is generated."""
DEFAULT_SEED = 42
DEFAULT_DATA_SIZE_MB = 200
DEFAULT_DOCUMENT_KB = 16
TEST_MODE_DOCUMENTS = 1000
"""What Rally's test mode takes of every corpus that is larger."""

MULTIPLIERS = (1000003, 1000033, 1000037, 1000039, 1000081, 1000099, 1000117, 1000121, 1000133, 1000151)
"""Primes: the j-th term of the n-th of N documents is (n + 1) × MULTIPLIERS[j] modulo N. So each term is in as many
documents as a document has terms, scattered over the index; track.py knows them by the same formula."""

_POOL_BYTES = 4 << 20
_VOCABULARY = 4000
_SLOTS = 1 << 14
_BATCH_BYTES = 4 << 20
_LARGEST_DOCUMENT_KB = 1024
# Without common factors with the number of words that three syllables make, so that all words differ.
_STRIDE = 1_299_709
_SYLLABLES = [consonant + vowel for consonant in "bcdfghklmnprstvw" for vowel in "aeiou"]


def document_count(data_size_mb: int, document_kb: int) -> int:
    """Return how many documents of `document_kb` KiB make `data_size_mb` MiB; track.json counts in the same way."""
    return data_size_mb * 1024 // document_kb


def key(number: int) -> str:
    """Return the key of the document `number`, which no other has."""
    return f"d{number:010d}"


def terms(number: int, count: int) -> list[str]:
    """Return the terms of the document `number` of `count`."""
    return [f"t{(number + 1) * multiplier % count:010d}" for multiplier in MULTIPLIERS]


def documents(seed: int, count: int, size: int) -> Iterator[bytes]:
    """Yield `count` documents of `size` bytes, each a line of JSON with its line end.

    Half of a document is text made of words, which both of Elasticsearch's codecs make smaller; half is random bytes as
    base64, which only a codec with entropy coding (best_compression) makes smaller, to three quarters.
    """
    pool = _text(seed)
    uniform = random.Random(seed * 2 + 1).random  # noqa: S311  # the point is that it can be repeated
    fixed = len(_line(0, count, b"", b""))
    blob = (size - fixed) // 2 // 4 * 3
    length = size - fixed - blob // 3 * 4
    room = len(pool) - length
    for number in range(count):
        at = int(uniform() * room)
        content = hashlib.shake_128(b"%d:%d" % (seed, number)).digest(blob)
        yield _line(number, count, pool[at : at + length], base64.b64encode(content))


def write(seed: int, data_size_mb: int, document_kb: int, output: Path) -> None:
    """Write the corpus of `data_size_mb` MiB into the directory `output`, which is made if need be.

    Raises ValueError for sizes that make no corpus, OSError when the files cannot be written.
    """
    if not 1 <= document_kb <= _LARGEST_DOCUMENT_KB:
        raise ValueError(f"document_kb: must be from 1 to {_LARGEST_DOCUMENT_KB}, not {document_kb}")
    count = document_count(data_size_mb, document_kb)
    if count < 1:
        raise ValueError(f"data_size_mb: {data_size_mb} MiB do not hold one document of {document_kb} KiB")
    output.mkdir(parents=True, exist_ok=True)
    size = document_kb * 1024
    with (output / "documents.json").open("wb") as whole:
        batch: list[bytes] = []
        for line in documents(seed, count, size):
            batch.append(line)
            if len(batch) * size >= _BATCH_BYTES:
                whole.write(b"".join(batch))
                batch.clear()
        whole.write(b"".join(batch))
    if count > TEST_MODE_DOCUMENTS:
        _copy_start(output / "documents.json", output / "documents-1k.json", TEST_MODE_DOCUMENTS * size)


def _copy_start(source: Path, target: Path, size: int) -> None:
    with source.open("rb") as whole, target.open("wb") as part:
        while size:
            chunk = whole.read(min(size, _BATCH_BYTES))
            part.write(chunk)
            size -= len(chunk)


def _line(number: int, count: int, text: bytes, blob: bytes) -> bytes:
    listed = '","'.join(terms(number, count))
    head = f'{{"key":"{key(number)}","terms":["{listed}"],"text":"'.encode("ascii")
    return b"".join((head, text, b'","blob":"', blob, b'"}\n'))


def _text(seed: int) -> bytes:
    """Return the text that the documents' texts are cut from: words of which the k-th is 1/k times as frequent."""
    size = len(_SYLLABLES)
    numbers = [rank * _STRIDE % size**3 for rank in range(1, _VOCABULARY + 1)]
    words = [_SYLLABLES[n // size**2] + _SYLLABLES[n // size % size] + _SYLLABLES[n % size] for n in numbers]
    bounds = list(accumulate(1_000_000_000 // rank for rank in range(1, _VOCABULARY + 1)))
    slots = [words[bisect(bounds, slot * bounds[-1] // _SLOTS)] for slot in range(_SLOTS)]
    uniform = random.Random(seed * 2).random  # noqa: S311
    drawn = (_POOL_BYTES + 6) // 7
    return " ".join([slots[int(uniform() * _SLOTS)] for _ in range(drawn)]).encode("ascii")


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, write the files, return the exit code."""
    parser = argparse.ArgumentParser(description="Generate the corpus of the Rally track page_cache.")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="same seed, same bytes (default %(default)s)")
    parser.add_argument(
        "--data_size_mb", "--data-size-mb", type=int, default=DEFAULT_DATA_SIZE_MB, help="MiB (default %(default)s)"
    )
    parser.add_argument(
        "--document_kb", "--document-kb", type=int, default=DEFAULT_DOCUMENT_KB, help="KiB each (default %(default)s)"
    )
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="where the files go")
    options = parser.parse_args(arguments)
    try:
        write(options.seed, options.data_size_mb, options.document_kb, options.output)
    except ValueError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
