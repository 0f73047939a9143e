"""What a Comparison makes: a Benchmark for each race, and a ConfigMap that keeps a block."""

import base64
import re

from fairlap.api.base import Json
from fairlap.api.block_record import KEY_BLOCK, TWIN, BlockRecord
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
from fairlap.comparison.block_pack import pack_block
from fairlap.plan.comparison.comparison_seen import ComparisonSubject, RaceToCreate

_LONGEST_LABEL = 63


def benchmark(subject: ComparisonSubject, race: RaceToCreate) -> Json:
    """Return the Benchmark of one race."""
    meta = _metadata(subject, race.name, race.block)
    meta["labels"][VARIANT_LABEL] = label_value(race.variant)
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": meta, "spec": race.spec}


def block_config_map(subject: ComparisonSubject, name: str, block: BlockRecord) -> Json:
    """Return the ConfigMap of that name with all numbers and facts of a block; it is never changed."""
    meta = _metadata(subject, name, block.number)
    meta["labels"][PART_LABEL] = PART_RECORD
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta,
        "immutable": True,
        "binaryData": {KEY_BLOCK: base64.b64encode(pack_block(block)).decode()},
    }


def label_value(variant: str) -> str:
    """Return a variant's name as a label may have it; the baseline against itself ends in -twin."""
    text = variant.replace(TWIN, "-twin")
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[-_LONGEST_LABEL:].strip("-._")


def comparison_owner(subject: ComparisonSubject) -> Json:
    """Return the ownerReference to the Comparison, so that its deletion deletes everything."""
    return {
        "apiVersion": API_VERSION,
        "kind": COMPARISON_KIND,
        "name": subject.name,
        "uid": subject.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _metadata(subject: ComparisonSubject, name: str, block: int) -> Json:
    return {
        "name": name,
        "namespace": subject.namespace,
        "labels": {MANAGED_BY: MANAGER, COMPARISON_LABEL: subject.name, BLOCK_LABEL: str(block)},
        "ownerReferences": [comparison_owner(subject)],
    }
