"""What is asked of the API server and how its answers are taken; lists of metadata alone."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from fairlap.kube import api_server
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import MOST_PAGE, ApiServer
from fairlap.kube.lease import Lease
from fairlap.runtime.objects.reads import list_owned, queued_versions


class Answers(ApiServer):
    """Answers as the API server does: the items of an empty list are null."""

    def __init__(self, uids: dict[str, list[str]]) -> None:
        self.uids, self.asked = uids, []

    async def _text(self, method: str, kind: str, namespace: str, *_: Any, query: Any = None, **__: Any) -> str:
        self.asked.append((method, kind, namespace, query))
        found = [{"metadata": {"uid": uid, "resourceVersion": f"v{uid}"}} for uid in self.uids.get(namespace, ())]
        return json.dumps({"items": found or None})


@pytest.mark.parametrize(
    ("namespaces", "found"), [((), set()), (("a",), {"1", "2"}), (("a", "b", "c"), {"1", "2", "3"}), (("c",), set())]
)
def test_benchmarks_of_some_namespaces(namespaces: tuple[str, ...], found: set[str]) -> None:
    server = Answers({"a": ["1", "2"], "b": ["3"]})
    assert asyncio.run(queued_versions(server, iter(namespaces))) == {uid: f"v{uid}" for uid in found}
    asked = [(kind, namespace) for _, kind, namespace, _ in server.asked]
    assert asked == [(kind, space) for kind in ("Benchmark", "Comparison") for space in namespaces or ("",)]


@pytest.mark.parametrize(("missing", "found"), [("Comparison", {"1"}), ("Benchmark", None)])
def test_a_cluster_without_comparisons_has_none(missing: str, found: set[str] | None) -> None:
    class Older(Answers):
        async def _text(self, method: str, kind: str, namespace: str, *_: Any, query: Any = None, **__: Any) -> str:
            if kind == missing:
                raise ApiError(404, "the server could not find the requested resource")
            return await super()._text(method, kind, namespace, query=query)

    asked = queued_versions(Older({"a": ["1"]}), ("a",))
    if found is None:
        with pytest.raises(ApiError):
            asyncio.run(asked)
    else:
        assert asyncio.run(asked).keys() == found


def test_claims_of_benchmarks_only() -> None:
    server = Answers({"a": ["1"]})
    assert len(asyncio.run(list_owned(server, "PersistentVolumeClaim", ["a"]))) == 1
    assert server.asked == [("GET", "PersistentVolumeClaim", "a", {"labelSelector": "fairlap.dev/uid", "limit": "100"})]


class Pages(ApiServer):
    """Two objects a page; `gone` says how many of the requests for a further page find their version forgotten."""

    def __init__(self, objects: int, gone: int = 0) -> None:
        self.objects, self.gone, self.began = objects, gone, 0

    async def _text(self, *_: Any, query: Any = None, **__: Any) -> str:
        begin = int(query.get("continue", 0))
        self.began += not begin
        if begin and self.gone:
            self.gone -= 1
            raise ApiError(410, "the provided continue parameter is too old")
        items = [{"metadata": {"uid": str(number)}} for number in range(begin, min(begin + 2, self.objects))]
        further = {"continue": str(begin + 2)} if begin + 2 < self.objects else {}
        return json.dumps({"metadata": further, "items": items})


@pytest.mark.parametrize("objects", [0, 1, 2, 5])
@pytest.mark.parametrize("gone", [0, 1])
def test_a_list_is_read_in_pages_and_from_its_beginning_when_its_version_is_forgotten(objects: int, gone: int) -> None:
    server = Pages(objects, gone)
    found = asyncio.run(server.list_objects("Pod", "ns", {}, dict))
    assert [item["metadata"]["uid"] for item in found] == [str(number) for number in range(objects)]
    assert server.began == (2 if gone and objects > 2 else 1)


def test_a_list_that_is_never_whole_is_an_error() -> None:
    with pytest.raises(ApiError, match="410"):
        asyncio.run(Pages(5, gone=99).list_objects("Pod", "ns", {}, dict))


class OneByOne(ApiServer):
    """One object a page, each with all that its author may have made large."""

    def __init__(self, objects: int) -> None:
        self.objects, self.done, self.limits = objects, list[str](), set[str]()

    async def _text(self, *_: Any, query: Any = None, **__: Any) -> str:
        number = int(query.get("continue", 0))
        self.done.append(f"page {number}")
        self.limits.add(query["limit"])
        labels = {"fairlap.dev/step": "check", "l": "large"}
        meta = {"uid": str(number), "resourceVersion": "7", "labels": labels}
        meta |= {"annotations": {"a": "large"}, "managedFields": ["large"]}
        further = {"continue": str(number + 1)} if number + 1 < self.objects else {}
        return json.dumps({"metadata": further, "items": [{"metadata": meta, "spec": {"a": "large"}}]})


def test_of_each_page_only_what_is_needed_is_held_when_the_next_one_comes() -> None:
    server = OneByOne(3)

    def keep(each: dict[str, Any]) -> str | None:
        server.done.append(f"keep {each['metadata']['uid']}")
        return None if each["metadata"]["uid"] == "1" else str(each["metadata"]["uid"])

    assert asyncio.run(server.list_objects("Event", "ns", {}, keep)) == ["0", "2"]
    assert server.done == ["page 0", "keep 0", "page 1", "keep 1", "page 2", "keep 2"]
    assert server.limits == {"25"}, "an object may have 1 MB"


class Body:
    """The body of an answer, as aiohttp has it, which tells how much of it was read."""

    def __init__(self, text: str) -> None:
        self.content, self.text, self.read, self.closed = self, text.encode(), 0, False

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        for first in range(0, len(self.text), size):
            self.read += len(part := self.text[first : first + size])
            yield part

    def close(self) -> None:
        self.closed = True


class Large:
    """The client of an API server that has objects with so many characters; as many a page as are asked for."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes, self.limits, self.bodies = sizes, list[int](), list[Body]()

    async def param_serialize(self, query_params: list[tuple[str, str]], **_: Any) -> tuple[dict[str, str]]:
        return (dict(query_params),)

    async def call_api(self, query: dict[str, str], **_: Any) -> Any:
        first, limit = int(query.get("continue", 0)), int(query["limit"])
        beyond = min(first + limit, len(self.sizes))
        items = [
            {"metadata": {"uid": str(n), "resourceVersion": "7", "labels": {"x": "x" * self.sizes[n]}}}
            for n in range(first, beyond)
        ]
        meta = {"continue": str(beyond)} if beyond < len(self.sizes) else {}
        self.limits.append(limit)
        self.bodies.append(Body(json.dumps({"metadata": meta, "items": items})))
        return SimpleNamespace(status=200, response=self.bodies[-1])


