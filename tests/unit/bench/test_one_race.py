"""What `bench/truth` leaves out of the race that it compares with."""

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from parts import one_race

from fairlap_race.contract.race_spec import Mode
from fairlap_race.runner import race, supervise


@pytest.fixture
def restored() -> Iterator[None]:
    """Put back what the switch replaces, for the other tests of this process."""
    before, look = dict(vars(race)), supervise.Cost.look
    yield
    vars(race).update(before)
    supervise.Cost.look = look  # type: ignore[method-assign]


@pytest.mark.usefixtures("restored")
def test_a_race_without_checks_looks_at_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Any] = []
    monkeypatch.setattr(race, "do_fixed_work", lambda *about: ran.append(about))
    one_race.switch_off()
    spec, files = SimpleNamespace(mode=Mode.RACE, canary_seconds=3.0), SimpleNamespace(work=tmp_path)
    runner: Any = SimpleNamespace(spec=spec, files=files, stop=threading.Event())
    assert race.RaceRunner._canary(runner, SimpleNamespace(may_use=1.0)) is None and not ran  # type: ignore[arg-type]
    cost = supervise.Cost()
    cost.look()
    assert cost.start is None
