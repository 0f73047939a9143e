"""What a Comparison makes is its own, has fixed names, and can be read back."""

import base64
import gzip
import re

import pytest

from fairlap.api.block_record import KEY_BLOCK, BlockRecord, Measured, RaceRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.comparison.block_pack import unpack_block
from fairlap.manifests.comparison_parts import benchmark, block_config_map, label_value
from fairlap.plan.comparison.comparison_seen import ComparisonSubject, RaceToCreate

SPEC = ComparisonSpec.model_validate(
    {
        "template": {"elasticsearch": {"version": "9.0.0"}, "race": {"track": {"builtin": "log_ingest"}}},
        "variants": [{"name": "a"}, {"name": "b", "patch": {"elasticsearch": {"heap": "1g"}}}],
        "baseline": "a",
    }
)
SUBJECT = ComparisonSubject(name="upgrade", namespace="ns", uid="u1", generation=1, spec=SPEC)
OWNER = {
    "apiVersion": "fairlap.dev/v1alpha1", "kind": "Comparison", "name": "upgrade", "uid": "u1", "controller": True,
    "blockOwnerDeletion": True,
}  # fmt: skip


def test_a_race_is_a_benchmark_of_the_comparison() -> None:
    made = benchmark(SUBJECT, RaceToCreate("upgrade-1z", "a*", 1, {"repetitions": 1}))
    assert (made["apiVersion"], made["kind"], made["spec"]) == ("fairlap.dev/v1alpha1", "Benchmark", {"repetitions": 1})
    assert made["metadata"] == {
        "name": "upgrade-1z",
        "namespace": "ns",
        "labels": {
            "app.kubernetes.io/managed-by": "fairlap", "fairlap.dev/comparison": "upgrade", "fairlap.dev/block": "1",
            "fairlap.dev/variant": "a-twin",
        },
        "ownerReferences": [OWNER],
    }  # fmt: skip


def test_a_block_is_kept_in_a_config_map_that_is_read_back_and_never_changed() -> None:
    race = RaceRecord(variant="a", benchmark="upgrade-2a-3", numbers=[Measured(metric="storeBytes", value=1.0)])
    block = BlockRecord(number=2, attempt=3, races=[race])
    made = block_config_map(SUBJECT, "upgrade-block-2-3", block)
    assert made["metadata"]["name"] == "upgrade-block-2-3" and made["immutable"] is True
    assert made["metadata"]["ownerReferences"] == [OWNER]
    assert made["metadata"]["labels"]["fairlap.dev/part"] == "record"
    assert unpack_block(gzip.decompress(base64.b64decode(made["binaryData"][KEY_BLOCK]))) == block


@pytest.mark.parametrize("name", ["9.0.0", "9.0.0*", "a" * 40 + "*", "x" * 80, "é_", "-a-"])
def test_a_label_is_one_that_kubernetes_takes(name: str) -> None:
    value = label_value(name)
    assert len(value) <= 63 and re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9._-]*)?[A-Za-z0-9]|", value)
