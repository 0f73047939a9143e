"""Whether Elasticsearch works, and whether full disks keep it from going on."""

import pytest

from fairlap_race.elasticsearch import progress


def test_work():
    stats = {"_all": {"total": {"indexing": {"index_total": 3}, "merges": {"current": 1}}}}
    recovery = {"a": {"shards": [{"index": {"size": {"recovered_in_bytes": 50}}}]}}
    tasks = {
        "nodes": {
            "n": {
                "tasks": {
                    "n:1": {"action": "indices:admin/forcemerge"},
                    "n:2": {"action": "cluster:monitor/tasks/lists"},
                    "n:3": {"action": "cluster:monitor/health"},
                }
            }
        }
    }
    counters, busy = progress.read_work(stats, recovery, tasks)
    assert counters[0] == 3 and counters[-1] == 50
    assert busy == 2
    assert progress.read_work({}, {}, {}) == ((0,) * 9, 0)


@pytest.mark.parametrize(
    "odd", [[], [1], "text", 7, None, {"a": []}, {"a": {"shards": {}}}, {"a": {"shards": [7]}}, {"_all": []},
            {"nodes": []}, {"nodes": {"n": 7}}, {"nodes": {"n": {"tasks": []}}}, {"nodes": {"n": {"tasks": {"t": 7}}}}],
)  # fmt: skip
def test_of_an_odd_answer_nothing_is_known(odd: object) -> None:
    assert progress.read_work(odd, odd, odd) == ((0,) * 9, 0)
    shards = {"a": {"shards": [{"index": {"size": {"recovered_in_bytes": {}}}}]}}
    counters = {"_all": {"total": {"indexing": {"index_total": "many"}, "merges": {"current": []}}}}
    assert progress.read_work(counters, shards, odd) == ((0,) * 9, 0)


@pytest.mark.parametrize("odd", [[], "text", 7, [7], ["text"], {}, [{"deciders": 7}], [{"deciders": [7, "NO"]}], [[]]])
def test_of_an_odd_explanation_no_disk_is_full(odd: object) -> None:
    why = {"index": "t", "primary": True, "can_allocate": "no", "node_allocation_decisions": odd}
    assert progress.read_full_disks(why) == ""
    assert progress.read_full_disks(odd) == ""


DISK = {"decider": "disk_threshold", "decision": "NO", "explanation": "above the high watermark"}
OTHER = {"decider": "filter", "decision": "NO", "explanation": "another tier"}
ROOM = {"decider": "disk_threshold", "decision": "NO", "explanation": "fewer free bytes than it needs"}
NAMED = {"decider": "filter", "decision": "NO", "explanation": "no node has the tag [watermark]"}
AGREES = {"decider": "same_shard", "decision": "YES", "explanation": "not here"}


@pytest.mark.parametrize(
    ("nodes", "changes", "full"),
    [
        ([[DISK]], {}, True),
        ([[DISK, AGREES], [DISK]], {}, True),
        ([[DISK], [DISK, OTHER]], {}, False),
        ([[DISK], []], {}, False),
        ([], {}, False),
        ([[DISK]], {"primary": False}, False),
        ([[DISK]], {"can_allocate": "throttled"}, False),
    ],
)
def test_full_disks_are_the_cause_only_when_nothing_else_is(
    nodes: list[list[dict[str, str]]], changes: dict[str, object], full: bool
) -> None:
    decisions = [{"deciders": deciders} for deciders in nodes]
    why = {"index": "t", "primary": True, "can_allocate": "no", "node_allocation_decisions": decisions, **changes}
    assert progress.read_full_disks(why) == ("index t: above the high watermark" if full else "")


def test_without_an_answer_no_disk_is_full() -> None:
    assert progress.read_full_disks(None) == ""


@pytest.mark.parametrize(
    ("nodes", "told", "full"),
    [
        ([[DISK, AGREES]], ": above the high watermark", True),
        ([[ROOM], [OTHER]], ": fewer free bytes than it needs; another tier", True),
        ([[NAMED]], ": no node has the tag [watermark]", False),
        ([[AGREES]], "", False),
        ([], "", False),
    ],
)
def test_whether_full_disks_stand_in_the_way_is_told_by_the_decider_and_not_by_words(
    nodes: list[list[dict[str, str]]], told: str, full: bool
) -> None:
    why = {"index": "watermark", "node_allocation_decisions": [{"deciders": deciders} for deciders in nodes]}
    found = progress.read_standstill({"status": "red", "unassigned_shards": 1}, why)
    text = "cluster health is red, 1 shards unassigned"
    assert found == (f"{text} (index watermark){told}" if told else text, full)


@pytest.mark.parametrize("odd", [[], "text", 7, {}, None, {"node_allocation_decisions": [{"deciders": [7]}]}])
def test_of_an_odd_answer_no_full_disk_stands_in_the_way(odd: object) -> None:
    assert not progress.read_standstill(odd, odd).full_disks
