"""The documents that public tracks are raced with where their own cannot be had."""

import json
import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.soak.mapped_documents import FIELDS, documents, lines, value

KINDS = st.sampled_from(["keyword", "text", "date", "long", "double", "ip", "geo_point", "boolean", "scaled_float"])
LEAVES = KINDS.map(lambda kind: {"type": kind})
NAMES = st.text("abcdef", min_size=1, max_size=3)
FIELDS_OF = st.recursive(
    LEAVES, lambda inner: st.dictionaries(NAMES, inner, min_size=1).map(lambda it: {"properties": it})
)


def leaves(document: Any) -> int:
    if isinstance(document, dict):
        return sum(leaves(it) for it in document.values())
    return 1


@pytest.mark.long
@settings(max_examples=30, deadline=None)  # each makes ten documents
@given(st.dictionaries(NAMES, FIELDS_OF, min_size=1), st.integers(0, 5))
def test_the_same_seed_gives_the_same_documents_and_no_field_that_is_not_mapped(fields: Any, seed: int) -> None:
    mapping = {"properties": fields}
    made = list(documents(mapping, 5, seed))
    assert made == list(documents(mapping, 5, seed)) and len(made) == 5

    def within(document: Any, properties: Any) -> bool:
        return all(
            name in properties and ("type" in properties[name] or within(it, properties[name]["properties"]))
            for name, it in document.items()
        )

    assert all(within(document, fields) for document in made)


@pytest.mark.parametrize(
    ("wanted", "made"),
    [
        ("yyyy-MM-dd HH:mm:ss", r"2016-01-.. ..:..:.."),
        ("strict_date_optional_time||epoch_second", r"2016-01-..T.*Z"),
        ("epoch_second", None),
        ("yyyy-MM-dd'T'HH:mm:ss'Z'", r"2016-01-..T..:..:..Z"),
        ("basic_date", r"201601.."),
    ],
)
def test_dates_are_in_the_first_format_of_the_mapping(wanted: str, made: str | None) -> None:
    found = value({"type": "date", "format": wanted}, random.Random(1))
    assert isinstance(found, int) if made is None else re.fullmatch(made, found), found


def test_a_mapping_of_thousands_of_fields_makes_documents_of_a_few() -> None:
    inner = {f"f{number}": {"type": "keyword"} for number in range(500)}
    mapping = {"properties": {"@timestamp": {"type": "date"}, **{f"o{n}": {"properties": inner} for n in range(5)}}}
    for document in documents(mapping, 5):
        assert leaves(document) == FIELDS + 1 and "@timestamp" in document


def test_lines_name_their_index_where_it_is_asked_for() -> None:
    plain, with_action = list(lines({}, 3)), list(lines({}, 3, "t"))
    assert len(plain) == 3 and len(with_action) == 6
    assert json.loads(with_action[0]) == {"index": {"_index": "t"}} and json.loads(with_action[1])
