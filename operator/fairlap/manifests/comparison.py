"""What a Comparison controls: the Benchmarks that race and the records of its blocks; and what is known of noise."""

import base64
import re

from fairlap.api.base import Json
from fairlap.api.block_record import KEY_BLOCK, TWIN
from fairlap.api.kinds import CONFIG_MAP
from fairlap.api.names import (
    API_VERSION,
    BLOCK_LABEL,
    COMPARISON_KIND,
    COMPARISON_LABEL,
    KIND,
    MANAGED_BY,
    MANAGER,
    PART_LABEL,
    PART_RECORD,
    VARIANT_LABEL,
)
from fairlap.plan.comparison.comparison_seen import ComparisonSubject, RaceToCreate

_MOST_OF_A_LABEL = 63


def race_benchmark(subject: ComparisonSubject, race: RaceToCreate) -> Json:
    """Return the Benchmark that is one race of a block."""
    found = _controlled(subject, KIND, race.name, block=race.block)
    found["apiVersion"] = API_VERSION
    found["metadata"]["labels"][VARIANT_LABEL] = label_value(race.variant)
    return {**found, "spec": race.spec}


def block_record(subject: ComparisonSubject, name: str, number: int, data: bytes) -> Json:
    """Return the ConfigMap that keeps a block, which is never changed; `data`: its record, packed."""
    found = _controlled(subject, CONFIG_MAP.kind, name, block=number)
    found["metadata"]["labels"][PART_LABEL] = PART_RECORD
    return {**found, "immutable": True, "binaryData": {KEY_BLOCK: base64.b64encode(data).decode()}}


def noise_config_map(namespace: str, name: str, data: Json) -> Json:
    """Return the ConfigMap of the noise that a namespace's Comparisons have shown; it outlives each of them."""
    labels = {MANAGED_BY: MANAGER, PART_LABEL: PART_RECORD}
    meta = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": CONFIG_MAP.api_version, "kind": CONFIG_MAP.kind, "metadata": meta, "data": data}


def label_value(variant: str) -> str:
    """Return a variant's name as the value of a label; the baseline against itself ends in -twin."""
    text = re.sub(r"[^A-Za-z0-9._-]", "-", variant.replace(TWIN, "-twin"))
    return text[-_MOST_OF_A_LABEL:].strip("._-")


def _controlled(subject: ComparisonSubject, kind: str, name: str, block: int) -> Json:
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": subject.namespace,
            "labels": {MANAGED_BY: MANAGER, COMPARISON_LABEL: subject.name, BLOCK_LABEL: str(block)},
            "ownerReferences": [
                {
                    "apiVersion": API_VERSION,
                    "kind": COMPARISON_KIND,
                    "name": subject.name,
                    "uid": subject.uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
    }
