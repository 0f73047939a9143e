"""Room that all share, of which no namespace has more than its part."""

import asyncio

from fairlap.kube.shared_room import SharedRoom


async def entering(room: SharedRoom, *namespaces: str) -> tuple[list[str], list[asyncio.Task[None]]]:
    """Return who is in so far, of those that want to enter in this order, and the tasks of all."""
    inside = list[str]()

    async def enter(namespace: str) -> None:
        await room.enter(namespace)
        inside.append(namespace)

    tasks = [asyncio.create_task(enter(namespace)) for namespace in namespaces]
    await asyncio.sleep(0.01)
    return inside, tasks


def test_one_namespace_has_its_part_and_others_the_rest() -> None:
    async def play() -> tuple[list[str], list[str]]:
        room = SharedRoom(3, 2)
        inside, tasks = await entering(room, "a", "a", "a", "b", "c")
        first = list(inside)
        room.leave("a")
        await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        return first, inside

    first, inside = asyncio.run(play())
    assert first == ["a", "a", "b"]
    assert inside == [*first, "c"], "who waited for room alone was there before who waited for its namespace's"


def test_who_gives_up_waiting_takes_nothing_with_it() -> None:
    async def play() -> None:
        room = SharedRoom(1, 1)
        await room.enter("a")
        inside, tasks = await entering(room, "a", "b")
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not inside
        room.leave("a")
        for namespace in ("a", "b"):
            async with asyncio.timeout(10), room.held(namespace):
                pass

    asyncio.run(play())
