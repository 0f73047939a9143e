"""Fetches one commit of a git repository, with git itself: an argument list, a bare environment, no hooks.

What is known of the user's git (configuration, credential helpers, SSH settings) plays no part. Credentials come from
files alone: git and ssh read them, or ask a small program that prints them; no secret is in an argument, in the
environment or in a message.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from fairlap_race.contract.address_secrets import git_holds_credentials, may_hold_credentials
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.specification.race_spec import GitSource
from fairlap_race.errors import TrackError
from fairlap_race.track.child import kill_session

PROTOCOLS = "http:https:ssh:git"
"""Transports that git may use, redirections included; ext:: would run any program, file:// reads the container."""
FETCH_SECONDS = 900.0
PAUSES = (2.0, 5.0, 10.0)
"""Seconds before each further attempt when the server could not be reached."""
MORE_PAUSES = (20.0, 40.0, 60.0, 60.0, 60.0)
"""The same after those where the commit was fetched before: much has been done by then, and a server comes back."""
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./@+-]{0,199}")
_URL = re.compile(r"(https?|ssh|git)://[^\s\\\0]+")
_NAME_BYTES = 255
"""Of a directory, on any of Linux's file systems."""
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_NO_SUCH_REF = re.compile(
    r"couldn't find remote ref|not our ref|no such remote ref|Server does not allow request", re.I
)
_NO_SHALLOW = re.compile(r"dumb http transport does not support shallow", re.I)
_UNREACHED = re.compile(
    r"could not resolve host|name resolution|unable to look up|connection refused|failed to connect|couldn't connect|"
    r"timed out|unable to connect|connection (reset|closed)|early EOF|hung up|operation too slow|empty reply|"
    r"returned error: (408|429|5\d\d)",
    re.I,
)
_OWN_WORDS = re.compile(
    r"fatal: (write error|unable to (access|connect|look up)|authentication failed for|repository '[^']*' not found|"
    r"could not read (username|password|from remote)|couldn't find remote ref|no such remote ref|"
    r"dumb http transport|the remote end hung up|early EOF|index-pack failed|transport '\w+' not allowed|"
    r"\S+info/refs not valid: is this a git repository)|"
    r"error: (server does not allow request|rpc failed; (http \d+ )?curl)|\S+\[\d+: \S+\]: errno=|"
    r"ssh: (connect to host|could not resolve)|host key verification failed|no \S+ host key is known|"
    r"\S+: permission denied \(",
    re.I,
)
"""What git and ssh say themselves when they fetch; other lines may quote the server, which can be any host."""
_OPTIONS = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "credential.helper="),
    *("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60", "-c", "advice.detachedHead=false"),
    *("-c", "submodule.recurse=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false"),
)
SECRET_PATIENCE = 100.0
"""Seconds: a Secret that is made after its Benchmark reaches the pod when the kubelet looks again, in 60 to 90."""
_FETCH = ("fetch", "--quiet", "--no-recurse-submodules", "--no-auto-maintenance")


@dataclass(frozen=True)
class Checkout:
    """A commit in a directory."""

    root: Path
    track: Path
    """directory of the track.json"""
    commit: str


def check_source(source: GitSource) -> None:
    """Raise TrackError for an address, revision or path that must not reach git."""
    if git_holds_credentials(source.url):
        text = "the repository's address holds credentials: give them in a secret, as git.credentialsSecret"
        raise TrackError(Reason.TRACK_FETCH_FAILED, text)
    parts = _split(source.url)
    if parts is None or not parts.hostname or parts.hostname.startswith("-"):
        named = "what is given" if may_hold_credentials(source.url) else f"the repository {source.url!r}"
        text = f"{named} is not an address of the form https://, http://, ssh:// or git://"
        raise TrackError(Reason.TRACK_FETCH_FAILED, text)
    if (parts.username or "").startswith("-"):
        raise TrackError(Reason.TRACK_FETCH_FAILED, f"the repository {source.url!r} is not an address")
    if not _REVISION.fullmatch(source.revision) or ".." in source.revision:
        text = f"the revision {source.revision!r} is not the name of a commit, branch or tag"
        raise TrackError(Reason.TRACK_NOT_FOUND, text)
    path = Path(source.path)
    if path.is_absolute() or ".." in path.parts or ".git" in path.parts:
        raise TrackError(Reason.TRACK_NOT_FOUND, f"the path {source.path!r} is not inside of the repository")


def _split(url: str) -> SplitResult | None:
    # ValueError: of a host or a port that is none.
    with suppress(ValueError):
        parts = urlsplit(url)
        _ = parts.port
        return parts if _URL.fullmatch(url) else None
    return None


def fetch(
    source: GitSource, work: Path, stop: threading.Event, protocols: str = PROTOCOLS, *, first: bool = False
) -> Checkout:
    """Fetch the commit that `source` names into a new directory below `work`, as `fetch_commit`. Raises TrackError."""
    root, commit = fetch_commit(source, work, stop, protocols, first=first)
    return Checkout(root, track_in(root, source, commit), commit)


