"""In what a race's surroundings differ from those of the first race of its Benchmark: only what both know."""

import json
from collections.abc import Iterator
from typing import Any

from fairlap.api.image_digest import image_digests
from fairlap.api.machine_status import MachineEvidence
from fairlap.api.status import Environment, NodeCopies
from fairlap.results.remarks import RaceRemark, first_that_fit
from fairlap.wording.counts import counted
from fairlap_race.contract.reasons import Reason

_LONGEST, _LONGEST_SENTENCE = 300, 1000
_OF_ALL = (
    *("version", "build_hash", "lucene_version", "java", "jvm", "jvm_flags", "heap_bytes", "gc", "nodes", "plugins"),
    *("images", "qos_class", "rally_version", "rally_image", "rally_poll_intervals", "track_params"),
    *("k6_version", "http_hosts"),
)
_OF_MACHINES = ("machine", "cpu_model", "processors", "memory_bytes", "numa_nodes", "kernel")
# Where a volume comes from a pool, each has a source of its own, and only its kind is the same.
_OF_STORAGE = (
    *("kind", "class_name", "provisioner", "parameters", "source_kind", "file_system", "mount_options", "total_bytes"),
)


def differences(first: Environment, now: Environment) -> list[str]:
    """Return in one sentence each what differs, the first value before the other; names of pods are no difference."""
    was, found = dict(_parts(first)), dict(_parts(now))
    return [
        f"{name} {_text(earlier)}, now {_text(later)}"
        for name, value in found.items()
        if name in was and _compared(name, was[name]) != _compared(name, value)
        for earlier, later in [_apart(was[name], value)]
    ]


def _compared(name: str, value: Any) -> Any:
    """Return a value as it is compared: images by their digests, for a machine may have several names for one."""
    if name == "images":
        return image_digests(value)
    return image_digests(value.split(", ")) if name == "rally_image" else value


def _apart(first: Any, now: Any) -> tuple[Any, Any]:
    """Return of two long lists, such as a JVM's flags, only what is not in both; anything else as it is."""
    if not (isinstance(first, list) and isinstance(now, list)) or max(map(len, map(_whole, (first, now)))) <= _LONGEST:
        return first, now
    alone = [it for it in first if it not in now], [it for it in now if it not in first]
    return alone if any(alone) else (first, now)  # the order alone differs


def _parts(environment: Environment) -> Iterator[tuple[str, Any]]:
    """Yield what is known of an environment, by names that no two races have differently."""
    # What Java tells of its heap changes from race to race with some collectors; -Xmx says what it was given.
    said = {"heap_bytes"} if any(flag.startswith("-Xmx") for flag in environment.jvm_flags) else set[str]()
    for field in _OF_ALL:
        if field not in said and (value := getattr(environment, field)) not in (None, "", [], {}, 0):
            yield field, value
    for place, machine in enumerate(environment.machines):
        whose = machine.node if place == len(environment.machines) - 1 else f"node {place}"
        yield from _of_machine(machine, whose)
    for place, storage in enumerate(environment.storage):
        for field in _OF_STORAGE:
            if (value := getattr(storage, field)) not in (None, "", {}):
                yield f"storage {field} of node {place}", value
    for index in environment.indices:
        if index.copies_per_node:
            yield f"copies per node of index {index.name}", [_copies(it) for it in index.copies_per_node]


def _of_machine(machine: MachineEvidence, whose: str) -> Iterator[tuple[str, Any]]:
    for field in _OF_MACHINES:
        if (value := getattr(machine, field)) not in (None, ""):
            yield f"{field} of {whose}", value
    for field, value in machine.settings or ():
        if value not in (None, []):
            yield f"{field} of the machine of {whose}", value


def _copies(of: NodeCopies) -> str:
    each = f"{counted(of.primaries, 'primary shard')} and {counted(of.replicas, 'replica')}"
    return f"{counted(of.nodes, 'node')} with {each}"


def _whole(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _text(value: Any) -> str:
    text = _whole(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def remark(first: str, found: list[str]) -> RaceRemark:
    """Return what is said of a race whose surroundings differ from those of the race `first`."""
    return RaceRemark(Reason.ENVIRONMENT_CHANGED, f"unlike in {first}: {'; '.join(found)}")


def noted(earlier: list[str], race: str, found: list[str]) -> list[str]:
    """Return the differences of all races so far, as the status has room for them."""
    return first_that_fit([*earlier, *(f"{race}: {text}"[:_LONGEST_SENTENCE] for text in found)], 20_000)[:100]
