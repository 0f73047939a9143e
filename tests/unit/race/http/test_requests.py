"""The file of requests becomes what k6's script reads; a line that is none is named."""

import json
import threading
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.request_files.request_lines import RequestLine, is_path
from fairlap_race.contract.request_files.sent_request import as_sent
from fairlap_race.contract.specification.http_spec import HttpLoad, HttpSpec
from fairlap_race.contract.specification.race_spec import RequestsSource
from fairlap_race.errors import TrackError
from fairlap_race.http.requests import ReadyRequests, alias_table, make_ready

LOADS = (HttpLoad("c", 1, 1),)


def made(folder: Path, content: bytes, **http: object) -> ReadyRequests:
    (folder / "source").mkdir(exist_ok=True)
    (folder / "source/terms.txt").write_bytes(content)
    source = RequestsSource(path=folder / "source", file="terms.txt")
    return make_ready(HttpSpec(LOADS, **http), source, folder, threading.Event())  # type: ignore[arg-type]


def test_paths_and_objects_are_written_as_they_are_sent(tmp_path):
    text = b'/d/select?query=a\n{"path": "/a", "body": {"q": "\xc3\xa9"}}\n{"method": "head", "path": "/b"}\n'
    text += b'{"method": "PUT", "path": "/c", "body": ["x", {"y": 1}]}\n{"path": "/d", "body": "plain"}\n'
    found = made(tmp_path, text)
    assert json.loads(found.file.read_text()) == [
        ["GET", "/d/select?query=a", None, None],
        ["POST", "/a", '{"q":"é"}', "application/json"],
        ["HEAD", "/b", None, None],
        ["PUT", "/c", 'x\n{"y":1}\n', "application/x-ndjson"],
        ["POST", "/d", "plain", "text/plain; charset=utf-8"],
    ]
    assert (found.lines, found.distinct) == (5, 5)


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("/_msearch", '{}\n{"size": 1}\n', "application/x-ndjson"),
        ("/shop/_msearch?a=/b", "{}\n{}\n", "application/x-ndjson"),
        ("/shop/_bulk/", "nonsense", "application/x-ndjson"),
        ("/_msearch/template", "{}\n{}\n", "application/x-ndjson"),
        ("/shop/_search", '{"size": 1}', "application/json"),
        ("/shop/_search?x=/_bulk", "[1]", "application/json"),
        ("/shop/my_bulk", "{}\n{}\n", "text/plain; charset=utf-8"),
        ("/d/load", "plain", "text/plain; charset=utf-8"),
        ("/d/load", "12", "text/plain; charset=utf-8"),
        ("/d/load", "[" * 100_000, "text/plain; charset=utf-8"),
    ],
)
def test_a_text_goes_out_as_it_is_with_the_type_that_it_has(path, text, kind):
    assert as_sent(RequestLine("POST", path, text)) == ("POST", path, text, kind)


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("/shop/_doc/a%2Fb", "/shop/_doc/a%2Fb"),
        ("/shop/_doc/a%2Fb{1}", "/shop/_doc/a%2Fb%7B1%7D"),
        ('/a%2fb"<>/c', "/a%2fb%22%3C%3E/c"),
        ("/%5C\\^`|", "/%5C%5C%5E%60%7C"),
        ("/logs-*,-[x]!$&'()+;=:@~._/_search", "/logs-*,-[x]!$&'()+;=:@~._/_search"),
        ('/{a}?q={"a":"b|c"}&p=%7B?<>', '/%7Ba%7D?q={"a":"b|c"}&p=%7B?<>'),
        ("/?{", "/?{"),
    ],
)
def test_what_k6_would_encode_anew_is_encoded_in_the_path_alone(tmp_path, written, sent):
    assert [row[1] for row in json.loads(made(tmp_path, f"{written}\n".encode()).file.read_text())] == [sent]
    for body in ("text", [1], {"a": 1}):
        assert as_sent(RequestLine("POST", written, body))[1] == sent


@given(st.from_regex(r"/(?!/)([!\"$&->@-~]|%[0-9A-Fa-f]{2})*(\?[!\"$-~]*)?", fullmatch=True))
def test_a_path_is_sent_as_a_path_of_the_same_meaning(path):
    sent = as_sent(RequestLine("GET", path))[1]
    assert is_path(sent) and unquote(sent) == unquote(path)
    assert as_sent(RequestLine("GET", sent))[1] == sent and not set('"<>\\^`{|}') & set(sent.partition("?")[0])


