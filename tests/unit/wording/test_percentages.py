"""Per cent as people read them: neither none nor all where it is some."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.wording.percentages import share_percent, short_percent, tenths_of_percent


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"), (0.01, "1 %"), (30 / 1100, "2.73 %"), (1.0, "100 %"), (0.000001, "0.0001 %"),
        (0.99999, "99.999 %"), (0.9996, "99.96 %"), (0.95, "95 %"),
    ],
)  # fmt: skip
def test_three_digits_that_count(share: float, text: str) -> None:
    assert short_percent(share) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(None, "-"), (0.0, "0.0 %"), (0.0004, "< 0.1 %"), (0.001, "0.1 %"), (0.0125, "1.2 %"), (1.0, "100.0 %")],
)
def test_tenths_of_a_per_cent(share: float | None, text: str) -> None:
    assert tenths_of_percent(share) == text


@given(st.floats(1e-9, 1))
def test_no_share_reads_as_none(share: float) -> None:
    for text in (share_percent(share), tenths_of_percent(share), short_percent(share)):
        assert float(text.removeprefix("< ").removesuffix(" %")) > 0 and "e" not in text