def fetch_commit(
    source: GitSource, work: Path, stop: threading.Event, protocols: str = PROTOCOLS, *, first: bool = False
) -> tuple[Path, str]:
    """Fetch the commit that `source` names into a new directory below `work`; return both. Raises TrackError.

    `first`: nobody has fetched it for these races yet, so a server that cannot be reached may be no server.
    """
    check_source(source)
    _await_secret(source, stop)
    root = work / "repository" / _folder(source.url)
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    known = not first and _COMMIT.fullmatch(source.revision)
    pauses = (*PAUSES, *MORE_PAUSES) if known else PAUSES
    git = _Git(root, environment(source, work, protocols), stop, pauses)
    git.run("init", "--quiet", "--template=", "--initial-branch=none", str(root))
    commit = _fetched(git, source)
    git.must("checkout", "--quiet", "--force", "--detach", commit, "--")
    return root, commit


def _folder(url: str) -> str:
    # Rally takes the name of a track from its directory, which is this one when the path is empty.
    name = Path(urlsplit(url).path).name.removesuffix(".git")
    return "track" if name in ("", ".", "..") or len(os.fsencode(name)) > _NAME_BYTES else name


def track_in(root: Path, source: GitSource, commit: str) -> Path:
    """Return the directory of the track in the checkout `root`.

    Raises TrackError when there is none, or a link in it leads out of the checkout.
    """
    track = root / source.path
    where = f"{source.url} at {commit[:12]}"
    if (track / "track.json").is_file():
        words = f"in {where} is a link that leads out of the repository"
        if not is_inside(root, track):
            raise TrackError(Reason.TRACK_NOT_FOUND, f"{source.path} {words}")
        if link := _leading_out(root, track):
            raise TrackError(Reason.TRACK_INVALID, f"{link.relative_to(root).as_posix()!r} {words}")
        return track
    known = sorted(path.parent.relative_to(root).as_posix() for path in root.rglob("track.json"))
    close = difflib.get_close_matches(source.path, known, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]}?" if close else ""
    listed = ", ".join(known[:60]) or "none"
    place = f"the directory {source.path}" if source.path else "its top directory"
    text = f"{place} of {where} has no track.json{hint} The repository's tracks are: {listed}"
    raise TrackError(Reason.TRACK_NOT_FOUND, text)


def _leading_out(root: Path, track: Path) -> Path | None:
    for folder, directories, files in os.walk(track):
        for name in (*directories, *files):
            path = Path(folder, name)
            if path.is_symlink() and not is_inside(root, path):
                return path
    return None


def is_inside(root: Path, path: Path) -> bool:
    """Tell whether a path, wherever links in it lead, is below `root`."""
    # Unlike Path.resolve it takes a link to itself.
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def environment(source: GitSource, work: Path, protocols: str) -> dict[str, str]:
    """Return the environment for git: nothing of this process's own but the search path and the proxies."""
    home = work / "git-home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    kept = ("PATH", "http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")
    found = {name: os.environ[name] for name in kept if name in os.environ} | {
        "HOME": str(home),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "GIT_ALLOW_PROTOCOL": protocols,
        "GIT_CEILING_DIRECTORIES": str(work),
        "GIT_SSH_COMMAND": "ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=yes",
        "GIT_SSH_VARIANT": "ssh",
    }
    return found | (_credentials(source, source.credentials, home) if source.credentials else {})


