"""Which tasks of a race have numbers that nobody reads: what happened in them is no doubt about any number."""

from typing import Final

from fairlap_race.contract.recorded.record import Record

_SLEEP: Final = "sleep"


def unread_tasks(record: Record) -> frozenset[str]:
    """Return the tasks whose numbers nobody reads: Rally reports nothing of them, or they only wait."""
    silent = {task.name for task in record.track.tasks if not task.reported}
    return frozenset(silent | {task.task for task in record.tasks if task.type == _SLEEP})
