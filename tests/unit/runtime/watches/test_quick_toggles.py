"""kopf's wait for its first lists: in order as before, and without a wake-up of everybody at every object."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from kopf._cogs.aiokits import aiotoggles
from kopf._core.reactor import orchestration

from fairlap.runtime.watches.quick_toggles import QuickToggles, use_quick_toggles

Sets = Callable[[Callable[..., bool]], aiotoggles.ToggleSet]


def play(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scene, 20))


async def first_list(toggles: aiotoggles.ToggleSet, objects: int) -> list[str]:
    """List objects as kopf does: a toggle and a worker for each; return what happened in which order."""
    told: list[str] = []
    listing = await toggles.make_toggle(name="listing")

    async def work(toggle: aiotoggles.Toggle) -> None:
        await toggles.drop_toggle(toggle)
        told.append("indexed")
        await toggles.wait_for(True)
        told.append("handled")

    workers = []
    for _ in range(objects):
        workers.append(asyncio.create_task(work(await toggles.make_toggle())))
        await asyncio.sleep(0)
    told.append("listed")
    await toggles.drop_toggle(listing)
    await asyncio.gather(*workers)
    return told


@pytest.mark.parametrize("sets", [aiotoggles.ToggleSet, QuickToggles])
def test_nothing_is_handled_before_all_is_listed_and_indexed(sets: Sets) -> None:
    async def scene() -> None:
        told = await first_list(sets(all), 20)
        first = told.index("handled")
        assert told[:first].count("indexed") == 20 and "listed" in told[:first]
        assert told[first:] == ["handled"] * 20

    play(scene())


@pytest.mark.parametrize("together", [all, any])
def test_each_change_of_the_whole_set_wakes_who_waits_for_it(together: Callable[..., bool]) -> None:
    async def scene() -> None:
        toggles = QuickToggles(together)
        one = await toggles.make_toggle(True, name="one")
        assert toggles.is_on() and one.name == "one"
        off = asyncio.create_task(toggles.wait_for(False))
        await asyncio.sleep(0)
        if together is all:
            other = await toggles.make_toggle(False)
            await off
            on = asyncio.create_task(toggles.wait_for(True))
            await asyncio.sleep(0)
            await toggles.drop_toggle(other)
            await on
        else:
            await toggles.drop_toggle(one)
            await off
            on = asyncio.create_task(toggles.wait_for(True))
            await asyncio.sleep(0)
            await toggles.make_toggle(True)
            await on
        await toggles.drop_toggles(list(toggles))
        assert len(toggles) == 0

    play(scene())


def test_thousands_of_objects_do_not_wake_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wake-ups are counted, not seconds: kopf's own set has some 4 million for 2,000 objects."""

    async def scene() -> None:
        toggles, objects, asked = QuickToggles(all), 2000, 0
        is_on = toggles.is_on

        def counted() -> bool:
            nonlocal asked
            asked += 1
            return is_on()

        monkeypatch.setattr(toggles, "is_on", counted)
        await first_list(toggles, objects)
        assert asked < 10 * objects

    play(scene())


def test_every_kopf_gets_such_a_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Red when another release of kopf keeps its sets elsewhere."""
    monkeypatch.setattr(aiotoggles, "ToggleSet", aiotoggles.ToggleSet)
    use_quick_toggles()
    assert orchestration.aiotoggles.ToggleSet is QuickToggles
    toggles = aiotoggles.ToggleSet(all)
    ensemble = orchestration.Ensemble(operator_indexed=toggles, operator_paused=toggles, peering_missing=None)  # type: ignore[arg-type]
    assert isinstance(ensemble.operator_indexed, QuickToggles)
