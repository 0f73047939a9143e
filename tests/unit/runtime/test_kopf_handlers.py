"""What the handlers do of themselves: an event of what is over ends the work on it."""

from collections.abc import Mapping
from typing import Any

import kopf

from fairlap.runtime.kopf_handlers import _is_driven
from fairlap.runtime.loop.state import Operator
from fairlap.runtime.objects.project import drop_comparison
from fairlap.settings import Settings


def test_the_work_on_what_is_over_ends_with_its_verdict() -> None:
    """Whoever wrote its end, and whether an answer came: the event is the first to tell of it for sure."""
    operator, ended = Operator(Settings(race_image="race")), list[tuple[str, Mapping[str, Any] | None]]()
    operator.object_tasks.end = lambda uid, last_status=None: ended.append((uid, last_status))  # type: ignore[method-assign]

    def show(status: dict[str, Any], *, deleted: bool) -> None:
        raw: Any = {"metadata": {"name": "cmp", "namespace": "ns", "uid": "u"}, "spec": {"a": 1}, "status": status}
        body = kopf.Body(raw)
        drop_comparison(body)
        assert not _is_driven(operator, "Comparison", body, over=True)
        assert ended.pop() == ("u", None if deleted else {"phase": "Complete", "verdict": "Mixed"})

    show({"phase": "Complete", "verdict": "Mixed", "blocks": []}, deleted=False)
    show({"phase": "Racing"}, deleted=True)
