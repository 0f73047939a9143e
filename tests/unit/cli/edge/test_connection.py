"""Requests to Kubernetes, against an HTTP server that answers as an API server does."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

import pytest

from fairlap.cli.edge.connection import Connection
from fairlap.cli.edge.exits import CliError, RefusedError, UnknownNameError
from fairlap.cli.main import main

BENCHMARKS = "/apis/fairlap.dev/v1alpha1/namespaces/n/benchmarks"
COMPARISONS = "/apis/fairlap.dev/v1alpha1/namespaces/n/comparisons"
GROUPS = ("fairlap.dev/v1alpha1", "apps/v1", "batch/v1")
Answer = tuple[int, Any]


class ApiServer(BaseHTTPRequestHandler):
    """Answers from a table of (method, path); notes what was asked for."""

    protocol_version = "HTTP/1.1"
    answers: ClassVar[dict[tuple[str, str], Callable[[dict[str, str], Any], Answer]]]
    asked: ClassVar[list[str]]

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def _answer(self) -> None:
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.asked.append(f"{self.command} {self.path}")
        query["type"] = self.headers.get("Content-Type", "")
        found = self.answers.get((self.command, url.path))
        code, answer = found(query, json.loads(body) if body else None) if found else (404, "404 page not found\n")
        if isinstance(answer, list):
            self._stream(answer)
            return
        data = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, parts: list[bytes]) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in [*parts, b""]:
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Fake:
    """The server, and the connection to it."""

    def __init__(self, folder: Path) -> None:
        self.handler = type("Handler", (ApiServer,), {"answers": {}, "asked": []})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.folder = folder

    def on(self, method: str, path: str, answer: Any, code: int = 200) -> None:
        given = answer if callable(answer) else lambda query, body: (code, answer)
        self.handler.answers[method, path] = given

    def discovery(self, **resources: list[dict[str, Any]]) -> None:
        groups: dict[str, list[dict[str, str]]] = {}
        for each in GROUPS:
            group, version = each.split("/")
            groups[group] = [{"groupVersion": each, "version": version}]
        listed = [{"name": name, "versions": found, "preferredVersion": found[0]} for name, found in groups.items()]
        self.on("GET", "/version", {"kind": "Version", "major": "1", "minor": "34"})
        self.on("GET", "/apis", {"kind": "APIGroupList", "groups": listed})
        for path, found in resources.items():
            self.on("GET", path.replace("__", "/"), {"kind": "APIResourceList", "resources": found})

    @property
    def asked(self) -> list[str]:
        return self.handler.asked

    def connect(self, context: str | None = None, namespace: str | None = None) -> Connection:
        host, port = self.server.server_address[:2]
        kubeconfig = {
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "n"}}],
            "clusters": [{"name": "c", "cluster": {"server": f"http://{host!s}:{port}"}}],
            "users": [{"name": "u", "user": {"token": "s3cret"}}],
        }  # fmt: skip
        (self.folder / "kubeconfig").write_text(json.dumps(kubeconfig))
        return Connection.open(context, namespace)


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    monkeypatch.setattr("fairlap.cli.edge.connection._BACKOFF_SECONDS", 0.01)
    fake = Fake(tmp_path)
    yield fake
    fake.server.shutdown()
    fake.server.server_close()


def refusal(code: int, message: str) -> dict[str, Any]:
    return {"kind": "Status", "status": "Failure", "code": code, "message": message, "reason": "Invalid"}


def bm(name: str, version: str = "1", **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "resourceVersion": version}
    return {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Benchmark", "metadata": meta, "spec": spec}


def test_a_known_kind_is_one_request(api: Fake) -> None:
    api.on("GET", f"{BENCHMARKS}/es", bm("es"))
    assert api.connect().benchmark("es") == bm("es")
    assert api.asked == [f"GET {BENCHMARKS}/es"]


def test_a_command_for_the_user_names_the_cluster(api: Fake) -> None:
    assert api.connect().command("results", ["a", "b"]) == "fairlap results a b -n n"
    assert api.connect(context="c", namespace="o").command("logs", ["a"]) == "fairlap logs a -n o --context c"


def test_a_name_cannot_leave_its_place(api: Fake) -> None:
    with pytest.raises(CliError):
        api.connect().benchmark("../../secrets/x?y")
    assert api.asked[0] == f"GET {BENCHMARKS}/..%2F..%2Fsecrets%2Fx%3Fy"


def test_unknown_names_tell_which_there_are(api: Fake) -> None:
    api.on("GET", f"{BENCHMARKS}/no", refusal(404, 'benchmarks.fairlap.dev "no" not found'), 404)
    api.on("GET", BENCHMARKS, {"kind": "BenchmarkList", "items": [bm("b"), bm("a")], "metadata": {}})
    with pytest.raises(CliError, match="there is no Benchmark no in the namespace n; there are a, b"):
        api.connect().benchmark("no")


def test_a_comparison_is_known_too(api: Fake) -> None:
    api.on("GET", f"{COMPARISONS}/up", bm("up"))
    api.on("GET", COMPARISONS, {"kind": "ComparisonList", "items": [bm("up")], "metadata": {}})
    assert api.connect().comparison("up") == bm("up")
    assert api.connect().comparisons() == [bm("up")]


def test_a_name_of_the_other_kind_is_said_to_be_one(api: Fake) -> None:
    api.on("GET", f"{BENCHMARKS}/up", refusal(404, 'benchmarks.fairlap.dev "up" not found'), 404)
    api.on("GET", BENCHMARKS, {"kind": "BenchmarkList", "items": [bm("up-1a")], "metadata": {}})
    api.on("GET", COMPARISONS, {"kind": "ComparisonList", "items": [bm("up")], "metadata": {}})
    with pytest.raises(CliError, match=r"there are up-1a; up is a Comparison: fairlap report up -n n$"):
        api.connect().benchmark("up")
    api.on("GET", f"{COMPARISONS}/up-1a", refusal(404, 'comparisons.fairlap.dev "up-1a" not found'), 404)
    with pytest.raises(CliError, match=r"there are up; up-1a is a Benchmark: fairlap results up-1a -n n$"):
        api.connect().comparison("up-1a")


def test_a_cluster_without_comparisons_says_so(api: Fake) -> None:
    with pytest.raises(CliError, match="the cluster knows no Comparisons: install the operator first"):
        api.connect().comparison("up")


def test_a_name_is_unknown_only_where_a_list_lacks_it(api: Fake) -> None:
    """It may have been created in between, and a list that is refused tells nothing."""
    said = 'comparisons.fairlap.dev "up" not found'
    api.on("GET", f"{COMPARISONS}/up", refusal(404, said), 404)
    api.on("GET", COMPARISONS, {"kind": "ComparisonList", "items": [bm("up")], "metadata": {}})
    with pytest.raises(RefusedError, match=said):
        api.connect().comparison("up")
    api.on("GET", COMPARISONS, "<html>Not Found</html>", 404)
    with pytest.raises(RefusedError, match="status 404"):
        api.connect().comparison("up")


@pytest.mark.parametrize(
    "answer", ["404 page not found", refusal(404, "the server could not find the requested resource")]
)
def test_gate_has_patience_with_a_cluster_that_knows_no_comparisons_yet(api: Fake, answer: Any) -> None:
    found = {**bm("up"), "status": {"phase": "Complete", "conditions": [
        {"type": "GatePassed", "status": "True", "reason": "AllGatesPassed"}]}}  # fmt: skip
    answers = [(404, answer)] * 3

    def listed(query: dict[str, str], _: Any) -> Answer:
        return 200, [] if "watch" in query else {"items": [found], "metadata": {"resourceVersion": "7"}}

    api.on("GET", f"{COMPARISONS}/up", lambda query, _: answers.pop() if answers else (200, found))
    api.on("GET", COMPARISONS, lambda query, _: answers.pop() if answers else listed(query, _))
    api.connect()
    assert main(["gate", "up", "--wait"]) == 0
    assert main(["gate", "up"]) == 0


def test_what_was_known_and_is_not_there_is_told_as_deleted(api: Fake) -> None:
    listed = {"kind": "L", "items": [bm("b")], "metadata": {"resourceVersion": "7"}}
    api.on("GET", BENCHMARKS, lambda query, _: (200, [] if "watch" in query else listed))
    stop = threading.Event()
    with closing(api.connect().changes(stop, ("Benchmark",), [bm("a"), bm("b")])) as changes:  # type: ignore[type-var]
        gone = next(change for change in changes if change and change.get("deleted"))
    stop.set()
    assert gone["metadata"]["name"] == "a"


def test_two_kinds_are_watched_at_once(api: Fake) -> None:
    for path, name in ((BENCHMARKS, "one"), (COMPARISONS, "two")):
        listed = {"kind": "L", "items": [bm(name)], "metadata": {"resourceVersion": "7"}}
        api.on("GET", path, lambda query, _, listed=listed: (200, [] if "watch" in query else listed))
    stop, seen = threading.Event(), set()
    with closing(api.connect().changes(stop, ("Benchmark", "Comparison"))) as changes:  # type: ignore[type-var]
        for change in changes:
            if change is not None:
                seen.add((change["kind"], change["metadata"]["name"]))
            if len(seen) == 2:
                break
    stop.set()
    assert seen == {("Benchmark", "one"), ("Comparison", "two")}


def test_without_the_operator_that_is_said(api: Fake) -> None:
    with pytest.raises(CliError, match="the cluster knows no Benchmarks: install the operator first"):
        api.connect().benchmark("es")  # the path is unknown: the answer is plain text
    api.discovery()
    with pytest.raises(CliError, match=r"knows no Benchmark of fairlap.dev/v1alpha1: install the operator"):
        api.connect().apply(bm("es"))


@pytest.mark.parametrize(
    ("code", "answer", "says"),
    [
        (403, refusal(403, 'benchmarks is forbidden: User "u" cannot get'), "benchmarks is forbidden"),
        (500, "<html>\n<h1>Bad</h1>", "the API server answered with status 500"),
        (401, "Unauthorized\nmore", "the API server answered with status 401: Unauthorized"),
        (503, {"no": "message"}, "the API server answered with status 503"),
    ],
)
def test_a_refusal_is_one_sentence(api: Fake, code: int, answer: Any, says: str) -> None:
    api.on("GET", f"{BENCHMARKS}/es", answer, code)
    with pytest.raises(RefusedError) as error:
        api.connect().benchmark("es")
    assert error.value.status == code
    assert str(error.value).startswith(says)
    assert len(str(error.value).splitlines()) == 1 and "s3cret" not in str(error.value)


@pytest.mark.parametrize("answer", ["<html>hello</html>", '"text"'])
def test_what_is_no_api_server_is_told(api: Fake, answer: str) -> None:
    api.on("GET", f"{BENCHMARKS}/es", answer)
    with pytest.raises(CliError, match=r"is no Kubernetes API|does not answer"):
        api.connect().benchmark("es")


BENCHMARK_KIND = {"name": "benchmarks", "kind": "Benchmark", "namespaced": True, "verbs": []}
MAP_KIND = {"name": "configmaps", "kind": "ConfigMap", "namespaced": True, "verbs": []}
STRICT = {"fieldValidation": "Strict"}
SPACE_KIND = {"name": "namespaces", "kind": "Namespace", "namespaced": False, "verbs": []}


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (None, bm("es"), "created"),
        (bm("es", "1"), bm("es", "1"), "unchanged"),
        (bm("es", "1"), bm("es", "2"), "unchanged"),
        (bm("es", "1"), bm("es", "2", heap="1g"), "changed"),
    ],
)
def test_apply_is_the_servers_and_says_what_it_did(
    api: Fake, before: dict[str, Any] | None, after: dict[str, Any], what: str
) -> None:
    seen: list[dict[str, str]] = []

    def patched(query: dict[str, str], body: Any) -> Answer:
        seen.append(query)
        assert body == bm("es")
        return 200, after

    api.discovery(**{"/apis/fairlap.dev/v1alpha1": [BENCHMARK_KIND]})
    if before:
        api.on("GET", f"{BENCHMARKS}/es", before)
    api.on("PATCH", f"{BENCHMARKS}/es", patched)
    connection = api.connect()
    assert connection.apply(bm("es"), dry_run=True) == (after, what)
    assert connection.apply(bm("es")) == (after, what)
    assert seen == [
        {**STRICT, "fieldManager": "fairlap", "dryRun": "All", "type": "application/apply-patch+yaml"},
        {**STRICT, "fieldManager": "fairlap", "type": "application/apply-patch+yaml"},
    ]


def test_discovery_asks_for_what_it_needs_and_once(api: Fake) -> None:
    api.discovery(**{"/apis/fairlap.dev/v1alpha1": [BENCHMARK_KIND], "/api/v1": [MAP_KIND, SPACE_KIND]})
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "other"}}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "s"}}
    for path, each in (
        (f"{BENCHMARKS}/es", bm("es")),
        ("/api/v1/namespaces/other/configmaps/m", config_map),
        ("/api/v1/namespaces/s", space),
    ):
        api.on("PATCH", path, each)
    connection = api.connect()
    for _ in range(2):
        for each in (config_map, space, bm("es")):
            assert connection.apply(each)[1] == "created"
    questions = [each for each in api.asked if "fieldManager" not in each and "/namespaces/" not in each]
    assert questions == ["GET /version", "GET /apis", "GET /api/v1", "GET /apis/fairlap.dev/v1alpha1"]


@pytest.mark.parametrize("version", ["other.dev/v1", "apps/v1/x", "v9"])
def test_an_unknown_kind_is_one_sentence(api: Fake, version: str) -> None:
    api.discovery(**{"/api/v1": [MAP_KIND]})
    with pytest.raises(CliError, match=f"^the cluster knows no Thing of {version}$"):
        api.connect().apply({"apiVersion": version, "kind": "Thing", "metadata": {"name": "y"}})


def test_a_generated_name_is_created(api: Fake) -> None:
    api.discovery(**{"/apis/fairlap.dev/v1alpha1": [BENCHMARK_KIND]})
    seen: list[dict[str, str]] = []
    api.on("POST", BENCHMARKS, lambda query, _: (seen.append(query), (201, bm("es-x")))[1])
    manifest = {**bm("x"), "metadata": {"generateName": "es-"}}
    assert api.connect().apply(manifest, dry_run=True) == api.connect().apply(manifest) == (bm("es-x"), "created")
    # A misspelt field would be dropped with a warning that nobody reads.
    wanted = {**STRICT, "fieldManager": "fairlap", "type": "application/json"}
    assert seen == [{**wanted, "dryRun": "All"}, wanted]


def test_an_annotation_is_merged(api: Fake) -> None:
    seen: list[Any] = []
    api.on("PATCH", f"{BENCHMARKS}/es", lambda query, body: (seen.append((query["type"], body)), (200, bm("es")))[1])
    assert api.connect().annotate("es", "k", "v") == bm("es")
    assert seen == [("application/merge-patch+json", {"metadata": {"annotations": {"k": "v"}}})]


def test_config_maps_pods_and_logs(api: Fake) -> None:
    pods = [{"metadata": {"name": name, "creationTimestamp": time}} for name, time in (("new", "2"), ("old", "1"))]
    seen: list[dict[str, str]] = []
    api.on("GET", "/api/v1/namespaces/n/configmaps/m", {"data": {}})
    api.on(
        "GET",
        "/api/v1/namespaces/n/pods",
        lambda query, _: (seen.append(query), (200, {"kind": "L", "items": pods}))[1],
    )
    api.on("GET", "/api/v1/namespaces/n/pods/old/log", [b"one\ntw", b"o\n", "drei ä".encode()])
    connection = api.connect()
    assert connection.config_map("m") == {"data": {}}
    assert connection.config_map("none") is None
    assert [each["metadata"]["name"] for each in connection.pods({"a": "b", "c": "d"})] == ["old", "new"]
    assert seen[0]["labelSelector"] == "a=b,c=d"
    assert list(connection.pod_log("old", "rally", follow=True)) == ["one", "two", "drei ä"]
    assert api.asked[-1] == "GET /api/v1/namespaces/n/pods/old/log?container=rally&follow=true"
    with pytest.raises(RefusedError) as error:
        list(connection.pod_log("none", "rally", follow=False))
    assert error.value.status == 404


def event(kind: str, found: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": found}).encode() + b"\n"


def test_a_watch_that_ends_is_begun_anew(api: Fake) -> None:
    """It ends by an error of the API server's, by a broken line, and by itself; each time the list is read again."""
    watches = [
        [event("MODIFIED", bm("a", "2"))[:30], event("MODIFIED", bm("a", "2"))[30:], event("BOOKMARK", bm("x"))],
        [event("ERROR", refusal(410, "too old resource version"))],
        [b"no json\n"],
        [event("DELETED", bm("a", "4"))],
    ]
    versions: list[str] = []

    def listed(query: dict[str, str], _: Any) -> Answer:
        if "watch" not in query:
            return 200, {"kind": "L", "items": [bm("a", "1")], "metadata": {"resourceVersion": "7"}}
        versions.append(f"{query['watch']} {query['resourceVersion']} {query['allowWatchBookmarks']}")
        return 200, watches.pop(0) if watches else []

    api.on("GET", BENCHMARKS, listed)
    stop, seen = threading.Event(), []
    with closing(api.connect().changes(stop)) as changes:  # type: ignore[type-var]
        for change in changes:
            if change is not None:
                seen.append((change["metadata"]["resourceVersion"], change.get("deleted", False)))
                if change.get("deleted"):
                    break
    stop.set()
    assert seen == [("1", False), ("2", False), ("1", False), ("1", False), ("1", False), ("4", True)]
    assert versions == ["true 7 true"] * 4


