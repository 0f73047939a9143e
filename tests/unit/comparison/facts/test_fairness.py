"""What may differ between variants, what must not, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.api.block_record import BlockRecord, RaceRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.comparison.facts import fairness, fairness_table
from fairlap.comparison.facts.fairness import Fairness, diff
from fairlap.comparison.facts.fairness_table import ROWS, VARIABLES, cut_with, is_condition, row_of, variable_of
from fairlap_race.contract.secret_flags import without_secret

RACE = {"track": {"builtin": "access-logs"}, "params": {"bulk_size": 500}}
COMMON = {
    "spec.race.track.builtin": "access-logs",
    "ran: buildHash": "b9",
    "ran: luceneVersion": "10.1.0",
    "ran: java": "21.0.8 (Eclipse Adoptium)",
    "ran: jvm[0]": "OpenJDK 64-Bit Server VM 21.0.8+9-LTS",
    "ran: JVM flag -Xmx": "1g",
    "ran: JVM flag -XX:UseG1GC": "on",
    "ran: JVM flag -Djava.io.tmpdir": "/tmp/elasticsearch-1",
    "ran: heapBytes": "1073741824",
    "ran: gc[0]": "G1 Young Generation",
    "ran: nodes": "1",
    "ran: qosClass": "Guaranteed",
    "ran: rallyVersion": "2.13.0",
    "ran: rallyImage": "race x@sha256:1",
    "ran: Rally's wait workerWakeup": "1.0",
    "ran: trackDigest": "d1",
    "ran: corpora[0]": "access-logs/documents.json, 12 bytes, aa",
    "ran: track parameter.bulk_size": "500",
    "ran: task search: plan": "search, 2 clients",
    "ran: task search: hits": "10000",
    "ran: index access-logs: documents": "100000",
    "ran: index access-logs: shards": "1",
    "ran: index access-logs: replicas": "0",
    "ran: index access-logs: codec": "best_compression",
    "ran: index access-logs: algorithm": "ZSTD",
    "ran: index access-logs: mapping": "m1",
    "ran: index access-logs: setting index.codec": "best_compression",
    "ran: index access-logs: setting index.refresh_interval": "30s",
    "ran: index access-logs: default index.merge.policy.floor_segment": "16mb",
    "ran: module analysis-common": "there",
    "ran: cluster setting indices.recovery.max_bytes_per_sec": "40mb",
    "ran: node setting http.type.default": "netty4",
    "ran: storage[0].kind": "emptyDir",
    "ran: machines of Elasticsearch": "node-1",
    "ran: machine of the load generator": "node-2",
    "ran: load generator's cores": "2",
    "ran: each node's memory limit": "2147483648",
    "ran: nodeData[0].node": "upgrade-1a-es-default-0",
}
OLD = {
    "ran: version": "8.11.0", "ran: buildHash": "b8", "ran: luceneVersion": "9.8.0",
    "ran: index access-logs: algorithm": "DEFLATE",
    "ran: index access-logs: default index.merge.policy.floor_segment": "2mb",
    "ran: module repository-old": "there",
    "ran: nodeData[0].node": "upgrade-1b-es-default-0",
}  # fmt: skip
NEW = {"ran: version": "9.0.0"}
BUNDLED = {"ran: java": "17.0.9 (Oracle)", "ran: jvm[0]": "OpenJDK 17.0.9", "ran: JVM flag -XX:UseG1GC": "off"}


class Resolved(NamedTuple):
    name: str
    spec: Mapping[str, Any]


def resolved(name: str, /, race: Mapping[str, Any] = RACE, **elasticsearch: Any) -> Resolved:
    return Resolved(name, {"elasticsearch": {"version": "9.0.0", **elasticsearch}, "race": race})


def comparison(baseline: str, names: Sequence[str], **changes: Any) -> ComparisonSpec:
    variants = {} if "matrix" in changes else {"variants": [{"name": name} for name in names]}
    return ComparisonSpec.model_validate({"template": {"race": RACE}, "baseline": baseline, **variants, **changes})


def race(name: str, *changes: Mapping[str, str], valid: bool = True) -> RaceRecord:
    facts = dict(COMMON)
    for change in changes:
        facts |= change
    return RaceRecord(variant=name, benchmark="b", valid=valid, facts={k: v for k, v in facts.items() if v != "-"})


def blocks(*groups: Sequence[RaceRecord]) -> list[BlockRecord]:
    return [BlockRecord(number=number, races=list(group)) for number, group in enumerate(groups, 1)]


def rules(found: Fairness) -> dict[str, str]:
    return {each.what: each.rule for each in found.differences}


def two(one: Resolved, other: Resolved, *raced: BlockRecord) -> Fairness:
    return diff(comparison(one.name, [one.name, other.name]), [one, other], raced)


OLD_RELEASE, NEW_RELEASE = resolved("8.11.0", version="8.11.0", java=21), resolved("9.0.0", java=21)


def test_two_releases_on_the_same_java() -> None:
    raced = blocks([race("8.11.0", OLD), race("9.0.0", NEW), race("8.11.0*", OLD)], [race("9.0.0", NEW)])
    found = two(OLD_RELEASE, NEW_RELEASE, *raced)
    assert found.fair and not found.not_comparable
    assert rules(found) == {
        "Elasticsearch": "Declared",
        "build": "Declared",
        "elasticsearch.version": "Declared",
        "compression": "MayFollow",
        "Lucene": "FollowsRelease",
        "index settings by default": "FollowsRelease",
        "modules": "FollowsRelease",
        "names and data of the nodes": "RecordOnly",
    }
    assert "against 8.11.0 only what was declared differs: Elasticsearch, build and elasticsearch.version" in (
        found.sentence
    )
    assert "best_compression is DEFLATE before 8.16 and ZSTD since: write elasticsearch.index.codec" in found.sentence
    lucene = next(each for each in found.differences if each.what == "Lucene")
    assert lucene.values == {"8.11.0": "9.8.0", "9.0.0": "10.1.0"} and "follows the version" in lucene.message


def test_what_changes_no_race_is_said_to_race_one_with_itself() -> None:
    same = Resolved("patient", {**resolved("base").spec, "timeouts": {"race": "2h"}})
    tagged = resolved("tagged", race={**RACE, "userTags": {"team": "search"}})
    found = two(resolved("base"), same, *blocks([race("base"), race("patient")]))
    words = "nothing that changes a race differs between base and {}: this races one with itself"
    assert found.fair and found.sentence == f"Fair: {words.format('patient')}."
    other = resolved("9.1.0", version="9.1.0")
    several = [resolved("base"), same, other, tagged]
    found = diff(comparison("base", [each.name for each in several]), several, ())
    assert "only what was declared differs: elasticsearch.version" in found.sentence
    assert words.format("patient and tagged") in found.sentence
    assert "with itself" not in two(resolved("base"), other).sentence


def test_a_quantity_written_in_two_ways_differs_in_nothing() -> None:
    one = resolved("one", heap="1g", resources={"limits": {"cpu": "2", "memory": "2Gi"}})
    other = resolved("other", heap="1024m", resources={"limits": {"cpu": "2000m", "memory": "2048Mi"}})
    assert "this races one with itself" in two(one, other).sentence
    newer = Resolved("other", {**other.spec, "elasticsearch": {**other.spec["elasticsearch"], "version": "9.1.0"}})
    found = two(one, newer)
    assert found.fair and set(rules(found)) == {"elasticsearch.version"}


def test_java_written_on_one_side_is_a_second_variable() -> None:
    found = two(resolved("8.11.0", version="8.11.0", java=17), NEW_RELEASE, *blocks([]))
    assert not found.fair
    assert rules(found) == {"elasticsearch.version": "MustMatch", "elasticsearch.java": "MustMatch"}
    assert "in 2 variables, elasticsearch.version (8.11.0 and 9.0.0) and elasticsearch.java (17 and 21)" in (
        found.sentence
    )
    assert found.sentence == f"Not comparable: {found.not_comparable['9.0.0']}."


def test_the_bundled_java_follows_the_version_and_that_is_said() -> None:
    raced = blocks([race("8.11.0", OLD, BUNDLED), race("9.0.0", NEW)])
    found = two(resolved("8.11.0", version="8.11.0"), resolved("9.0.0"), *raced)
    assert found.fair and rules(found)["Java"] == "MayFollow" and rules(found)["JVM flags"] == "FollowsRelease"
    assert "write elasticsearch.java: 21 in the template to hold it" in found.sentence


ONE, OTHER = resolved("one"), resolved("other", java=23)


@pytest.mark.parametrize(
    ("patch", "ran", "expected"),
    [
        ({"java": 23}, BUNDLED, {"Java": "Declared", "JVM flags": "MayFollow"}),
        ({"heap": "2g"}, {"ran: heapBytes": "9", "ran: JVM flag -Xmx": "2g"}, {"heap": "Declared"}),
        ({"heap": "2g"}, {"ran: JVM flag -XX:MaxDirectMemorySize": "9"}, {"JVM flags": "MayFollow"}),
        ({"jvmOptions": ["-XX:-UseG1GC"]}, {"ran: gc[0]": "PS"}, {"garbage collector": "Declared"}),
        ({"index": {"codec": "default"}}, {"ran: index access-logs: codec": "default"}, {"codec": "Declared"}),
        ({"index": {"codec": "default"}}, {"ran: index settings as track parameter.codec": "default"},
         {"index settings as track parameter.codec": "Declared"}),
        ({"nodes": 2, "index": {"replicas": 1}}, {"ran: nodes": "2"}, {"number of nodes": "Declared"}),
        ({"resources": {"limits": {"memory": "4Gi"}}}, {"ran: JVM flag -Xmx": "2g"}, {"heap": "MayFollow"}),
        ({"resources": {"limits": {"cpu": "1"}}}, {"ran: load generator's cores": "1"},
         {"load generator's processors": "MayFollow"}),
        ({"storage": {"size": "9Gi"}}, {"ran: storage[0].kind": "volumeClaim"}, {"storage": "Declared"}),
        ({"scheduling": {"nodeSelector": {"a": "b"}}}, {"ran: machines of Elasticsearch": "n9"},
         {"machines of Elasticsearch": "Declared"}),
    ],
)  # fmt: skip
def test_what_belongs_to_a_variable_is_declared(
    patch: dict[str, Any], ran: dict[str, str], expected: dict[str, str]
) -> None:
    found = two(resolved("one"), resolved("other", **patch), *blocks([race("one"), race("other", ran)]))
    assert found.fair, found.sentence
    assert expected.items() <= rules(found).items()


def test_an_option_that_is_a_secret_is_shown_to_nobody() -> None:
    one, other = (f"-Dhttps.proxyPassword={word}" for word in ("hunter1", "hunter2"))
    path = "spec.elasticsearch.jvmOptions[0]"
    # Of an older operator, whose facts have it as it was asked for, as well.
    ran = [race("one", {path: one}), race("other", {path: other})]
    hidden = [race("one", {path: without_secret(one)}), race("other", {path: without_secret(other)})]
    declared = resolved("one", jvmOptions=[one]), resolved("other", jvmOptions=[other])
    found = two(*declared, *blocks(ran, hidden))
    assert found.fair and "jvmOptions" in found.differences[0].what
    assert "hunter" not in str(found) and found.differences[0].values["one"] == without_secret(one)
    assert "hunter" not in str(two(resolved("one"), resolved("other", heap="2g"), *blocks(ran, hidden)))
    again = two(resolved("one", jvmOptions=[one]), resolved("other", jvmOptions=[one], heap="2g"),
                *blocks([race("one", {path: one}), race("other", {path: without_secret(one)})]))  # fmt: skip
    assert again.fair, again.sentence


@pytest.mark.parametrize("path", [path for path in COMMON if is_condition(path, COMMON)])
@pytest.mark.parametrize("value", ["another", "-"])
def test_what_nobody_declared_must_match(path: str, value: str) -> None:
    one, other = resolved("one"), resolved("other", index={"sourceMode": "synthetic"})
    found = two(one, other, *blocks([race("one"), race("other", {path: value})]))
    if row_of(path).what == "index settings by default":
        assert found.fair  # another source mode has other defaults
        return
    is_its_whole_part = cut_with(path) and [cut_with(each) for each in COMMON].count(cut_with(path)) == 1
    if row_of(path).what == "mapping" or ((is_its_whole_part or row_of(path).where_known) and value == "-"):
        assert found.fair  # fields may come with it; and a record may have been too large for all modules
        return
    assert not found.fair and "MustMatch" in rules(found).values()
    assert "must be the same for all variants: " in found.differences[0].message
    assert set(found.differences[0].values) == {"one", "other"}


@given(
    st.sampled_from([path for path in COMMON if is_condition(path, COMMON)]),
    st.text(min_size=1, max_size=5),
    st.booleans(),
)
def test_a_fact_that_changes_from_block_to_block_is_unfair_but_machines_rotate(
    path: str, value: str, twin: bool
) -> None:
    if value in (COMMON[path], "-"):
        return
    change = {path: value}
    last = [race("one", change), race("other", change)] + ([race("one*", change)] if twin else [])
    found = two(ONE, OTHER, *blocks([race("one"), race("other")], last))
    assert found.fair == row_of(path).of_block
    assert found.fair or "was not the same in all races of" in found.sentence


def test_races_of_a_block_are_on_the_same_machines() -> None:
    moved = {"ran: machines of Elasticsearch": "node-9"}
    raced = blocks([race("one"), race("other")], [race("one", moved), race("other")])
    found = two(ONE, OTHER, *raced)
    assert not found.fair and found.differences[0].message.startswith("in block 2: must be the same")
    twin = two(ONE, OTHER, *blocks([race("one"), race("other"), race("one*", moved)]))
    assert not twin.fair


def test_races_of_a_block_are_on_machines_that_are_set_up_alike() -> None:
    turbo, none = ({"ran: machines[0].settings.turbo": value} for value in ("true", "false"))
    found = two(ONE, OTHER, *blocks([race("one", turbo), race("other", none)]))
    assert not found.fair and "set all machines up alike" in found.differences[0].message
    rotated = blocks([race("one", turbo), race("other", turbo)], [race("one", none), race("other", none)])
    assert two(ONE, OTHER, *rotated).fair


@given(
    st.dictionaries(st.sampled_from(sorted(COMMON)), st.sampled_from(["x", "y"]), max_size=4),
    st.dictionaries(st.sampled_from(sorted(COMMON)), st.sampled_from(["x", "y"]), max_size=4),
    st.booleans(),
)
def test_neither_the_baseline_nor_the_order_of_variants_decides(
    ours: dict[str, str], theirs: dict[str, str], later: bool
) -> None:
    raced = blocks([race("8.11.0", ours), race("9.0.0", theirs)], [race("8.11.0", ours)])
    pair = [OLD_RELEASE, NEW_RELEASE]
    names = [each.name for each in pair]
    found = diff(comparison(names[0], names), pair, raced)
    assert found == diff(comparison(names[0], names), pair[::-1], raced)
    mirrored = diff(comparison(names[1], names), pair[::-1] if later else pair, raced)
    assert (found.fair, rules(found)) == (mirrored.fair, rules(mirrored))
    assert [each.values for each in found.differences] == [each.values for each in mirrored.differences]


@given(st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=5), min_size=1, max_size=6))
def test_equal_facts_are_fair(facts: dict[str, str]) -> None:
    raced = [RaceRecord(variant=name, benchmark="b", facts=facts) for name in ("one", "other", "one*")]
    assert two(ONE, OTHER, *blocks(raced, raced)).fair


def test_a_race_that_does_not_count_decides_nothing_and_one_without_facts_is_not_trusted() -> None:
    wrong = race("other", {"ran: rallyVersion": "2.12"}, valid=False)
    assert two(ONE, OTHER, *blocks([race("one"), race("other")], [race("one"), wrong])).fair
    empty = RaceRecord(variant="other", benchmark="b")
    found = two(ONE, OTHER, *blocks([race("one"), empty]))
    assert not found.fair and "nothing is known of how other ran in block 1" in found.sentence


def test_what_is_raced_is_no_variable() -> None:
    found = two(resolved("one"), resolved("other", {**RACE, "challenge": "another"}))
    assert not found.fair and "race.challenge must be in the template alone" in found.sentence
    assert two(resolved("one"), resolved("other", {**RACE, "params": {"bulk_size": 50}})).fair


def test_how_long_a_race_may_warm_up_is_a_variable_of_its_own() -> None:
    steady = {**RACE, "steady": {"maxWarmup": "5m"}}
    found = two(resolved("one"), resolved("other", steady), *blocks([race("one"), race("other")]))
    assert found.fair and rules(found) == {"race.steady.maxWarmup": "Declared"}
    both = two(resolved("one"), resolved("other", {**steady, "params": {"bulk_size": 50}}))
    assert not both.fair and "in 2 variables" in both.sentence


def test_a_matrix_compares_the_cells_that_differ_in_one_axis() -> None:
    cells = [resolved(f"{version}-{java}", version=version, java=java) for version in ("8.11.0", "9.0.0")
             for java in (21, 23)]  # fmt: skip
    axes = [{"path": "elasticsearch.version", "values": ["8.11.0", "9.0.0"]},
            {"path": "elasticsearch.java", "values": [21, 23]}]  # fmt: skip
    spec = comparison("8.11.0-21", [], matrix={"axes": axes})
    found = diff(spec, cells, [])
    assert found.fair and set(found.not_comparable) == {"9.0.0-23"}
    assert "of some nothing can be said: 9.0.0-23 differs from 8.11.0-21 in 2 variables" in found.sentence
    assert not diff(spec, [cells[0], cells[3]], []).fair
    raced = [race("8.11.0-21", OLD), race("8.11.0-23", OLD), race("9.0.0-21", NEW)]
    after = diff(spec, cells, blocks(raced, raced))
    assert after.not_comparable["9.0.0-23"] == found.not_comparable["9.0.0-23"], "that it was not raced changes nothing"
    assert after.fair and set(after.not_comparable) == {"9.0.0-23"}
    names = [cell.name for cell in cells]
    assert not diff(comparison("8.11.0-21", names), cells, []).fair


def test_of_existing_clusters_it_is_said_what_is_not_known() -> None:
    def target(name: str) -> Resolved:
        return Resolved(name, {"target": {"hosts": [f"https://{name}:9200"]}, "race": RACE})

    raced = blocks([race("one", OLD, BUNDLED), race("other", NEW)])
    found = two(target("one"), target("other"), *raced)
    assert found.fair and "images, storage, quality of service and machines are not known" in found.sentence
    assert rules(found)["Java"] == "Declared"
    lost = two(target("one"), target("other"), *blocks([race("one"), race("other", {"ran: rallyVersion": "2.7"})]))
    assert not lost.fair
    mixed = two(target("one"), resolved("other"), *raced)
    assert mixed.fair and rules(mixed)["elasticsearch.version"] == "Declared"


def there(name: str, host: str = "there", shards: int | None = None, race: Mapping[str, Any] = RACE) -> Resolved:
    """A cluster that exists already, with what is written of its indices."""
    target: dict[str, Any] = {"hosts": [f"https://{host}:9200"]}
    if shards:
        target["index"] = {"shards": shards}
    return Resolved(name, {"target": target, "race": race})


SHARDS_RAN = "there differs from built in what it does not declare: ran: index access-logs: shards (2 and 1)"


@pytest.mark.parametrize(
    ("written", "ran", "words"),
    [
        ((2, 2), ("2", "2"), ""),
        ((2, 1), ("2", "1"), "in 2 variables, elasticsearch.index.shards (2 and 1), target.kind (nothing and "),
        ((2, None), ("2", "2"), ""),
        ((2, None), ("2", "1"), SHARDS_RAN),
        ((None, 1), ("1", "1"), ""),
        ((None, 1), ("2", "1"), SHARDS_RAN),
        ((None, None), ("2", "2"), ""),
        ((None, None), ("2", "1"), SHARDS_RAN),
    ],
)
def test_index_settings_of_a_built_and_of_an_existing_cluster_are_the_same_ones(
    written: tuple[int | None, int | None], ran: tuple[str, str], words: str
) -> None:
    facts: list[dict[str, str]] = []
    for place, asked, count in zip(("elasticsearch", "target"), written, ran, strict=True):
        told = {f"spec.{place}.index.shards": str(asked), "ran: index settings as track parameter.shards": str(asked)}
        facts.append({"ran: index access-logs: shards": count, **(told if asked else {})})
    one = resolved("built", index={"shards": written[0]} if written[0] else {})
    other = there("there", shards=written[1])
    raced = blocks([race("built", facts[0]), race("there", facts[1])])
    found = two(one, other, *raced)
    assert found.fair == (not words) and words in found.sentence, found.sentence
    assert all(each.fair for each in found.differences) == found.fair
    assert two(other, one, *raced).fair == found.fair
    if None in written:
        assert two(one, other).fair, "what one of them has is not known before it ran"


def test_what_the_spec_of_one_of_two_kinds_of_clusters_holds_follows_nothing() -> None:
    raced = blocks([race("built", {"ran: index access-logs: codec": "default"}), race("there")])
    found = two(resolved("built"), there("there"), *raced)
    assert found.fair and rules(found)["codec"] == "MayFollow"
    found = two(resolved("built", index={"codec": "default"}), there("there"), *raced)
    assert not found.fair and rules(found)["codec"] == "MustMatch"


def test_two_targets_that_are_one_cluster_are_told() -> None:
    words = "the targets of one and other are one cluster, with the UUID u1"
    ran, other = ({"ran: target clusterUUID": uuid} for uuid in ("u1", "u2"))
    found = two(there("one"), there("other", "elsewhere"), *blocks([race("one", ran), race("other", ran)]))
    assert found.fair and words in found.sentence
    found = two(there("one"), there("other", "elsewhere"), *blocks([race("one", ran), race("other", other)]))
    assert found.fair and "one cluster" not in found.sentence
    param = {**RACE, "params": {"bulk_size": 50}}
    found = two(there("one"), there("other", race=param), *blocks([race("one", ran), race("other", ran)]))
    assert found.fair and "one cluster" not in found.sentence, "that is what was written"


def test_what_a_spec_writes_in_two_ways_is_the_same_fact() -> None:
    facts = [{"spec.elasticsearch.heap": heap} for heap in ("1g", "1024m")]
    raced = blocks([race("one", facts[0]), race("other", facts[1])])
    found = two(resolved("one", heap="1g"), resolved("other", heap="1024m", java=23), *raced)
    assert found.fair and rules(found) == {"elasticsearch.java": "Declared"}
    facts = [{"spec.target.hosts[0]": f"https://{host}:9200"} for host in ("there", "There")]
    raced = blocks([race("one", facts[0]), race("other", facts[1])])
    found = two(there("one"), there("other", "There", race={**RACE, "params": {"bulk_size": 50}}), *raced)
    assert found.fair and rules(found) == {"race.params.bulk_size": "Declared"}


def engine(name: str, hits: str | None = "/hits/total/value", requests: str = "") -> Resolved:
    """A variant that sends its own requests to its own engine over HTTP."""
    asked = {"configMap": {"name": requests or f"{name}-requests"}, **({"hits": hits} if hits else {})}
    target = {"kind": "http", "hosts": [f"http://{name}:9200"], "health": "/"}
    return Resolved(name, {"target": target, "race": {"requests": asked, "load": {"clients": 2}}})


def test_two_engines_send_different_requests_where_each_finds_the_same() -> None:
    one, other = engine("one"), engine("other", hits="/1/0/0/0")
    own = [{"ran: trackDigest": name, "ran: number of requests": "2", "ran: request 1: hits": "7",
            "ran: request 2: hits": "9", "ran: hits of all requests": "a"} for name in ("d1", "d2")]  # fmt: skip
    found = two(one, other, *blocks([race("one", own[0]), race("other", own[1])]))
    assert found.fair, found.sentence
    assert rules(found)["race.requests.configMap.name"] == "Declared"
    more = {**own[1], "ran: request 2: hits": "10", "ran: hits of all requests": "b"}
    found = two(one, other, *blocks([race("one", own[0]), race("other", more)]))
    assert not found.fair and "leave out the lines" in found.differences[0].message
    longer = {**own[1], "ran: number of requests": "3"}
    assert not two(one, other, *blocks([race("one", own[0]), race("other", longer)])).fair


def facts_of_lines(read: int, of: int = 3, told: bool = True, digest: str = "") -> dict[str, str]:
    found = {"ran: number of requests": str(of), **{f"ran: request {line}: hits": "7" for line in range(1, read + 1)}}
    found |= {"ran: lines whose hits were read": str(read)} if told else {}
    return found | ({"ran: hits of all requests": digest} if digest else {})


@pytest.mark.parametrize("told", [False, True])
def test_two_engines_of_which_some_lines_were_not_read_are_not_known_to_be_asked_the_same(told: bool) -> None:
    one, other = engine("one"), engine("other")
    part, whole = facts_of_lines(1, told=told), facts_of_lines(3, told=told, digest="a")
    for ours, theirs, of in ((part, whole, "one"), (whole, part, "other"), ({}, {}, "")):
        found = two(one, other, *blocks([race("one", ours), race("other", theirs)]))
        assert not found.fair and ("1 of 3 lines of " + of in found.sentence or not of), found.sentence
        assert "files whose different lines can each be asked once more" in found.sentence
    assert two(one, other, *blocks([race("one", whole), race("other", whole)])).fair
    again = blocks([race("one", part), race("other", whole)], [race("one", whole), race("other", whole)])
    assert two(one, other, *again).fair, "the file is the same in each race: one that read all of it tells"


def test_lines_that_were_not_read_leave_races_of_the_same_requests_fair() -> None:
    one, other = engine("one", requests="q"), engine("other", requests="q")
    found = two(one, other, *blocks([race("one", facts_of_lines(1)), race("other", facts_of_lines(3, digest="a"))]))
    assert found.fair and rules(found)["lines whose hits were read"] == "RecordOnly"


@pytest.mark.parametrize("lacking", [["one"], ["one", "other"]])
def test_different_requests_of_which_nothing_shows_that_they_ask_the_same(lacking: list[str]) -> None:
    variants = [engine(name, None if name in lacking else "/a") for name in ("one", "other")]
    found = two(variants[0], variants[1])
    assert not found.fair and "other does not send the requests of one, and nothing shows" in found.sentence
    assert f"for {' and '.join(lacking)}, or race.requests in the template alone" in found.sentence


def test_the_same_requests_need_no_proof_and_a_third_variable_is_too_many() -> None:
    assert two(engine("one", None, "both"), engine("other", None, "both")).fair
    third = engine("other")
    third.spec["race"]["load"]["clients"] = 4  # type: ignore[index]
    assert not two(engine("one"), third).fair


def test_answers_go_before_speed() -> None:
    for path in ("ran: index access-logs: documents", "ran: task search: hits"):
        found = two(OLD_RELEASE, NEW_RELEASE, *blocks([race("8.11.0", OLD), race("9.0.0", NEW, {path: "7"})]))
        assert not found.fair and "look whether requests failed" in found.differences[0].message


def test_machines_that_a_variant_names_are_what_is_compared() -> None:
    on = [resolved(name, scheduling={"machines": [name]}) for name in ("one", "other")]
    found = two(*on, *blocks([race("one"), race("other")]))
    assert found.fair and "races one with itself" not in found.sentence
    assert rules(found)["elasticsearch.scheduling.machines[0]"] == "Declared"


def test_other_answers_to_the_same_search_are_unfair_and_other_searches_are_not_compared() -> None:
    for what in ("hits", "content"):
        path = f"ran: task search: answer to a1b2: {what}"
        found = two(ONE, OTHER, *blocks([race("one", {path: "7"}), race("other", {path: "8"})]))
        assert not found.fair and found.differences[0].what == "answers to searches"
        assert two(ONE, OTHER, *blocks([race("one", {path: "7"}), race("other", {path: "7"})])).fair
        drawn = path.replace("a1b2", "c3d4")
        assert two(ONE, OTHER, *blocks([race("one", {path: "7"}), race("other", {drawn: "8"})])).fair


def test_a_default_that_the_other_variant_sets_to_the_same_value_does_not_differ() -> None:
    ours = {"ran: index access-logs: setting index.refresh_interval": "-",
            "ran: index access-logs: default index.refresh_interval": "30s"}  # fmt: skip
    assert two(ONE, OTHER, *blocks([race("one", ours), race("other")])).fair
    ours["ran: index access-logs: default index.refresh_interval"] = "1s"
    found = two(ONE, OTHER, *blocks([race("one", ours), race("other")]))
    assert not found.fair and found.differences[0].values == {"one": "1s", "other": "30s"}


def test_every_row_and_every_variable_is_met() -> None:
    assert len({row.pattern for row in ROWS}) == len(ROWS)
    assert variable_of("elasticsearch.scheduling.machines[0]") == "machines"
    assert row_of("spec.elasticsearch.scheduling.machines[0]").recorded  # the Comparison itself binds its races
    assert variable_of("elasticsearch.scheduling.nodeSelector.a") == "machines"
    assert variable_of("elasticsearch.somethingNew") == "elasticsearch.somethingNew"
    known = {variable for _, variable in VARIABLES}
    assert {each for row in ROWS for each in (*row.is_part_of, *row.follows)} <= known


def test_an_index_setting_that_only_one_track_was_given_is_unfair_where_none_was_declared() -> None:
    raced = blocks([race("one"), race("other", {"ran: index settings as track parameter.codec": "default"})])
    found = two(ONE, OTHER, *raced)
    assert not found.fair and rules(found)["index settings as track parameter.codec"] == "MustMatch"


def test_what_ran_is_gone_through_once_a_variant_and_each_fact_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve variants with all the facts that a Comparison may have took eight seconds a block of everybody's time."""
    names, gone_through = [f"v{number}" for number in range(12)], list[str]()
    held = fairness._held

    def counted(races: Sequence[RaceRecord], unknown: Any) -> Any:
        gone_through.append(races[0].variant)
        return held(races, unknown)

    monkeypatch.setattr(fairness, "_held", counted)
    fairness_table._known_row.cache_clear()
    facts = [{f"ran: index i{number}: setting a": "1"} for number in range(50)]
    raced = blocks(*([race(name, *facts) for name in names] for _ in range(2)))
    diff(comparison("v0", names), [resolved(name) for name in names], raced)
    assert sorted(gone_through) == sorted(names * 3), "all blocks together, and each of the two"
    assert fairness_table._known_row.cache_info().misses <= len(facts) + len(COMMON)


