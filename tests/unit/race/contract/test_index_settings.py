"""What an index's name tells, and its settings by their full names."""

import pytest

from fairlap_race.contract.index_settings import by_full_name, stream_of


@pytest.mark.parametrize(
    ("index", "stream"),
    [
        (".ds-logs-nginx-default-2026.11.25-000001", "logs-nginx-default"),
        (".ds-.watcher-history-17-2026.11.25-000123", ".watcher-history-17"),
        (".ds-logs-2026.11.25-1", None),
        ("logs-2026.11.25-000001", None),
        ("logs", None),
        ("", None),
    ],
)
def test_the_data_stream_of_a_backing_index(index: str, stream: str | None) -> None:
    assert stream_of(index) == stream


def test_settings_by_their_full_names() -> None:
    nested = {"index": {"codec": "default", "mapping": {"source": {"mode": "stored"}}}, "number_of_shards": 1}
    assert by_full_name(nested) == {
        "index.codec": "default", "index.mapping.source.mode": "stored", "index.number_of_shards": 1,
    }  # fmt: skip
