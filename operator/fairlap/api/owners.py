"""Who controls an object: its owner references say it; pure, standard library only."""

from collections.abc import Mapping
from typing import Any

from fairlap.api.names import GROUP, LONGEST_UID
from fairlap.api.raw import as_list, as_mapping


def controller(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reference to the owner that controls an object; empty where none does."""
    references = map(as_mapping, as_list(as_mapping(body.get("metadata")).get("ownerReferences")))
    return next((dict(each) for each in references if each.get("controller")), {})


def controller_uid(body: Mapping[str, Any], kind: str) -> str:
    """Return the uid of the object of this kind, one of ours, that controls an object; "" where none does."""
    found = controller(body)
    is_ours = found.get("kind") == kind and str(found.get("apiVersion")).partition("/")[0] == GROUP
    return str(found.get("uid") or "")[:LONGEST_UID] if is_ours else ""
