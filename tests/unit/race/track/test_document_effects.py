"""How many documents a schedule leaves behind, and what it cannot be told for."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.specification.document_plan import UncountedTask, WhyUncounted
from fairlap_race.track.document_effects import Act, BulkFacts, foresee, keeps_documents

DELETED, OTHER = WhyUncounted.DELETED, WhyUncounted.OTHER_WRITES


def bulk(*documents: tuple[str, int], why: WhyUncounted | None = None, task: str = "bulk", **more: Any) -> Act:
    return Act(task, "bulk", {}, BulkFacts(documents, why, **more))


def act(kind: str, **params: Any) -> Act:
    return Act(kind, kind, {key.replace("_", "-"): value for key, value in params.items()})


def raw(method: str, path: str) -> Act:
    return act("raw-request", method=method, path=path)


T = bulk(("t", 1000))


@pytest.mark.parametrize(
    ("acts", "counts", "uncounted"),
    [
        ([T], {"t": 1000}, []),
        ([T, bulk(("t", 5), ("u", 6))], {"t": 1005, "u": 6}, []),
        ([act("delete-index"), T], {"t": 1000}, []),
        ([T, act("delete-index")], {}, [UncountedTask("delete-index", "t", DELETED, 1000)]),
        ([T, act("delete-index", index=["x", "t"])], {}, [UncountedTask("delete-index", "t", DELETED, 1000)]),
        ([T, act("delete-index", index="x")], {"t": 1000}, []),
        # As Rally resolves it, without a name, from the indices or data streams of the track.
        ([T, act("delete-index", indices=["main"])], {"t": 1000}, []),
        ([T, act("delete-index", indices=["x,t"])], {}, [UncountedTask("delete-index", "t", DELETED, 1000)]),
        ([T, act("delete-data-stream", data_streams=["s"])], {"t": 1000}, []),
        (
            [T, act("delete-data-stream", data_streams=["s", "t"])],
            {},
            [UncountedTask("delete-data-stream", "t", DELETED, 1000)],
        ),
        (
            [T, act("delete-data-stream", data_stream="t*")],
            {},
            [UncountedTask("delete-data-stream", "t", DELETED, 1000)],
        ),
        ([T, raw("DELETE", "/t")], {}, [UncountedTask("raw-request", "t", DELETED, 1000)]),
        ([T, raw("DELETE", "/_data_stream/t")], {}, [UncountedTask("raw-request", "t", DELETED, 1000)]),
        ([T, raw("DELETE", "/t"), T, raw("DELETE", "/t")], {}, [UncountedTask("raw-request", "t", DELETED, 1000)] * 2),
        ([T, raw("DELETE", "/t/_doc/1")], {"t": 1000}, [UncountedTask("raw-request")]),
        ([T, raw("POST", "/t/_bulk?refresh")], {"t": 1000}, [UncountedTask("raw-request", why=WhyUncounted.RAW_BULK)]),
        (
            [T, act("composite", requests=[{"operation-type": "raw-request", "method": "POST", "path": "/_bulk"}])],
            {"t": 1000},
            [UncountedTask("composite", why=WhyUncounted.RAW_BULK)],
        ),
        (
            [
                T,
                act(
                    "raw-request",
                    method="POST",
                    path="/_aliases",
                    body={"actions": [{"add": {"index": "u", "alias": "t2"}}, {"remove_index": {"index": "t"}}]},
                ),
            ],
            {},
            [UncountedTask("raw-request", "t", DELETED, 1000)],
        ),
        (
            [T, act("delete-index-template", delete_matching_indices=True, index_pattern="t*")],
            {},
            [UncountedTask("delete-index-template", "t", DELETED, 1000)],
        ),
        # As Rally resolves it from the track's templates.
        (
            [T, act("delete-composable-template", templates=[("a", False, "t*"), ("b", True, "x*,t*")])],
            {},
            [UncountedTask("delete-composable-template", "t", DELETED, 1000)],
        ),
        ([T, act("delete-index-template", templates=[("a", False, "t*"), ("b", True, None)])], {"t": 1000}, []),
        (
            [bulk(("t", 9), streams=frozenset("t")), act("delete-index-template", templates=[("a", True, "t*")])],
            {"t": 9},
            [],
        ),
        (
            [bulk(("t", 9), why=WhyUncounted.ENDED_BY_OTHER), act("delete-index")],
            {},
            [UncountedTask("delete-index", "t", DELETED)],
        ),
        (
            [T, bulk(("u", 9), why=WhyUncounted.ENDED_BY_OTHER)],
            {"t": 1000},
            [UncountedTask("bulk", "u", WhyUncounted.ENDED_BY_OTHER, 9)],
        ),
        ([bulk(("", 9), why=WhyUncounted.ACTION_LINES)], {}, [UncountedTask("bulk", "", WhyUncounted.ACTION_LINES, 9)]),
        ([bulk(why=WhyUncounted.OWN_CODE)], {}, [UncountedTask("bulk", "", WhyUncounted.OWN_CODE)]),
        ([bulk(("t", 9), why=WhyUncounted.BEGINS_AGAIN)], {}, [UncountedTask("bulk", "t", WhyUncounted.BEGINS_AGAIN)]),
        ([T, act("my-own")], {"t": 1000}, [UncountedTask("my-own")]),
        # What only a parameter source of the track's knows.
        ([T, act("raw-request", param_source="mine")], {"t": 1000}, [UncountedTask("raw-request")]),
        ([T, act("composite", param_source="mine")], {"t": 1000}, [UncountedTask("composite")]),
        # What comes before any document can only add to those of the bulks.
        ([act("my-own"), T], {"t": 1000}, []),
        ([act("my-own")], {}, [UncountedTask("my-own")]),
        ([act("search")], {}, []),
        ([], {}, []),
    ],
)
def test_what_is_there_in_the_end(acts: list[Act], counts: dict[str, int], uncounted: list[UncountedTask]) -> None:
    found, plan = foresee(acts)
    assert found == counts and list(plan.uncounted) == uncounted


@pytest.mark.parametrize(
    ("method", "path", "keeps"),
    [
        ("GET", "/t/_doc/1", True), ("POST", "/t/_search?size=0", True), ("POST", "_msearch", True),
        ("PUT", "/t", True), ("PUT", "/_data_stream/t", True), ("PUT", "/_cluster/settings", True),
        ("PUT", "/t/_settings", True), ("POST", "/t/_forcemerge", True), ("POST", "/_aliases", True),
        ("POST", "/t/_close", True), ("POST", "/t/_open", True), ("POST", "/_tasks/a:1/_cancel", True),
        ("PUT", "/_ingest/pipeline/p", True), ("DELETE", "/_ingest/pipeline/p", True), ("DELETE", "/t", True),
        ("POST", "/t/_doc", False), ("PUT", "/t/_doc/_search", False), ("POST", "/_bulk", False),
        ("POST", "/_reindex", False), ("POST", "/t/_update_by_query", False), ("POST", "/t/_delete_by_query", False),
        ("POST", "/t/_rollover", False), ("DELETE", "/t/_doc/1", False),
        ("PUT", "/_snapshot/r/s", True), ("POST", "/_snapshot/r/s/_restore", False),
        ("POST", "/_transform/x/_start", False),
    ],
)  # fmt: skip
def test_requests_that_change_documents(method: str, path: str, keeps: bool) -> None:
    params = {"method": method, "path": path}
    assert keeps_documents("raw-request", params) is keeps
    inner = {"operation-type": "raw-request", "name": "r", **params}
    assert keeps_documents("composite", {"requests": [{"stream": [inner]}, {"operation-type": "search"}]}) is keeps


def test_what_else_is_noted() -> None:
    settings, delete = raw("PUT", "/t/_settings"), act("delete-pipeline", id="p")
    _, plan = foresee([settings, delete, raw("DELETE", "/_ingest/pipeline/q"), bulk(("t", 1), pipeline="_none")])
    assert plan.deletes_pipelines == ("p", "q") and plan.without_pipeline == ("bulk",)
    assert plan.changes_settings == () and foresee([T, settings])[1].changes_settings == ("raw-request",)
    assert foresee([act("delete-index"), T, raw("DELETE", "/x"), act("refresh")])[1].deletes_indices == ("raw-request",)
    early, late = act("my-own"), raw("POST", "/t/_doc")
    assert foresee([early, act("search"), T, late])[1].writes_before == ("my-own",)
    assert foresee([early])[1].writes_before == ()
    assert foresee([T, act("composite", requests=[{"operation-type": "delete-pipeline", "id": "r"}])])[
        1
    ].deletes_pipelines == ("r",)


@pytest.mark.parametrize(
    ("body", "indices"),
    [({"dest": {"index": "sums"}}, ("sums",)), ({"dest": {}}, ()), ({"dest": "sums"}, ()), ("{}", ()), (None, ())],
)
def test_where_a_transform_writes_is_noted(body: Any, indices: tuple[str, ...]) -> None:
    start = act("start-transform", transform_id="x")
    _, plan = foresee([T, act("create-transform", transform_id="x", body=body), start])
    assert plan.of_transforms == indices
    assert plan.uncounted == (UncountedTask("create-transform"), UncountedTask("start-transform"))


ACTS = st.lists(
    st.one_of(
        st.builds(lambda name, n: bulk((name, n)), st.sampled_from("tuv"), st.integers(0, 99)),
        st.builds(lambda name: act("delete-index", index=name), st.sampled_from("tuv*")),
    ),
    max_size=12,
)


@given(ACTS)
def test_every_document_is_counted_or_said_to_be_deleted(acts: list[Act]) -> None:
    counts, plan = foresee(acts)
    sent = sum(number for each in acts if each.bulk for _, number in each.bulk.documents)
    assert all(it.why is DELETED for it in plan.uncounted) and plan.is_exact
    assert sum(counts.values()) + sum(it.at_most or 0 for it in plan.uncounted) == sent
