"""Tracks from git: one commit, from real servers on loopback, and nothing of git that could be turned against us."""

from __future__ import annotations

import base64
import os
import shutil
import socket
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.specification.race_spec import GitSource
from fairlap_race.errors import TrackError
from fairlap_race.track import git as track_git
from fairlap_race.track.git import Checkout, check_source, environment, fetch, fetch_commit, track_in

USER, PASSWORD = "reader", "t0ken'$(x)"
PLAIN = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
}
AUTHOR = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in
          (("NAME", "a"), ("EMAIL", "a@example.com"), ("DATE", "2026-01-01T00:00:00Z"))}  # fmt: skip


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(track_git, "PAUSES", (0.01,))
    monkeypatch.setattr(track_git, "MORE_PAUSES", ())


def git(*arguments: str, at: Path) -> str:
    argv = ["git", "-C", str(at), *arguments]
    done = subprocess.run(argv, env=PLAIN | AUTHOR, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a bare repository tracks.git: three commits, a branch, a tag, a submodule, links, hooks."""
    top = tmp_path_factory.mktemp("served")
    work = tmp_path_factory.mktemp("work")
    git("init", "--quiet", "--initial-branch=main", str(work), at=work)
    for number in (1, 2, 3):
        for name in ("small", "team/nested"):
            (work / name).mkdir(parents=True, exist_ok=True)
            (work / name / "track.json").write_text(f'{{"description": "{number}"}}')
        (work / "leads-out").unlink(missing_ok=True)
        (work / "leads-out").symlink_to("/usr")
        (work / ".gitmodules").write_text('[submodule "x"]\n\tpath = sub\n\turl = ext::sh -c "touch /tmp/owned"\n')
        git("add", "--all", at=work)
        git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub", at=work)
        git("commit", "--quiet", "--message", str(number), at=work)
        if number == 2:
            git("tag", "--annotate", "v2", "--message", "two", at=work)
            git("branch", "feature/two", at=work)
    git("clone", "--quiet", "--bare", str(work), str(top / "tracks.git"), at=work)
    git("update-server-info", at=top / "tracks.git")
    (top / "tracks.git" / "git-daemon-export-ok").touch()
    return top


@pytest.fixture(scope="module")
def daemon(served: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = [
        "git",
        "daemon",
        "--reuseaddr",
        "--listen=127.0.0.1",
        f"--port={port}",
        f"--base-path={served}",
        str(served),
    ]
    running = subprocess.Popen(argv, env=PLAIN, stderr=subprocess.DEVNULL, start_new_session=True)
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield f"git://127.0.0.1:{port}/tracks.git"
    os.killpg(running.pid, 15)
    running.wait(10)


class SmartHttp(BaseHTTPRequestHandler):
    """git http-backend behind basic authentication."""

    root: Path
    seen: list[str]

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        wanted = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        self.seen.append(self.path)
        if self.headers.get("Authorization") != wanted:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="tracks"')
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        variables = PLAIN | {
            "GIT_PROJECT_ROOT": str(self.root), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
            "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)), "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }  # fmt: skip
        done = subprocess.run(["git", "http-backend"], env=variables, input=body, capture_output=True, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(fields.pop("Status", "200 OK").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def guarded(served: Path) -> Iterator[tuple[str, list[str]]]:
    handler = type("Handler", (SmartHttp,), {"root": served, "seen": []})
    yield from serving(handler, handler.seen)  # type: ignore[attr-defined]


@pytest.fixture
def dumb(served: Path) -> Iterator[tuple[str, list[str]]]:
    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(served))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            pass

    yield from serving(Handler, [])


def serving(handler: type, seen: list[str]) -> Iterator[tuple[str, list[str]]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/tracks.git", seen
    server.shutdown()
    thread.join()
    server.server_close()


def fetched(source: GitSource, work: Path) -> Checkout:
    return fetch(source, work, threading.Event())


def failing(source: GitSource, work: Path) -> TrackError:
    with pytest.raises(TrackError) as caught:
        fetched(source, work)
    return caught.value


def commit(served: Path, revision: str) -> str:
    return git("rev-parse", f"{revision}^{{commit}}", at=served / "tracks.git")


@pytest.mark.parametrize(
    ("revision", "content"),
    [("main", "3"), ("HEAD", "3"), ("v2", "2"), ("feature/two", "2"), ("{full}", "1"), ("{short}", "1"), ("main@", "")],
)
def test_every_kind_of_revision(daemon: str, served: Path, tmp_path: Path, revision: str, content: str) -> None:
    first = commit(served, "main~2")
    source = GitSource(daemon, revision.format(full=first, short=first[:9]), "small")
    if not content:
        assert failing(source, tmp_path).reason is Reason.TRACK_NOT_FOUND
        return
    found = fetched(source, tmp_path)
    assert found.commit == commit(served, f"main~{3 - int(content)}")
    assert f'"{content}"' in (found.track / "track.json").read_text()
    assert found.track.name == "small" and not list((found.root / "sub").glob("*"))


@pytest.mark.parametrize("revision", ["main", "v2", "{full}", "{short}"])
def test_a_server_of_plain_files(dumb: tuple[str, list[str]], served: Path, tmp_path: Path, revision: str) -> None:
    second = commit(served, "v2")
    source = GitSource(dumb[0], revision.format(full=second, short=second[:9]), "team/nested")
    assert fetched(source, tmp_path).commit == commit(served, "main" if revision == "main" else "v2")


def test_the_top_of_a_repository_is_a_track_of_its_name(served: Path, daemon: str, tmp_path: Path) -> None:
    error = failing(GitSource(daemon, "main", ""), tmp_path)
    assert error.reason is Reason.TRACK_NOT_FOUND and "small, team/nested" in error.message


def test_a_path_that_is_not_there(daemon: str, tmp_path: Path) -> None:
    error = failing(GitSource(daemon, "main", "smal"), tmp_path)
    assert error.reason is Reason.TRACK_NOT_FOUND and "did you mean small?" in error.message


def test_a_link_does_not_lead_out(daemon: str, tmp_path: Path) -> None:
    assert failing(GitSource(daemon, "main", "leads-out"), tmp_path).reason is Reason.TRACK_NOT_FOUND


@pytest.mark.parametrize(
    ("link", "target", "leads_out"),
    [
        ("documents.json", "/etc/hostname", True),
        ("deep/er/index.json", "../../../../../../outside", True),
        ("data", "..", False),
        ("data", "../..", True),
        ("chain.json", "../other/outside.json", True),
        ("shared.json", "../other/track.json", False),
        ("whole", "../other", False),
        ("nothing", "not/there", False),
        ("itself", "itself", False),
        ("track.json", "../other/outside.json", True),
    ],
)  # fmt: skip
def test_no_link_below_the_track_leads_out(tmp_path: Path, link: str, target: str, leads_out: bool) -> None:
    root, outside = tmp_path / "checkout", tmp_path / "outside.json"
    outside.write_text("{}")
    for name in ("track", "other"):
        (root / name).mkdir(parents=True)
        (root / name / "track.json").write_text("{}")
    (root / "other/outside.json").symlink_to(outside)
    (root / "track" / link).parent.mkdir(parents=True, exist_ok=True)
    (root / "track" / link).unlink(missing_ok=True)
    (root / "track" / link).symlink_to(target)
    source = GitSource("https://example.com/tracks.git", "main", "track")
    if not leads_out:
        assert track_in(root, source, "c" * 40) == root / "track"
        return
    with pytest.raises(TrackError) as caught:
        track_in(root, source, "c" * 40)
    assert caught.value.reason is Reason.TRACK_INVALID
    named = f"'track/{link}' in https://example.com/tracks.git at cccccccccccc is a link that leads out of"
    assert caught.value.message.startswith(named), caught.value.message


def test_a_revision_that_is_not_there(daemon: str, tmp_path: Path) -> None:
    for revision in ("nowhere", "d" * 40):
        error = failing(GitSource(daemon, revision, "small"), tmp_path)
        assert error.reason is Reason.TRACK_NOT_FOUND and revision in error.message


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    error = failing(GitSource("http://127.0.0.1:1/x.git", "main", "small"), tmp_path)
    assert error.reason is Reason.TRACK_FETCH_FAILED and "127.0.0.1" in error.message


@pytest.mark.parametrize("status", [408, 429, 500, 503])
@pytest.mark.parametrize(
    ("revision", "first"), [("{full}", False), ("{full}", True), ("v2", False)], ids=["again", "first", "a tag"]
)
def test_a_server_that_refuses_for_a_while_is_asked_longer_when_the_commit_is_known(
    dumb: tuple[str, list[str]],
    served: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    revision: str,
    first: bool,
) -> None:
    monkeypatch.setattr(track_git, "MORE_PAUSES", (0.01, 0.01, 0.01))
    asked: list[str] = []
    answer = SimpleHTTPRequestHandler.do_GET

    def busy(handler: SimpleHTTPRequestHandler) -> None:
        if handler.path.startswith("/tracks.git/info/refs"):
            asked.append(handler.path)
            if len(asked) <= 4:
                handler.send_error(status)
                return
        answer(handler)

    monkeypatch.setattr(SimpleHTTPRequestHandler, "do_GET", busy)
    source = GitSource(dumb[0], revision.format(full=commit(served, "v2")), "small")
    if source.revision == "v2" or first:
        with pytest.raises(TrackError, match=f"returned error: {status}"):
            fetch(source, tmp_path, threading.Event(), first=first)
        assert len(asked) == 2
    else:
        assert fetched(source, tmp_path).commit == source.revision


@pytest.mark.parametrize(
    "words",
    [
        "fatal: unable to access 'https://h/x/': The requested URL returned error: 429",
        "fatal: unable to access 'https://h/x/': Empty reply from server",
        "error: RPC failed; curl 28 Operation too slow. Less than 1000 bytes/sec transferred the last 60 seconds",
        "kex_exchange_identification: Connection closed by remote host",
    ],
)
def test_what_may_pass_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "git").write_text(
        f'#!/bin/sh\ncase $* in *fetch*) echo >> {tmp_path}/fetches; echo "{words}" >&2; exit 128;; esac\n'
    )
    (tools / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    assert failing(GitSource("https://h/x", "main"), tmp_path / "w").reason is Reason.TRACK_FETCH_FAILED
    assert (tmp_path / "fetches").read_text() == "\n\n"


def test_a_stop_between_two_attempts_is_no_fault_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(track_git, "PAUSES", (60.0,))
    stop = threading.Event()
    threading.Timer(1.5, stop.set).start()
    with pytest.raises(TrackError) as caught:
        fetch(GitSource("http://127.0.0.1:1/x.git", "main"), tmp_path, stop)
    assert caught.value.reason is Reason.RACE_ABORTED


def secret(directory: Path, **files: str) -> Path:
    directory.mkdir()
    for name, content in files.items():
        (directory / name.replace("ssh_privatekey", "ssh-privatekey").replace("ca_crt", "ca.crt")).write_text(content)
    return directory


def test_a_password_comes_from_a_file(
    guarded: tuple[str, list[str]], served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, _ = guarded
    seen: list[object] = []
    started = subprocess.Popen

    def watched(argv: list[str], **more: object) -> object:
        if argv[:1] == ["git"]:
            seen.append((argv, more.get("env")))
        return started(argv, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(track_git.subprocess, "Popen", watched)
    source = GitSource(url, "main", "small", secret(tmp_path / "s", username=USER, password=PASSWORD))
    assert fetched(source, tmp_path / "w").commit == commit(served, "main")
    assert seen and PASSWORD not in str(seen)
    held = [path for path in (tmp_path / "w").rglob("*") if path.is_file() and PASSWORD in path.read_text("latin-1")]
    assert held == []


def test_a_wrong_password_is_said_without_it(guarded: tuple[str, list[str]], tmp_path: Path) -> None:
    error = failing(GitSource(guarded[0], "main", "small", secret(tmp_path / "s", password="wrong")), tmp_path / "w")  # noqa: S106
    assert error.reason is Reason.TRACK_FETCH_FAILED and "Authentication failed" in error.message
    assert "wrong" not in error.message


def test_no_word_of_the_server_is_in_the_message(tmp_path: Path) -> None:
    """The message stands in the status, and the address may be any that the pod can reach: git quotes what it says."""

    class Tells(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(500 if "refused" in self.path else 200)
            kind = "text/plain" if "refused" in self.path else "application/x-git-upload-pack-advertisement"
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(b"SECRET of the metadata service\n")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Tells)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, words in (("refused", "The requested URL returned error: 500"), ("odd", "")):
        url = f"http://127.0.0.1:{server.server_port}/{name}.git"
        error = failing(GitSource(url, "main", "small"), tmp_path / name)
        assert error.reason is Reason.TRACK_FETCH_FAILED and words in error.message
        assert "SECR" not in error.message, error.message
    server.shutdown()


def test_without_a_password_nobody_is_asked(guarded: tuple[str, list[str]], tmp_path: Path) -> None:
    error = failing(GitSource(guarded[0], "main", "small"), tmp_path)
    assert error.reason is Reason.TRACK_FETCH_FAILED


def test_a_redirection_does_not_carry_the_password_away(guarded: tuple[str, list[str]], tmp_path: Path) -> None:
    target, seen = guarded

    class Redirects(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", target + self.path.removeprefix("/tracks.git"))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    for url, _ in serving(Redirects, []):
        source = GitSource(url, "main", "small", secret(tmp_path / "s", username=USER, password=PASSWORD))
        assert failing(source, tmp_path / "w").reason is Reason.TRACK_FETCH_FAILED
    assert seen == []


@pytest.mark.parametrize(
    "change",
    [
        {"url": "ext::sh -c whoami"}, {"url": "file:///etc"}, {"url": "/etc"}, {"url": "--upload-pack=touch"},
        {"url": "https://"}, {"url": "https://-oProxyCommand=x/y"}, {"url": "ssh://-oProxyCommand=x/y"},
        {"url": "https://user:word@host/x"}, {"url": "https://token@host/x"}, {"url": "ssh://git:word@host/x"},
        {"url": "https://host/a b"}, {"url": "https://a[b/x"}, {"url": "https://a]b/x"}, {"url": "https://[x]/y"},
        {"url": "https://\u2100.com/x"}, {"url": "https://host/a\0b"},
        {"revision": "--upload-pack=x"}, {"revision": "+main"}, {"revision": "a:b"},
        {"revision": "main..x"}, {"revision": "main^{/x}"}, {"revision": "a\nb"}, {"path": "../x"}, {"path": "/etc"},
        {"path": ".git"}, {"path": "a/../../b"},
    ],
)  # fmt: skip
def test_what_must_not_reach_git_does_not(change: dict[str, str]) -> None:
    source = GitSource("https://example.com/tracks.git", "main", "small")
    check_source(source)
    check_source(replace(source, url="ssh://git@example.com/tracks.git"))
    with pytest.raises(TrackError):
        check_source(replace(source, **change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("/tracks.git", "tracks"), ("/a/tracks", "tracks"), ("/a/tracks/", "tracks"), ("", "track"), ("/", "track"),
        ("/.git", "track"), ("/x/..", "track"), ("/x/../", "track"), ("/...git", "track"), ("/..git", "track"),
        ("/.", "track"), ("/x/.", "x"), ("/...", "..."), (f"/{'x' * 300}", "track"), (f"/{'é' * 200}", "track"),
    ],
)  # fmt: skip
def test_the_checkout_is_in_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, name: str
) -> None:
    monkeypatch.setattr(track_git, "_fetched", lambda *_: "HEAD")
    monkeypatch.setattr(track_git._Git, "must", lambda *_: "")
    (tmp_path / "beside").touch()
    root, _ = fetch_commit(GitSource(f"https://host{address}", "main"), tmp_path, threading.Event())
    assert root.relative_to(tmp_path).as_posix() == f"repository/{name}" and (root / ".git").is_dir()
    assert (tmp_path / "beside").is_file()


def test_git_itself_refuses_other_transports(served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(track_git, "check_source", lambda _: None)
    for url in (f"file://{served}/tracks.git", f"{served}/tracks.git", f"ext::touch {tmp_path}/owned"):
        error = failing(GitSource(url, "main", "small"), tmp_path / "w")
        assert "not allowed" in error.message, error.message
    assert not (tmp_path / "owned").exists()


def test_ssh_is_told_to_trust_known_hosts_only(served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in ssh's place notes how it is called, and runs what the server would."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "ssh").write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/called\nfor last; do :; done\n'
        f'PATH={os.environ["PATH"]} exec git -c safe.directory=* shell -c "$last"\n'
    )
    (programs / "ssh").chmod(0o700)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    files = secret(tmp_path / "s", ssh_privatekey="key", known_hosts="hosts")
    source = GitSource(f"ssh://git@example.com{served}/tracks.git", "main", "small", files)
    found = fetched(source, tmp_path / "w")
    assert found.commit == commit(served, "main")
    called = (tmp_path / "called").read_text().splitlines()
    for option in ("BatchMode=yes", "StrictHostKeyChecking=yes", "IdentitiesOnly=yes"):
        assert option in called
    assert f"UserKnownHostsFile={files}/known_hosts" in called and f"{files}/ssh-privatekey" in called


@pytest.mark.parametrize(
    ("url", "files", "words"),
    [
        ("ssh://git@h/x", {"ssh_privatekey": "k"}, "known_hosts"),
        ("ssh://git@h/x", {"known_hosts": "k"}, "ssh-privatekey"),
        ("https://h/x", {"username": "k"}, "neither password"),
        ("ssh://git@h/x", {}, "no key ssh-privatekey"),
        ("https://h/x", {}, "or it has neither password"),
    ],
)
def test_a_secret_that_lacks_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, files: dict[str, str], words: str
) -> None:
    monkeypatch.setattr(track_git, "SECRET_PATIENCE", 0 if not files else 100)
    error = failing(GitSource(url, "main", "", secret(tmp_path / "s", **files), "reader"), tmp_path / "w")
    assert error.reason is Reason.SECRET_MISSING and words in error.message
    assert error.message.startswith("there is no Secret reader in the Benchmark's namespace, or it has ")


def test_a_secret_that_comes_after_its_pod(tmp_path: Path) -> None:
    mounted = tmp_path / "s"
    (mounted / "..data").mkdir(parents=True)
    comes = threading.Timer(1.5, lambda: (mounted / "username").write_text("who"))
    comes.start()
    error = failing(GitSource("https://h/x", "main", "", mounted, "reader"), tmp_path / "w")
    comes.join()
    assert "neither password" in error.message, "of what it has then"


def test_who_is_told_to_stop_waits_for_no_secret(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(TrackError) as caught:
        fetch(GitSource("https://h/x", "main", "", tmp_path / "none", "reader"), tmp_path / "w", stop)
    assert caught.value.reason is Reason.RACE_ABORTED


def test_the_environment_is_bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_EXEC_PATH", "/tmp/evil")
    monkeypatch.setenv("GIT_SSH", "/tmp/evil")
    source = GitSource("https://h/x", "main", "", secret(tmp_path / "s", password=PASSWORD, ca_crt="x"))
    found = environment(source, tmp_path / "w", track_git.PROTOCOLS)
    assert "/tmp/evil" not in found.values() and PASSWORD not in str(found)
    assert found["GIT_SSL_CAINFO"] == str(tmp_path / "s" / "ca.crt")
    assert stat.S_IMODE(Path(found["GIT_ASKPASS"]).stat().st_mode) == 0o700


def test_it_ends_when_told(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        stop = threading.Event()
        threading.Timer(0.3, stop.set).start()
        source = GitSource(f"http://127.0.0.1:{silent.getsockname()[1]}/x.git", "main")
        with pytest.raises(TrackError) as caught:
            fetch(source, tmp_path, stop)
    assert caught.value.reason is Reason.RACE_ABORTED
    assert shutil.which("git")