def _credentials(source: GitSource, secret: Path, home: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    if (secret / "ca.crt").is_file():
        found["GIT_SSL_CAINFO"] = str(secret / "ca.crt")
    if source.url.startswith("ssh://"):
        for name in ("ssh-privatekey", "known_hosts"):
            if not (secret / name).is_file():
                raise _secret_missing(source, f"no key {name}, which an ssh:// address needs")
        options = [
            *("-i", secret / "ssh-privatekey", "-o", "IdentitiesOnly=yes"),
            *("-o", f"UserKnownHostsFile={secret / 'known_hosts'}", "-o", "GlobalKnownHostsFile=/dev/null"),
        ]
        ssh = "ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=yes"
        return found | {"GIT_SSH_COMMAND": " ".join([ssh, *(str(option) for option in options)])}
    if (secret / "password").is_file():
        ask = home / "askpass"
        ask.write_text(
            '#!/bin/sh\ncase "$1" in\n'
            f"Username*) cat '{secret}/username' 2>/dev/null || echo token;;\n*) cat '{secret}/password';;\nesac\n",
            encoding="utf-8",
        )
        ask.chmod(0o700)
        found["GIT_ASKPASS"] = str(ask)
    elif "GIT_SSL_CAINFO" not in found:
        raise _secret_missing(source, "neither password (a token will do) nor ca.crt")
    return found


def _await_secret(source: GitSource, stop: threading.Event) -> None:
    """Wait while nothing of the Secret is mounted, `SECRET_PATIENCE` at most. Raises TrackError when told to stop."""
    limit = time.monotonic() + SECRET_PATIENCE
    while source.credentials and not any(source.credentials.glob("[!.]*")) and time.monotonic() < limit:
        if stop.wait(1):
            raise _told_to_stop()


def _secret_missing(source: GitSource, keys: str) -> TrackError:
    """Return the error for a Secret of which nothing is mounted, or not enough; `keys`: what it has then."""
    named = source.credentials_secret or "for the repository"
    text = f"there is no Secret {named} in the Benchmark's namespace, or it has {keys}"
    return TrackError(Reason.SECRET_MISSING, text)


def _fetched(git: _Git, source: GitSource) -> str:
    """Fetch the commit alone where the server lets us, else every branch and tag; returns the commit."""
    done = git.patiently(*_FETCH, "--no-tags", "--depth=1", "--", source.url, source.revision)
    if done.code == 0:
        return git.must("rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}").strip()
    if not (_NO_SUCH_REF.search(done.words) or _NO_SHALLOW.search(done.words)):
        raise TrackError(
            Reason.TRACK_FETCH_FAILED, f"{source.url}: git could not fetch {source.revision}: {own_words(done.words)}"
        )
    first = own_words(done.words)
    everything = ("+refs/heads/*:refs/remotes/source/*", "+refs/tags/*:refs/tags/*")
    done = git.patiently(*_FETCH, "--no-tags", "--", source.url, *everything)
    if done.code:
        raise TrackError(Reason.TRACK_FETCH_FAILED, f"{source.url}: git could not fetch: {own_words(done.words)}")
    names = (f"refs/tags/{source.revision}", f"refs/remotes/source/{source.revision}", source.revision)
    for name in names if not _COMMIT.fullmatch(source.revision) else (source.revision,):
        found = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if found.code == 0:
            return found.output.strip()
    text = f"{source.url} has no commit, branch or tag {source.revision}: {first}"
    raise TrackError(Reason.TRACK_NOT_FOUND, text)


@dataclass(frozen=True)
class _Done:
    code: int
    output: str
    words: str
    """what it printed, which may quote the server"""


class _Git:
    """Git in one repository."""

    def __init__(self, root: Path, env: Mapping[str, str], stop: threading.Event, pauses: Sequence[float]) -> None:
        self._root = root
        self._pauses = pauses
        self._stop = stop
        redirects = "false" if env["GIT_ASKPASS"] != "true" else "initial"
        # A redirection must not lead the credentials to another server.
        self._options = (*_OPTIONS, "-c", f"http.followRedirects={redirects}")
        self._env = dict(env)
        self._limit = time.monotonic() + FETCH_SECONDS

    def must(self, *arguments: str) -> str:
        done = self.run(*arguments)
        if done.code:
            raise TrackError(Reason.TRACK_FETCH_FAILED, f"git {arguments[0]}: {_joined(done.words)}")
        return done.output

    def patiently(self, *arguments: str) -> _Done:
        for pause in self._pauses:
            done = self.run(*arguments)
            if done.code == 0 or not _UNREACHED.search(done.words):
                return done
            if self._stop.wait(pause):
                raise _told_to_stop()
        return self.run(*arguments)

    def run(self, *arguments: str) -> _Done:
        argv = ["git", *self._options, "-C", str(self._root), *arguments]
        try:
            process = subprocess.Popen(
                argv,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise TrackError(Reason.TRACK_FETCH_FAILED, "there is no git in the image of the race") from error
        try:
            output, words = self._watch(process, arguments)
        finally:
            kill_session(process.pid)
            process.wait(10)
        return _Done(process.returncode, output, words)

    def _watch(self, process: subprocess.Popen[bytes], arguments: Sequence[str]) -> tuple[str, str]:
        while True:
            try:
                output, words = process.communicate(timeout=0.2)
            except subprocess.TimeoutExpired:
                if self._stop.is_set():
                    raise _told_to_stop() from None
                if time.monotonic() > self._limit:
                    text = f"git {arguments[0]} was not done after {FETCH_SECONDS:.0f} s"
                    raise TrackError(Reason.TRACK_FETCH_FAILED, text) from None
            else:
                return output.decode("utf-8", "replace"), words.decode("utf-8", "replace")


def _told_to_stop() -> TrackError:
    return TrackError(Reason.RACE_ABORTED, "the runner was told to stop while git fetched")


def own_words(words: str) -> str:
    """Return those lines of what a fetch printed that are git's own, without what the server said."""
    own = "\n".join(line for line in words.splitlines() if _OWN_WORDS.match(line.strip()))
    return _joined(own or "what answers there is no git server, or it refused; its words are not shown")


def _joined(words: str) -> str:
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return "; ".join(lines)[-600:] or "git said nothing"
