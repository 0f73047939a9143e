"""The page_cache track's generator, parameter sources and schedule: sizes to the byte, random but repeatable reads."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import itertools
import json
import random
import resource
import subprocess
import sys
import zlib
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

TRACK = Path(__file__).parents[3] / "tracks" / "page_cache"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"page_cache_{name}", TRACK / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    return load("generate")


@pytest.fixture(scope="module")
def track() -> ModuleType:
    return load("track")


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_bytes_are_those_of_every_python_version(generator: ModuleType, tmp_path: Path) -> None:
    generator.write(42, 4, 2, tmp_path)

    # A change of these is a change of the workload: results before and after it must not be compared.
    assert sha(tmp_path / "documents.json") == "b9cf40eb27804eea11c87ea129e42e7fc5f056ae47649e33adf04946d4ff40f3"
    assert sha(tmp_path / "documents-1k.json") == "0b27b9596e79d9e8333cdb81b7ce475d01bab0d4b7371f1535b57e0e3462b665"


def test_seed_decides(generator: ModuleType, tmp_path: Path) -> None:
    for name, seed in {"a": 1, "b": 1, "c": 2}.items():
        generator.write(seed, 1, 16, tmp_path / name)

    a, b, c = (sha(tmp_path / name / "documents.json") for name in "abc")
    assert a == b
    assert a != c


@pytest.mark.parametrize(
    ("megabytes", "kilobytes", "documents"), [(1, 1, 1024), (1, 3, 341), (2, 16, 128), (3, 1024, 3), (9, 7, 1316)]
)
def test_the_size_is_the_one_asked_for(
    generator: ModuleType, tmp_path: Path, megabytes: int, kilobytes: int, documents: int
) -> None:
    generator.write(7, megabytes, kilobytes, tmp_path)

    whole = (tmp_path / "documents.json").read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) == documents == generator.document_count(megabytes, kilobytes)
    assert {len(line) for line in lines} == {kilobytes * 1024}
    part = tmp_path / "documents-1k.json"
    assert part.exists() == (documents > 1000)
    assert not part.exists() or part.read_bytes() == b"".join(lines[:1000])


def test_documents_are_as_the_mapping_says(generator: ModuleType) -> None:
    documents = [json.loads(line) for line in generator.documents(42, 50, 8192)]

    assert [document["key"] for document in documents] == [f"d{number:010d}" for number in range(50)]
    for document in documents:
        assert list(document) == ["key", "terms", "text", "blob"]
        assert len(document["terms"]) == 10
        assert len(base64.b64decode(document["blob"], validate=True)) > 2900
        assert len(document["text"]) > 3800
    assert len({document["blob"] for document in documents}) == 50


def test_half_compresses_well_and_half_only_by_entropy_coding(generator: ModuleType) -> None:
    documents = [json.loads(line) for line in generator.documents(42, 64, 16384)]

    def shrunk(field: str) -> float:
        whole = "".join(document[field] for document in documents).encode()
        return len(zlib.compress(whole)) / len(whole)

    assert shrunk("text") < 0.5
    assert 0.74 < shrunk("blob") < 0.78


@pytest.mark.parametrize("count", [128, 1024, 12_800, 100_000])
def test_a_term_is_in_ten_documents_scattered_over_the_index(generator: ModuleType, count: int) -> None:
    where: dict[str, list[int]] = {}
    for number in range(count):
        for term in generator.terms(number, count):
            where.setdefault(term, []).append(number)

    assert len(where) == count
    assert Counter(len(numbers) for numbers in where.values()) == {10: count}
    spread = [max(numbers) - min(numbers) for numbers in where.values()]
    assert sum(spread) / len(spread) > 0.5 * count


def test_memory_does_not_grow_with_the_size(tmp_path: Path) -> None:
    peaks = []
    for megabytes in (8, 64):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        command = [sys.executable, str(TRACK / "generate.py"), "--data_size_mb", str(megabytes)]
        subprocess.run([*command, "--output", str(tmp_path / str(megabytes))], check=True)
        peaks.append(max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))

    assert (tmp_path / "64" / "documents.json").stat().st_size == 64 << 20
    assert peaks[1] - peaks[0] < 16 * 1024


def source(track: ModuleType, kind: str, there: int, stream: int = 1, seed: int = 42, documents: int = 12_800) -> Any:
    loaded = SimpleNamespace(corpora=[SimpleNamespace(documents=[SimpleNamespace(number_of_documents=there)])])
    params = {"index": "i", "documents": documents, "seed": seed, "stream": stream}
    params["assertions"] = [{"property": "hits"}]
    return getattr(track, kind)(loaded, params)


def drawn(track: ModuleType, kind: str, client: int, **which: int) -> list[str]:
    mine = source(track, kind, 12_800, **which).partition(client, 8)
    return [next(iter(mine.params()["body"]["query"]["term"].values())) for _ in range(300)]


@pytest.mark.parametrize("kind", ["RandomDocument", "RandomTerm"])
def test_reads_are_random_and_repeatable(track: ModuleType, kind: str) -> None:
    first = drawn(track, kind, 0)

    assert first == drawn(track, kind, 0)
    assert len(set(first)) > 280
    for other in (drawn(track, kind, 1), drawn(track, kind, 0, stream=2), drawn(track, kind, 0, seed=43)):
        assert len(set(first) & set(other)) < 30


def read_again(track: ModuleType, megabytes: int) -> list[int]:
    """For each step of the default challenge but the first one, how many % of its reads the step before had read."""
    count = megabytes * 1024 // 16
    inverse = [pow(multiplier, -1, count) for multiplier in track.MULTIPLIERS]
    steps = [("RandomDocument", rate) for rate in (20, 40, 80, 160)] + [
        ("RandomTerm", rate) for rate in (10, 20, 40, 80)
    ]
    before, shares = set[int](), list[int]()
    for stream, (kind, rate) in enumerate(steps, start=1):
        read = list[int]()
        for client in range(8):
            mine = source(track, kind, count, stream, documents=count).partition(client, 8)
            for _ in range(rate * 40 // 8):
                (asked,) = mine.params()["body"]["query"]["term"].values()
                number = int(asked[1:])
                found = [(number * each - 1) % count for each in inverse]
                read += [number] if kind == "RandomDocument" else found
        shares.append(round(100 * sum(number in before for number in read) / len(read)))
        before = set(read)
    return shares[1:]


def test_the_page_tells_how_much_of_a_step_the_one_before_has_read(track: ModuleType) -> None:
    page = (TRACK.parents[1] / "docs/tracks/page_cache.md").read_text(encoding="utf-8")
    shares = read_again(track, 200)
    fetches, searches = shares[:3], shares[3:]
    assert f"{fetches[0]}, {fetches[1]} and {fetches[2]} % from `fetch-document-40` on" in page, shares
    assert f"{searches[0]}, {searches[1]}, {searches[2]} and {searches[3]} % from `search-term-10` on" in page, shares
    larger = read_again(track, 2000)
    assert f"with `data_size_mb: 2000` at most {max(larger[:3])} % and {max(larger[3:])} %" in page, larger


@pytest.mark.parametrize("there", [1, 1000, 12_800])
def test_what_is_searched_for_is_there(generator: ModuleType, track: ModuleType, there: int) -> None:
    keys = {generator.key(number) for number in range(there)}
    terms = {term for number in range(there) for term in generator.terms(number, 12_800)}

    for kind, field, known in (("RandomDocument", "key", keys), ("RandomTerm", "terms", terms)):
        mine = source(track, kind, there).partition(3, 8)
        for _ in range(500):
            search = mine.params()
            assert search["body"]["query"]["term"][field] in known
            assert (search["index"], search["assertions"]) == ("i", [{"property": "hits"}])


def test_both_sides_use_the_same_formula(generator: ModuleType, track: ModuleType) -> None:
    assert track.MULTIPLIERS == generator.MULTIPLIERS


@pytest.mark.parametrize(("rate", "clients"), [(20, 8), (100, 1), (7, 3)])
def test_requests_of_all_clients_are_evenly_spaced(track: ModuleType, rate: int, clients: int) -> None:
    due = []
    for client in range(clients):
        task = SimpleNamespace(target_throughput=SimpleNamespace(value=rate, unit="ops/s"), clients=clients)
        schedule = track.Evenly(task)
        schedule.parameter_source = source(track, "RandomDocument", 10).partition(client, clients)
        at = 0.0
        for _ in range(50):
            at = schedule.next(at)
            due.append(at)

    due.sort()
    gaps = [later - earlier for earlier, later in itertools.pairwise(due)]
    assert due[0] == 0
    assert all(abs(gap - 1 / rate) < 1e-6 for gap in gaps)


def test_the_draw_of_a_client_is_that_of_every_python_version(track: ModuleType) -> None:
    mine = source(track, "RandomDocument", 12_800).partition(0, 8)
    expected = random.Random((42 << 32) + (1 << 12)).random

    assert mine.params()["body"]["query"]["term"]["key"] == f"d{int(expected() * 12_800):010d}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data_size_mb", "0"], "data_size_mb: 0 MiB do not hold one document of 16 KiB"),
        (["--document_kb", "0"], "document_kb: must be from 1 to 1024, not 0"),
        (["--document_kb", "2000"], "document_kb: must be from 1 to 1024, not 2000"),
    ],
)
def test_sizes_that_make_no_corpus_are_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    command = [sys.executable, str(TRACK / "generate.py"), *arguments, "--output", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)

    assert done.returncode == 2
    assert message in done.stderr
