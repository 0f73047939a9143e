"""What a Comparison controls, and that a block's pods share their machines with nobody else's."""

import copy
import re
from typing import Any

import pytest

from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.spec import BenchmarkSpec
from fairlap.manifests.affinity import avoid_strangers
from fairlap.manifests.comparison import block_record, label_value, noise_config_map, race_benchmark
from fairlap.plan.basis.seen import Subject
from fairlap.plan.comparison.comparison_seen import ComparisonSubject, RaceToCreate
from fairlap.queue.summary import leader_uid

LABEL = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
TRACK = {"track": {"builtin": "log_ingest"}}
SPEC = ComparisonSpec.model_validate(
    {
        "template": {"elasticsearch": {"version": "9.0.0"}, "race": TRACK},
        "variants": [{"name": "a"}, {"name": "b"}],
        "baseline": "a",
    }
)
SUBJECT = ComparisonSubject("cmp", "ns", "u", 1, SPEC)


@pytest.mark.parametrize("name", ["9.0.0", "9.0.0*", "a b/c", "*", "", "x" * 70, "-" * 70 + "x", "x" * 62 + "--"])
def test_a_variant_is_a_label_whatever_it_is_called(name: str) -> None:
    found = label_value(name)
    assert LABEL.fullmatch(found) and len(found) <= 63


def test_what_it_controls_goes_with_it() -> None:
    for made in (race_benchmark(SUBJECT, RaceToCreate("cmp-1a", "a*", 1, {})), block_record(SUBJECT, "r", 1, b"x")):
        assert leader_uid(made) == "u"
        assert made["metadata"]["ownerReferences"][0]["blockOwnerDeletion"]
        assert made["metadata"]["labels"]["fairlap.dev/comparison"] == "cmp"
        assert made["metadata"]["labels"]["fairlap.dev/block"] == "1"
    noise = noise_config_map("ns", "fairlap-noise", {"a": "b"})
    assert "ownerReferences" not in noise["metadata"], "it outlives them"
    assert noise["metadata"]["labels"]["fairlap.dev/part"] == "record", "no watch carries it"


def _matches(term: dict[str, Any], labels: dict[str, str]) -> bool:
    told = {"Exists": lambda key, _: key in labels, "NotIn": lambda key, values: labels.get(key) not in values}
    return all(told[e["operator"]](e["key"], e.get("values")) for e in term["labelSelector"]["matchExpressions"])


def test_strangers_that_race_are_kept_away_in_both_directions() -> None:
    subject = Subject(
        "b", "ns", "mine", 1, BenchmarkSpec.model_validate({"elasticsearch": {"version": "9.0.0"}, "race": TRACK})
    )
    manifest: dict[str, Any] = {"spec": {"template": {"spec": {"affinity": {"podAntiAffinity": {}}}}}}
    before = copy.deepcopy(manifest)
    away = avoid_strangers(manifest, subject)
    assert manifest == before
    rules = away["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]
    (term,) = rules["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["namespaceSelector"] == {} and term["topologyKey"] == "kubernetes.io/hostname"
    role, uid, step = "fairlap.dev/role", "fairlap.dev/uid", "fairlap.dev/step"
    assert _matches(term, {role: "elasticsearch", uid: "theirs", step: "race-1"})
    assert _matches(term, {role: "load-generator", uid: "theirs", step: "smoke"})
    assert not _matches(term, {role: "elasticsearch", uid: "mine", step: "race-1"})
    assert not _matches(term, {role: "load-generator", uid: "theirs", step: "check"}), "it is not measured, nor long"
    assert not _matches(term, {"app": "anything"})
    rules = avoid_strangers(manifest, subject, ["kept"])["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]
    (term,) = rules["requiredDuringSchedulingIgnoredDuringExecution"]
    assert not _matches(term, {role: "elasticsearch", uid: "kept", step: "race-1"}), "its own Comparison keeps it"
    assert _matches(term, {role: "elasticsearch", uid: "theirs", step: "race-1"})
