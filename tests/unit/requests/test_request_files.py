"""Requests from slow logs, access logs and answers: what each line becomes, and what is left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.cli import main as program
from fairlap.cli import request_words
from fairlap.cli.commands import requests_command
from fairlap.requests import access_log, search_results, slow_log
from fairlap.requests.found import Doubt, InputLine, Skipped
from fairlap.requests.search_results import Wanted
from fairlap_race.contract.request_files.request_lines import RequestLine, read_lines

Found = RequestLine | Skipped | Doubt
Reader = Callable[[Iterable[InputLine]], Iterator[Found]]
SEARCH = '{"query":{"match":{"t":"a \\"b\\" ]"}}}'
WANTED = Wanted("title", "/i/_search", {"query": {"match": {"title": "{term}"}}})


def read(reader: Reader, *texts: str) -> list[Found]:
    return list(reader(InputLine(number, text) for number, text in enumerate(texts, start=1)))


def ecs(
    source: str = SEARCH,
    shard: int = 0,
    phase: str = "query",
    index: str = "shop",
    total: int | None = 1,
    at: float = 0,
    took: int = 1,
    **sender: str,
) -> str:
    return json.dumps(
        {
            "@timestamp": f"2025-01-01T00:{int(at) // 60:02}:{at % 60:06.3f}Z", "log.level": "WARN",
            "elasticsearch.slowlog.took": f"{took}ms", "elasticsearch.slowlog.took_millis": str(took),
            **({} if total is None else {"elasticsearch.slowlog.total_shards": str(total)}),
            **{f"elasticsearch.slowlog.{name}" if name == "id" else name: value for name, value in sender.items()},
            "elasticsearch.slowlog.message": f"[{index}][{shard}]", "elasticsearch.slowlog.source": source,
            "event.dataset": "elasticsearch.index_search_slowlog", "log.logger": f"index.search.slowlog.{phase}",
        }
    )  # fmt: skip


SEVEN = json.dumps(
    {
        "type": "index_search_slowlog", "level": "WARN", "component": "i.s.s.query", "message": "[shop][3]",
        "took": "1ms", "took_millis": "1", "total_shards": "5", "source": SEARCH, "id": "",
        "timestamp": "2021-01-01T00:00:00,000+01:00",
    }
)  # fmt: skip
TEXT = (
    "[2019-01-01T00:00:00,000][WARN ][index.search.slowlog.query] [node-1] [shop][0] took[2.1ms], took_millis[2], "
    "total_hits[1 hits], types[], stats[], search_type[QUERY_THEN_FETCH], total_shards[5], "
)
SIX = f"{TEXT}source[{SEARCH}], id[],"
SEVEN_TEXT = f"{TEXT.replace('index.search.slowlog.query', 'i.s.s.query              ')}source[{SEARCH}], id[my id],"
SIX_OLD = f"{TEXT.replace('[node-1]', '[n]')}source[{SEARCH}],"
SHIPPED = json.dumps(
    {
        "elasticsearch": {"slowlog": {"message": "[shop][0]", "source": SEARCH}},
        "log": {"logger": "index.search.slowlog.query"}, "event": {"dataset": "elasticsearch.index_search_slowlog"},
    }
)  # fmt: skip


DOCKER = json.dumps({"log": f"{ecs()}\n", "stream": "stdout", "time": "2025-01-01T00:00:00Z"})
CONTAINER = f"2025-01-01T00:00:00.123456789Z stdout F {ecs()}"
BEATS = json.dumps({"@timestamp": "2025-01-01T00:00:00Z", "message": SIX, "log": {"offset": 3}})
TWICE = ecs(source=json.dumps(SEARCH)[1:-1])
"""As 8.6.1 writes it."""


@pytest.mark.parametrize("line", [ecs(), TWICE, SEVEN, SEVEN_TEXT, SIX, SIX_OLD, SHIPPED, DOCKER, CONTAINER, BEATS])
def test_a_line_of_a_slow_log(line: str) -> None:
    assert read(slow_log.from_slow_log, line)[0] == RequestLine("POST", "/shop/_search", json.loads(SEARCH))


def test_shards_and_phases_of_a_search_are_one() -> None:
    twice = [
        ecs(shard=shard, phase=phase, total=3) for _ in range(2) for phase in ("query", "fetch") for shard in range(3)
    ]
    found = read(slow_log.from_slow_log, *twice, ecs(index="other"))
    assert [type(each) for each in found].count(RequestLine) == 3
    assert {each.why for each in found if isinstance(each, Skipped)} == {slow_log.ONCE_MORE}
    assert not any(isinstance(each, Doubt) for each in found)


def text_line(index: str, shard: int, total: int, second: int = 0, ident: str = "", phase: str = "query") -> str:
    """As 7 writes it as text."""
    return (
        f"[2019-01-01T00:00:{second:02},000][WARN ][i.s.s.{phase:<20}] [node-1] [{index}][{shard}] took[2.1ms], "
        "took_millis[2], total_hits[1 hits], stats[], search_type[QUERY_THEN_FETCH], "
        f"total_shards[{total}], source[{SEARCH}], id[{ident}], "
    )


def seven(index: str, shard: int, total: int, second: int = 0, ident: str = "", phase: str = "query") -> str:
    """As 7 writes it as JSON."""
    entry = json.loads(SEVEN) | {"component": f"i.s.s.{phase}", "message": f"[{index}][{shard}]", "id": ident}
    return json.dumps(entry | {"timestamp": f"2021-01-01T00:00:{second:02},000Z", "total_shards": str(total)})


def eight(index: str, shard: int, total: int, second: int = 0, ident: str = "", phase: str = "query") -> str:
    return ecs(index=index, shard=shard, total=total, at=second, phase=phase, id=ident)


@pytest.mark.parametrize("line", [text_line, seven, eight])
@pytest.mark.parametrize(
    ("entries", "paths"),
    [
        # One search over a data stream of three backing indices, in both phases; then once more.
        ([(f".ds-logs-{n}", 0, 3, s, "", phase) for s in (0, 1) for phase in ("query", "fetch") for n in (1, 2, 3)],
         [".ds-logs-1,.ds-logs-2,.ds-logs-3"] * 2),
        # One index of three shards is one index.
        ([("a", n, 3) for n in (2, 0, 1)], ["a"]),
        # Two indices of two shards each, and each of them alone.
        ([("a", 0, 4), ("b", 1, 4), ("a", 1, 4), ("b", 0, 4), ("a", 0, 2), ("a", 1, 2), ("b", 0, 2), ("b", 1, 2)],
         ["a,b", "a", "b"]),
        # Two searches side by side, each of an index that has as many shards as were searched.
        ([("a", 0, 2), ("b", 0, 2), ("a", 1, 2), ("b", 1, 2)], ["a", "b"]),
        # The same search of two clients who say who they are.
        ([("a", 0, 2, 0, "x"), ("c", 0, 2, 0, "y"), ("b", 0, 2, 0, "x"), ("d", 0, 2, 0, "y")], ["a,b", "c,d"]),
        # Only one shard was slow each time, far apart.
        ([("a", 0, 2), ("a", 1, 2, 30)], ["a", "a"]),
        ([("a", 0, 1), ("b", 0, 1)], ["a", "b"]),
    ],
)  # fmt: skip
def test_a_search_over_several_indices_is_one(
    line: Callable[..., str], entries: list[tuple[Any, ...]], paths: list[str]
) -> None:
    found = read(slow_log.from_slow_log, *(line(*entry) for entry in entries))
    assert [each.path for each in found if isinstance(each, RequestLine)] == [f"/{path}/_search" for path in paths]
    assert not any(isinstance(each, Doubt) for each in found)
    told = [each for each in found if isinstance(each, Skipped)]
    assert len(told) == len(entries) - len(paths) and {each.why for each in told} <= {slow_log.ONCE_MORE}


def test_a_trace_keeps_searches_apart_and_together() -> None:
    entries = [("a", "x"), ("c", "y"), ("b", "x"), ("d", "y")]
    lines = [ecs(index=index, total=2, **{"trace.id": trace}) for index, trace in entries]
    found = read(slow_log.from_slow_log, *lines)
    assert [it.path for it in found if isinstance(it, RequestLine)] == ["/a,b/_search", "/c,d/_search"]


def test_nodes_that_log_their_own_shards_are_read_together(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    logs = [tmp_path / f"node-{number}.json" for number in range(3)]
    for number, log in enumerate(logs):
        log.write_text("".join(f"{ecs(index='a', shard=number, total=3, at=at)}\n" for at in (0, 10, 20)))
    logs[2].write_text(f"{logs[2].read_text()}nonsense\n")
    code, out, err = run(["from-slowlog", *map(str, logs)], capfdbinary)
    assert (code, out.count("\n")) == (0, 3)
    assert err.splitlines() == [
        "3 requests from 10 lines",
        f"  left out, 1: {slow_log.NO_ENTRY} (the first: {logs[2]} line 4)",
        f"  left out, 6: {slow_log.ONCE_MORE} (the first: {logs[1]} line 1)",
    ]


@pytest.mark.parametrize(
    ("lines", "paths", "doubts"),
    [
        # Only one shard was slow: of an index with three, or of three indices?
        ([ecs(index="a", total=3)], ["a"], [Doubt(1, slow_log.INCOMPLETE)]),
        ([ecs(index="a", total=3), ecs(index="b", total=3)], ["a,b"], [Doubt(1, slow_log.INCOMPLETE)]),
        # The log knows of all three elsewhere.
        ([ecs(index="a", total=3), ecs("{}", index="a", shard=2, total=3)], ["a", "a"], []),
        ([ecs(index="a", shard=2)], ["a"], []),  # routed to one shard
        ([ecs(index="a", total=None), ecs(index="b", total=None)], ["a", "b"], [
            Doubt(1, slow_log.INCOMPLETE), Doubt(2, slow_log.INCOMPLETE),
        ]),
        # Two searches over two of four indices each: any two of them would do.
        ([ecs(index=index, total=2) for index in "acbd"], ["a,c", "b,d"], [
            Doubt(1, slow_log.MIXED), Doubt(3, slow_log.MIXED),
        ]),
    ],
)  # fmt: skip
def test_what_the_log_does_not_tell_for_sure_is_said(lines: list[str], paths: list[str], doubts: list[Doubt]) -> None:
    found = read(slow_log.from_slow_log, *lines)
    assert [each.path for each in found if isinstance(each, RequestLine)] == [f"/{path}/_search" for path in paths]
    assert [each for each in found if isinstance(each, Doubt)] == doubts


def test_a_slow_shard_is_of_the_search_that_began_with_it() -> None:
    slow = ecs(shard=1, total=2, at=30, took=29_900)
    assert sum(isinstance(it, RequestLine) for it in read(slow_log.from_slow_log, ecs(total=2, at=0.5), slow)) == 1


def test_a_path_that_elasticsearch_would_refuse_is_left_out() -> None:
    lines = [ecs(index=f".ds-logs-2025.01.01-{number:06}", total=200) for number in range(200)]
    assert read(slow_log.from_slow_log, *lines)[-1] == Skipped(1, slow_log.TOO_MANY_INDICES)


def test_one_search_again_and_again() -> None:
    found = read(slow_log.from_slow_log, *(ecs(shard=number % 5, total=5) for number in range(1000)))
    assert sum(isinstance(each, RequestLine) for each in found) == 200


def test_what_is_doubtful_is_told_at_the_end(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    log = tmp_path / "slow.json"
    log.write_text("".join(f"{ecs(index='a', total=3, at=at)}\n" for at in (0, 10)))
    code, out, err = run(["from-slowlog", str(log)], capfdbinary)
    assert (code, out.count("\n")) == (0, 2)
    assert err.splitlines() == [
        "2 requests from 2 lines",
        f"  written, but not for sure, 2: {slow_log.INCOMPLETE} (the first: {log} line 1)",
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("hello", slow_log.NO_ENTRY),
        ("{", slow_log.NO_ENTRY),
        (json.dumps({"message": "[shop][0]", "source": SEARCH, "component": "i.i.s.index"}), slow_log.NO_ENTRY),
        (
            ecs()
            .replace("index.search.slowlog.query", "index.indexing.slowlog.index")
            .replace("_search_", "_indexing_"),
            slow_log.NO_ENTRY,
        ),
        (ecs(source='{"query'), slow_log.NO_SOURCE),
        (ecs(source='{"size":1,"pit":{"id":"abc"}}'), slow_log.POINT_IN_TIME),
        (ecs(source="[" * 100_000), slow_log.NO_SOURCE),
    ],
)
def test_what_is_no_search_is_left_out(line: str, why: str) -> None:
    assert read(slow_log.from_slow_log, line, ecs())[0] == Skipped(1, why)


COMBINED = '10.0.0.1 - - [01/Jan/2025:00:00:00 +0000] "{} {} HTTP/1.1" {} 123 "-" "curl/8"'


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (COMBINED.format("GET", "/shop/_search?q=a%20b", 200), "/shop/_search?q=a%20b"),
        (COMBINED.format("GET", "/es/shop/_search", 200), "/shop/_search"),
        (COMBINED.format("GET", "http://es:9200/shop/_doc/1", 200), "/shop/_doc/1"),
        (COMBINED.format("GET", r"/shop/_search?q=\xC3\xA9", 200), "/shop/_search?q=%C3%A9"),
        (COMBINED.format("GET", r"/shop/_search?q=\"red+shoes\"", 200), "/shop/_search?q=%22red+shoes%22"),
        (COMBINED.format("GET", r"/shop/_search?q=a\\\\x41\tb\n", 200), "/shop/_search?q=a%5C%5Cx41%09b%0A"),
        (COMBINED.format("GET", "/shop/_search?q=é", 200), "/shop/_search?q=%C3%A9"),
        ('{"request": "GET /shop/_count HTTP/1.1", "status": 200}', "/shop/_count"),
        ('{"method": "GET", "uri": "/shop/_count", "status": "304"}', "/shop/_count"),
        (COMBINED.format("GET", "/essays/_search", 200), "/essays/_search"),
        (COMBINED.format("GET", "/es?q=a", 200), "/?q=a"),
        (COMBINED.format("GET", "/es", 200), "/"),
        ('{"method": "GET", "uri": "/es/shop/_count", "args": "q=a", "status": 200}', "/shop/_count?q=a"),
        ('{"method": "GET", "uri": "/shop/_count", "query_string": "?q=a", "status": 200}', "/shop/_count?q=a"),
        ('{"method": "GET", "uri": "/shop/_count", "args": "", "status": 200}', "/shop/_count"),
        ('{"method": "GET", "uri": "/shop/_count", "args": "-", "status": 200}', "/shop/_count"),
        ('{"method": "GET", "request_uri": "/shop/_count?q=a", "args": "q=a", "status": 200}', "/shop/_count?q=a"),
        # Traefik, Caddy, Envoy, Logstash's pattern, and the Elastic Common Schema, flat and in objects.
        ('{"RequestMethod": "GET", "RequestPath": "/shop/_count?q=a", "DownstreamStatus": 200}', "/shop/_count?q=a"),
        ('{"request": {"method": "GET", "uri": "/shop/_count?q=a"}, "status": 200}', "/shop/_count?q=a"),
        ('{"method": "GET", "path": "/shop/_count?q=a", "response_code": "200"}', "/shop/_count?q=a"),
        ('{"verb": "GET", "request": "/shop/_count?q=a", "response": "200"}', "/shop/_count?q=a"),
        (
            '{"http.request.method": "GET", "url.path": "/shop/_count", "url.query": "q=a", '
            '"http.response.status_code": 200}',
            "/shop/_count?q=a",
        ),
        (
            '{"http": {"request": {"method": "GET"}, "response": {"status_code": 200}}, '
            '"url": {"original": "https://es:9200/shop/_count?q=a"}}',
            "/shop/_count?q=a",
        ),
        # As a container's runtime or a shipper of logs wraps it.
        (json.dumps({"log": f"{COMBINED.format('GET', '/shop/_count', 200)}\n", "stream": "stdout"}), "/shop/_count"),
        (json.dumps({"message": COMBINED.format("GET", "/shop/_count", 200), "log": {"offset": 1}}), "/shop/_count"),
        ('2025-01-01T00:00:00.1Z stdout F {"method": "GET", "uri": "/shop/_count", "status": 200}', "/shop/_count"),
    ],
)
def test_a_line_of_an_access_log(line: str, expected: str) -> None:
    found = access_log.from_access_log([InputLine(1, line)], strip="/es/", without_body=True)
    assert list(found) == [RequestLine("GET", expected)]


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/shop/_search", False), ("/_search", False), ("/shop/_search?size=5", False), ("/shop/_search/?a", False),
        ("/shop/_count?pretty", False), ("/shop/_msearch", False), ("/shop/_search/template", False),
        ("/shop/_search?size=5&q=", False), ("/shop/_search?seq=1", False),
        ("/shop/_search?q=a", True), ("/shop/_search?size=5&q=a", True), ("/shop/_count?source=%7B%7D", True),
        ("/shop/_doc/1", True), ("/d/select?table=Pages", True), ("/_search_shards", True), ("/a/_searches", True),
    ],
)  # fmt: skip
def test_a_search_whose_body_is_not_in_the_log_is_left_out_unless_asked_for(path: str, kept: bool) -> None:
    line, request = InputLine(3, COMBINED.format("GET", path, 200)), RequestLine("GET", path)
    assert list(access_log.from_access_log([line])) == [request if kept else Skipped(3, access_log.BODY_UNKNOWN)]
    assert list(access_log.from_access_log([line], without_body=True)) == [request]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("hello", access_log.NO_ENTRY),
        ('{"a": 1}', access_log.NO_ENTRY),
        ('{"request": {"uri": "/a"}, "method": "GET", "status": null}', access_log.NO_ENTRY),
        ('{"message": {"a": 1}, "log": "hello"}', access_log.NO_ENTRY),
        (COMBINED.format("POST", "/shop/_search", 200), access_log.NO_BODY),
        (COMBINED.format("GET", "/shop/_search", 404), access_log.FAILED),
        (COMBINED.format("GET", "/shop/_search?q=a", 302), access_log.FAILED),
        (COMBINED.format("GET", "/_search/scroll?scroll_id=DXF1ZXJ5", 200), access_log.OF_A_MOMENT),
        (COMBINED.format("GET", "/shop/_search?q=a&scroll=1m", 200), access_log.OF_A_MOMENT),
        (COMBINED.format("GET", "/_async_search/abc?keep=/_search", 200), access_log.OF_A_MOMENT),
        (COMBINED.format("GET", "/shop/_count", 200), access_log.OTHER),
        (COMBINED.format("GET", "//shop/_search?q=a", 200), "'//shop/_search?q=a' is no path"),
    ],
)
def test_what_is_no_get_is_left_out(line: str, why: str) -> None:
    assert list(access_log.from_access_log([InputLine(7, line)], match="/_search")) == [Skipped(7, why)]


def hits(*sources: Any) -> dict[str, Any]:
    return {"hits": {"hits": [{"_id": "1", "_source": source} for source in sources]}}


def groonga(*titles: Any) -> list[Any]:
    return [[0, 1.0, 0.1], [[[len(titles)], [["_id", "UInt32"], ["title", "ShortText"]], *([1, it] for it in titles)]]]


def groonga_three(*titles: Any) -> dict[str, Any]:
    columns = [{"name": "_id", "type": "UInt32"}, {"name": "title", "type": "ShortText"}]
    body = {"n_hits": len(titles), "columns": columns, "records": [[1, it] for it in titles]}
    return {"header": {"return_code": 0}, "body": body}


@pytest.mark.parametrize(
    ("answer", "terms"),
    [
        (hits({"title": "Red Shoes"}, {"title": "Blue"}, {"title": "Blue"}, {"other": 1}), ["Red Shoes", "Blue"]),
        (hits({"title": ["a b", "c d"]}), ["a b", "c d"]),
        ({"hits": {"hits": [{"fields": {"title": ["靴"]}}]}}, ["靴"]),
        ({"responses": [hits({"title": "one"}), {"error": {}}, hits({"title": "two"})]}, ["one", "two"]),
        (groonga("東京", 3, None, True, "Tokyo"), ["東京", "3", "Tokyo"]),
        (hits({"title": 10**400}, {"title": float("inf")}, {"title": 17}), ["1" + "0" * 400, "17"]),
        (hits({"title": 17}, {"title": [1.5, "a", {"b": 1}]}), ["17", "1.5", "a"]),
        (groonga_three("東京", 3, "Tokyo"), ["東京", "3", "Tokyo"]),
        ({"body": {"columns": ["title", {}], "records": 3}, **hits({"title": "a"})}, ["a"]),
    ],
)
def test_terms_of_an_answer(answer: Any, terms: list[str]) -> None:
    found = read(lambda lines: search_results.from_search_results(lines, WANTED), json.dumps(answer))
    assert [each.body["query"]["match"]["title"] for each in found if isinstance(each, RequestLine)] == terms


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(hits({"title": 'a }{ \\" ['}), indent=2),
        json.dumps(groonga('a }{ \\" ['), indent=1),
        json.dumps(hits({"title": 'a }{ \\" ['}), indent=2).replace("\n", "\r\n"),
        json.dumps(hits({"title": 'a }{ \\" ['})) + json.dumps(hits({"other": 1})),
    ],
)
def test_answers_printed_over_several_lines_or_on_one(text: str) -> None:
    pretty = json.dumps(hits({"title": "before"}), indent=4)
    cut_off = pretty[: pretty.index('"before"')]
    after = [json.dumps(hits({"title": "in between"})), *json.dumps(hits({"title": "after"}), indent="\t").splitlines()]
    lines = [*pretty.splitlines(), *text.splitlines(), *cut_off.splitlines(), *after]
    found = read(READERS[2], *(line.strip() for line in lines))
    terms = [it.body["query"]["match"]["title"] for it in found if isinstance(it, RequestLine)]
    assert terms == ["before", 'a }{ \\" [', "in between", "after"]


def test_a_file_of_other_things_is_not_looked_through_for_each_line(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0

    def opened(text: str) -> int:
        nonlocal looked
        looked += 1
        return 2

    monkeypatch.setattr(search_results, "_opened", opened)
    found = read(READERS[2], *['[{"a": "'] * 1000)
    assert found == [Skipped(number, search_results.NO_ANSWER) for number in range(1, 1001)]
    assert looked < 101 * 1000


@pytest.mark.parametrize(
    ("value", "plain", "sanitized"),
    [
        ("Star Wars: A New Hope; (1977)", "Star Wars: A New Hope; (1977)", "Star Wars A New Hope 1977"),
        ('+"C++" -x ~y >z <w a*', '+"C++" -x ~y >z <w a*', "C x y z w a"),
        ("title:@a {b} [c] a\\b c/d e=f? !g^2 h|i & j", "title:@a {b} [c] a\\b c/d e=f? !g^2 h|i & j",
         "title @a b c a b c d e f g 2 h i j"),
        ("Dead OR Alive AND NOT ORDER", "Dead OR Alive AND NOT ORDER", "Dead or Alive and not ORDER"),
        ("O'Neill, 東京 100%", "O'Neill, 東京 100%", "O'Neill, 東京 100%"),
    ],
)  # fmt: skip
def test_a_term_without_the_syntax_of_queries(value: str, plain: str, sanitized: str) -> None:
    for sanitize, term in ((False, plain), (True, sanitized)):
        wanted = Wanted("title", "/d/select", "{term}", sanitize=sanitize)
        reader: Reader = lambda lines, it=wanted: search_results.from_search_results(lines, it)  # noqa: E731
        assert read(reader, json.dumps(groonga(value))) == [RequestLine("POST", "/d/select", term)]


def test_what_is_syntax_alone_is_no_term_and_equal_ones_are_one() -> None:
    wanted = Wanted("title", "/d/select?query={term}", sanitize=True)
    answer = json.dumps(groonga(":;", "a:b", "a b"))
    found = read(lambda lines: search_results.from_search_results(lines, wanted), answer)
    assert found == [Skipped(1, search_results.ONLY_SYNTAX), RequestLine("GET", "/d/select?query=a%20b")]


def test_every_character_of_the_syntax_goes_and_no_other(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    answers = tmp_path / "answers.json"
    printable = "".join(map(chr, range(33, 127)))
    answers.write_text(json.dumps(groonga("".join(f"x{it}x" for it in printable)), indent=2))
    code, out, _ = run(
        ["from-search-results", str(answers), "--path", "/d?q={term}", "--field", "title", "--sanitize"], capfdbinary
    )
    (path,) = (each.path for each in read_lines([out.encode()], "f"))
    gone = {it for it in printable if f"x{it}x" not in unquote(path)}
    assert (code, gone) == (0, set(search_results.SYNTAX))
    told = next(option for option in request_words.from_search_results.params if option.name == "sanitize")
    assert isinstance(told, click.Option) and search_results.SYNTAX in (told.help or "")


def test_terms_in_paths_and_words() -> None:
    wanted = Wanted("a.title", "/d/select?query={term}", None, words=True)
    answer = json.dumps(hits({"a": {"title": "Red, a red-ish Shoe/靴 x"}}))
    found = read(lambda lines: search_results.from_search_results(lines, wanted), answer)
    assert [each.path for each in found if isinstance(each, RequestLine)] == [
        "/d/select?query=Red", "/d/select?query=red", "/d/select?query=ish", "/d/select?query=Shoe",
    ]  # fmt: skip


def test_another_engine_may_be_asked_with_a_body() -> None:
    wanted = Wanted("title", "/indexes/shop/search", {"q": "{term}"})
    found = read(lambda lines: search_results.from_search_results(lines, wanted), json.dumps(hits({"title": "Red"})))
    assert found == [RequestLine("POST", "/indexes/shop/search", {"q": "Red"})]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("{", search_results.NO_ANSWER), ('{"hits": 3}', search_results.NO_FIELD),
        ("[1, [2]]", search_results.NO_FIELD),
        (json.dumps(hits({"title": "x" * 501})), search_results.TOO_LONG), ("3", search_results.NO_FIELD),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_left_out(answer: str, why: str) -> None:
    reader: Reader = lambda lines: search_results.from_search_results(lines, WANTED)  # noqa: E731
    assert read(reader, answer) == [Skipped(1, why)]


READERS: list[Reader] = [
    slow_log.from_slow_log, access_log.from_access_log,
    lambda lines: search_results.from_search_results(lines, WANTED),
    lambda lines: search_results.from_search_results(lines, Wanted("title", "/d?query={term}")),
]  # fmt: skip
JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["hits", "_source", "title", "responses", "message", "source", "request", "status"]), inner
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(READERS), st.lists(st.text(max_size=60) | JSON.map(json.dumps), max_size=4))
def test_no_text_is_too_strange_and_what_is_made_of_it_is_accepted(reader: Reader, texts: list[str]) -> None:
    for each in read(reader, *texts):
        if isinstance(each, RequestLine):
            assert list(read_lines([f"{each.to_line()}\n".encode()], "f")) == [each]
        else:
            assert each.why


@given(st.text(min_size=2, max_size=30).filter(str.strip))
def test_any_term_comes_through_path_and_body(title: str) -> None:
    answer = json.dumps(hits({"title": title}))
    found = read(READERS[2], answer)
    assert [each.body["query"]["match"]["title"] for each in found if isinstance(each, RequestLine)] == [title.strip()]


def run(arguments: list[str], capfdbinary: pytest.CaptureFixture[bytes]) -> tuple[int, str, str]:
    code = program.main(["requests", *arguments])
    out, err = capfdbinary.readouterr()
    return code, out.decode(), err.decode()


def test_the_command_writes_and_tells(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    log = tmp_path / "slow.json"
    one, other = ecs(total=2), ecs(shard=1, total=2)
    log.write_bytes(b"\xef\xbb\xbf" + f"{one}\r\nnonsense \x1b[31m\n\n{other}\nmore\n{one}\n".encode())
    code, out, err = run(["from-slowlog", str(log)], capfdbinary)
    assert code == 0
    assert [each.body for each in read_lines(out.encode().splitlines(keepends=True), "f")] == [json.loads(SEARCH)] * 2
    assert err.splitlines() == [
        "2 requests from 6 lines",
        f"  left out, 2: {slow_log.NO_ENTRY} (the first: {log} line 2)",
        f"  left out, 1: empty (the first: {log} line 3)",
        f"  left out, 1: {slow_log.ONCE_MORE} (the first: {log} line 4)",
    ]
    target = tmp_path / "requests.ndjson"
    code, out, err = run(["from-slowlog", str(log), str(log), "-o", str(target), "--most", "3"], capfdbinary)
    assert (code, out) == (0, "") and target.read_bytes().count(b"\n") == 3
    assert f"3 requests to {target}" in err and "as many as were asked for: 3" in err


@pytest.mark.parametrize(("text", "code", "kept"), [(COMBINED.format("GET", "/a", 200), 0, False), ("no", 1, True)])
def test_a_log_that_is_also_the_output_is_read_first(
    text: str, code: int, kept: bool, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    log = tmp_path / "access.log"
    log.write_text(f"{text}\n")
    log.chmod(0o640)
    assert run(["from-access-log", str(log), "-o", str(log)], capfdbinary)[0] == code
    assert log.read_text() == (f"{text}\n" if kept else '{"method":"GET","path":"/a"}\n')
    assert list(tmp_path.iterdir()) == [log] and log.stat().st_mode & 0o777 == 0o640


def test_a_line_without_an_end_takes_no_memory(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests_command, "MOST_LINE_BYTES", 100)
    log = tmp_path / "access.log"
    entry = COMBINED.format("GET", "/a", 200).replace("curl/8", "")
    log.write_text(f"{'x' * 1000}\n{entry}\n")
    code, out, err = run(["from-access-log", str(log)], capfdbinary)
    assert code == 0 and "1 requests from 2 lines" in err and "longer than" in err and "line 1" in err
    assert out == '{"method":"GET","path":"/a"}\n'


def test_a_file_of_requests_has_its_bound(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests_command, "MOST_LINES", 2)
    log = tmp_path / "access.log"
    log.write_text(f"{COMBINED.format('GET', '/a', 200)}\n" * 5)
    code, out, _ = run(["from-access-log", str(log)], capfdbinary)
    assert code == 0 and out.count("\n") == 2


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["from-access-log", "none.log"], 2, "none.log: No such file or directory"),
        (["from-slowlog"], 2, "Missing argument"),
        (["from-search-results", "a", "--field", "title"], 2, "say what to ask: --index INDEX, or --path PATH"),
        (["from-search-results", "a", "--field", "t", "--index", "i", "--path", "/{term}"], 2, "say what to ask"),
        (["from-search-results", "a", "--field", "t", "--path", "/x"], 2, "neither --path nor --body has {term}"),
        (["from-search-results", "a", "--field", "t", "--index", "i", "--body", "{"], 2, "--body is not JSON"),
        (["from-slowlog", "/dev/null"], 1, "there is no request in /dev/null"),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str], code: int, words: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    found, _, err = run(arguments, capfdbinary)
    assert found == code and words in err


def test_terms_of_an_index(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    answers = tmp_path / "answers.json"
    answers.write_text(f"{json.dumps(hits({'title': 'Red Shoes'}))}\n")
    code, out, _ = run(["from-search-results", str(answers), "--index", "shop", "--field", "title"], capfdbinary)
    assert code == 0 and json.loads(out) == {
        "method": "POST", "path": "/shop/_search",
        "body": {"query": {"match": {"title": {"query": "Red Shoes", "operator": "and"}}}},
    }  # fmt: skip
