"""The lines of a file of requests: what reads, what is refused, and that no bytes are too strange."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.api.spec import ASKED_PATH
from fairlap_race.contract.request_files import request_lines
from fairlap_race.contract.request_files.request_lines import LinesError, RequestLine, is_path, read_lines


@pytest.mark.parametrize(
    ("method", "path", "reads"),
    [
        ("GET", "/shop/_doc/1", True),
        ("GET", "/_cat/indices", True),
        ("POST", "/_search", True),
        ("POST", "/shop/_search?size=3", True),
        ("POST", "/shop/_msearch/", True),
        ("POST", "/shop/_explain/1", True),
        ("POST", "/_search/scroll", True),
        ("POST", "/shop/_doc", False),
        ("POST", "/shop/_doc/_search", False),
        ("POST", "/shop/_create/_count", False),
        ("POST", "/_bulk", False),
        ("POST", "/shop/_delete_by_query", False),
        ("POST", "/shop/_update_by_query?q=/_search", False),
        ("POST", "/_sql/close", False),
        ("PUT", "/shop/_search", False),
        ("DELETE", "/shop", False),
    ],
)
def test_what_reads(method: str, path: str, reads: bool) -> None:
    line = RequestLine(method, path)
    assert line.reads is reads
    text = [f"{line.to_line()}\n".encode()]
    assert list(read_lines(text, "f", writes=True)) == [line]
    if not reads:
        with pytest.raises(LinesError, match=r"does more than read; leave it out, or write race\.params\.allow_writes"):
            list(read_lines(text, "f"))


@pytest.mark.parametrize(
    ("path", "good"),
    [
        ("/", True),
        ("/?", True),
        ("/a?q=100%&r=%zz?/", True),  # a query is sent as it stands
        ("/%C3%a9?q=%23", True),
        ("/a:b@c/~d;e=f,g|h", True),
        ("/a#b", False),
        ("/a?q=c#", False),
        ("/100%", False),
        ("/100%2?q=1", False),
        ("/%g0", False),
        ("//a", False),
        ("/a b", False),
        ("/a\n", False),
    ],
)
def test_a_path_is_sent_as_it_is_written(path: str, good: bool) -> None:
    assert is_path(path) is good
    assert (re.fullmatch(ASKED_PATH.removesuffix("$"), path) is not None) is good, "the schema says the same"


def test_half_of_a_character_cannot_be_sent() -> None:
    with pytest.raises(LinesError, match="f line 1: a text has half of a character"):
        list(read_lines([rb'{"path": "/a", "body": {"q": "\ud83d"}}'], "f"))
    (whole,) = read_lines([rb'{"path": "/a", "body": {"q": "\ud83d\ude00"}}'], "f", writes=True)
    assert whole.body == {"q": "\U0001f600"}


@pytest.mark.parametrize("number", [b"1e999", b"-1E400", b"NaN", b"Infinity"])
def test_a_number_that_cannot_be_sent_is_refused(number: bytes) -> None:
    with pytest.raises(
        LinesError, match=r"f line 2: .*(is too large, and would be sent as Infinity|no number of JSON)"
    ):
        list(read_lines([b"/a\n", b'{"path": "/a", "body": {"n": [' + number + b"]}}\n"], "f", over_http=True))


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (b'{"path": "/a", "path": "/b"}', "'path'"),
        (b'{"path": "/a", "body": {"query": 1, "size": 0, "query": 2}}', "'query'"),
        (b'{"path": "/a", "body": [{}, {"a": {"b": 1, "\\u0062": 1}}]}', "'b'"),
        (b'{"path": "/a", "body": {"' + b"x" * 99 + b'": 1, "' + b"x" * 99 + b'": 1}}', f"'{'x' * 80}…'"),
    ],
)
def test_a_member_that_stands_twice_is_refused_where_the_first_was_dropped(line: bytes, name: str) -> None:
    with pytest.raises(LinesError) as caught:
        list(read_lines([b"/a\n", line + b"\n"], "f", over_http=True))
    assert str(caught.value) == f"f line 2: an object has the member {name} twice; write it once"
    (text,) = read_lines([rb'{"path": "/a", "body": "{\"q\": 1, \"q\": 2}"}'], "f", over_http=True)
    assert text.body == '{"q": 1, "q": 2}', "a text is sent as it is"


def test_line_ends_at_the_end_are_no_requests() -> None:
    assert list(read_lines([b"/a\n", b"\n", b"\n"], "f")) == [RequestLine("GET", "/a")]
    assert list(read_lines([b"/a\n", b"/b"], "f")) == [RequestLine("GET", "/a"), RequestLine("GET", "/b")]


@pytest.mark.parametrize(("name", "value"), [("MOST_LINES", 2), ("MOST_BYTES", 6)])
def test_a_file_has_its_bounds(monkeypatch: pytest.MonkeyPatch, name: str, value: int) -> None:
    monkeypatch.setattr(request_lines, name, value)
    assert len(list(read_lines([b"/a\n"] * 2, "f"))) == 2
    with pytest.raises(LinesError, match="f line 3: a file of requests has at most"):
        list(read_lines([b"/a\n"] * 3, "f"))


@given(st.lists(st.binary(max_size=40) | st.text(max_size=20).map(str.encode), max_size=4))
def test_no_bytes_are_too_strange(lines: list[bytes]) -> None:
    try:
        found = list(read_lines([line + b"\n" for line in lines], "f", writes=True))
    except LinesError as error:
        assert str(error).startswith("f")
    else:
        assert all(each.path.startswith("/") and each.path.isascii() for each in found)


@pytest.mark.parametrize(
    ("line", "what", "cure"),
    [
        (b'{"path": "a;b: c"}\n', "'a;b: c' is no path", "write one that begins with one slash"),
        (b'{"path": "/a", "x;": 1}\n', "there is no member 'x;'", "a request has method, path, body; leave it out"),
        (b"[" * 100_000 + b"\n", "the JSON is nested too deeply", ""),
    ],
)
def test_what_is_wrong_with_a_line_is_known_without_the_line_and_the_cure(line: bytes, what: str, cure: str) -> None:
    with pytest.raises(LinesError) as caught:
        list(read_lines([line], "f"))
    assert caught.value.what == what
    assert str(caught.value).startswith(f"f line 1: {what}; {cure}" if cure else f"f line 1: {what}")
