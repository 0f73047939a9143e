"""YAML is read as kubectl reads it: each row is what `kubectl annotate --local -o json` makes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fairlap.cli.edge.json_yaml import JsonLoader, read_json


def read(text: str) -> Any:
    return yaml.load(text, JsonLoader)  # noqa: S506 - it is a safe one


VALUES = [
    ("10:30", "10:30"), ("-1:30", "-1:30"), ("1:30.5", "1:30.5"), ("190:20:30", "190:20:30"),
    ("1e6", 1000000), ("1E+2", 100), ("1.5e3", 1500), ("0.1e1", 1), ("1e-3", 0.001), ("9.0", 9), ("5.", 5),
    (".5", 0.5), ("-.5", -0.5), ("+.5", 0.5), (".5_0", 0.5), ("1_0.5", 10.5), ("-0.0", 0), ("1e21", 1e21),
    ("1_000", 1000), ("1__0_", 10), ("+12", 12), ("0", 0), ("-7", -7), ("0_7", 7), ("08", 8), ("017", 15),
    ("0o17", 15), ("0O7", 7), ("-0o17", -15), ("0x1F", 31), ("0X1f", 31), ("-0x1F", -31),
    ("0b11", 3), ("0B1", 1), ("-0b11", -3),
    ("18446744073709551615", 2**64 - 1), ("18446744073709551616", 2.0**64), ("-9223372036854775809", -(2**63)),
    ("123456789012345678901234567890", 1.2345678901234568e29), ("0xFFFFFFFFFFFFFFFFF", "0xFFFFFFFFFFFFFFFFF"),
    ("1e400", "1e400"), ("9" * 5000, "9" * 5000), ("_1", "_1"), ("0x", "0x"), ("1e", "1e"), ("8.11.0", "8.11.0"),
    (".", "."), ("=", "="), ("²", "²"), ("٣", "٣"),
    ("y", True), ("Y", True), ("yes", True), ("ON", True), ("True", True),
    ("n", False), ("N", False), ("no", False), ("Off", False), ("FALSE", False), ("oN", "oN"), ("tRue", "tRue"),
    ("~", None), ("null", None), ("", None), ("nUll", "nUll"),
    ("2024-01-01", "2024-01-01"), ("2024-01-01T10:00:00Z", "2024-01-01T10:00:00Z"),
    ("!!timestamp 2024-01-01", "2024-01-01"), ('!!int "5"', 5), ("!!int 0o17", 15), ("!!float 5", 5),
    ("!!float 1e3", 1000), ("!!bool yes", True), ("!!str 5", "5"), ('"1e6"', "1e6"), ("'y'", "y"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), VALUES, ids=lambda it: str(it)[:40])
def test_a_value_is_what_kubectl_reads(text: str, value: Any) -> None:
    found = read(f"a: {text}\n")["a"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("1", "1"), ("2024", "2024"), ("0x10", "16"), ("1_0", "10"), ("10:30", "10:30"), ("yes", "true"),
        ("n", "false"), ("8.11", "8.11"), ("8.0", "8"), ("-.5", "-0.5"), ("123456.5", "123456.5"),
        ("2024-01-01", "2024-01-01"), ("a", "a"),
    ],
)  # fmt: skip
def test_a_key_is_a_text(text: str, key: str) -> None:
    assert read(f"{{{text}: on}}") == {key: True}
    assert read(f"a: &a {{{text}: 1}}\nb: {{<<: *a, c: 2}}")["b"] == {key: 1, "c": 2}


@pytest.mark.parametrize("text", [".inf", "-.INF", "+.Inf", ".nan", '!!int "abc"', "!!int 1.5", '!!float "abc"'])
def test_what_json_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(yaml.YAMLError, match="no number that JSON has"):
        read(f"a: {text}\n")


def test_a_key_without_a_text_is_refused() -> None:
    with pytest.raises(yaml.YAMLError, match="no text and no number"):
        read("~: 1")


@given(st.text("+-.0123456789_eExXoObBnN:", max_size=8))
def test_whatever_looks_like_a_number_is_one_of_json_or_a_text(text: str) -> None:
    try:
        found = read(f"[{text}]")
    except yaml.YAMLError:
        return
    json.dumps(found, allow_nan=False)


def test_json_is_read_with_the_same_numbers() -> None:
    assert repr(read_json('{"a": 9.0, "b": 1e3, "c": 0.5, "d": 7}')) == "{'a': 9, 'b': 1000, 'c': 0.5, 'd': 7}"
    for text in ('{"a": NaN}', '{"a": -Infinity}', "{a: 1}", '{"a": 1} {}'):
        with pytest.raises(ValueError, match=r".*"):
            read_json(text)
