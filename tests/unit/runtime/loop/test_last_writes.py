"""When a status of any other object was written, which tells one object's trouble from everybody's."""

from fairlap.runtime.loop.last_writes import LastWrites


def test_own_writes_say_nothing_of_others() -> None:
    writes = LastWrites()
    assert writes.by_others("a") == 0
    writes.note("a", 1.0)
    writes.note("a", 2.0)
    assert (writes.by_others("a"), writes.by_others("b")) == (0, 2.0)
    writes.note("b", 3.0)
    assert (writes.by_others("a"), writes.by_others("b"), writes.by_others("c")) == (3.0, 2.0, 3.0)
    writes.note("a", 4.0)
    writes.note("a", 5.0)
    assert (writes.by_others("a"), writes.by_others("b")) == (3.0, 5.0)