LISTS: list[Callable[[ApiServer], Any]] = [
    lambda server: server.list_objects("Benchmark", "ns", {}, lambda each: each["metadata"]["uid"]),
    lambda server: server.list_versions("Benchmark", ["ns"]),
]


@pytest.mark.parametrize("ask", LISTS, ids=["whole", "metadata"])
@pytest.mark.parametrize("sizes", [[1 << 19] * 40, [1_400_000] * 30, [17_000] * 30 + [1_400_000] * 3, [5 << 20] * 2])
def test_of_a_page_that_is_too_large_no_more_is_read(ask: Callable[[ApiServer], Any], sizes: list[int]) -> None:
    """A hundred objects of 1.4 MB each ended the operator, which read all of the page before it asked for fewer."""
    large = Large(sizes)
    assert list(asyncio.run(ask(ApiServer(large)))) == [str(number) for number in range(len(sizes))]  # type: ignore[arg-type]
    for limit, body in zip(large.limits, large.bodies, strict=True):
        assert body.read <= MOST_PAGE + (1 << 16) or limit == 1
        assert body.closed is (body.read < len(body.text) or (limit > 1 and len(body.text) > MOST_PAGE))


def test_small_objects_cost_no_more_requests() -> None:
    large = Large([10_000] * 250)
    asyncio.run(ApiServer(large).list_versions("Benchmark", ["ns"]))  # type: ignore[arg-type]
    assert large.limits == [100, 100, 100]


def test_lists_of_metadata_have_nothing_large() -> None:
    assert asyncio.run(OneByOne(3).list_versions("Benchmark", ["ns"])) == {"0": "7", "1": "7", "2": "7"}
    listed = asyncio.run(OneByOne(2).list_metadata("Job", ["ns"]))
    assert [each["metadata"] for each in listed] == [
        {"uid": uid, "resourceVersion": "7", "labels": {"fairlap.dev/step": "check"}} for uid in ("0", "1")
    ]


@pytest.mark.parametrize(("namespace", "found"), [("a", True), ("b", False)])
def test_whether_there_is_any_costs_one_object(namespace: str, found: bool) -> None:
    server = Answers({"a": ["1"]})
    assert asyncio.run(server.has_any("Pod", namespace, "mine=yes")) is found
    assert server.asked == [("GET", "Pod", namespace, {"limit": "1", "labelSelector": "mine=yes"})]


