"""Characters of a rendered track lead back to the file and line that they come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.track.check.source_map import Templates, json_offset

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, inner in items for found in paths(inner, (*path, key)))]


@given(JSON, st.sampled_from([None, 2]), st.data())
def test_json_offset_finds_every_value(value: Any, indent: int | None, data: st.DataObject) -> None:
    text = json.dumps(value, indent=indent)
    path = data.draw(st.sampled_from(paths(value)))

    offset = json_offset(text, path)

    wanted = value
    for part in path:
        wanted = wanted[part]
    expected = path[-1] if path and isinstance(path[-1], str) else wanted
    assert json.JSONDecoder().raw_decode(text, offset)[0] == expected


@given(JSON)
def test_json_offset_of_what_is_not_there_is_within_the_text(value: Any) -> None:
    text = json.dumps(value)

    assert 0 <= json_offset(text, ["no such key", 99]) < len(text)


def test_lines_of_collected_and_included_parts_macros_and_loops(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.json").write_text('{\n"a": 1}')
    (tmp_path / "parts" / "b.json").write_text('\n\n{"b": {{ b }}}')
    (tmp_path / "inc.json").write_text('\n"included"')
    (tmp_path / "track.json").write_text(
        '{% import "rally.helpers" as rally with context %}\n'
        "{%- macro m(x) -%}\n"
        '  "macro-{{ x }}"\n'
        "{%- endmacro -%}\n"
        "[\n"
        '  {{ rally.collect(parts="parts/*.json") }},\n'
        "  {{ m(1) }},\n"
        '  {% include "inc.json" %},\n'
        "  {%- for n in [1, 2] %}\n"
        '  "loop-{{ n }}",\n'
        "  {%- endfor %}\n"
        '  "end"\n'
        "]\n"
    )
    rendered = Templates(tmp_path, {"b": 2}).render("track.json", includes=True)

    values = json.loads(rendered.text)
    assert values == [{"a": 1}, {"b": 2}, "macro-1", "included", "loop-1", "loop-2", "end"]
    places = [rendered.place_of(path) for path in ([0, "a"], [1, "b"], [2], [3], [4], [5], [6])]
    assert [(place.file, place.line) for place in places if place] == [
        ("parts/a.json", 2),
        ("parts/b.json", 3),
        ("track.json", 3),
        ("inc.json", 2),
        ("track.json", 10),
        ("track.json", 10),
        ("track.json", 12),
    ]
