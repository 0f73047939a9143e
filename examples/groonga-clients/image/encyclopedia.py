#!/usr/bin/env python3
"""An encyclopedia of made-up things in English and Japanese: the same seed and size give the same pages, anywhere.

    encyclopedia.py --pages 5000 --seed 42 --format groonga|elasticsearch
    encyclopedia.py --pages 5000 --seed 42 --send http://elasticsearch:9200/pages

Half of the pages are English, half Japanese. A word is the rarer the later it stands in its list (its share falls with
its rank, as in natural texts), so some words hit a third of all pages and others a handful.
"""

import argparse
import json
import random
import sys
import urllib.request
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Any, NamedTuple

SCHEMA = """\
table_create Pages TABLE_HASH_KEY ShortText
column_create Pages title COLUMN_SCALAR ShortText
column_create Pages text COLUMN_SCALAR Text
column_create Pages category COLUMN_SCALAR ShortText
table_create Terms TABLE_PAT_KEY ShortText --default_tokenizer TokenBigram --normalizer NormalizerAuto
column_create Terms pages COLUMN_INDEX|WITH_POSITION|WITH_SECTION Pages title,text
"""
_ONSETS = ("b", "br", "c", "d", "dr", "f", "g", "gl", "h", "k", "l", "m", "n", "p", "r", "s", "st", "t", "v", "w")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_CODAS = ("", "", "l", "n", "r", "s", "th", "nd", "rk", "m")
_LITTLE = ("the", "of", "and", "in", "was", "is", "for", "with", "by", "from", "near", "until")
_KANJI = (
    "山川海空森林石火水木金土日月星雲雨雪風花草竹松桜梅春夏秋冬東西南北朝昼夜青赤白黒緑光影音声歌詩書画紙筆道橋門城寺村町市国家宮島"
    "谷原野田畑米麦茶酒塩魚鳥馬牛犬虫糸布衣船車鉄銀玉鏡剣弓旗鐘琴笛祭神仏王臣民兵医学者師匠工商農港湖池泉滝峰岩砂浜波潮氷霧霜露虹雷"
)
_KANA = (
    "の",
    "は",
    "を",
    "に",
    "が",
    "と",
    "で",
    "も",
    "から",
    "まで",
    "より",
    "である",
    "された",
    "について",
    "として",
)
_KINDS = ("history", "bridge", "festival", "railway", "castle", "garden", "river", "school", "harbour", "observatory")
_KINDS_JA = ("史", "橋", "祭", "線", "城", "園", "川", "校", "港", "台")
WORDS, SENTENCES = 3000, (6, 14)
BULK = 1000
"""Lines of a bulk: an action and a document for each page."""


class Page(NamedTuple):
    """One page."""

    key: str
    title: str
    text: str
    category: str

    def columns(self) -> dict[str, str]:
        """Return what is stored of it, by column, without its key."""
        return {"title": self.title, "text": self.text, "category": self.category}


def pages(number: int, seed: int) -> Iterator[Page]:
    """Yield so many pages; the first of them are the same however many follow."""
    words = random.Random(f"{seed} words")  # noqa: S311 - words, no secret
    english = _distinct(lambda: _english(words))
    japanese = _distinct(lambda: "".join(words.choices(_KANJI, k=words.choice((2, 2, 2, 3)))))
    shares = list(accumulate(1 / rank for rank in range(1, WORDS + 1)))
    for place in range(number):
        lots = random.Random(f"{seed} page {place}")  # noqa: S311 - a page, no secret
        if place % 2:
            yield Page(f"ja-{place:06}", *_japanese_page(lots, japanese, shares, place))
        else:
            yield Page(f"en-{place:06}", *_english_page(lots, english, shares, place))


def _distinct(make: Callable[[], str]) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < WORDS:
        found.setdefault(make())
    return list(found)


def _english(lots: random.Random) -> str:
    syllables = lots.choice((2, 2, 3))
    return "".join(lots.choice(_ONSETS) + lots.choice(_VOWELS) + lots.choice(_CODAS) for _ in range(syllables))


def _word(lots: random.Random, words: Sequence[str], shares: Sequence[float]) -> str:
    return words[bisect_left(shares, lots.random() * shares[-1])]


