"""Objects of any shape are read without an error."""

from typing import Any

import pytest

from fairlap.api.raw import as_list, as_mapping, condition_of, is_over_http

READY = {"type": "Ready", "status": "True"}


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ({"conditions": [{"type": "Other"}, READY, {"type": "Ready", "status": "False"}]}, READY),
        ({"conditions": [3, None, READY]}, READY),
        ({"conditions": [{"type": "Other"}]}, {}),
        ({"conditions": {"type": "Ready"}}, {}),
        ({}, {}),
        ("nonsense", {}),
        (None, {}),
    ],
)
def test_the_first_condition_of_a_type_is_found_in_any_status(status: Any, found: Any) -> None:
    assert condition_of({"status": status}, "Ready") == found


@pytest.mark.parametrize("value", [None, "text", 3, ("a",)])
def test_what_has_another_shape_is_empty(value: Any) -> None:
    assert (as_mapping(value), as_list(value), is_over_http({"target": value})) == ({}, [], False)
    assert as_mapping({"a": 1}) == {"a": 1} and as_list([1]) == [1]


def test_a_target_of_kind_http_is_one_of_the_spec() -> None:
    assert is_over_http({"target": {"kind": "http"}}) and not is_over_http({"target": {"kind": "elasticsearch"}})
