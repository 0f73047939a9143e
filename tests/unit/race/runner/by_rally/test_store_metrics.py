"""A metrics store that cannot be used is refused before a race, in a sentence."""
# ruff: noqa: S106 - names of Secrets are no passwords

import threading
from pathlib import Path
from typing import Any

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.specification.race_spec import MetricsStoreSpec, Mode, RaceSpec, TrackSource
from fairlap_race.runner.by_rally.store_metrics import objection, refuse_unusable, store_metrics
from fairlap_race.runner.parts import FailedError


def spec(store: MetricsStoreSpec | None, mode: Mode = Mode.RACE) -> RaceSpec:
    return RaceSpec(mode, "ns", "r", "ns.bm.race-1", TrackSource(builtin="log_ingest"), metrics_store=store)


def test_without_a_store_there_is_nothing_to_refuse() -> None:
    assert objection(spec(None)) is None
    refuse_unusable(spec(None))


@pytest.mark.parametrize(
    ("store", "reason", "words"),
    [
        (MetricsStoreSpec(("localhost:1",)), Reason.METRICS_STORE_UNUSABLE,
         "race.metricsStore: GET / at localhost:1: ConnectionRefusedError"),
        (MetricsStoreSpec(("localhost:1",), password_file=Path("/nowhere/elastic"), credentials_secret="s"),
         Reason.SECRET_MISSING, "race.metricsStore: there is no Secret s with the key elastic in the namespace ns"),
        (MetricsStoreSpec(("localhost:1",), ca_file=Path("/nowhere/ca.crt"), ca_secret="c"),
         Reason.SECRET_MISSING, "race.metricsStore: there is no Secret c with the key ca.crt in the namespace ns"),
        (MetricsStoreSpec(("localhost:1",), password_file=Path("/nowhere/elastic")),
         Reason.METRICS_STORE_UNUSABLE, "race.metricsStore: [Errno 2]"),
    ],
)  # fmt: skip
def test_what_is_refused(store: MetricsStoreSpec, reason: Reason, words: str) -> None:
    found = objection(spec(store))
    assert found and found.reason is reason and found.message.startswith(words), found
    with pytest.raises(FailedError) as caught:
        refuse_unusable(spec(store))
    assert caught.value.outcome == found


@pytest.mark.parametrize(
    ("field", "content"),
    [("api_key_file", b"VnVhQ2ZH\nVctZTBhT"), ("user_file", b"VnVhQ2ZH\xff"), ("password_file", b"VnVhQ2ZH\xff")],
)
def test_credentials_that_cannot_be_sent_are_said_without_a_word_of_them(
    tmp_path: Path, field: str, content: bytes
) -> None:
    (tmp_path / "credential").write_bytes(content)
    credential: dict[str, Any] = {field: tmp_path / "credential"}
    found = objection(spec(MetricsStoreSpec(("localhost:1",), **credential)))
    assert found and found.reason is Reason.METRICS_STORE_UNUSABLE
    assert found.message.startswith(f"race.metricsStore: {tmp_path}/credential is no ")
    assert "VnVh" not in found.message


def test_what_is_wrong_in_a_secret_of_the_store_is_told_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "password").write_bytes(b"caf\xe9")
    store = MetricsStoreSpec(("localhost:1",), password_file=tmp_path / "password", credentials_secret="writer")
    found = objection(spec(store))
    assert found and found.message == "race.metricsStore: the key password of Secret writer is no text in UTF-8"


def test_a_smoke_test_leaves_nothing_and_a_race_that_never_ended_says_so(tmp_path: Path) -> None:
    store = MetricsStoreSpec(("localhost:1",))
    assert store_metrics(spec(store, Mode.SMOKE), tmp_path, 1e12, threading.Event()) is None
    found = store_metrics(spec(store), tmp_path, 1e12, threading.Event())
    assert found and found.problem == "Rally ended before it had them" and found.hosts == ("localhost:1",)
