"""The generator of log_ingest: the same bytes for the same seed, the right counts, and documents as the track says."""

from __future__ import annotations

import hashlib
import importlib.util
import ipaddress
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

TRACK = Path(__file__).parents[3] / "tracks" / "log_ingest"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("log_ingest_generate", TRACK / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_bytes_are_those_of_every_python_version(generator: ModuleType, tmp_path: Path) -> None:
    generator.write(42, 2000, tmp_path)

    # A change of these is a change of the workload: results before and after it must not be compared.
    whole = b"".join((tmp_path / f"documents-{part}.json").read_bytes() for part in ("first", "rest"))
    assert hashlib.sha256(whole).hexdigest() == "0d7c33fc84a9e2d0b62a3a359ff7ccfdadadb815b56878f76883a071156a2b73"


def test_seed_decides(generator: ModuleType, tmp_path: Path) -> None:
    for name, seed in {"a": 1, "b": 1, "c": 2}.items():
        generator.write(seed, 500, tmp_path / name)

    a, b, c = (sha(tmp_path / name / "documents-rest.json") for name in "abc")
    assert a == b
    assert a != c


@pytest.mark.parametrize(
    ("count", "lines"),
    [
        (5, [1, 1, 4, 4, 1, 1, 5, 5]),
        (1003, [200, 200, 803, 803, 250, 250, 1003, 1000]),
        (5000, [1000, 1000, 4000, 1000, 1250, 1000, 5000, 1000]),
        (25_004, [5000, 1000, 20_004, 1000, 6251, 1000, 25_004, 1000]),
        (100_010, [20_002, 1000, 80_008, 1000, 25_002, 1000, 100_000, 1000]),
    ],
)
def test_counts(generator: ModuleType, tmp_path: Path, count: int, lines: list[int]) -> None:
    generator.write(7, count, tmp_path)

    names = [f"documents-{part}{size}.json" for part in ("first", "rest", "quarter", "head") for size in ("", "-1k")]
    contents = [(tmp_path / name).read_bytes() for name in names]
    assert [content.count(b"\n") for content in contents] == lines
    assert contents[0].startswith(contents[1]) and contents[2].startswith(contents[3])
    whole = contents[0] + contents[2]
    assert whole == "".join(generator.documents(7, count)).encode()
    assert all(whole.startswith(content) for content in contents[4:])


def test_documents_have_the_fields_that_the_pipeline_works_on(generator: ModuleType) -> None:
    documents = [json.loads(line) for line in generator.documents(42, 5000)]

    for document in documents:
        assert set(document) == {"@timestamp", "clientip", "response", "request", "machine", "referer"}
        assert isinstance(document["response"], str)
        assert 100 <= int(document["response"]) <= 599
        assert document["request"].endswith(" HTTP/1.1")
        assert isinstance(document["machine"]["ram"], int)
        assert document["referer"]
        ipaddress.IPv4Address(document["clientip"])
    systems = {document["machine"]["os"] for document in documents}
    assert any(name != name.upper() for name in systems)
    assert "windows 10" in systems


def test_time_increases(generator: ModuleType) -> None:
    # Long enough for a change of the day.
    stamps = [json.loads(line)["@timestamp"] for line in generator.documents(3, 120_000)]

    assert stamps == sorted(stamps)
    assert len(set(stamps)) == len(stamps)
    assert stamps[0].startswith("2025-01-01T00:00:0")
    assert stamps[-1].startswith("2025-01-02T04:")


def test_few_paths_and_clients_make_most_requests(generator: ModuleType) -> None:
    documents = [json.loads(line) for line in generator.documents(42, 20_000)]

    paths = Counter(document["request"].split()[1] for document in documents)
    clients = Counter(document["clientip"] for document in documents)
    statuses = Counter(document["response"] for document in documents)
    assert paths.most_common(1)[0][1] > 20 * paths.most_common(100)[-1][1]
    assert len(paths) > 1000
    assert len(clients) > 2000
    assert 0.84 < statuses["200"] / len(documents) < 0.89
    assert statuses["500"] > 0


def test_command_line(tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(TRACK / "generate.py"),
        "--seed",
        "5",
        "--documents",
        "100",
        "--output",
        str(tmp_path / "x"),
    ]
    subprocess.run(command, check=True)

    assert sorted(path.name for path in (tmp_path / "x").iterdir()) == [
        "documents-first-1k.json",
        "documents-first.json",
        "documents-head-1k.json",
        "documents-head.json",
        "documents-quarter-1k.json",
        "documents-quarter.json",
        "documents-rest-1k.json",
        "documents-rest.json",
    ]


def test_too_few_documents_are_refused(tmp_path: Path) -> None:
    command = [sys.executable, str(TRACK / "generate.py"), "--documents", "3", "--output", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)

    assert done.returncode == 2
    assert "documents: at least 5 are needed, not 3" in done.stderr
