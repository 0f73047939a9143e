"""Requests of a file against a real Elasticsearch: the hit rate that was asked for, errors that count, its slow log."""

import json
import shutil
import time
from pathlib import Path

import pytest

from fairlap.plan.verdict.checks import first_violation
from fairlap.requests.found import Doubt, InputLine, Skipped
from fairlap.requests.search_results import Wanted, from_search_results
from fairlap.requests.slow_log import ONCE_MORE, from_slow_log
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.request_files.request_lines import RequestLine

from .probes import HIT_RATE, with_probes
from .runner import ROOT, Runner, asked
from .server import Elasticsearch

DOCUMENTS = 1000
SEARCH = {"query": {"match": {"word": "w3"}}}


def replay(folder: Path, *lines: object) -> Path:
    """Write the builtin track with these requests, and documents to ask for; return its folder."""
    track = folder / "replay"
    shutil.copytree(ROOT / "tracks" / "replay", track, ignore=shutil.ignore_patterns("__pycache__"))
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    (track / "requests.ndjson").write_text("".join(f"{text}\n" for text in texts))
    documents = (json.dumps({"n": number, "word": f"w{number % 7}"}) for number in range(DOCUMENTS))
    (track / "documents.json").write_text("".join(f"{text}\n" for text in documents))
    return track


def counted(elasticsearch: Elasticsearch) -> tuple[int, int]:
    """Return hits and misses of the request cache."""
    (node,) = elasticsearch.ask("GET", "/_nodes/stats/indices/request_cache")["nodes"].values()
    return node["indices"]["request_cache"]["hit_count"], node["indices"]["request_cache"]["miss_count"]


@pytest.mark.long
def test_the_request_cache_hits_as_often_as_was_asked_for(
    runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path
) -> None:
    searches = ({"path": "/replay/_search", "body": {**SEARCH, "min_score": number / 1e6}} for number in range(4000))
    params = {
        "documents": DOCUMENTS, "order": "zipf", "requests": 2000, "cache_hit_rate": 0.5, "request_cache": True,
        "clients": 2,
    }  # fmt: skip
    before = counted(elasticsearch)
    ran = runner.run(replay(tmp_path, *searches), params=params, probes=[HIT_RATE])
    hits, misses = (after - earlier for after, earlier in zip(counted(elasticsearch), before, strict=True))

    assert first_violation(ran.record, with_probes(hit_rate=[45, 55])) is None, ran.output[-3000:]
    assert ran.record.probes[0].own == pytest.approx(100 * hits / (hits + misses), abs=0.5)
    # Beside those of the task, the runner sends ten of its searches again, after it, and counts the index's documents.
    assert 2000 <= hits + misses <= 2011
    assert hits / (hits + misses) == pytest.approx(0.5, abs=0.05)
    (caches,) = [each for each in ran.record.course.caches if each.task == "replay"]
    assert caches.whole and caches.request_hits and caches.request_misses and not caches.request_evictions
    assert caches.request_hits + caches.request_misses == 2000, caches


@pytest.mark.long
def test_an_answer_with_an_error_status_is_an_error_and_no_other(runner: Runner, tmp_path: Path) -> None:
    good = (
        "/replay/_search?q=word:w3%20AND%20n:%3E5&size=3",
        {"method": "GET", "path": "/replay/_search", "body": SEARCH},
        {"path": "/replay/_count", "body": SEARCH},
        {"path": "/_msearch", "body": [{"index": "replay"}, SEARCH, {"index": "replay"}, {"size": 0}]},
        {"method": "GET", "path": "/replay/_search", "body": json.dumps(SEARCH)},
        {"path": "/replay/_search", "body": {"query": {"match": {"word": "Füße ☃"}}}},
        "/_cat/indices",
    )
    track = replay(tmp_path, *good, "/replay/_doc/nobody")
    ran = runner.run(track, params={"documents": DOCUMENTS}, allowedErrors={"replay": 0.2})

    violation = first_violation(ran.record, asked())
    assert violation and violation.reason is Reason.ERROR_RATE, ran.output[-3000:]
    said = [it.text for it in ran.remarks() if it.reason is Reason.ERRORS_ACCEPTED]
    assert len(said) == 1 and "1 of 8 requests failed" in said[0], said
    assert ran.record.track.expected_documents == {"replay": DOCUMENTS}


def test_what_elasticsearch_logs_and_answers_becomes_requests(elasticsearch: Elasticsearch) -> None:
    thresholds = {f"search.slowlog.threshold.{phase}.trace": "0ms" for phase in ("query", "fetch")}
    elasticsearch.ask("PUT", "/shop", {"settings": {"number_of_shards": 2, "number_of_replicas": 0, **thresholds}})
    for number, title in enumerate(("Red Shoes", "Blue Shoes", "靴")):
        elasticsearch.ask("PUT", f"/shop/_doc/{number}?refresh=true", {"title": title})
    searches = [{"query": {"match": {"title": {"query": word}}}} for word in ("shoes", "red", "shoes", "靴")]
    answers = [elasticsearch.ask("POST", "/shop/_search", search) for search in searches]

    found: list[RequestLine | Skipped | Doubt] = []
    for _ in range(50):  # it is written by a thread of its own
        logs = list((elasticsearch.folder / "logs").glob("*search_slowlog.json"))
        lines = [text for path in logs for text in path.read_text().splitlines() if "[shop]" in text]
        found = list(from_slow_log(InputLine(number, text) for number, text in enumerate(lines, start=1)))
        if sum(isinstance(each, RequestLine) for each in found) == len(searches):
            break
        time.sleep(0.1)
    logged = [each for each in found if isinstance(each, RequestLine)]
    assert {(each.method, each.path) for each in logged} == {("POST", "/shop/_search")}
    words = [each.body["query"]["match"]["title"]["query"] for each in logged]
    assert words == ["shoes", "red", "shoes", "靴"], found
    assert {each.why for each in found if isinstance(each, Skipped)} == {ONCE_MORE}

    wanted = Wanted("title", "/shop/_search", {"query": {"match": {"title": "{term}"}}})
    lines = [json.dumps(answer) for answer in answers]
    terms = list(from_search_results((InputLine(number, text) for number, text in enumerate(lines, start=1)), wanted))
    assert {each.body["query"]["match"]["title"] for each in terms if isinstance(each, RequestLine)} == {
        "Red Shoes", "Blue Shoes", "靴"
    }  # fmt: skip
    for each in terms:
        assert isinstance(each, RequestLine)
        assert elasticsearch.ask(each.method, each.path, each.body)["hits"]["total"]["value"] > 0
