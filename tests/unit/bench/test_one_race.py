"""What `bench/truth` leaves out of the race that it compares with."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from parts import one_race

from fairlap_race.contract.specification.race_spec import Mode, RaceSpec
from fairlap_race.runner import race_frame, supervise
from fairlap_race.runner.by_rally import race_steps
from fairlap_race.runner.parts import Parts, assemble


@pytest.fixture
def restored() -> Iterator[None]:
    """Put back what the switch replaces, for the other tests of this process."""
    before, look = [(module, dict(vars(module))) for module in (race_frame, race_steps)], supervise.Cost.look
    yield
    for module, names in before:
        vars(module).update(names)
    supervise.Cost.look = look  # type: ignore[method-assign]


@pytest.mark.usefixtures("restored")
def test_what_is_switched_off_is_there() -> None:
    before = [set(vars(module)) for module in (race_frame, race_steps)]
    one_race.switch_off()
    assert [set(vars(module)) for module in (race_frame, race_steps)] == before


@pytest.mark.usefixtures("restored")
def test_a_race_without_checks_looks_at_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Any] = []
    monkeypatch.setattr(race_frame, "do_fixed_work", lambda *about: ran.append(about))
    one_race.switch_off()
    frame = race_frame.RaceFrame(RaceSpec(Mode.RACE, "ns", "r", "id"), threading.Event(), Parts(), assemble)
    assert frame.canary(tmp_path, 1.0) is None and not ran
    cost = supervise.Cost()
    cost.look()
    assert cost.start is None
