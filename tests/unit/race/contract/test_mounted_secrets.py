"""What a Secret may hold, and that an error about one has no word of it."""

from pathlib import Path

import pytest

from fairlap_race.contract.secrets import read_api_key, read_secret

ENCODED = "VnVhQ2ZHY0JDZGJrU1Zj"


@pytest.mark.parametrize(
    ("stored", "key"), [(f"{ENCODED}\n", ENCODED), (f"  {ENCODED}\r\n", ENCODED), ("id:key\n", "aWQ6a2V5")]
)
def test_a_key_as_it_goes_into_a_header(tmp_path: Path, stored: str, key: str) -> None:
    (tmp_path / "api-key").write_bytes(stored.encode())
    assert read_api_key(tmp_path / "api-key") == key


@pytest.mark.parametrize("between", ["\n", "\r\n", " ", "\t", "\0", "\x7f", "é", "\u2028"])
@pytest.mark.parametrize("stored", [f"{ENCODED}%sVctZTBhT2", f"id:{ENCODED}%sVctZTBhT2"])
def test_what_no_header_can_carry_is_refused_without_a_word_of_it(tmp_path: Path, stored: str, between: str) -> None:
    (tmp_path / "api-key").write_bytes((stored % between).encode())
    with pytest.raises(OSError, match=r"/api-key is no API key: store it in printable ASCII, without blanks") as caught:
        read_api_key(tmp_path / "api-key")
    assert ENCODED not in repr(caught.value) and "VctZ" not in repr(caught.value)


def test_an_empty_key_is_none(tmp_path: Path) -> None:
    (tmp_path / "api-key").write_text("\n")
    with pytest.raises(OSError, match="is no API key"):
        read_api_key(tmp_path / "api-key")


def test_what_is_not_utf_8_is_refused_without_a_word_of_it(tmp_path: Path) -> None:
    (tmp_path / "password").write_bytes(b"pass\xffword")
    with pytest.raises(OSError, match=r"/password is no text in UTF-8$") as caught:
        read_secret(tmp_path / "password")
    assert caught.value.__suppress_context__, "the error behind it has the bytes"
    (tmp_path / "password").write_bytes("pässword\r\n".encode())
    assert read_secret(tmp_path / "password") == "pässword"
