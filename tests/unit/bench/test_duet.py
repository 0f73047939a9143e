"""bench/duet as far as it goes without a cluster: who is searched when, and what the table says."""

import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import duet
import pytest
from parts import duet_client
from parts.variance_components import Quotient, Scatter, quotient, scatter


class Fake:
    """Two Elasticsearches; each search is noted by the letter of the one that answered."""

    def __init__(self) -> None:
        self.searched: list[str] = []
        self.documents = {"a": 0, "b": 0}
        self.bulks = 0
        self.answer = {"timed_out": False, "_shards": {"failed": 0}, "hits": {"total": {"value": 3}}}
        self.servers = [self._server(letter) for letter in "ab"]

    def _server(self, letter: str) -> ThreadingHTTPServer:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, answer = fake.answers(letter, self.command, self.path, body)
                content = json.dumps(answer, separators=(",", ":")).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 - the names of http.server

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def answers(self, letter: str, method: str, path: str, body: bytes) -> tuple[int, Any]:
        if "_search" in path:
            self.searched.append(letter)
            return 200, self.answer
        if path.endswith("/_bulk"):
            self.bulks += 1
            self.documents[letter] += body.count(b"\n") // 2
            return 200, {"errors": False}
        if path.endswith("/_count"):
            there = self.documents[letter]
            return (200, {"count": there}) if there else (404, {})
        return 200, {}

    def clusters(self) -> list[duet_client.Cluster]:
        return [duet_client.Cluster(f"127.0.0.1:{server.server_port}", "secret") for server in self.servers]


@pytest.fixture
def fake() -> Iterator[Fake]:
    made = Fake()
    yield made
    for server in made.servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("begins", ["a", "b"])
