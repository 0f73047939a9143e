"""What pipelines and their processors did, from Elasticsearch's counters."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.recorded.ingest_record import MOST_PROCESSORS, ProcessorCount
from fairlap_race.contract.recorded.record import Pipeline
from fairlap_race.elasticsearch import ingest


def processor(kind: str, count: int, failed: int = 0, name: str = "") -> dict[str, Any]:
    stats = {"count": count, "time_in_millis": 1, "current": 0, "failed": failed}
    return {name or kind: {"type": kind, "stats": stats}}


def stats(*nodes: dict[str, tuple[int, list[dict[str, Any]]]]) -> dict[str, Any]:
    listed = {
        str(number): {
            "ingest": {
                "pipelines": {
                    name: {"count": count, "time_in_millis": 2, "failed": 0, "processors": processors}
                    for name, (count, processors) in node.items()
                }
            }
        }
        for number, node in enumerate(nodes)
    }
    return {"nodes": listed}


def only(*answers: Any) -> Pipeline:
    (found,) = ingest.read_pipelines(*answers)
    return found


def test_processors_are_summed_over_nodes_since_the_race_began() -> None:
    before = stats({"p": (10, [processor("set", 10), processor("drop", 1)])})
    after = stats(
        {"p": (110, [processor("set", 110, 4), processor("drop", 3)])},
        {"p": (50, [processor("set", 50), processor("drop", 5)])},
    )
    found = only(before, after)
    assert found.count == 150 and found.work is not None
    assert (found.work.processors, found.work.dropped, found.work.done) == (2, 7, 153)
    assert found.work.told == (ProcessorCount(1, "set", 150, 4),)


def test_a_processor_that_never_ran_is_told_after_those_that_failed() -> None:
    listed = [processor("set", 0, name="set:if"), processor("rename", 9), processor("date", 9, 9)]
    work = only({}, stats({"p": (9, listed)})).work
    assert work is not None and [(it.place, it.type) for it in work.told] == [(3, "date"), (1, "set")]
    assert work.done == 9


def test_a_pipeline_that_was_made_anew_counts_from_zero() -> None:
    before = stats({"p": (10, [processor("set", 10)]), "q": (5, [processor("set", 5)])})
    after = stats({"p": (3, [processor("set", 3)]), "q": (6, [processor("drop", 1)])})
    p, q = ingest.read_pipelines(before, after)
    assert (p.count, p.work and p.work.done) == (3, 3)
    assert (q.count, q.work and q.work.dropped) == (1, 1)


def test_versions_that_say_less() -> None:
    old = {"nodes": {"a": {"ingest": {"pipelines": {"p": {"count": 3, "failed": 0}}}}}}
    assert only({}, old).work is None
    # 6.8 has no type beside the counters.
    old["nodes"]["a"]["ingest"]["pipelines"]["p"]["processors"] = [{"drop:tag": {"count": 2, "failed": 0}}]  # type: ignore[index]
    work = only({}, old).work
    assert work is not None and work.dropped == 2


def test_what_has_no_counters_is_found_in_the_definition() -> None:
    definition = {
        "processors": [
            {"set": {"on_failure": [{"foreach": {"processor": {"drop": {}}}}]}},
            {"foreach": {"processor": {"append": {}}}},
            {"reroute": {}},
        ]
    }
    after = stats({"p": (1, [processor("set", 1), processor("foreach", 1), processor("reroute", 1)])})
    work = only({}, after, {"p": definition}).work
    assert work is not None and (work.hidden, work.rerouted) == (("drop",), 1)
    assert ingest.hidden_types({"on_failure": [{"reroute": {}}], "processors": []}) == ("reroute",)
    assert ingest.hidden_types({"processors": [{"drop": {}}]}) == () == ingest.hidden_types(None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 9) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["a", "stats", "type", "count", "processors", "on_failure"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)


@given(JSON, JSON)
def test_odd_answers_raise_nothing(listed: Any, definition: Any) -> None:
    odd = {"nodes": {"a": {"ingest": {"pipelines": {"p": {"count": 1, "processors": listed}}}}}}
    (found,) = ingest.read_pipelines(odd, odd | {"nodes": {"b": odd["nodes"]["a"], **odd["nodes"]}}, {"p": definition})
    assert found.work is None or len(found.work.told) <= MOST_PROCESSORS