@pytest.mark.parametrize(
    "path", ["ran: module analysis-common", "ran: index access-logs: default index.refresh_interval"]
)
def test_a_record_that_had_no_room_for_them_differs_from_no_other(path: str) -> None:
    """How large a record is changes from race to race, and with it what is left out of it."""
    cut = {each: "-" for each in COMMON | {path: ""} if cut_with(each) == cut_with(path)}
    known = {path: "there"}
    raced = blocks([race("one", known), race("other", known)], [race("one", cut), race("other", known)])
    found = two(ONE, OTHER, *raced)
    assert found.fair, found.sentence
    changed = blocks([race("one", known), race("other", known)], [race("one", {path: "another"}), race("other", known)])
    assert not two(ONE, OTHER, *changed).fair


UPGRADED = {
    "ran: rallyVersion": "2.14.0", "ran: rallyImage": "race:2 y@sha256:2", "ran: Rally's wait workerWakeup": "0.5",
    "ran: operator": "0.2.0",
}  # fmt: skip


def both(**facts: str) -> list[RaceRecord]:
    """Return the races of a block whose two sides have these facts, too."""
    return [race("one", facts), race("other", facts)]


def test_an_upgrade_between_two_blocks_is_fair_and_one_within_a_block_is_not() -> None:
    assert two(ONE, OTHER, *blocks(both(), both(**UPGRADED), both())).fair
    for path, value in UPGRADED.items():
        cut = two(ONE, OTHER, *blocks(both(), [race("one"), race("other", {path: value})], both(**UPGRADED)))
        assert not cut.fair, path
        assert "in block 2: must be the same" in cut.differences[0].message
        twin = [*both(), race("one*", {path: value})]
        assert not two(ONE, OTHER, *blocks(both(), twin)).fair, path