class Refuses(ApiServer):
    """Answers every request with one status."""

    def __init__(self, status: int) -> None:
        self.status = status

    async def _text(self, *_: Any, **__: Any) -> str:
        raise ApiError(self.status, "no")


def test_what_is_not_there_is_none_and_any_other_refusal_an_error() -> None:
    assert asyncio.run(Refuses(404).find("Job", "ns", "bm")) is None
    with pytest.raises(ApiError, match="403"):
        asyncio.run(Refuses(403).find("Job", "ns", "bm"))
    with pytest.raises(ApiError, match="404"):
        asyncio.run(Refuses(404).read("Job", "ns", "bm"))


@pytest.mark.parametrize(("status", "raises"), [(404, False), (409, False), (403, True), (500, True)])
def test_what_is_gone_need_not_be_deleted(status: int, raises: bool) -> None:
    deleting = Refuses(status).delete("Job", {"metadata": {"name": "bm", "namespace": "ns", "uid": "u"}})
    if raises:
        with pytest.raises(ApiError):
            asyncio.run(deleting)
    else:
        asyncio.run(deleting)


@pytest.mark.parametrize(("write", "kind"), [("create", "Job"), ("replace", "Benchmark"), ("patch", "Job")])
def test_one_that_may_have_lost_its_lease_writes_nothing(write: str, kind: str) -> None:
    server = ApiServer(None)
    server.may_write = lambda: False
    manifest = {"kind": kind, "metadata": {"name": "bm", "namespace": "ns"}}
    with pytest.raises(ApiError, match="another operator"):
        asyncio.run(server.patch(kind, "ns", "bm", {}) if write == "patch" else getattr(server, write)(manifest))


@pytest.mark.parametrize(
    ("kind", "namespace", "name", "asked"),
    [
        ("Job", "ns", "bm-race-1", "/apis/batch/v1/namespaces/ns/jobs/bm-race-1"),
        ("Node", "", "a.b", "/api/v1/nodes/a.b"),
        ("OpenAPI", "", "apis/fairlap.dev/v1alpha1", "/openapi/v3/apis/fairlap.dev/v1alpha1"),
        ("Comparison", "ns", "../../x", "/apis/fairlap.dev/v1alpha1/namespaces/ns/comparisons/..%2F..%2Fx"),
        ("Comparison", "ns", "a?b#c", "/apis/fairlap.dev/v1alpha1/namespaces/ns/comparisons/a%3Fb%23c"),
        ("Comparison", "ns", "..", None),
        ("Comparison", "ns", ".", None),
    ],
)
def test_a_name_that_somebody_wrote_asks_for_nothing_else(
    kind: str, namespace: str, name: str, asked: str | None
) -> None:
    """An owner reference may name anything: its text led to any other path, with the operator's rights."""
    paths, there = list[str](), {"metadata": {"name": name}}

    class Asked(ApiServer):
        async def _send(self, method: str, path: str, *_: Any) -> tuple[int, str]:
            paths.append(path)
            return 200, json.dumps(there)

    assert asyncio.run(Asked(None).find(kind, namespace, name)) == (there if asked else None)  # type: ignore[arg-type]
    assert paths == ([asked] if asked else [])


UNREADABLE = ["<html>maintenance</html>", "", "null", "[]", '"x"']


class Maintenance(ApiServer):
    """A load balancer that answers 200 in the API server's place."""

    def __init__(self, text: str) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self.text = text

    async def _send(self, *_: Any) -> tuple[int, str]:
        return 200, self.text


@pytest.mark.parametrize("text", [*UNREADABLE, "{}", '{"items": 3}'])
@pytest.mark.parametrize(
    "ask",
    [
        lambda server: server.find("Benchmark", "ns", "bm"),
        lambda server: server.create({"kind": "Job", "metadata": {"name": "bm", "namespace": "ns"}}),
        lambda server: server.list_metadata("Job", ["ns"]),
        lambda server: server.has_any("Pod", "ns"),
    ],
    ids=["find", "create", "list", "any"],
)
def test_an_answer_that_cannot_be_read_is_none(ask: Any, text: str) -> None:
    """A page of HTML ended races, as an error in the operator itself would."""
    with pytest.raises(ApiError, match="cannot be read") as raised:
        asyncio.run(ask(Maintenance(text)))
    assert raised.value.unanswered


@pytest.mark.parametrize("text", [*UNREADABLE, '{"components": 3}', '{"components": {"schemas": 3}}'])
def test_schemas_that_cannot_be_read_are_no_answer(text: str) -> None:
    with pytest.raises(ApiError, match="cannot be read"):
        asyncio.run(Maintenance(text).read_schemas("apis/fairlap.dev/v1alpha1"))


