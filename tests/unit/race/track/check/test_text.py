"""What is read from a track's text: members that stand twice, line ends, words, and where a task stands."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.track.check.json_paths import operation_path, task_path
from fairlap_race.track.check.text import duplicate_keys, quoted, text_counts, texts_with, windows_line

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1, "a": 2}', [(9, "a")]),
        ('{"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}', []),
        ('[{"a": "a", "b": "a"}]', []),
        ('{"a\\"": 1, "a\\"": {"x": 1, "x": [2]}}', [(11, 'a"'), (27, "x")]),
        ('{"a": "{\\"a\\": 1}"}', []),
    ],
)
def test_duplicate_keys(text: str, found: list[tuple[int, str]]) -> None:
    json.loads(text)
    assert duplicate_keys(text) == found


@given(JSON, st.sampled_from([None, 2]))
def test_what_was_written_by_a_program_has_no_duplicate(value: Any, indent: int | None) -> None:
    assert duplicate_keys(json.dumps(value, indent=indent)) == []


@pytest.mark.parametrize(("data", "line"), [(b"a\nb\n", None), (b"a\nb\r\nc\r\n", 2), (b"", None), (b"a\rb", None)])
def test_windows_line(data: bytes, line: int | None) -> None:
    assert windows_line(data) == line


def test_words_do_not_count_what_a_thing_is_called() -> None:
    track = [
        {"name": "p", "operation-type": "put-pipeline", "id": "p", "body": {"description": "p"}},
        {"operation": "p"},
        {"operation-type": "bulk", "pipeline": "p", "index": ["p", "q"]},
    ]

    assert text_counts(track) == {"p": 2, "q": 1}
    assert quoted("""params["pipeline"] = 'p'""") == {"pipeline": 1, "p": 1}


def test_texts_with() -> None:
    assert list(texts_with({"a": ["x!", "y"], "b": {"c": "!"}}, "!")) == [(("a", 0), "x!"), (("b", "c"), "!")]


SPEC: dict[str, Any] = {
    "operations": [{"name": "find", "operation-type": "search"}],
    "challenges": [
        {"name": "one", "schedule": [{"operation": "find"}]},
        {
            "name": "two",
            "schedule": [
                {"operation": {"operation-type": "bulk", "bulk-size": 5}},
                {"parallel": {"tasks": [{"operation": "find"}, {"name": "again", "operation": "find"}]}},
            ],
        },
    ],
}


@pytest.mark.parametrize(
    ("challenge", "task", "operation", "paths"),
    [
        ("one", "find", "find", (("challenges", 0, "schedule", 0), ("operations", 0))),
        (None, "find", "find", (("challenges", 0, "schedule", 0), ("operations", 0))),
        ("two", "bulk", "bulk", (("challenges", 1, "schedule", 0), ("challenges", 1, "schedule", 0, "operation"))),
        ("two", "again", "find", (("challenges", 1, "schedule", 1, "parallel", "tasks", 1), ("operations", 0))),
        ("one", "again", "other", (None, None)),
    ],
)
def test_places_of_tasks(challenge: str | None, task: str, operation: str, paths: Any) -> None:
    found = task_path(SPEC, challenge, task)

    assert (found, operation_path(SPEC, found, operation)) == paths


@pytest.mark.parametrize(
    "spec", [{"schedule": [{"operation": "x"}]}, {"challenge": {"schedule": [{"operation": "x"}]}}]
)
def test_a_track_without_challenges(spec: dict[str, Any]) -> None:
    path = task_path(spec, None, "x")

    assert path is not None
    assert path[-1] == 0


@given(JSON)
def test_places_never_fail(value: Any) -> None:
    spec = value if isinstance(value, dict) else {"challenges": value, "operations": value, "schedule": value}

    assert task_path(spec, None, "x") is None
    assert operation_path(spec, None, "x") is None