def test_a_duet_is_in_turn_and_races_are_one_after_the_other(fake: Fake, begins: str) -> None:
    found = duet_client.measure(*fake.clusters(), 0.2, f"duet,races,{begins}")
    other = "b" if begins == "a" else "a"
    duets, races = (found[way]["a"]["requests"] + found[way]["b"]["requests"] for way in ("duet", "races"))
    assert "".join(fake.searched[:duets]) == (begins + other) * (duets // 2) and duets >= 2
    first, second = found["races"][begins]["requests"], found["races"][other]["requests"]
    assert "".join(fake.searched[duets:]) == begins * first + other * second and first + second == races
    for way in found.values():
        for one in way.values():
            assert one["medianMillis"] > 0 and one["perSecond"] > 0


@pytest.mark.parametrize("change", [{"timed_out": True}, {"_shards": {"failed": 1}}])
def test_an_answer_that_is_not_whole_ends_it(fake: Fake, change: dict[str, Any]) -> None:
    fake.answer |= change
    with pytest.raises(SystemExit, match="search: 200"):
        fake.clusters()[0].search()


def test_clusters_are_filled_alike_and_once(fake: Fake) -> None:
    for _ in range(2):
        for cluster in fake.clusters():
            duet_client.fill(cluster, 2500)
    assert fake.documents == {"a": 2500, "b": 2500} and fake.bulks == 6


def test_the_client_prints_what_the_script_reads(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    hosts = [f"--host=127.0.0.1:{server.server_port}" for server in fake.servers]
    assert duet_client.main(["prepare", *hosts, "--documents=10", "--seconds=0.01"]) == 0
    assert duet_client.main(["measure", *hosts, "--seconds=0.01", "--order=races,duet,b"]) == 0
    prepared, measured = (json.loads(text) for text in capsys.readouterr().out.splitlines())
    assert prepared["hits"] == [3, 3] and "processors" in prepared["machine"]
    assert list(measured) == ["races", "duet"] and set(measured["duet"]) == {"a", "b"}


def test_of_four_rounds_each_way_and_each_cluster_begins_twice() -> None:
    orders = [duet.order(number) for number in range(1, 5)]
    assert sorted(orders) == ["duet,races,a", "duet,races,b", "races,duet,a", "races,duet,b"]


def test_scatter_is_about_the_mean_of_each_group() -> None:
    assert scatter([[1.0, 3.0], [11.0, 13.0]]) == Scatter(pytest.approx(2**0.5), 2)
    assert scatter([[1.0], [2.0], []]) is None and scatter([]) is None


def test_a_quotient_has_the_interval_of_f() -> None:
    found = quotient(Scatter(0.04, 11), Scatter(0.01, 11))
    assert found is not None and found.factor == pytest.approx(0.25)
    # F tables: 2.818 is the upper 5 % with 11 and 11 degrees of freedom.
    assert (found.low, found.high) == (pytest.approx(0.25 / 2.818**0.5, 1e-3), pytest.approx(0.25 * 2.818**0.5, 1e-3))
    assert quotient(Scatter(0.0, 3), Scatter(0.1, 3)) is None


@pytest.mark.parametrize(
    ("interval", "rounds", "said"),
    [
        ((0.3, 0.2, 0.5), 12, "yes"),
        ((0.8, 0.51, 1.2), 12, "no"),
        ((0.5, 0.3, 0.8), 12, "cannot tell"),
        ((0.1, 0.05, 0.2), 9, "not told: fewer than 10 rounds"),
    ],
)
def test_noise_halves_where_all_of_the_interval_says_so(
    interval: tuple[float, float, float], rounds: int, said: str
) -> None:
    assert duet.halves(Quotient(*interval), rounds) == said


def a_line(number: int, design: str, races: float, duets: float, uids: Sequence[str] = ("u", "v")) -> dict[str, Any]:
    """A round in which A took so many milliseconds, and B one."""
    ways = {"races": races, "duet": duets}
    sides = {
        way: {"a": {"requests": 100, "medianMillis": took, "perSecond": 1000 / took},
              "b": {"requests": 100, "medianMillis": 1.0, "perSecond": 1000.0}}
        for way, took in ways.items()
    }  # fmt: skip
    return {"design": design, "number": number, "clusters": list(uids), "machine": "2 processors, x", **sides}


def test_the_table_has_both_ways_beside_each_other() -> None:
    lines = [a_line(n, "d", 1.1 if n % 2 else 0.9, 1.01 if n % 2 else 0.99) for n in range(1, 13)]
    # Other clusters that truly differ are no noise.
    lines += [a_line(n, "d", 2.2 if n % 2 else 1.8, 2.02 if n % 2 else 1.98, ("w", "x")) for n in range(13, 25)]
    told = duet.table(lines).splitlines()
    assert told[0] == "24 rounds, about 100 searches of each cluster a round and way; machine: 2 processors, x"
    assert told[-2].startswith("| median service time | 10.4") and told[-2].endswith("| yes |")
    assert "| 1.04% | 0.10 (" in told[-2] and told[-1].startswith("| rate | ")
    assert duet.table([]) == "nothing was measured yet"


class Kubernetes:
    """Both clusters are there, and the client measures at once."""

    namespace = "ns"

    def __init__(self, machines: Sequence[str] = ("m", "m"), hits: Sequence[int] = (3, 3)) -> None:
        self.machines, self.hits = dict(zip(duet.CLUSTERS, machines, strict=True)), list(hits)
        self.asked: list[Sequence[str]] = []

    def __call__(self, *words: str) -> str:
        self.asked.append(words)
        if words[0] != "exec":
            return ""
        measured = {way: side for way, side in a_line(0, "", 1.1, 1.0).items() if way in duet.WAYS}
        return json.dumps({"hits": self.hits, "machine": "x"} if "prepare" in words else measured)

    def apply(self, *_: Any) -> None:
        pass

    def get(self, kind: str, *words: str) -> dict[str, Any]:
        if kind == "pods":
            return {"items": [{"spec": {"nodeName": self.machines[words[1].partition("=")[2]]}}]}
        return {"metadata": {"uid": f"uid-{words[0]}"}} if kind == duet.throwaway.ELASTICSEARCH else {}


def size(*words: str) -> duet.Size:
    return duet.Size(duet.arguments(words))


def test_a_stopped_run_goes_on_and_another_design_does_not_count(tmp_path: Path) -> None:
    results, kubernetes = tmp_path / "duet.jsonl", Kubernetes()
    few = duet.run(kubernetes, size("--rounds", "2"), "image", results)  # type: ignore[arg-type]
    assert [line["number"] for line in few] == [1, 2]
    more = duet.run(kubernetes, size("--rounds", "4"), "image", results)  # type: ignore[arg-type]
    assert [line["number"] for line in more] == [1, 2, 3, 4]
    measured = [words for words in kubernetes.asked if "measure" in words]
    assert [words[-1] for words in measured] == [f"--order={duet.order(number)}" for number in (1, 2, 3, 4)]
    assert duet.counted(more, size("--seconds", "5")) == [] and more[0]["clusters"] == ["uid-duet-a", "uid-duet-b"]


@pytest.mark.parametrize(
    ("kubernetes", "said"),
    [(Kubernetes(("m", "n")), "must be on one machine"), (Kubernetes(hits=(3, 4)), "not filled alike")],
)
def test_clusters_that_share_nothing_or_differ_are_not_measured(
    kubernetes: Kubernetes, said: str, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit, match=said):
        duet.run(kubernetes, size(), "image", tmp_path / "duet.jsonl")  # type: ignore[arg-type]
    assert not (tmp_path / "duet.jsonl").exists()


def test_the_manifests_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert duet.main(["--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("# 12 rounds of 40 s\n") and "name: duet-client" in printed and "name: duet-b" in printed
