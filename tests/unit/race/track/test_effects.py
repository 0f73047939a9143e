"""What a track does to a cluster, from its tasks."""

import pytest

from fairlap_race.contract.recorded.record import Touch
from fairlap_race.track.effects import Action, changes_of_what_is_left, deleted_at_last, touches


def of(kind: str, **params: object) -> tuple[tuple[Touch, ...], tuple[str, ...]]:
    return touches([Action("t", kind, {key.replace("_", "-"): value for key, value in params.items()})])


@pytest.mark.parametrize(
    ("kind", "params", "expected"),
    [
        ("create-index", {"indices": [("a", {}), ("b", None)]}, [Touch("index", "a", True), Touch("index", "b", True)]),
        ("delete-index", {"indices": ["a*"]}, [Touch("index", "a*", deletes=True)]),
        ("create-data-stream", {"data_streams": ["d"]}, [Touch("data stream", "d", True)]),
        ("delete-data-stream", {"data_streams": ["d"]}, [Touch("data stream", "d", deletes=True)]),
        ("create-index-template", {"templates": [("t", {})]}, [Touch("legacy template", "t", True)]),
        (
            "delete-index-template",
            {"templates": [("t", True, "logs-*")]},
            [Touch("legacy template", "t", deletes=True), Touch("index", "logs-*", deletes=True)],
        ),
        (
            "delete-composable-template",
            {"templates": [("t", False, None)]},
            [Touch("index template", "t", deletes=True)],
        ),
        ("delete-component-template", {"templates": ["t"]}, [Touch("component template", "t", deletes=True)]),
        ("put-pipeline", {"id": "p", "body": {}}, [Touch("ingest pipeline", "p", True)]),
        ("delete-pipeline", {"id": "p"}, [Touch("ingest pipeline", "p", deletes=True)]),
        ("shrink-index", {"source_index": "s", "target_index": "t"}, [Touch("index", n, True) for n in "st"]),
        ("force-merge", {"index": "a,b"}, [Touch("index", "a", True), Touch("index", "b", True)]),
    ],
)
def test_what_is_created_and_deleted(kind: str, params: dict[str, object], expected: list[Touch]) -> None:
    assert of(kind, **params) == (tuple(expected), ())


@pytest.mark.parametrize("kind", ["search", "refresh", "cluster-health", "sleep", "paginated-search"])
def test_reading_touches_nothing(kind: str) -> None:
    assert touches([Action("t", kind)]) == ((), ())


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Action("t", "put-settings", None), "put-settings"),
        (Action("t", "my-own-operation", None), "my-own-operation"),
        (Action("t", "create-index", None), "the track's own code"),
        (Action("t", "bulk", None), "the documents themselves"),
        (Action("t", "force-merge", {}), "_all"),
        (Action("t", "raw-request", {"method": "PUT", "path": "/_cluster/settings"}), "PUT /_cluster/settings"),
        (
            Action(
                "t", "composite", {"requests": [{"stream": [{"operation-type": "raw-request", "method": "DELETE",
                                                             "path": "/x"}]}]}
            ),
            "DELETE /x",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_said(action: Action, words: str) -> None:
    found, unforeseen = touches([action])
    assert found == ()
    assert len(unforeseen) == 1
    assert "task t" in unforeseen[0]
    assert words in unforeseen[0]


def test_requests_that_read_are_allowed() -> None:
    assert of("raw-request", path="/_cat/indices") == ((), ())
    assert of("raw-request", method="POST", path="/a/_search?size=0") == ((), ())
    assert of("composite", requests=[{"operation-type": "search"}, {"operation-type": "raw-request", "path": "/"}]) == (
        (),
        (),
    )


def test_a_name_that_is_created_and_deleted_is_one_touch() -> None:
    actions = [
        Action("d", "delete-index", {"indices": ["a"]}),
        Action("c", "create-index", {"indices": [("a", {})]}),
        Action("b", "bulk", bulk=(("index", "a"),)),
    ]
    assert touches(actions) == ((Touch("index", "a", creates=True, deletes=True),), ())


CREATE = Action("create", "create-index", {"indices": [("a", {})]})
BULK = Action("bulk", "bulk", bulk=(("index", "a"),))
DELETE = Action("delete", "delete-index", {"indices": ["a"]})
DELETE_ALL = Action("delete", "delete-index", {"indices": ["_all"]})
FIND = Action("find", "search")


@pytest.mark.parametrize(
    ("actions", "again", "changed"),
    [
        ([CREATE, BULK, FIND], ["find"], {}),
        ([CREATE, BULK, FIND], ["bulk", "find"], {"bulk": "(bulk) changes index a"}),
        ([CREATE, BULK, FIND], ["create"], {"create": "(create-index) changes index a"}),
        ([DELETE, CREATE, BULK], ["delete"], {"delete": "(delete-index) changes index a"}),
        ([CREATE, BULK, DELETE], ["create", "bulk", "delete"], {}),
        ([CREATE, BULK, DELETE_ALL], ["create", "bulk"], {}),
        ([CREATE, Action("own", "bulk")], ["own"], {"own": "(bulk) changes documents"}),
        ([CREATE, Action("merge", "force-merge", {})], ["merge"], {"merge": "(force-merge) changes segments"}),
        (
            [CREATE, Action("merge", "force-merge", {"index": "a"})],
            ["merge"],
            {"merge": "(force-merge) changes index a"},
        ),
        ([CREATE, Action("p", "put-pipeline", {"id": "p"})], ["p"], {"p": "(put-pipeline) changes ingest pipeline p"}),
        ([CREATE, Action("mine", "my-search"), Action("set", "put-settings")], ["mine", "set"], {}),
        ([CREATE, Action("raw", "raw-request", {"method": "PUT", "path": "/a/_doc/1"})], ["raw"], {}),
    ],
)
def test_what_is_raced_again_may_change_nothing_that_is_left(
    actions: list[Action], again: list[str], changed: dict[str, str]
) -> None:
    assert changes_of_what_is_left(actions, again) == changed


@pytest.mark.parametrize(
    ("actions", "deleted"),
    [
        ([CREATE, BULK, FIND], ()),
        ([DELETE, CREATE, BULK, FIND], ()),
        ([CREATE, BULK, FIND, DELETE], ("index a",)),
        ([BULK, FIND, DELETE_ALL], ("index a",)),
        ([CREATE, BULK, FIND, DELETE, CREATE], ()),
        ([CREATE, Action("mine", "my-fill"), FIND, DELETE], ()),  # which may have filled another one
        ([FIND], ()),
    ],
)
def test_data_that_a_challenge_deletes_at_its_end_are_not_there_for_what_is_raced_again(
    actions: list[Action], deleted: tuple[str, ...]
) -> None:
    assert deleted_at_last(actions) == deleted
