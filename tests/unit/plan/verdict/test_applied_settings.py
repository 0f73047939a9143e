"""Index settings: what they were to be, what they are, and what is said when they are not the same."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import SETTINGS, good_record, spec

from fairlap.api.spec import IndexSettings
from fairlap.plan.acceptance.accept import objections
from fairlap.plan.verdict.applied_settings import asked, for_nodes, not_everywhere, remarks, same, violation
from fairlap.settings import BUILTIN_TRACKS
from fairlap_race.contract.index_settings import flatten
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded import record as rec
from fairlap_race.contract.recorded.ingest_record import ProcessorWork
from fairlap_race.contract.specification.document_plan import DocumentPlan, UncountedTask, WhyUncounted

ROOT = Path(__file__).parents[4]
GOOD = good_record()
INDEX = rec.IndexRecord("logs", shards=1, replicas=0, codec="default", health="green", documents=1000)


def record(passed_as: dict[str, str] | None = None, **found: Any) -> rec.Record:
    track = replace(GOOD.track, passed_as=passed_as or {})
    return replace(GOOD, track=track, indices=(replace(INDEX, settings=found),))


def wanting(**index: Any) -> Any:
    return spec(elasticsearch={"index": index})


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (1, "1"), (True, "true"), (False, "false"), ("30s", "30s"), ("30s", "30000ms"), ("1m", "60s"), (-1, "-1"),
        ("4gb", "4096mb"), ("0.50", "0.5"), (0.5, "0.5"), (["a", "b"], ["a", "b"]), (["a", "b"], "a,b"),
        ("a, b", ["a", "b"]), ("request", "REQUEST"), ([], []), (2, 2),
    ],
)  # fmt: skip
def test_values_that_are_one_to_elasticsearch(wanted: Any, found: Any) -> None:
    assert same(wanted, found) and same(found, wanted)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (1, "2"), (True, "false"), ("30s", "30m"), ("30s", None), (["a"], ["a", "b"]), (["a", "b"], "b,a"),
        ("default", "best_compression"), ("30s", "-1"), (0, "0s"),
    ],
)  # fmt: skip
def test_values_that_are_not(wanted: Any, found: Any) -> None:
    assert not same(wanted, found)


@given(
    st.one_of(st.integers(), st.booleans(), st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1))
)
def test_a_value_is_what_elasticsearch_makes_of_it(value: Any) -> None:
    kept = str(value).lower() if isinstance(value, bool) else str(value)
    assert same(value, kept)


def test_flat_names() -> None:
    assert flatten({"translog": {"durability": "async", "a": {"b": 1}}, "codec": "x"}) == {
        "translog.durability": "async",
        "translog.a.b": 1,
        "codec": "x",
    }
    assert asked(IndexSettings(settings={"translog": {"durability": "async"}})) == {
        "index.translog.durability": "async"
    }


def test_everything_as_asked_is_no_violation() -> None:
    found = {"index.refresh_interval": "30000ms", "index.mapping.source.mode": "stored"}
    wanted = wanting(shards=1, codec="default", sourceMode="stored", settings={"refresh_interval": "30s"})
    assert violation(record(**found), wanted) is None
    assert violation(record(), spec()) is None


@pytest.mark.parametrize(
    ("wanted", "passed_as", "words"),
    [
        ({"shards": 2}, {"index.number_of_shards": "number_of_shards"},
         ("index logs: index.number_of_shards was to be 2, Elasticsearch has 1", "track parameter number_of_shards")),
        ({"shards": 2}, {"index.number_of_shards": ""},
         ("has no parameter number_of_shards and no index_settings", "{{ number_of_shards | default(...) | tojson }}")),
        ({"codec": "best_compression"}, {"index.codec": ""}, ("the nodes were given it",)),
        ({"codec": "best_compression"}, {"index.codec": "index_settings"}, ("track parameter index_settings",)),
        ({"settings": {"refresh_interval": "30s"}}, {"index.refresh_interval": ""},
         ("index.refresh_interval was to be 30s, Elasticsearch has none", "no parameter refresh_interval")),
        ({"sourceMode": "synthetic"}, {"index.mapping.source.mode": "source_mode"}, ("licence",)),
    ],
)  # fmt: skip
def test_what_is_not_as_asked_is_named_with_its_cure(
    wanted: dict[str, Any], passed_as: dict[str, str], words: tuple[str, ...]
) -> None:
    unset = {"index.refresh_interval": None, "index.mapping.source.mode": None}
    found = violation(record(passed_as, **unset), wanting(**wanted))
    assert found is not None and found.reason == Reason.SETTINGS_NOT_APPLIED
    for word in words:
        assert word in found.message


def test_what_could_not_be_read_is_not_called_another_value() -> None:
    found = violation(record(), wanting(settings={"refresh_interval": "30s"}))
    assert found is not None and found.reason == Reason.CLUSTER_UNREACHABLE and "could not be asked" in found.message


def test_no_index_is_a_violation() -> None:
    found = violation(replace(GOOD, indices=()), wanting(shards=1))
    assert found is not None and "no index" in found.message


def raced(
    *indices: rec.IndexRecord,
    expected: dict[str, int] | None = None,
    uncounted: Any = (),
    deletes: tuple[str, ...] = (),
    transforms: tuple[str, ...] = (),
    **more: Any,
) -> rec.Record:
    """A race whose bulks wrote 1000 documents to `logs` unless told otherwise."""
    documents = DocumentPlan(uncounted=tuple(uncounted), deletes_indices=deletes, of_transforms=transforms)
    wanted = {"logs": 1000} if expected is None else expected
    track = replace(GOOD.track, expected_documents=wanted, documents=documents)
    return replace(GOOD, track=track, indices=indices, **more)


def an_index(name: str, shards: int, documents: int = 0, *aliases: str) -> rec.IndexRecord:
    return replace(INDEX, name=name, shards=shards, documents=documents, aliases=aliases)


MAIN, LOOKUP = an_index("logs", 2, 1000), an_index("lookup", 1)
DROPPED = UncountedTask("drop-it", "logs", WhyUncounted.DELETED, 1000)
OWN_WORDS = UncountedTask("bulk", "", WhyUncounted.ACTION_LINES, 1000)
WRITES = UncountedTask("put-lookup")
DIVERTED = rec.Pipeline("p", 1000, work=ProcessorWork(processors=1, rerouted=1000))


@pytest.mark.parametrize(
    ("good", "said"),
    [
        (raced(MAIN), []),
        (raced(MAIN, LOOKUP),
         ["index lookup: index.number_of_shards was to be 2, Elasticsearch has 1; no bulk names it, and index logs"]),
        (raced(MAIN, LOOKUP, an_index("more", 1)), ["Elasticsearch has 1 (and 1 more indices); no bulk names it"]),
        (raced(an_index("i", 2, 1000, "logs"), LOOKUP), ["and index i has it"]),
        (raced(MAIN, an_index("few", 1, 10), expected={"logs": 1000, "few": 10}),
         ["index few: index.number_of_shards was to be 2, Elasticsearch has 1; it holds 10 of 1010 documents, and"]),
        (raced(expected={}, uncounted=[DROPPED]),
         ["index logs was deleted before it could be asked for index.number_of_shards"]),
        (raced(LOOKUP, expected={}, uncounted=[DROPPED]), ["index logs was deleted", "index lookup: "]),
        # What stood behind the alias was deleted.
        (raced(LOOKUP, deletes=("drop-it",)), ["index logs was deleted", "index lookup: "]),
        # Deleted and made again: it is there, and is what it was to be.
        (raced(MAIN, uncounted=[DROPPED]), []),
        (raced(an_index("logs", 2, 600), LOOKUP, expected={},
               uncounted=[UncountedTask("bulk", "logs", WhyUncounted.ENDED_BY_TIME, 1000)]), ["and index logs has it"]),
        # Written by a task that is no bulk, which is what it may be as long as it is small.
        (raced(MAIN, an_index("lookup", 1, 10), uncounted=[WRITES]), ["index lookup: index.number_of_shards was to"]),
        (raced(MAIN, an_index("sums", 1, 500), uncounted=[WRITES], transforms=("sums",)),
         ["Elasticsearch has 1; a transform makes it, and index logs has it"]),
    ],
)  # fmt: skip
def test_what_stands_beside_the_indices_of_the_bulks_is_said_and_voids_nothing(
    good: rec.Record, said: list[str]
) -> None:
    assert violation(good, wanting(shards=2)) is None
    found = [*not_everywhere(good, wanting(shards=2))]
    assert len(found) == len(said) and all(words in it.text for it, words in zip(found, said, strict=True)), found
    assert {it.reason for it in found} <= {Reason.SETTINGS_PARTLY_VERIFIED}
    assert not [*not_everywhere(good, spec())], "nothing was asked for"


@pytest.mark.parametrize(
    "bad",
    [
        raced(an_index("logs", 1, 1000), LOOKUP),
        raced(an_index("logs", 1, 1000), an_index("lookup", 2)),
        # Two indices of which one is not as asked, and neither is small.
        raced(MAIN, an_index("few", 1, 11), expected={"logs": 1000, "few": 11}),
        raced(MAIN, *(an_index(f"s-{n}", 1, 9) for n in range(9)),
              expected={"logs": 1000} | {f"s-{n}": 9 for n in range(9)}),
        # Where the documents went is not known, or not where the bulk said.
        raced(MAIN, LOOKUP, uncounted=[OWN_WORDS]),
        raced(MAIN, an_index("u", 1, 11), uncounted=[WRITES]),
        raced(an_index("logs", 1, 1000), an_index("sums", 2, 500), uncounted=[WRITES], transforms=("sums",)),
        raced(LOOKUP, expected={}),
        raced(an_index("logs", 2), an_index("u", 1, 1000), pipelines=(DIVERTED,)),
        raced(MAIN, an_index("t-2026.01.01", 1, 5), expected={"logs": 1000, "<t-{now/d}>": 5}),
        # Another one was deleted.
        raced(an_index("logs", 1, 1000), uncounted=[UncountedTask("drop-it", "old", WhyUncounted.DELETED, 5)]),
    ],
)  # fmt: skip
def test_no_index_stands_beside_when_those_of_the_bulks_are_not_as_asked_or_not_known(bad: rec.Record) -> None:
    found = violation(bad, wanting(shards=2))
    assert found is not None and found.reason == Reason.SETTINGS_NOT_APPLIED


def test_the_nodes_get_what_the_track_does_not_take() -> None:
    index = IndexSettings(codec="best_compression", shards=2, settings={"store": {"preload": ["nvd", "dvd"]}})
    none = {"index.codec": "", "index.store.preload": "", "index.number_of_shards": ""}
    assert for_nodes(record(none), index) == {"index.codec": "best_compression", "index.store.preload": "nvd,dvd"}
    assert for_nodes(record({"index.codec": "codec"}), index) == {}
    assert for_nodes(record(), index) == {}
    first = next(remarks(record(none)))
    assert first.reason == Reason.SETTINGS_ON_NODES and first.text.startswith("index.codec was set on the nodes")


@pytest.mark.parametrize("track", sorted(BUILTIN_TRACKS))
def test_a_builtin_track_takes_every_index_setting(track: str) -> None:
    # It is raced without being rendered first, so nobody would learn that the nodes must be given a setting.
    text = "".join(path.read_text() for path in (ROOT / "tracks" / track).glob("**/*.json"))
    for parameter in ("number_of_shards", "number_of_replicas", "index_settings"):
        assert parameter in text, f"{track} takes no {parameter}"


@pytest.mark.parametrize(
    ("elasticsearch", "words"),
    [
        ({"index": {"settings": {"index.codec": "default"}}}, "write it without the prefix, codec"),
        ({"index": {"settings": {"index": {"codec": "default"}}}}, "write it without the prefix, codec"),
        ({"index": {"settings": {"number_of_shards": 1}}}, "write index.shards instead"),
        ({"index": {"settings": {"mapping": {"source": {"mode": "stored"}}}}}, "write index.sourceMode instead"),
        ({"index": {"settings": {"refresh_interval": None}}}, "has no value"),
        ({"index": {"codec": "default"}, "config": {"index": {"codec": "best_compression"}}}, "asks for default"),
        ({"version": "7.17.29", "index": {"sourceMode": "synthetic"}}, "it came with 8.4"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_created(elasticsearch: dict[str, Any], words: str) -> None:
    (objection,) = objections(spec(elasticsearch=elasticsearch), SETTINGS)
    assert objection.reason == Reason.INVALID_SPEC and words in objection.message