@pytest.mark.parametrize("text", UNREADABLE)
def test_a_lease_outlives_answers_that_cannot_be_read(text: str) -> None:
    assert asyncio.run(Lease(Maintenance(text), "ns/fairlap", "me", 60).renew()) is False


class Hangs(ApiServer):
    """Webhooks on what is written into a namespace that begins with "hangs" do not answer."""

    def __init__(self) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self.waiting, self.seconds = 0, dict[str, float]()

    async def _send(self, method: str, path: str, *rest: Any) -> tuple[int, str]:
        self.seconds[f"{method} {path}"] = rest[-1]
        if method != "GET" and "/namespaces/hangs" in path:
            self.waiting += 1
            await asyncio.sleep(3600)
        return 200, json.dumps({"metadata": {"name": "x"}})


def test_writes_that_hang_in_one_namespace_leave_connections_to_all_others() -> None:
    """And they are waited for longer than the API server waits: only it can say that a webhook hung."""

    async def all_of_them() -> Hangs:
        server = Hangs()
        jobs = [{"kind": "Job", "metadata": {"name": f"j{n}", "namespace": "hangs"}} for n in range(60)]
        hanging = [asyncio.create_task(server.create(job)) for job in jobs]
        await asyncio.sleep(0)
        lease = {"kind": "Lease", "metadata": {"name": "l", "namespace": "other", "resourceVersion": "1"}}
        await asyncio.wait_for(server.create({"kind": "Job", "metadata": {"name": "j", "namespace": "other"}}), 10)
        await asyncio.wait_for(server.find("Job", "hangs", "j0"), 10)
        await asyncio.wait_for(server.replace(lease), 10)
        for each in hanging:
            each.cancel()
        return server

    server = asyncio.run(all_of_them())
    assert 0 < server.waiting <= 20
    waits = {f"{name.split()[0]} {name.rsplit('/', 2)[-2]}": seconds for name, seconds in server.seconds.items()}
    assert (
        waits["GET jobs"] == waits["PUT leases"] == 30
        and server.seconds["POST /apis/batch/v1/namespaces/other/jobs"] > 60
    )


def in_namespace(kind: str, name: str, namespace: str) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, "namespace": namespace}}


def test_events_that_hang_hold_up_no_other_write_into_their_namespace() -> None:
    """A Comparison's findings are an event each, and each waited as long as a webhook on events may take."""

    async def all_of_them() -> tuple[int, int]:
        server = Hangs()
        posts = [server.create(in_namespace("Event", f"e{n}", "hangs")) for n in range(60)]
        hanging = [asyncio.create_task(post) for post in posts]
        await asyncio.sleep(0)
        events = server.waiting
        status = server.replace(in_namespace("Benchmark", "b", "hangs"), "status")
        hanging.append(asyncio.create_task(status))
        await asyncio.sleep(0)
        with_the_status = server.waiting
        for each in hanging:
            each.cancel()
        return events, with_the_status

    events, with_the_status = asyncio.run(all_of_them())
    assert 0 < events <= 4 and with_the_status == events + 1


@pytest.mark.parametrize("kind", ["Job", "Event"])
def test_writes_that_hang_in_many_namespaces_leave_connections_to_what_is_read(kind: str) -> None:
    async def all_of_them() -> int:
        server = Hangs()
        writes = [server.create(in_namespace(kind, f"j{n}", f"hangs{space}")) for space in range(20) for n in range(20)]
        hanging = [asyncio.create_task(write) for write in writes]
        await asyncio.sleep(0)
        for each in hanging:
            each.cancel()
        return server.waiting

    room = {"Job": api_server._WRITES_AT_ONCE, "Event": api_server._EVENTS_AT_ONCE}
    assert asyncio.run(all_of_them()) == room[kind][0]
    assert sum(most for most, _ in room.values()) + 30 <= api_server._CONNECTIONS


def test_one_that_loses_its_lease_while_a_write_waits_does_not_send_it() -> None:
    async def loses() -> tuple[int, int]:
        server = Hangs()
        jobs = [{"kind": "Job", "metadata": {"name": f"j{n}", "namespace": "hangs"}} for n in range(60)]
        hanging = [asyncio.create_task(server.create(job)) for job in jobs]
        await asyncio.sleep(0)
        sent = server.waiting
        server.may_write = lambda: False
        for each in hanging[:sent]:
            each.cancel()
        ended = await asyncio.wait_for(asyncio.gather(*hanging, return_exceptions=True), 10)
        assert all(isinstance(each, ApiError) for each in ended[sent:])
        return sent, server.waiting

    sent, in_the_end = asyncio.run(loses())
    assert sent == in_the_end > 0
