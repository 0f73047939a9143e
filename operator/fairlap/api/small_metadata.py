"""What is held of an object's metadata: only what is read of it, since anybody may write a megabyte there.

Kubernetes bounds annotations alone (256 KiB an object). Labels, finalizers and owner references may be as many, and the
names in a reference as long, as an object has room for.
"""

import hashlib
from collections.abc import Collection, Iterable
from typing import Any, Final

from fairlap.api.base import Json
from fairlap.api.names import (
    BENCHMARK_LABEL,
    BLOCK_LABEL,
    COMPARISON_LABEL,
    GROUP,
    MANAGED_BY,
    PART_LABEL,
    RERUN_OF,
    ROLE_LABEL,
    STEP_LABEL,
    UID_LABEL,
    VARIANT_LABEL,
)

MOST_FINALIZERS: Final = 20
LONGEST_VALUE: Final = 1000
"""of a name in a reference, a finalizer or a label"""
_WHOLE: Final = 200
"""characters of an annotation that is kept as it is"""
FOREGROUND: Final = frozenset({"foregroundDeletion", "orphan"})
"""finalizers of a deletion that takes the children first"""
OWN_FINALIZER: Final = f"{GROUP}/operator"
"""an earlier version's"""
_LABELS: Final = (
    MANAGED_BY, BENCHMARK_LABEL, UID_LABEL, STEP_LABEL, ROLE_LABEL, COMPARISON_LABEL, BLOCK_LABEL, VARIANT_LABEL,
    PART_LABEL, RERUN_OF,
)  # fmt: skip
_REFERENCE: Final = ("apiVersion", "kind", "name", "uid", "controller")


def shrink_metadata(meta: Json, annotations: Collection[str] = ()) -> None:
    """Drop, in place, what nobody reads of an object's metadata; `annotations`: the names of those that are read."""
    meta.pop("managedFields", None)
    for part, kept, small in (("labels", _LABELS, _cut), ("annotations", annotations, short_value)):
        if part in meta:
            there = meta[part] or {}
            meta[part] = {name: small(there[name]) for name in kept if name in there}
            if not meta[part]:
                del meta[part]
    if references := meta.get("ownerReferences"):
        meta["ownerReferences"] = [small_reference(each) for each in _controller_or_first(references)]
    if len(finalizers := meta.get("finalizers") or ()) > MOST_FINALIZERS:
        # Not ours: whoever would take it off the list that is left here would take all others off, too.
        others = [_cut(each) for each in finalizers if each not in (*FOREGROUND, OWN_FINALIZER)]
        meta["finalizers"] = [*(FOREGROUND & set(finalizers)), *others[:MOST_FINALIZERS]]


def short_value(value: Any) -> Any:
    """Return the value of an annotation, of a long one its hash: those that begin alike stay different."""
    if not isinstance(value, str) or len(value) <= _WHOLE:
        return value
    return f"sha256:{hashlib.sha256(value.encode(errors='surrogatepass')).hexdigest()[:32]}"


def small_reference(reference: Json) -> Json:
    """Return an owner reference with what tells whose an object is."""
    return {key: _cut(reference[key]) for key in _REFERENCE if key in reference}


def _controller_or_first(references: Iterable[Json]) -> list[Json]:
    return sorted(references, key=lambda each: not each.get("controller"))[:1]


def _cut(value: Any) -> Any:
    return value[:LONGEST_VALUE] if isinstance(value, str) else value