def test_the_digest_is_that_of_the_requests_and_of_their_order(tmp_path):
    digests = {
        made(tmp_path, b"/a\n/b\n").digest,
        made(tmp_path, b"/b\n/a\n").digest,
        made(tmp_path, b"/a\n/b\n", seed=1).digest,
        made(tmp_path, b"/a\n/b\n", order="random").digest,
    }
    assert len(digests) == 4 and made(tmp_path, b"/a\n/b").digest in digests


def test_zipf_draws_from_the_distinct_requests_the_most_frequent_first(tmp_path):
    found = made(tmp_path, b"/a\n/b\n/b\n/c\n", order="zipf", exponent=1.0)
    rows = json.loads(found.file.read_text())
    assert [row[1] for row in rows] == ["/b", "/a", "/c"] and all(len(row) == 6 for row in rows)
    assert (found.lines, found.distinct) == (4, 3)
    assert [line[1] for line in found.first] == ["/a", "/b", "/b", "/c"], "what they find is told line by line"


@pytest.mark.parametrize(
    ("order", "exponent"), [("file", None), ("random", None), ("zipf", 1.0)]
)  # fmt: skip
@pytest.mark.parametrize("lines", [3, 1200])
def test_every_line_can_be_read_again_in_the_order_of_the_file(tmp_path, order, exponent, lines):
    content = b"".join(b"/%d\n" % (number % 700) for number in range(lines))
    found = made(tmp_path, content, order=order, exponent=exponent, hits="/n")
    assert [line[1] for line in found.every_line()] == [f"/{number % 700}" for number in range(lines)]
    assert found.every_line()[:1000] == list(found.first) or tuple(found.every_line()) == found.first


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "terms.txt: the file is empty"),
        (b"/a\r\n", "terms.txt line 1: the line ends with CR LF"),
        (b"\xef\xbb\xbf/a\n", "terms.txt line 1: the file begins with a byte order mark"),
        (b"/a?q=c#\n", "terms.txt line 1: '/a?q=c#' is no path; write one that begins with one slash"),
        (b"/a\n/100%\n", "terms.txt line 2: '/100%' is no path"),
        (b'{"path": "/100%2/x"}\n', "terms.txt line 1: '/100%2/x' is no path"),
        (b'/a\n{"path": "/a", "body": {"n": 1e999}}\n', "terms.txt line 2: "),
        (b"/a\nshoes\n", "terms.txt line 2: 'shoes' is neither a path, which begins with a slash, nor JSON"),
        (b"/a\n//b\n", "terms.txt line 2: '//b' is no path"),
        (b"/a\n\n/b\n", "terms.txt line 2: the line is empty"),
        (b'{"path": "/a", "method": "CONNECT"}\n', "terms.txt line 1: the method 'CONNECT' is none of"),
    ],
)
def test_a_line_that_is_no_request_is_named(tmp_path, content, words):
    with pytest.raises(TrackError) as caught:
        made(tmp_path, content)
    assert caught.value.reason is Reason.REQUESTS_INVALID and caught.value.message.startswith(words)
    assert "Rally" not in caught.value.message


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(TrackError, match=r"there is no file x\.txt; there is: terms\.txt"):
        made(tmp_path, b"/a\n")
        source = RequestsSource(path=tmp_path / "source", file="x.txt")
        make_ready(HttpSpec(LOADS), source, tmp_path, threading.Event())


@given(st.integers(1, 300), st.floats(0.01, 5))
def test_the_alias_table_gives_each_rank_its_probability(count, exponent):
    table = alias_table(count, exponent)
    chances = [0.0] * count
    for rank, (threshold, other) in enumerate(table):
        assert -1e-9 <= threshold <= 1 + 1e-9
        chances[rank] += threshold / count
        chances[other] += (1 - threshold) / count
    total = sum(rank**-exponent for rank in range(1, count + 1))
    assert chances == pytest.approx([rank**-exponent / total for rank in range(1, count + 1)], abs=1e-9)
