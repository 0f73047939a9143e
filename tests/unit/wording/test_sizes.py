"""Bytes as people read them, as a table."""

import pytest

from fairlap.wording.sizes import byte_scale, scaled_bytes, size_text


@pytest.mark.parametrize(
    ("size", "in_a_sentence", "in_a_table"),
    [
        (0, "0 bytes", "0 B"),
        (1023, "1,023 bytes", "1023 B"),
        (1024, "1 KiB", "1.0 KiB"),
        (5 * 2**20, "5 MiB", "5.0 MiB"),
        (1.5 * 2**30, "1.5 GiB", "1.5 GiB"),
        (2**42, "4,096 GiB", "4096.0 GiB"),
    ],
)
def test_bytes_are_told_in_the_largest_unit_up_to_gib(size: float, in_a_sentence: str, in_a_table: str) -> None:
    assert scaled_bytes(size).replace("\N{NO-BREAK SPACE}", " ") == in_a_sentence
    assert size_text(size) == in_a_table


def test_no_size_is_a_dash() -> None:
    assert size_text(None) == "-"


@pytest.mark.parametrize(
    ("sizes", "scale"), [([], (1.0, "bytes")), ([3, 2**20], (2**20, "MiB")), ([2**41], (2**40, "TiB"))]
)
def test_sizes_beside_each_other_have_the_unit_of_the_largest(sizes: list[float], scale: tuple[float, str]) -> None:
    assert byte_scale(sizes) == scale