def test_what_is_deleted_while_nobody_watches_is_told(api: Fake) -> None:
    lists = [[bm("a", "1"), bm("b", "1")], [bm("b", "1")]]

    def listed(query: dict[str, str], _: Any) -> Answer:
        if "watch" in query:
            return 200, [event("ERROR", refusal(410, "too old resource version"))]
        return 200, {"kind": "L", "items": lists.pop(0) if lists else [], "metadata": {"resourceVersion": "7"}}

    api.on("GET", BENCHMARKS, listed)
    stop = threading.Event()
    with closing(api.connect().changes(stop)) as changes:  # type: ignore[type-var]
        gone = next(change for change in changes if change and change.get("deleted"))
    stop.set()
    assert gone["metadata"]["name"] == "a"


def test_an_empty_variable_is_none(api: Fake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As for kubectl: KUBECONFIG= is not the name of a file."""
    api.connect()
    monkeypatch.setenv("KUBECONFIG", "")
    monkeypatch.setattr(
        "fairlap.cli.edge.transport.config.load_kube_config", lambda file, **_: tmp_path.joinpath(str(file))
    )
    monkeypatch.setattr(
        "fairlap.cli.edge.transport.config.list_kube_config_contexts", lambda file: ([], {"context": {}})
    )
    assert Connection.open(None, None).namespace == "default"


def test_a_watch_that_is_refused_ends(api: Fake) -> None:
    api.on("GET", BENCHMARKS, refusal(403, "may not watch"), 403)
    with pytest.raises(RefusedError, match="may not watch"):
        list(api.connect().changes(threading.Event()))
    assert len(api.asked) > 20, "one refusal is not believed"


@pytest.mark.parametrize("code", [401, 403, 404])
@pytest.mark.parametrize("where", ["list", "watch"])
def test_an_api_server_that_has_just_started_ends_no_watch(api: Fake, where: str, code: int) -> None:
    """It may refuse anything to anybody until it has read who may do what."""
    refusals = [refusal(code, "not yet")] * 5

    def answer(query: dict[str, str], _: Any) -> Answer:
        watching = "watch" in query
        if refusals and watching == (where == "watch"):
            return code, refusals.pop()
        if watching:
            return 200, [event("MODIFIED", bm("a", "2"))]
        return 200, {"kind": "L", "items": [bm("a", "1")], "metadata": {"resourceVersion": "7"}}

    api.on("GET", BENCHMARKS, answer)
    stop = threading.Event()
    with closing(api.connect().changes(stop)) as changes:  # type: ignore[type-var]
        assert any(change and change["metadata"]["resourceVersion"] == "2" for change in changes)
    stop.set()
    assert refusals == []


def test_time_goes_on_while_nothing_is_heard(api: Fake) -> None:
    api.on("GET", BENCHMARKS, "broken", 500)
    stop = threading.Event()
    assert next(api.connect().changes(stop)) is None
    stop.set()


def test_an_unknown_context_is_one_sentence(api: Fake) -> None:
    api.connect()
    with pytest.raises(CliError, match=r"^no cluster: .*nosuch.*\(set KUBECONFIG or use --context\)$"):
        api.connect(context="nosuch")
    assert api.connect(namespace="other").namespace == "other"


@pytest.mark.parametrize("text", ["{{ kubeconfig }}", "contexts: [", "a text", "[1]", "contexts: [a]"])
def test_what_is_no_kubeconfig_is_one_sentence(api: Fake, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (api.folder / "kubeconfig").write_text(text)
    assert main(["gate", "upgrade"]) == 3
    assert capsys.readouterr().err.startswith("fairlap: no cluster: ")


# --- whole commands --------------------------------------------------------------------------------------------


def watched(*events: tuple[str, dict[str, Any]], listed: dict[str, Any]) -> Callable[[dict[str, str], Any], Answer]:
    """A list with one Benchmark, and a watch with these events."""

    def answer(query: dict[str, str], _: Any) -> Answer:
        if "watch" in query:
            return 200, [event(kind, found) for kind, found in events]
        return 200, {"kind": "L", "items": [listed], "metadata": {"resourceVersion": "7"}}

    return answer


def in_phase(phase: str, **status: Any) -> dict[str, Any]:
    return {**bm("es"), "status": {"phase": phase, **status}}


@pytest.fixture
def file(api: Fake, tmp_path: Path) -> str:
    api.discovery(**{"/apis/fairlap.dev/v1alpha1": [BENCHMARK_KIND]})
    api.on("PATCH", f"{BENCHMARKS}/es", in_phase("Pending"))
    api.connect()
    (tmp_path / "bm.json").write_text(json.dumps({**bm("es"), "metadata": {"name": "es"}}))
    return str(tmp_path / "bm.json")


FIGURE = {"median": 5.0, "min": 4.0, "max": 6.0, "races": 2}
BULK = {"task": "bulk", "type": "bulk", "unit": "docs/s", "throughput": FIGURE, "errorRate": 0.0, "samples": 9}
NUMBERS = {"results": {"tasks": [{**BULK, "serviceTimeMillis": {"p50": FIGURE, "p90": FIGURE}}]}}


@pytest.mark.parametrize(
    ("events", "words", "code", "out", "err"),
    [
        ([("MODIFIED", in_phase("Succeeded", **NUMBERS))], [], 0, "All figures: fairlap results es -n n --all\n", ""),
        ([("MODIFIED", in_phase("Failed", reason="ErrorRate", message="x"))], [], 1, "", "es failed: ErrorRate: x\n"),
        ([("DELETED", in_phase("Racing"))], [], 1, "", "fairlap: the Benchmark es was deleted\n"),
        ([], ["--timeout", "1s"], 124, "", "Go on watching: kubectl get benchmarks -n n --watch\n"),
    ],
)
def test_run_waits_to_the_end(
    api: Fake,
    file: str,
    events: Any,
    words: list[str],
    code: int,
    out: str,
    err: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    api.on("GET", BENCHMARKS, watched(*events, listed=in_phase("Racing", progress="race 1/2")))
    assert main(["run", "-f", file, "--wait", *words]) == code
    said = capsys.readouterr()
    assert said.out.startswith("benchmark/es created\n") and "Racing        race 1/2" in said.out
    assert out in said.out and err in said.err


def test_what_is_deleted_before_it_is_watched_ends_the_waiting(
    api: Fake, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = {"kind": "L", "items": [], "metadata": {"resourceVersion": "7"}}
    api.on("GET", BENCHMARKS, lambda query, _: (200, [] if "watch" in query else listed))
    assert main(["run", "-f", file, "--wait", "--timeout", "20s"]) == 1
    assert capsys.readouterr().err == "fairlap: the Benchmark es was deleted\n"


def test_a_dry_run_changes_nothing(api: Fake, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-f", file, "--dry-run"]) == 0
    assert capsys.readouterr().out == "benchmark/es would be created (server dry run)\n"
    assert [each for each in api.asked if each.startswith("PATCH")] == [
        f"PATCH {BENCHMARKS}/es?fieldValidation=Strict&dryRun=All&fieldManager=fairlap"
    ]


def test_nothing_is_applied_when_one_is_refused(api: Fake, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    api.on("PATCH", f"{BENCHMARKS}/es", refusal(422, "spec.elasticsearch: 6.0.0 cannot be built"), 422)
    assert main(["run", "-f", file]) == 1
    said = capsys.readouterr().err
    assert said == "benchmark/es: spec.elasticsearch: 6.0.0 cannot be built\nfairlap: nothing was applied\n"
    assert all("dryRun=All" in each for each in api.asked if each.startswith("PATCH"))


@pytest.mark.parametrize(
    ("words", "shown", "hidden"),
    [
        (["results", "es"], "All figures: fairlap results es -n n --all", "p90"),
        (["results", "es", "es2"], "how sure that is: fairlap compare es es2 -n n\n", "p90"),
        (["results", "es", "--all"], "bulk: service time p90, ms", "All figures"),
        (["results", "es", "-o", "md"], "| bulk: service time p90, ms |", "All figures"),
        (["results", "es", "-o", "csv"], "bulk,service time p90,ms", "All figures"),
        (["-n", "other", "results", "-n", "n", "es"], "bulk: throughput, docs/s    5 (4–6)", "p90"),
    ],
)
def test_results_show_the_main_figures_or_all(
    api: Fake, words: list[str], shown: str, hidden: str, capsys: pytest.CaptureFixture[str]
) -> None:
    api.connect()
    for name in ("es", "es2"):
        api.on("GET", f"{BENCHMARKS}/{name}", in_phase("Succeeded", racesDone="2/2", **NUMBERS))
    assert main(words) == 0
    out = capsys.readouterr().out
    assert shown in out and hidden not in out


COMPARISONS = "/apis/fairlap.dev/v1alpha1/namespaces/n/comparisons"


def test_a_comparison_is_one_request(api: Fake) -> None:
    api.on("GET", f"{COMPARISONS}/upgrade", {"kind": "Comparison", "metadata": {"name": "upgrade"}})
    assert api.connect().comparison("upgrade")["kind"] == "Comparison"
    assert api.asked == [f"GET {COMPARISONS}/upgrade"]


def test_an_unknown_comparison_says_which_there_are(api: Fake) -> None:
    api.on("GET", f"{COMPARISONS}/x", refusal(404, 'comparisons.fairlap.dev "x" not found'), 404)
    api.on("GET", COMPARISONS, {"items": [{"metadata": {"name": "upgrade"}}]})
    with pytest.raises(UnknownNameError, match="there is no Comparison x in the namespace n; there are upgrade"):
        api.connect().comparison("x")


def test_comparisons_are_watched_as_benchmarks_are(api: Fake) -> None:
    item = {"metadata": {"name": "upgrade", "resourceVersion": "1"}}
    event = {"type": "MODIFIED", "object": {"metadata": {"name": "upgrade", "resourceVersion": "2"}}}

    def answer(query: dict[str, str], body: Any) -> Answer:
        if "watch" in query:
            return 200, [json.dumps(event).encode() + b"\n"]
        return 200, {"metadata": {"resourceVersion": "1"}, "items": [item]}

    api.on("GET", COMPARISONS, answer)
    stop, seen = threading.Event(), []
    with closing(api.connect().comparison_changes(stop)) as changes:  # type: ignore[type-var]
        for change in changes:
            seen.append(change["metadata"]["resourceVersion"] if change else "")
            if "2" in seen:
                break
    stop.set()
    assert [version for version in seen if version] == ["1", "2"]
