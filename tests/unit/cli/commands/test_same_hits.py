"""Of files for several engines the lines that find as much everywhere."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from fairlap.cli.edge.exits import CliError
from fairlap.cli.request_words import requests

Make = Callable[..., str]


@pytest.fixture
def engine() -> Iterator[Make]:
    """Return what begins an engine that finds so much by the last word of a path or a body."""
    servers: list[ThreadingHTTPServer] = []

    def begin(hits: dict[str, int], kinds: list[str | None] | None = None, relation: str = "eq") -> str:
        kinds = [] if kinds is None else kinds

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                kinds.append(self.headers.get("Content-Type"))
                word = json.loads(self.rfile.read(length))["query"] if length else self.path.rpartition("=")[2]
                known = word in hits
                text = json.dumps({"found": {"total": hits.get(word), "relation": relation}}).encode()
                self.send_response(200 if known else 500)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield begin
    for server in servers:
        server.shutdown()
        server.server_close()


def ask(*argv: str) -> tuple[int | None, str]:
    """Return the exit code, or None for an error of ours, and what is said."""
    done = CliRunner().invoke(requests, ["same-hits", *argv], standalone_mode=False)
    if isinstance(done.exception, CliError):
        return None, str(done.exception)
    assert done.exception is None, done.exception
    return done.return_value, done.output


def two_files(folder: Path) -> tuple[Path, Path]:
    one, two = folder / "one.ndjson", folder / "two.ndjson"
    one.write_text("/search?q=tea\n/search?q=cup\n/search?q=pot\n")
    bodies = [{"method": "POST", "path": "/s", "body": {"query": word}} for word in ("tea", "cup", "pot")]
    two.write_text("".join(f"{json.dumps(body)}\n" for body in bodies))
    return one, two


POINTER = "/found/total"


def test_lines_that_find_as_much_are_kept_and_the_others_listed(tmp_path: Path, engine: Make) -> None:
    one, two = two_files(tmp_path)
    first, second = engine({"tea": 7, "cup": 3, "pot": 0}), engine({"tea": 7, "cup": 4, "pot": 0})
    argv = ("-e", str(one), first, POINTER, "-e", str(two), second, POINTER, "-o", str(tmp_path / "same"))
    code, said = ask(*argv)
    assert code == 0 and "2 lines to" in said and "1 left out" in said
    assert f"left out, line 2: {one} 3, {two} 4: " in said
    assert [json.loads(line)["path"] for line in (tmp_path / "same/one.ndjson").read_text().splitlines()] == [
        "/search?q=tea", "/search?q=pot",
    ]  # fmt: skip
    assert len((tmp_path / "same/two.ndjson").read_text().splitlines()) == 2
    code, said = ask(*argv, "--most", "1")
    assert code == 0 and "1 lines to" in said and "left out, line" not in said


def test_an_engine_is_asked_as_the_race_asks_it(tmp_path: Path, engine: Make) -> None:
    one, two = tmp_path / "one.ndjson", tmp_path / "two.ndjson"
    one.write_text("/search?q=tea\n")
    two.write_text(json.dumps({"method": "POST", "path": "/s", "body": '{"query": "tea"}'}) + "\n")
    kinds: list[str | None] = []
    url = engine({"tea": 7}, kinds)
    assert ask("-e", str(one), url, POINTER, "-e", str(two), url, POINTER, "-o", str(tmp_path / "same"))[0] == 0
    assert kinds == [None, "application/json"]


def test_what_finds_at_least_so_much_is_not_taken_for_as_much(tmp_path: Path, engine: Make) -> None:
    one, two = two_files(tmp_path)
    url = engine({"tea": 10_000, "cup": 3, "pot": 0}, relation="gte")
    code, said = ask("-e", str(one), url, POINTER, "-e", str(two), url, POINTER, "-o", str(tmp_path / "same"))
    assert code is None and said.startswith(f"{one} line 1 at {url}: {POINTER} is a lower bound")
    assert 'write "track_total_hits": true' in said and not (tmp_path / "same").exists()


@pytest.mark.parametrize("way", ["folder", "other spelling", "link to the folder", "link to a file"])
def test_a_file_that_is_read_is_not_replaced_by_what_is_left_of_it(tmp_path: Path, engine: Make, way: str) -> None:
    one, two = two_files(tmp_path)
    folder = tmp_path / "." / "same"
    if way == "link to a file":
        folder.mkdir()
        (folder / "two.ndjson").symlink_to(two)
    elif way == "link to the folder":
        folder.symlink_to(tmp_path)
    else:
        folder = tmp_path if way == "folder" else tmp_path / ".." / tmp_path.name
    before = one.read_text(), two.read_text()
    first, second = engine({"tea": 7, "cup": 3, "pot": 0}), engine({"tea": 7, "cup": 4, "pot": 0})
    code, said = ask("-e", str(one), first, POINTER, "-e", str(two), second, POINTER, "-o", str(folder))
    read = two if way == "link to a file" else one
    assert code is None and said.startswith(f"-o {folder} has {read}, which is read, and the lines left out would be")
    assert (one.read_text(), two.read_text()) == before


def test_nothing_that_could_be_compared(tmp_path: Path, engine: Make) -> None:
    one, two = two_files(tmp_path)
    first, second = engine({"tea": 7, "cup": 3, "pot": 0}), engine({"tea": 8, "cup": 4, "pot": 1})
    argv = ("-e", str(one), first, POINTER, "-e", str(two), second, POINTER, "-o", str(tmp_path / "same"))
    code, said = ask(*argv)
    assert code is None and said.startswith("no line finds as much in every engine")
    assert not (tmp_path / "same").exists()


def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, engine: Make) -> None:
    one, two = two_files(tmp_path)
    url = engine({"tea": 7, "cup": 3, "pot": 0})

    def said(*first: str, second: tuple[str, ...] = (str(two), url, POINTER)) -> str:
        return ask("-e", *first, "-e", *second, "-o", str(tmp_path / "same"))[1]

    assert said(str(one), engine({"tea": 7}), POINTER).endswith("HTTP 500")
    assert "finds nothing: the deepest level that exists is /found" in said(str(one), url, "/found/hits")
    assert "is no JSON pointer" in said(str(one), url, "found")
    for with_user in ("http://a:SECRET@host", "http://a:SEC/SECRET@host", "http://a:SECRET%40host", "a:SECRET@host"):
        words = said(str(one), with_user, POINTER)
        assert "without a user" in words and "SEC" not in words
    for url_that_is_none in ("http://[fd00::1:9200", "http://host:99999", "http://host:port", "http://[fd00:1]:80"):
        assert f"{url_that_is_none}: " in said(str(one), url_that_is_none, POINTER)
    assert "No such file" in said(str(tmp_path / "none"), url, POINTER)
    assert "different names" in said(str(two), url, POINTER)
    longer = tmp_path / "longer.ndjson"
    longer.write_text("/a\n/b\n")
    assert "longer.ndjson has 2, " in said(str(longer), url, POINTER)
    longer.write_text("\n/b\n")
    assert "the line is empty" in said(str(longer), url, POINTER)
    assert "name two engines or more" in ask("-e", str(one), url, POINTER, "-o", str(tmp_path))[1]


def test_what_speaks_no_http_is_one_sentence(tmp_path: Path, engine: Make) -> None:
    one, two = two_files(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"220 mail.example.com ESMTP\r\n")

        threading.Thread(target=answer, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        argv = ("-e", str(one), url, POINTER, "-e", str(two), engine({"tea": 7}), POINTER, "-o", str(tmp_path / "same"))
        code, said = ask(*argv)
    assert code is None and said.startswith(f"{one} line 1 at {url}: ")