@pytest.mark.parametrize("path", ["ran: new", "ran: index access-logs: setting index.new", "spec.race.newer"])
def test_what_only_later_blocks_know_is_unknown_in_those_before(path: str) -> None:
    before, after = both(), both(**{path: "7"})
    assert two(ONE, OTHER, *blocks(before, after)).fair
    assert two(ONE, OTHER, *blocks(after, before, after)).fair
    one_sided = [race("one"), race("other", {path: "7"})]
    assert not two(ONE, OTHER, *blocks(before, one_sided)).fair
    assert not two(ONE, OTHER, *blocks(before, after, one_sided)).fair
    assert not two(ONE, OTHER, *blocks(before, after, both(**{path: "8"}))).fair


@pytest.mark.parametrize(
    ("path", "value", "fair"),
    [("elasticsearch.nodes", "1", True), ("elasticsearch.nodes", "2", False), ("elasticsearch.heap", "1g", False)],
)
def test_a_default_that_a_newer_crd_filled_in_between_two_races_is_no_difference(
    path: str, value: str, fair: bool
) -> None:
    filled = {f"spec.{path}": value}
    for cut in ([race("one"), race("other", filled)], [race("one", filled), race("other")]):
        assert two(ONE, OTHER, *blocks(cut)).fair is fair
        assert two(ONE, OTHER, *blocks(both(), cut, both(**filled))).fair is fair


