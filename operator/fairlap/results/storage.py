"""What really holds the data of an Elasticsearch node, from Kubernetes' objects and the kernel's table of mounts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from fairlap.api.base import Json
from fairlap.api.machine_status import StorageEvidence
from fairlap_race.contract.watched_machines.resources import Volume

DATA_PATH = "/usr/share/elasticsearch/data"
_OCTAL = re.compile(r"\\([0-7]{3})")
# What identifies a volume, by the kind of its source, most telling first.
_IDENTIFIERS = ("driver", "volumeHandle", "path", "server", "pdName", "volumeID", "diskName", "iqn", "lun", "fsType")
_NO_SOURCE = {
    *("capacity", "accessModes", "claimRef", "persistentVolumeReclaimPolicy", "storageClassName", "mountOptions"),
    *("volumeMode", "nodeAffinity", "volumeAttributesClassName"),
}


class Mount(NamedTuple):
    """One line of the kernel's table of mounts."""

    file_system: str
    device: str
    options: tuple[str, ...]


class Provisioned(NamedTuple):
    """The objects behind one node's volume; None where there is none, or it could not be read."""

    claim: Json | None = None
    volume: Json | None = None
    storage_class: Json | None = None
    remarks: tuple[str, ...] = ()


def mount_of(mountinfo: str, path: str = DATA_PATH) -> Mount | None:
    """Return what is mounted at `path`, from the text of /proc/self/mountinfo (proc_pid_mountinfo(5)).

    The last line wins, since a later mount covers an earlier one.
    """
    found = None
    for line in mountinfo.splitlines():
        before, separator, after = line.partition(" - ")
        words, rest = before.split(" "), after.split(" ")
        if not separator or len(words) < 6 or len(rest) < 2 or _plain(words[4]) != path:
            continue
        options = [*words[5].split(","), *(rest[2].split(",") if len(rest) > 2 else ())]
        found = Mount(rest[0], _plain(rest[1]), tuple(dict.fromkeys(options)))
    return found


def _plain(text: str) -> str:
    return _OCTAL.sub(lambda code: chr(int(code[1], 8)), text)


def is_bound(claim: Json, volume: Json) -> bool:
    """Return whether a PersistentVolume is bound to that very claim, which the volume alone can tell."""
    reference = (volume.get("spec") or {}).get("claimRef") or {}
    uid = (claim.get("metadata") or {}).get("uid")
    return bool(uid) and reference.get("uid") == uid


def with_claim(volume: Volume, objects: Provisioned) -> Volume:
    """Return the evidence with what Kubernetes says of a node's volume claim."""
    claim, pv, storage_class = objects.claim or {}, objects.volume or {}, objects.storage_class or {}
    spec: Mapping[str, Any] = pv.get("spec") or {}
    capacity = spec.get("capacity") or (claim.get("status") or {}).get("capacity") or {}
    options = spec.get("mountOptions") or storage_class.get("mountOptions") or ()
    return replace(
        volume,
        kind="volumeClaim",
        claim=str((claim.get("metadata") or {}).get("name") or ""),
        class_name=str((claim.get("spec") or {}).get("storageClassName") or ""),
        provisioner=str(storage_class.get("provisioner") or _provisioner(pv)),
        parameters={str(k): str(v) for k, v in (storage_class.get("parameters") or {}).items()},
        reclaim_policy=str(spec.get("persistentVolumeReclaimPolicy") or storage_class.get("reclaimPolicy") or ""),
        binding_mode=str(storage_class.get("volumeBindingMode") or ""),
        persistent_volume=str((claim.get("spec") or {}).get("volumeName") or ""),
        capacity=str(capacity.get("storage") or ""),
        source=source(spec),
        source_kind=source_kind(spec),
        mount_options=volume.mount_options or tuple(options),
        remarks=(*volume.remarks, *objects.remarks),
    )


def _provisioner(volume: Json) -> str:
    annotations = (volume.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get("pv.kubernetes.io/provisioned-by") or "")


def source(spec: Mapping[str, Any]) -> str:
    """Return the kind of a PersistentVolume's source and what identifies it, from the volume's spec."""
    kind = source_kind(spec)
    about = spec[kind] if kind else {}
    return " ".join([kind, *(str(about[key]) for key in _IDENTIFIERS if about.get(key) not in (None, ""))])


def source_kind(spec: Mapping[str, Any]) -> str:
    """Return the kind of a PersistentVolume's source, from the volume's spec; "" where there is none."""
    return next((kind for kind, about in spec.items() if kind not in _NO_SOURCE and isinstance(about, Mapping)), "")


def with_mount(volume: Volume, mountinfo: str | None, why_not: str = "") -> Volume:
    """Return the evidence with what the kernel mounted for the node's data; `why_not` when that could not be read."""
    mount = mount_of(mountinfo) if mountinfo is not None else None
    if mount is None:
        why = why_not or f"nothing is mounted at {DATA_PATH}"
        return replace(volume, remarks=(*volume.remarks, f"mount options in effect could not be read: {why}"))
    return replace(volume, file_system=mount.file_system, device=mount.device, mount_options=mount.options)


def storage_evidence(volumes: Sequence[Volume]) -> list[StorageEvidence]:
    """Return the lines of the status about the volumes of one race."""
    return [_line(volume) for volume in volumes]


def _line(volume: Volume) -> StorageEvidence:
    used = None
    if volume.total_bytes and volume.available_bytes is not None:
        used = round(1 - volume.available_bytes / volume.total_bytes, 4)
    return StorageEvidence(
        node=volume.node,
        kind=volume.kind,
        claim=volume.claim,
        class_name=volume.class_name,
        provisioner=volume.provisioner,
        parameters=dict(list(volume.parameters.items())[:50]),
        reclaim_policy=volume.reclaim_policy,
        binding_mode=volume.binding_mode,
        persistent_volume=volume.persistent_volume,
        capacity=volume.capacity,
        source=volume.source[:1000],
        source_kind=volume.source_kind,
        file_system=volume.file_system or volume.type or "",
        device=volume.device or volume.mount or "",
        mount_options=",".join(volume.mount_options)[:2000],
        total_bytes=volume.total_bytes,
        available_bytes=volume.available_bytes,
        fill=used,
        remarks=[text[:1000] for text in volume.remarks][:10],
    )
