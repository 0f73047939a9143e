"""The corpora store: made once, bounded, never evicted while in use; many processes, killed at any moment."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlap_race.corpora.claims import Claims
from fairlap_race.corpora.store import Partial, Store, StoreFullError
from fairlap_race.errors import StoppedError

STALE = 0.6


def opened(root: Path, bound: int | None = None, stop: threading.Event | None = None) -> Store:
    return Store(root, bound, stop or threading.Event(), "pod", STALE)


def of_size(size: int, filler: bytes = b"x"):
    def make(partial: Partial) -> None:
        partial.need(size)
        (partial.path / "documents.json").write_bytes(filler * size)
        partial.facts["lines"] = size

    return make


def never(_: Partial) -> None:
    raise AssertionError("made again")


def keys(root: Path) -> set[str]:
    return {path.name for path in (root / "entries").iterdir()}


def test_an_entry_is_made_once_and_found_by_the_next(tmp_path: Path) -> None:
    store = opened(tmp_path)
    made = store.use("a", of_size(10))
    store.close()
    again = opened(tmp_path)
    found = again.use("a", never)
    again.close()

    assert (made.made_here, found.made_here) == (True, False)
    assert found.facts == {"lines": 10}
    assert found.file("documents.json").sha256 == hashlib.sha256(b"x" * 10).hexdigest()
    assert not list((tmp_path / "claims").iterdir()) and not list((tmp_path / "partial").iterdir())


@pytest.mark.parametrize("damage", ["content", "size", "gone", "no-record"])
def test_a_damaged_entry_is_made_anew(tmp_path: Path, damage: str) -> None:
    store = opened(tmp_path)
    path = store.use("a", of_size(10)).path / "documents.json"
    store.close()
    if damage == "content":
        path.write_bytes(b"y" * 10)
        os.utime(path, ns=(1, 1))
    elif damage == "size":
        path.write_bytes(b"x" * 9)
    elif damage == "gone":
        path.unlink()
    else:
        (path.parent / "entry.json").write_text("{")

    again = opened(tmp_path)
    assert again.use("a", of_size(10)).made_here
    assert path.read_bytes() == b"x" * 10
    again.close()


def test_an_entry_not_read_for_long_is_read_against_its_checksum(tmp_path: Path) -> None:
    store = opened(tmp_path)
    entry = store.use("a", of_size(10))
    store.close()
    before = (entry.path / "documents.json").stat()
    (entry.path / "documents.json").write_bytes(b"y" * 10)
    os.utime(entry.path / "documents.json", ns=(before.st_atime_ns, before.st_mtime_ns))
    long_ago = time.time() - 8 * 24 * 3600
    again = opened(tmp_path)
    assert not again.use("a", never).made_here  # size and time are as they were, and it was read lately
    os.utime(entry.path / "hashed", (long_ago, long_ago))

    assert again.use("a", of_size(10)).made_here
    (entry.path / "hashed").unlink()
    (entry.path / "used").unlink()
    assert not again.use("a", never).made_here and (entry.path / "hashed").exists()
    again.close()


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    def fails(partial: Partial) -> None:
        partial.need(5)
        (partial.path / "documents.json").write_bytes(b"half")
        raise ValueError("no")

    store = opened(tmp_path, 10)
    with pytest.raises(ValueError, match="no"):
        store.use("a", fails)
    store.use("b", of_size(10))  # the room is free again
    store.close()
    assert keys(tmp_path) == {"b"}


def test_what_is_in_use_is_not_evicted(tmp_path: Path) -> None:
    first, second = opened(tmp_path, 10), opened(tmp_path, 10)
    first.use("a", of_size(6))
    with pytest.raises(StoreFullError, match="the bound is 10"):
        second.use("b", of_size(6))
    first.close()
    second.use("b", of_size(6))
    second.close()
    assert keys(tmp_path) == {"b"}


@pytest.mark.parametrize("asked", [50, 95], ids=["more than what is in use leaves", "more than the bound"])
def test_nothing_is_evicted_when_that_is_not_enough(tmp_path: Path, asked: int) -> None:
    filled, racing, wants = (opened(tmp_path, 90) for _ in range(3))
    racing.use("raced", of_size(45))
    for key in ("one", "two", "three"):
        filled.use(key, of_size(15))
    filled.close()
    with pytest.raises(StoreFullError, match="the bound is 90"):
        wants.use("large", of_size(asked))
    assert keys(tmp_path) == {"raced", "one", "two", "three"}
    wants.use("fits", of_size(30))
    assert keys(tmp_path) == {"raced", "three", "fits"}
    racing.close()
    wants.close()


def test_what_grows_beyond_the_bound_does_not_wait_for_room(tmp_path: Path) -> None:
    store = opened(tmp_path, 10)
    began = time.monotonic()
    with pytest.raises(StoreFullError):
        store.use("a", lambda partial: [partial.grow(total) for total in (6, 12)])
    assert time.monotonic() - began < STALE
    store.close()


def test_who_waits_for_another_says_for_what(tmp_path: Path) -> None:
    said: list[str] = []
    other = Claims(tmp_path / "claims", "other", threading.Event(), STALE)
    other.hold("build-corpus-3f2a")
    threading.Timer(0.2, other.close).start()
    store = Store(tmp_path, None, threading.Event(), "pod", STALE, said.append)
    entry = store.use("corpus-3f2a", of_size(10), "notes/documents.json.bz2")
    long_ago = time.time() - 8 * 24 * 3600
    os.utime(entry.path / "hashed", (long_ago, long_ago))
    store.use("corpus-3f2a", never, "notes/documents.json.bz2")
    store.close()
    assert set(said) == {
        "waiting for another race that fetches notes/documents.json.bz2",
        "reading notes/documents.json.bz2 against its checksum",
    }


def test_room_is_made_ahead_of_a_program_that_writes_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlap_race.corpora.store.STEP_BYTES", 40)
    store = opened(tmp_path, 100)
    store.use("old", of_size(90))
    store.close()
    store = opened(tmp_path, 100)

    def writes(partial: Partial) -> None:
        for size in (5, 30, 70, 95):
            (partial.path / "documents.json").write_bytes(b"x" * size)
            partial.follow()
            assert "old" not in keys(tmp_path)

    store.use("a", writes)
    with pytest.raises(StoreFullError):
        store.use("b", writes)
    assert keys(tmp_path) == {"a"}
    store.close()


def test_nothing_goes_for_a_step_that_a_slow_program_does_not_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlap_race.corpora.store.STEP_BYTES", 40)
    store = opened(tmp_path, 120)
    store.use("old", of_size(90))
    store.close()

    def writes(partial: Partial) -> None:
        for size in (5, 8, 10, 14):
            (partial.path / "documents.json").write_bytes(b"x" * size)
            partial.follow()

    store = opened(tmp_path, 120)
    store.use("a", writes)
    assert keys(tmp_path) == {"old", "a"}
    store.close()


def test_a_step_ahead_that_another_takes_first_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlap_race.corpora.store.STEP_BYTES", 40)
    store, other = opened(tmp_path, 100), opened(tmp_path, 100)
    gate = store._gate

    def late() -> AbstractContextManager[None]:
        if "other" not in keys(tmp_path):
            other.use("other", of_size(90))
        return gate()

    def writes(partial: Partial) -> None:
        (partial.path / "documents.json").write_bytes(b"x" * 8)
        monkeypatch.setattr(store, "_gate", late)
        began = time.monotonic()
        partial.follow()
        assert time.monotonic() - began < STALE

    store.use("a", writes)
    assert keys(tmp_path) == {"other", "a"}
    other.close()
    store.close()


class Disk:
    """Of a volume of so many bytes what os.statvfs tells."""

    f_frsize = 1

    def __init__(self, root: Path, size: int) -> None:
        self.f_blocks = size
        self.f_bavail = size - sum(path.stat().st_size for path in root.rglob("documents.json"))


@pytest.mark.parametrize("bound", [None, 100])
def test_what_is_written_is_not_demanded_of_the_volume_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: int | None
) -> None:
    monkeypatch.setattr("fairlap_race.corpora.store.os.statvfs", lambda root: Disk(tmp_path, 100))
    monkeypatch.setattr("fairlap_race.corpora.store.STEP_BYTES", 40)

    def writes(made: Partial) -> None:
        (made.path / "documents.json").write_bytes(b"x" * 70)
        made.follow()
        made.need(made.written())

    store = opened(tmp_path, bound)
    store.use("a", writes)
    with pytest.raises(StoreFullError, match=r"31 bytes more are needed, 70 are taken .* 30 are free"):
        store.use("b", of_size(31))
    store.close()
    assert keys(tmp_path) == {"a"}


def test_room_that_the_dead_hold_is_waited_for(tmp_path: Path) -> None:
    store = opened(tmp_path, 10)
    store.use("a", of_size(6))
    store.close()
    (tmp_path / "claims" / "use-a~dead").touch()
    later = opened(tmp_path, 10)
    began = time.monotonic()
    later.use("b", of_size(6))
    assert time.monotonic() - began > STALE * 0.5
    later.close()


def test_unknown_sizes_stay_within_the_bound(tmp_path: Path) -> None:
    def grows(partial: Partial) -> None:
        with (partial.path / "documents.json").open("wb") as out:
            for number in range(100):
                partial.grow((number + 1) * 10)
                out.write(b"0123456789")

    store = opened(tmp_path, 500)
    with pytest.raises(StoreFullError):
        store.use("a", grows)
    store.close()
    larger = opened(tmp_path, 2000)
    assert larger.use("a", grows).file("documents.json").bytes == 1000
    larger.close()


def test_a_full_volume_is_said(tmp_path: Path) -> None:
    def full(partial: Partial) -> None:
        raise OSError(28, "No space left on device")

    store = opened(tmp_path)
    with pytest.raises(StoreFullError, match="No space left on device"):
        store.use("a", full)
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    with pytest.raises(StoreFullError, match="free on the volume"):
        store.use("a", of_size_reserved(free * 2))
    store.close()


def of_size_reserved(size: int):
    return lambda partial: partial.need(size)


def test_who_waits_for_another_can_be_stopped(tmp_path: Path) -> None:
    stop = threading.Event()
    blocker = Claims(tmp_path / "claims", "other", threading.Event(), STALE)
    blocker.hold("build-a")
    store = opened(tmp_path, None, stop)
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(StoppedError):
        store.use("a", never)
    blocker.close()
    store.close()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(uses=st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans()), min_size=1, max_size=12), data=st.data())
def test_the_least_recently_used_goes(
    tmp_path_factory: pytest.TempPathFactory, uses: list[tuple[str, bool]], data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("store")
    sizes = {key: data.draw(st.integers(1, 40), label=key) for key in "abcdef"}
    bound = 60
    recency: list[str] = []  # the longest unused first
    kept: dict[str, Store] = {}
    for key, keep in uses:
        keeps = keep and sum(sizes[k] for k in {*kept, key}) <= bound - max(sizes.values())
        store = opened(root, bound)
        entry = store.use(key, of_size(sizes[key]))
        assert entry.made_here == (key not in recency)
        if keeps and key not in kept:
            kept[key] = store
        else:
            store.close()
        time.sleep(0.006)  # times of files are no finer than 4 ms
        if key not in recency:
            while sum(sizes[k] for k in recency) + sizes[key] > bound:
                recency.remove(next(k for k in recency if k not in kept))
        recency = [*(k for k in recency if k != key), key]
        assert keys(root) == set(recency)
    for store in kept.values():
        store.close()


WORKER = """
import json, os, random, sys, threading, time
from pathlib import Path
from fairlap_race.corpora.store import Store
from fairlap_race.errors import StoppedError
root, seed, stale = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
dice = random.Random(seed)
log = os.open(root / "made.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
bound = 5000
def make(key):
    def build(partial):
        os.write(log, f"{key}\\n".encode())
        partial.need(1000)
        with (partial.path / "documents.json").open("wb") as out:
            for _ in range(10):
                out.write(key.encode() * 100)
                out.flush()
                time.sleep(0.002)
    return build
for _ in range(int(sys.argv[4])):
    store = Store(root, bound, threading.Event(), f"w{seed}", stale)
    for key in dice.sample("abcdefgh", 1):
        entry = store.use(key, make(key))
        for _ in range(5):
            assert (entry.path / "documents.json").read_bytes() == key.encode() * 1000, key
            time.sleep(0.001)
        whole = sum(f.stat().st_size for f in root.glob("entries/*/documents.json"))
        assert whole <= bound, whole
    store.close()
print("good")
"""


def worker(root: Path, seed: int, rounds: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4] / "operator")}
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(root), str(seed), str(STALE), str(rounds)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_many_processes_make_each_entry_once_as_long_as_nobody_evicts(tmp_path: Path) -> None:
    script = WORKER.replace("bound = 5000", "bound = None").replace("assert whole <= bound, whole", "pass")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4] / "operator")}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path), str(seed), "30", "6"],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for seed in range(6)
    ]  # fmt: skip
    for each in workers:
        out, err = each.communicate(timeout=120)
        assert out.strip() == "good", err
    made = (tmp_path / "made.log").read_text().split()
    assert sorted(made) == sorted(set(made)) and len(made) == len(keys(tmp_path))


def test_processes_that_are_killed_leave_nothing_that_hurts(tmp_path: Path) -> None:
    dice = random.Random(7)
    survivors = [worker(tmp_path, seed, 12) for seed in range(2)]
    victims = [worker(tmp_path, 100 + seed, 1000) for seed in range(2)]
    for number in range(6):
        time.sleep(0.1 + dice.random() * 0.3)
        victim = victims.pop(0)
        victim.send_signal(signal.SIGKILL)
        victim.communicate(timeout=10)
        if number < 4:
            victims.append(worker(tmp_path, 200 + number, 1000))
    for victim in victims:
        victim.kill()
        victim.communicate(timeout=10)
    for each in survivors:
        out, err = each.communicate(timeout=120)
        assert out.strip() == "good", err
    time.sleep(STALE * 1.5)
    store = opened(tmp_path, 5000)
    store.use("last", of_size(4500))  # all that is left of the dead can be evicted
    store.close()
    assert not list((tmp_path / "partial").iterdir()) and not list((tmp_path / "trash").iterdir())
    assert keys(tmp_path) == {"last"}
    assert json.loads((tmp_path / "entries" / "last" / "entry.json").read_text())["format"] == 1


def test_a_claim_of_a_dead_process_ends(tmp_path: Path) -> None:
    dead = tmp_path / "use-a~gone"
    dead.write_text("")
    claims = Claims(tmp_path, "me", threading.Event(), STALE)
    assert not claims.alone("use-a")
    time.sleep(STALE * 1.2)
    assert claims.alone("use-a") and not dead.exists()
    claims.close()
    assert not list(tmp_path.iterdir())


def test_of_many_that_want_to_be_alone_one_is(tmp_path: Path) -> None:
    inside, worst = [0], [0]
    lock = threading.Lock()

    def contend(number: int) -> None:
        claims = Claims(tmp_path, f"o{number}", threading.Event(), 30)
        for _ in range(5):
            with claims.alone_with("gate"):
                with lock:
                    inside[0] += 1
                    worst[0] = max(worst[0], inside[0])
                time.sleep(0.001)
                with lock:
                    inside[0] -= 1
        claims.close()

    threads = [threading.Thread(target=contend, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert worst[0] == 1
