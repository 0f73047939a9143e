"""The made-up encyclopedia that examples race on, and the searches that were made from its titles."""

import json
import subprocess
import sys
from itertools import islice
from pathlib import Path
from types import ModuleType
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

CLIENTS = Path(__file__).parents[2] / "examples" / "groonga-clients"


def imported() -> ModuleType:
    found = ModuleType("encyclopedia")
    sys.modules["encyclopedia"] = found  # NamedTuple looks its module up
    exec((CLIENTS / "image" / "encyclopedia.py").read_text(), found.__dict__)  # noqa: S102 - the example's own program
    return found


IT = imported()


@settings(max_examples=15, deadline=None)  # each makes its words four times
@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 5))
def test_the_same_seed_gives_the_same_pages_however_many_follow(few: int, more: int, seed: int) -> None:
    assert list(IT.pages(few, seed)) == list(islice(IT.pages(few + more, seed), few))
    assert list(IT.pages(few, seed)) != list(IT.pages(few, seed + 1))


def test_titles_are_unique_and_half_of_the_pages_is_japanese() -> None:
    found = list(IT.pages(8000, 42))
    assert len({page.title for page in found}) == 8000 == len({page.key for page in found})
    assert sum(page.key.startswith("ja-") for page in found) == sum(not page.title.isascii() for page in found) == 4000
    assert all(page.title in page.text for page in found)


def test_some_words_are_in_many_pages_and_some_in_few() -> None:
    found = [set(page.text.lower().replace(".", "").split()) for page in IT.pages(2000, 42) if page.title.isascii()]
    pages_of: dict[str, int] = {}
    for words in found:
        for word in words:
            pages_of[word] = pages_of.get(word, 0) + 1
    shares = sorted((number / len(found) for word, number in pages_of.items() if len(word) > 5), reverse=True)
    assert shares[0] > 0.3 and shares[len(shares) // 2] < 0.05


@pytest.mark.parametrize("kind", ["groonga", "elasticsearch"])
def test_it_is_written_as_an_engine_loads_it(kind: str) -> None:
    argv = [sys.executable, str(CLIENTS / "image" / "encyclopedia.py"), "--pages", "7", "--format", kind]
    lines = subprocess.run(argv, capture_output=True, check=True, text=True).stdout.splitlines()
    wanted = [(page.title, page.text, page.category) for page in IT.pages(7, 42)]
    if kind == "elasticsearch":
        assert [json.loads(line)["index"]["_id"] for line in lines[::2]] == [page.key for page in IT.pages(7, 42)]
        found = [json.loads(line) for line in lines[1::2]]
    else:
        found = json.loads("".join(lines[lines.index("load --table Pages") + 1 :]))
    assert [(it["title"], it["text"], it["category"]) for it in found] == wanted


def test_the_requests_are_searches_for_words_of_the_first_titles() -> None:
    (written,) = yaml.safe_load_all((CLIENTS / "2-requests.yaml").read_text())
    paths = [json.loads(line)["path"] for line in written["data"]["requests.ndjson"].splitlines()]
    asked = [parse_qs(urlsplit(path).query)["query"][0] for path in paths]
    words = dict.fromkeys(word for page in IT.pages(200, 42) for word in page.title.split())
    assert asked == list(words)[:200]
