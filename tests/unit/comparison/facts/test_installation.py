"""What an upgrade of the operator changes between races: which block it cut, what it leaves unknown, what is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from block_world import BASELINE, OTHER, a_spec, series, variants

from fairlap.api.block_record import BlockRecord, RaceRecord
from fairlap.comparison.facts.fairness_table import row_of
from fairlap.comparison.facts.installation import (
    as_now_told,
    installation_changes,
    installation_findings,
    unknown_facts,
)
from fairlap.comparison.judging.judgement import judge_blocks
from fairlap.comparison_report import comparison_view
from fairlap.statistics.gates import fixed

OLD: Mapping[str, str] = {
    "ran: rallyVersion": "2.13.0",
    "ran: rallyImage": "race:1 r/race@sha256:a1",
    "ran: version": "9.0.0",
    "ran: machines of Elasticsearch": "node-1",
}
NEW = {
    **OLD, "ran: rallyVersion": "2.14.0", "ran: rallyImage": "race:2 r/race@sha256:b2", "ran: operator": "0.2.0",
}  # fmt: skip
SAME = {**OLD, "ran: rallyImage": "mirror/race:1 m/race@sha256:a1", "ran: version": "8.0.0"}
CHANGED = "the installation was changed since the block's first race: "


def race(variant: str, facts: Mapping[str, str] = OLD, valid: bool = True) -> RaceRecord:
    return RaceRecord(variant=variant, benchmark=f"c-1{variant}", valid=valid, facts=dict(facts))


def blocks(*facts: Mapping[str, str]) -> list[BlockRecord]:
    """Return a block for each of these facts, which both of its races have."""
    return [BlockRecord(number=number, races=[race("a", it), race("b", it)]) for number, it in enumerate(facts, 1)]


@pytest.mark.parametrize(
    ("races", "changed"),
    [
        ([race("a"), race("b"), race("a*")], {}),
        ([race("a"), race("b", SAME)], {}),
        ([race("a"), race("b", NEW, valid=False)], {}),
        ([race("a", valid=False), race("b", NEW), race("a*", NEW)], {}),
        ([race("a"), race("b", {})], {}),
        ([race("a", {}), race("b")], {}),
        ([], {}),
        ([race("a"), race("b", {**OLD, "ran: operator": "0.2.0"})], {"c-1b": f"{CHANGED}operator nothing, now 0.2.0"}),
        ([race("a", {"ran: k6Version": "1"}), race("b", {"ran: k6Version": "2"})],
         {"c-1b": f"{CHANGED}k6Version 1, now 2"}),
        (
            [race("a"), race("b", NEW), race("a*", NEW)],
            dict.fromkeys(
                ("c-1b", "c-1a*"),
                f"{CHANGED}rallyVersion 2.13.0, now 2.14.0; rallyImage @sha256:a1, now @sha256:b2; "
                "operator nothing, now 0.2.0",
            ),
        ),
    ],
)  # fmt: skip
def test_which_races_another_installation_raced(races: Sequence[RaceRecord], changed: dict[str, str]) -> None:
    assert installation_changes(races) == changed
    why = comparison_view._why("InstallationChanged", races)
    assert all(text in why for text in changed.values()) and why.startswith("InstallationChanged")


@pytest.mark.parametrize("fact", ["rallyVersion", "k6Version", "operator", "rallyImage", "Rally's wait workerWakeup"])
def test_the_installation_is_compared_within_a_block(fact: str) -> None:
    row = row_of(f"ran: {fact}")
    assert row.of_installation and row.of_block and not row.of_machine
    assert set(installation_changes([race("a"), race("b", {**OLD, f"ran: {fact}": "another"})])) == {"c-1b"}


def test_what_no_race_of_a_block_and_all_of_another_one_know_is_unknown_there() -> None:
    knows = {**OLD, "ran: new": "1"}
    assert unknown_facts(blocks(OLD, knows, OLD)) == [{"ran: new"}, set(), {"ran: new"}]
    assert unknown_facts(blocks(OLD, OLD)) == [set(), set()]
    heap = {"ran: JVM flag -Xmx": "1g"}
    assert unknown_facts(blocks(OLD, {**knows, **heap})) == [{"ran: new"}, set()], "it stands for other facts"
    some = [BlockRecord(number=1, races=[race("a"), race("b", knows)]), *blocks(OLD)]
    assert unknown_facts(some) == [set(), set()], "what only some races of a block have was there to be known"
    silent = [BlockRecord(number=1, races=[race("a", {}), race("b", valid=False)]), *blocks(OLD)]
    assert unknown_facts(silent) == [set(), set()] and unknown_facts([]) == []


def test_a_race_whose_spec_lacks_a_field_was_asked_for_its_default() -> None:
    spec = {"elasticsearch": {"version": "9.0.0", "heap": "1g"}, "race": {"track": {"builtin": "log_ingest"}}}
    named = {"spec.elasticsearch.nodes": "1", "spec.elasticsearch.heap": "1g", "spec.race.newer": "x"}
    raced = [BlockRecord(number=1, races=[race("a"), race("b", named), race("a*"), race("c"), race("b", {})])]
    (block,) = as_now_told(raced, {"a": spec, "b": spec, "c": {"elasticsearch": "none"}})
    asked = [{path for path in each.facts if path.startswith("spec.")} for each in block.races]
    assert asked == [{"spec.elasticsearch.nodes"}, set(named), {"spec.elasticsearch.nodes"}, set(), set()]
    assert block.races[0].facts["spec.elasticsearch.nodes"] == "1"
    assert block.races[0].facts["ran: rallyImage"] == "@sha256:a1" and raced[0].races[0].facts == OLD


def test_what_changed_from_block_to_block_is_told() -> None:
    assert installation_findings(blocks(OLD, SAME, OLD)) == installation_findings([]) == []
    changed, unknown = installation_findings(blocks(OLD, OLD, {**NEW, "ran: new": "1", "ran: module a": "there"}))
    assert changed == (
        "the installation was changed between blocks, which decides nothing, as both sides of each had the same: "
        "rallyVersion 2.13.0 (block 1, 2), 2.14.0 (block 3); rallyImage @sha256:a1 (block 1, 2), @sha256:b2 (block 3)"
    )
    assert unknown == "not known of any race of block 1, 2, so not compared from block to block: ran: new"


def test_an_upgrade_between_blocks_is_a_finding_of_the_verdict_and_decides_nothing() -> None:
    raced = series("storeBytes", {BASELINE: (0.0, 0.01, 0.02), OTHER: (0.5, 0.51, 0.53)})
    upgraded = [
        block.model_copy(update={"races": [it.model_copy(update={"facts": dict(facts)}) for it in block.races]})
        for block, facts in zip(raced, (OLD, OLD, NEW), strict=True)
    ]
    spec = a_spec([{"metric": "storeBytes", "margin": 5}])
    plain, after = (judge_blocks(spec, variants(), it, fixed(3), {}, True) for it in (raced, upgraded))
    assert after.verdict == plain.verdict and after.contenders == plain.contenders
    assert after.gate_passed == plain.gate_passed
    (told,) = [text for text in after.findings if text not in plain.findings]
    assert told.startswith("the installation was changed between blocks")