@pytest.mark.parametrize(
    ("first", "then", "fair"),
    [
        ("es:9 r/es@sha256:a1", "mirror/es:9 m/es@sha256:a1", True),
        ("es:9 r/es@sha256:a1", "@sha256:a1", True),
        ("es:9 r/es@sha256:a1", "es:9 sha256:c1", True),
        ("es:9 r/es@sha256:a1", "es:9 r/es@sha256:b2", False),
        ("es:9 sha256:c1", "es:9 sha256:c2", False),
    ],
    ids=["another name", "of a newer operator", "loaded", "another image", "another one that was loaded"],
)
def test_an_image_is_its_digest_from_block_to_block(first: str, then: str, fair: bool) -> None:
    one, other = both(**{"ran: images[0]": first}), both(**{"ran: images[0]": then})
    assert two(ONE, OTHER, *blocks(one, other)).fair is fair
    assert two(ONE, OTHER, *blocks(other, one, one)).fair is fair


def test_two_sides_of_a_block_whose_images_cannot_be_held_against_each_other_are_not_fair() -> None:
    pulled, loaded = ({"ran: images[0]": it} for it in ("es:9 r/es@sha256:a1", "es:9 sha256:c1"))
    apart, swapped = [race("one", pulled), race("other", loaded)], [race("one", loaded), race("other", pulled)]
    assert not two(ONE, OTHER, *blocks(apart)).fair
    assert not two(ONE, OTHER, *blocks(apart, swapped)).fair
    named = [race("one", pulled), race("other", {"ran: images[0]": "mirror/es:9 m/es@sha256:a1"})]
    assert two(ONE, OTHER, *blocks(named)).fair


def test_what_tells_another_fact_better_must_be_known_of_all() -> None:
    """Blocks of which the largest heap is not known were taken as if it were that of the others."""
    first = [
        race(name, {"ran: JVM flag -Xmx": "-", "ran: heapBytes": heap})
        for name, heap in (("one", "1073741824"), ("other", "2147483648"))
    ]
    assert not two(ONE, OTHER, *blocks(first, both())).fair
    assert not two(ONE, OTHER, *blocks(both(), first, both())).fair
    assert two(ONE, OTHER, *blocks(both(), both())).fair
