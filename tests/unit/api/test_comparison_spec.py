"""What a Comparison's spec takes, and in which words it refuses the rest."""

from typing import Any

import pytest
from pydantic import ValidationError

from fairlap.api.comparison_spec import Axis


@pytest.mark.parametrize(("value", "word"), [(True, "true"), (False, "false")])
def test_true_and_false_are_no_values_of_an_axis(value: Any, word: str) -> None:
    """In Python they are whole numbers, and the API server refuses them."""
    with pytest.raises(ValidationError) as error:
        Axis.model_validate({"path": "race.offline", "values": ["a", value]})
    (detail,) = error.value.errors()
    assert detail["loc"] == ("values", 1)
    assert detail["msg"].startswith(f'a matrix takes texts and whole numbers, not {word}: write "{word}" in quotes')


def test_texts_and_whole_numbers_are() -> None:
    values = [1, "1", 0, "true"]
    found = Axis.model_validate({"path": "race.params.a", "values": values}).values
    assert found == values and [type(each) for each in found] == [int, str, int, str]
