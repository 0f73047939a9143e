"""The percolator track's generator and parameter source: same bytes, right counts, a rare term that is rare."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TRACK = Path(__file__).parents[3] / "tracks" / "percolator"
KINDS = {"match", "match_phrase", "bool"}


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"percolator_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    return load(TRACK / "generate.py")


@pytest.fixture(scope="module")
def stored(generator: ModuleType) -> list[dict[str, Any]]:
    """The query of each stored document; two rare ones are among them."""
    return [json.loads(line)["query"] for line in generator.queries(42, 30_000)]


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_bytes_are_those_of_every_python_version(generator: ModuleType, tmp_path: Path) -> None:
    generator.write(42, 2000, tmp_path)

    # A change of these is a change of the workload: results before and after it must not be compared.
    whole = b"".join((tmp_path / f"queries-{part}.json").read_bytes() for part in ("first", "rest"))
    assert hashlib.sha256(whole).hexdigest() == "92c2cf1b1b4da13b33ce8525df827d5773aac5acb347ae675129727eaed0f4c0"
    assert sha(tmp_path / "percolated.json") == "5e73f9a0026c688a1ab342421a60bf0d82a697a7d3959aa621c93db933fcc2eb"


def test_seed_decides(generator: ModuleType, tmp_path: Path) -> None:
    for name, seed in {"a": 1, "b": 1, "c": 2}.items():
        generator.write(seed, 300, tmp_path / name)

    for file in ("queries-rest.json", "percolated.json"):
        a, b, c = (sha(tmp_path / name / file) for name in "abc")
        assert a == b
        assert a != c


@pytest.mark.parametrize("count", [100, 999, 1003, 5000, 10_001])
def test_counts(generator: ModuleType, tmp_path: Path, count: int) -> None:
    generator.write(7, count, tmp_path)

    whole = b""
    for name, lines in (("first", count // 5), ("rest", count - count // 5)):
        file, part = ((tmp_path / f"queries-{name}{size}.json").read_bytes() for size in ("", "-1k"))
        assert file.count(b"\n") == lines and part.count(b"\n") == min(lines, 1000)
        assert file.startswith(part)
        whole += file
    assert whole == "".join(generator.queries(7, count)).encode()
    assert (tmp_path / "percolated.json").read_bytes().count(b"\n") == 1000


def test_more_queries_start_with_the_same_ones(generator: ModuleType) -> None:
    assert list(generator.queries(3, 200)) == list(itertools.islice(generator.queries(3, 2_000_000), 200))


def test_the_rare_term_is_rare_and_the_frequent_one_frequent(
    generator: ModuleType, stored: list[dict[str, Any]]
) -> None:
    alone = Counter(query["match"]["body"]["query"] for query in stored if "match" in query)
    whole = Counter(word for query in stored for word in re.findall(r"[a-z]+", json.dumps(query)))

    assert alone["quetzal"] == whole["quetzal"] == 2
    assert alone["parcel"] == whole["parcel"] == 3000
    percolated = " ".join(generator.documents(42))
    assert "quetzal" not in percolated
    assert "parcel" not in percolated
    # Both are in what test mode takes, since the searches assert that they find something.
    first = json.dumps(stored[:100])
    assert "quetzal" in first
    assert "parcel" in first


def test_all_kinds_of_queries_are_stored(stored: list[dict[str, Any]]) -> None:
    kinds = Counter(next(iter(query)) for query in stored)
    assert set(kinds) == KINDS
    assert 0.07 < kinds["match_phrase"] / len(stored) < 0.11
    assert 0.07 < kinds["bool"] / len(stored) < 0.11
    operators = Counter(
        "and"
        if "operator" in query["match"]["body"]
        else "some"
        if "minimum_should_match" in query["match"]["body"]
        else "one"
        for query in stored
        if "match" in query
    )
    assert min(operators.values()) > 1000
    assert set(operators) == {"and", "some", "one"}


def matches(query: dict[str, Any], document: dict[str, Any]) -> bool:
    """What Elasticsearch does with a stored query, for the five kinds that are generated."""
    words = document["body"].split()
    kind, content = next(iter(query.items()))
    if kind == "bool":
        return (
            matches(content["must"][0], document) and document["price"] <= content["filter"][0]["range"]["price"]["lte"]
        )
    if kind == "match_phrase":
        wanted = content["body"].split()
        return any(words[at : at + len(wanted)] == wanted for at in range(len(words)))
    found = [word in words for word in content["body"]["query"].split()]
    return sum(found) >= content["body"].get("minimum_should_match", len(found))


def test_a_typical_document_matches_few_queries_but_some(generator: ModuleType, stored: list[dict[str, Any]]) -> None:
    documents = [json.loads(line) for line in itertools.islice(generator.documents(42), 5)]

    hits = sum(matches(query, document) for document in documents for query in stored)

    assert 0.0002 < hits / len(documents) / len(stored) < 0.005


def test_documents_are_as_the_mapping_says(generator: ModuleType) -> None:
    documents = [json.loads(line) for line in generator.documents(1)]

    assert len(documents) == 1000
    assert {tuple(document) for document in documents} == {("body", "price")}
    assert {len(document["body"].split()) for document in documents} == {40}
    assert (
        0 <= min(document["price"] for document in documents) < max(document["price"] for document in documents) < 1000
    )


def test_words_differ(generator: ModuleType) -> None:
    assert len(set(generator.words())) == 20_000


@pytest.mark.parametrize("clients", [1, 3, 8])
def test_clients_percolate_different_documents_in_turn(generator: ModuleType, tmp_path: Path, clients: int) -> None:
    generator.write(42, 100, tmp_path)
    (tmp_path / "track.py").write_bytes((TRACK / "track.py").read_bytes())
    query = {"constant_score": {"filter": {"percolate": {"field": "query", "document": None}}}}
    body = {"highlight": {"fields": {"body": {}}}, "query": query}
    whole = load(tmp_path / "track.py").Percolated(None, {"index": "queries", "body": body})

    sent = []
    for client in range(clients):
        source = whole.partition(client, clients)
        searches = [source.params() for _ in range(5)]
        for search in searches:
            assert search["index"] == "queries"
            assert search["body"]["highlight"] == {"fields": {"body": {}}}
        sent.append([s["body"]["query"]["constant_score"]["filter"]["percolate"]["document"] for s in searches])

    expected = [json.loads(line) for line in itertools.islice(generator.documents(42), 5 * clients)]
    assert [document for turn in zip(*sent, strict=True) for document in turn] == expected
    assert query["constant_score"]["filter"]["percolate"]["document"] is None


def test_more_clients_than_documents_all_have_one(tmp_path: Path) -> None:
    (tmp_path / "track.py").write_bytes((TRACK / "track.py").read_bytes())
    (tmp_path / "percolated.json").write_text('{"body":"a"}\n')
    whole = load(tmp_path / "track.py").Percolated(None, {"index": "q", "body": {"document": None}})

    assert [whole.partition(client, 3).params()["body"] for client in range(3)] == [{"document": {"body": "a"}}] * 3


def test_command_line(tmp_path: Path) -> None:
    command = [sys.executable, str(TRACK / "generate.py"), "--seed", "5", "--queries", "100", "--output", str(tmp_path)]
    subprocess.run(command, check=True)

    names = sorted(path.name for path in tmp_path.iterdir())
    parts = [f"queries-{part}{size}.json" for part in ("first", "rest") for size in ("-1k", "")]
    assert names == ["percolated.json", *parts]


def test_too_few_queries_are_refused(tmp_path: Path) -> None:
    command = [sys.executable, str(TRACK / "generate.py"), "--queries", "99", "--output", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)

    assert done.returncode == 2
    assert "queries: at least 100 are needed, not 99" in done.stderr