def _second(place: int) -> int:
    """Return the place of a title's second word: no two pages of a language have the same pair."""
    return (place // 2 * 7 + 11 + place // (2 * WORDS)) % WORDS


def _english_page(
    lots: random.Random, words: Sequence[str], shares: Sequence[float], place: int
) -> tuple[str, str, str]:
    name, kind = words[place // 2 % WORDS].capitalize(), lots.choice(_KINDS)
    title = f"{name} {words[_second(place)]} {kind}"

    def sentence() -> str:
        chosen = [_word(lots, _LITTLE, shares[: len(_LITTLE)]) if lots.random() < 0.4 else _word(lots, words, shares)
                  for _ in range(lots.randint(6, 16))]  # fmt: skip
        return f"{' '.join(chosen).capitalize()}."

    body = [f"{title} is a {lots.choice(_KINDS)} near {_word(lots, words, shares).capitalize()}."]
    return title, " ".join([*body, *(sentence() for _ in range(lots.randint(*SENTENCES)))]), kind


def _japanese_page(
    lots: random.Random, words: Sequence[str], shares: Sequence[float], place: int
) -> tuple[str, str, str]:
    kind = lots.choice(_KINDS_JA)
    title = f"{words[place // 2 % WORDS]}{words[_second(place)]}{kind}"

    def sentence() -> str:
        parts = (_word(lots, words, shares) + _word(lots, _KANA, shares[: len(_KANA)])
                 for _ in range(lots.randint(4, 10)))  # fmt: skip
        return f"{''.join(parts)}。"

    body = f"{title}は{_word(lots, words, shares)}の{lots.choice(_KINDS_JA)}である。"
    return title, body + "".join(sentence() for _ in range(lots.randint(*SENTENCES))), kind


def as_groonga(found: Iterable[Page]) -> Iterator[str]:
    """Yield the lines of a dump: tables, then a record a line."""
    yield from SCHEMA.splitlines()
    yield "load --table Pages"
    yield "["
    before = ""
    for page in found:
        yield before + json.dumps({"_key": page.key} | page.columns(), ensure_ascii=False)
        before = ","
    yield "]"


def as_elasticsearch(found: Iterable[Page]) -> Iterator[str]:
    """Yield the lines of a bulk into the index that its URL names: an action and a document a page."""
    for page in found:
        yield json.dumps({"index": {"_id": page.key}})
        yield json.dumps(page.columns(), ensure_ascii=False)


def send(found: Iterable[Page], index: str) -> None:
    """Index the pages in the Elasticsearch index of this URL, and have them searched from then on."""
    lines = as_elasticsearch(found)
    while bulk := list(islice(lines, BULK)):
        answer = _ask("POST", f"{index}/_bulk", "".join(f"{line}\n" for line in bulk))
        if answer["errors"]:
            raise SystemExit(f"{index}: a page was refused: {json.dumps(answer)[:500]}")
    _ask("POST", f"{index}/_refresh")
    _ask("POST", f"{index}/_forcemerge?max_num_segments=1")
    print(_ask("GET", f"{index}/_count")["count"], "pages in", index)


def _ask(method: str, url: str, body: str = "") -> Any:
    headers = {"Content-Type": "application/x-ndjson"}
    request = urllib.request.Request(url, body.encode() or None, headers, method=method)  # noqa: S310 - the user's own
    with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
        return json.loads(answer.read())


def main() -> None:
    """Write the pages to standard output."""
    parser = argparse.ArgumentParser(description="Write a made-up encyclopedia.")
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--format", choices=("groonga", "elasticsearch"), default="groonga")
    parser.add_argument("--send", metavar="URL", help="index them in Elasticsearch, for example http://host:9200/pages")
    options = parser.parse_args()
    if not 1 <= options.pages <= 10_000_000:
        parser.error(f"--pages: write 1 to 10000000, not {options.pages}")
    if options.send:
        send(pages(options.pages, options.seed), options.send)
        return
    written = as_groonga if options.format == "groonga" else as_elasticsearch
    for line in written(pages(options.pages, options.seed)):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
