"""What a status says of a corpus in one line, and what of that makes two races differ."""

import pytest

from fairlap_race.contract.recorded.track_record import TrackCorpus


@pytest.mark.parametrize("name", ["logs", "logs, old"])
def test_a_corpus_is_the_same_wherever_it_came_from(name: str) -> None:
    found = [TrackCorpus(name, "a, b.json", 12, "aa", origin) for origin in ("downloaded", "generated", "cache")]
    assert found[0].line == f"{name}/a, b.json, 12 bytes, aa, downloaded"
    assert {it.content for it in found} == {f"{name}/a, b.json, 12 bytes, aa"}
