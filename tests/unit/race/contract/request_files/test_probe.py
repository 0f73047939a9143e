"""Pointers into what a system says of itself, and the race's own value from what was read before it and after."""

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.codec import decode, encode
from fairlap_race.contract.request_files.probe import (
    EVERY,
    LARGEST,
    PointerError,
    ProbeLook,
    ProbeReading,
    ProbeRecord,
    ProbeSpec,
    combine,
    compare,
    find_counters,
    find_number,
    find_wrong_probes,
    look,
)

RATE = ProbeSpec("rate", "/d/status", pointer="/1/cache_hit_rate", weight="/1/n_queries")
SHARE = ProbeSpec("share", "/s", part="/nodes/*/hit", rest="/nodes/*/miss")
PLAIN = ProbeSpec("plain", "/s", pointer="/v")
RFC = {"foo": ["bar", 7], "": 0, "a/b": 1, "c%d": 2, "m~n": 8, "*": 9, "cat": {"count": "12", "share": "0.5"}}


def rate(percent: float, queries: int) -> ProbeLook:
    return look(RATE, [[0], {"cache_hit_rate": percent, "n_queries": queries}])


def share(**nodes: tuple[int, int]) -> ProbeLook:
    return look(SHARE, {"nodes": {name: {"hit": hit, "miss": miss} for name, (hit, miss) in nodes.items()}})


@pytest.mark.parametrize(
    ("pointer", "number"),
    [
        ("/foo/1", 7), ("/", 0), ("/a~1b", 1), ("/c%d", 2), ("/m~0n", 8), ("/*", 9), ("/cat/count", 12),
        ("/cat/share", 0.5),
    ],
)  # fmt: skip
def test_a_pointer_finds_what_rfc_6901_says(pointer: str, number: float) -> None:
    assert find_number(RFC, pointer) == number


@pytest.mark.parametrize(
    ("pointer", "words"),
    [
        ("/bar", "/bar finds nothing: the deepest level that exists is the whole answer, an object without 'bar'"),
        ("/cat/hits/x", "/cat/hits/x finds nothing: the deepest level that exists is /cat, an object without 'hits'"),
        ("/foo/2", "/foo/2 finds nothing: the deepest level that exists is /foo, a list without an entry 2"),
        ("/foo/-", "the deepest level that exists is /foo, a list, whose levels are numbers from 0, not '-'"),
        ("/foo/01", "the deepest level that exists is /foo, a list, whose levels are numbers from 0, not '01'"),
        (f"/foo/{'9' * 400}", "the deepest level that exists is /foo, a list, whose levels are numbers from 0"),
        ("/foo/0/x", "the deepest level that exists is /foo/0, a text, which has no levels"),
        ("/foo/1/x", "the deepest level that exists is /foo/1, a number, which has no levels"),
        ("/foo/0", "/foo/0 is a text, and no number"),
        ("/foo", "/foo is a list, and no number"),
        ("/cat", "/cat is an object, and no number"),
        ("/~2", "the whole answer, an object without '~2'"),
    ],
)
def test_a_pointer_that_finds_no_number_names_the_deepest_level(pointer: str, words: str) -> None:
    with pytest.raises(PointerError) as error:
        find_number(RFC, pointer)
    assert words in str(error.value)
    assert "bar" not in str(error.value).replace("/bar", "").replace("'bar'", "")


@pytest.mark.parametrize(
    "text",
    ["true", "false", "null", "NaN", "Infinity", "1e999", str(LARGEST), "1" + "0" * 400, '"5ms"', '"42 %"', '" 1"',
     '"+1"', '"0x1"', '"1_0"', '"NaN"', '"1e999"', '"٣"', '""'],
)  # fmt: skip
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(PointerError):
        find_number({"v": json.loads(text)}, "/v")


def test_a_level_for_every_member() -> None:
    answer = {"nodes": {"a~b": {"hit": 1}, "c/d": {"hit": "2"}}, "list": [{"n": 1}, {"n": 2}], "none": {}}
    assert find_counters(answer, "/nodes/*/hit") == {"/nodes/a~0b/hit": 1, "/nodes/c~1d/hit": 2}
    assert find_counters(answer, "/list/*/n") == {"/list/0/n": 1, "/list/1/n": 2}
    for pointer, words in (
        ("/none/*/n", "the deepest level that exists is /none, where nothing is below it"),
        ("/nodes/*/hits", "the deepest level that exists is /nodes/*, an object without 'hits'"),
        ("/list/0/n/*", "the deepest level that exists is /list/0/n, where nothing is below it"),
    ):
        with pytest.raises(PointerError, match="finds nothing") as error:
            find_counters(answer, pointer)
        assert words in str(error.value)
    with pytest.raises(PointerError, match="more than 200 members"):
        find_counters([0] * 201, "/*")


def test_a_counter_is_never_below_zero() -> None:
    with pytest.raises(PointerError, match="n_queries is below 0"):
        rate(50, -1)
    with pytest.raises(PointerError, match=r"/nodes/\*/miss is below 0"):
        share(a=(1, -1))
    assert rate(-5, 1) and look(PLAIN, {"v": -3})


TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def leaves(document: Any, at: str = "") -> list[tuple[str, Any]]:
    if isinstance(document, dict):
        escaped = {key.replace("~", "~0").replace("/", "~1"): value for key, value in document.items()}
        return [leaf for key, value in escaped.items() for leaf in leaves(value, f"{at}/{key}")]
    if isinstance(document, list):
        return [leaf for number, value in enumerate(document) for leaf in leaves(value, f"{at}/{number}")]
    return [(at, document)]


@given(DOCUMENTS)
def test_every_leaf_is_found_by_its_pointer(document: Any) -> None:
    for pointer, leaf in leaves(document):
        if pointer and isinstance(leaf, int) and not isinstance(leaf, bool):
            assert find_number(document, pointer) == leaf
            if EVERY not in pointer.split("/"):  # a member of that name cannot be told from all members
                assert find_counters([document], f"/*{pointer}").get(f"/0{pointer}") == leaf


@given(DOCUMENTS, st.text(st.sampled_from("/~01a*-"), min_size=1).map(lambda text: f"/{text}"))
def test_no_pointer_raises_anything_else(document: Any, pointer: str) -> None:
    for find in (find_number, find_counters):
        try:
            find(document, pointer)
        except PointerError as error:
            assert pointer in str(error)


@pytest.mark.parametrize(
    ("before", "after", "own", "weight", "why"),
    [
        (rate(0, 0), rate(50, 200), 50, 200, ""),
        (rate(80, 100), rate(65, 200), 50, 100, ""),
        (rate(0.8, 100), rate(0.65, 200), 0.5, 100, ""),
        (rate(80, 100), rate(80, 100), None, 0, "/1/n_queries did not grow"),
        (rate(80, 100), rate(50, 99), None, None, "/1/n_queries went down or has other members: it began anew"),
    ],
)
def test_a_race_has_its_own_rate(
    before: ProbeLook, after: ProbeLook, own: float | None, weight: float | None, why: str
) -> None:
    found = compare(RATE, "h:1", before, after)
    assert (found.own, found.weight, found.why) == (pytest.approx(own), weight, why)
    assert found.before is not None and found.after is not None


@pytest.mark.parametrize(
    ("before", "after", "own", "why"),
    [
        (share(a=(0, 0)), share(a=(30, 10)), 75, ""),
        (share(a=(5, 5), b=(0, 0)), share(a=(15, 5), b=(0, 10)), 50, ""),
        (share(a=(5, 5)), share(a=(5, 5)), None, "/nodes/*/hit and /nodes/*/miss did not grow"),
        (share(a=(5, 5), b=(1, 1)), share(a=(4, 9), b=(9, 9)), None, "/nodes/*/hit went down or has other members"),
        (share(a=(5, 5)), share(a=(6, 4)), None, "/nodes/*/miss went down or has other members"),
        (share(a=(5, 5)), share(b=(6, 6)), None, "/nodes/*/miss went down or has other members: it began anew"),
    ],
)
def test_a_share_comes_from_what_the_counters_grew_by(
    before: ProbeLook, after: ProbeLook, own: float | None, why: str
) -> None:
    found = compare(SHARE, "h:1", before, after)
    assert found.own == own and found.why.startswith(why) and bool(found.why) == bool(why)


def test_what_nobody_counted_has_no_share_yet() -> None:
    found = compare(SHARE, "h:1", share(a=(0, 0)), share(a=(1, 3)))
    assert (found.before, found.after, found.own, found.weight) == (None, 25, 25, 4)


COUNTS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=2, max_size=2)


@given(st.lists(COUNTS, min_size=1, max_size=4))
def test_rate_and_share_of_several_hosts_are_those_of_all_their_requests(hosts: list[list[tuple[int, int]]]) -> None:
    rates, shares = [], []
    for number, ((hits, misses), (more_hits, more_misses)) in enumerate(hosts):
        first, last = hits + misses, hits + misses + more_hits + more_misses
        old = float(Fraction(100 * hits, first)) if first else 0.0
        new = float(Fraction(100 * (hits + more_hits), last)) if last else 0.0
        rates.append(compare(RATE, f"h:{number}", rate(old, first), rate(new, last)))
        before, after = share(a=(hits, misses)), share(a=(hits + more_hits, misses + more_misses))
        shares.append(compare(SHARE, f"h:{number}", before, after))
    hits, total = sum(it[1][0] for it in hosts), sum(sum(it[1]) for it in hosts)
    for probe, readings, room in ((RATE, rates, 1e-6), (SHARE, shares, 1e-9)):
        found = combine(probe, readings)
        if total:
            # The rates themselves are rounded, and what was before may be a million times as much.
            assert found.own == pytest.approx(100 * hits / total, abs=room) and not found.why
        else:
            assert found.own is None and found.why.endswith("did not grow on any host")
        assert decode(ProbeRecord, json.loads(json.dumps(encode(found)))) == found


@given(st.integers(1, 99), st.integers(1, 2000), st.integers(1, 2000), st.data())
def test_a_share_that_is_a_whole_number_is_exactly_that(whole: int, one: int, two: int, data: st.DataObject) -> None:
    """489 of 1337 and 107 of 153 are 40 %, and it was said 39.99999999999999, below a bound of 40."""
    one, two = 100 * one, 100 * two
    hits = whole * (one + two) // 100
    first = data.draw(st.integers(max(0, hits - two), min(one, hits)))
    grown = [(first, one - first), (hits - first, two - hits + first)]
    none = share(a=(0, 0))
    found = combine(SHARE, [compare(SHARE, "h:1", none, share(a=it)) for it in grown])
    assert found.own == whole


@pytest.mark.parametrize(
    ("grown", "own"),
    [
        ([(489, 848), (107, 46)], 40),
        ([(1, 2), (1, 2)], float(Fraction(100, 3))),  # nothing but what is rounding is rounded
        ([(39_999_999_999, 60_000_000_001)], 39.999999999),
    ],
)
def test_a_share_of_all_hosts_is_rounded_once(grown: list[tuple[int, int]], own: float) -> None:
    readings = [compare(SHARE, "h:1", share(a=(0, 0)), share(a=it)) for it in grown]
    assert combine(SHARE, readings).own == own


@given(st.integers(1, 1000), st.integers(0, 1000), st.integers(1, 2000), st.sampled_from([0, 100]))
def test_a_rate_of_none_or_all_is_exactly_that(hits: int, misses: int, more: int, own: int) -> None:
    """Two rates that are rounded differed by -1e-14 where nothing was hit: below a bound of 0."""
    before, after = hits + misses, hits + misses + more
    rates = [float(Fraction(100 * it, of)) for it, of in ((hits, before), (hits + own * more // 100, after))]
    assert combine(RATE, [compare(RATE, "h:1", rate(rates[0], before), rate(rates[1], after))]).own == own


def test_a_host_that_began_anew_leaves_nothing_to_be_told() -> None:
    good = compare(RATE, "a:1", rate(0, 0), rate(50, 100))
    idle = compare(RATE, "b:1", rate(50, 100), rate(50, 100))
    anew = compare(RATE, "c:1", rate(50, 100), rate(50, 10))
    assert combine(RATE, [good, idle]).own == 50
    found = combine(RATE, [good, anew])
    assert found.own is None and found.why.startswith("on c:1 /1/n_queries went down")
    assert combine(RATE, []).why == "no host"


def test_a_plain_value_is_that_after_the_race() -> None:
    readings = [compare(PLAIN, host, look(PLAIN, {"v": 1}), look(PLAIN, {"v": 2})) for host in ("a:1", "b:1")]
    assert readings[0] == ProbeReading("a:1", 1, 2, 2)
    assert combine(PLAIN, readings[:1]).own == 2
    both = combine(PLAIN, readings)
    assert both.own is None and not both.why and len(both.hosts) == 2


@pytest.mark.parametrize(
    ("probes", "words"),
    [
        ((RATE, SHARE, PLAIN), ""),
        ((RATE, RATE), "probes[1].name: 'rate' must be"),
        ((ProbeSpec("A b", "/x", "/y"),), "probes[0].name"),
        ((ProbeSpec("a", "//x", "/y"),), "probes[0].path"),
        ((ProbeSpec("a", "/x\r\nHost: b", "/y"),), "probes[0].path"),
        ((ProbeSpec("a", "/x", "y"),), "probes[0].pointer: 'y' is no JSON pointer"),
        ((ProbeSpec("a", "/x", "/~3"),), "probes[0].pointer"),
        ((ProbeSpec("a", "/x"),), "exactly one of pointer and part"),
        ((ProbeSpec("a", "/x", "/y", part="/z", rest="/z"),), "exactly one of pointer and part"),
        ((ProbeSpec("a", "/x", part="/z"),), "part and rest need each other"),
        ((ProbeSpec("a", "/x", part="/z", rest="/z", weight="/z"),), "weight needs pointer"),
        (tuple(ProbeSpec(f"p{number}", "/x", "/y") for number in range(21)), "at most 20"),
    ],
)
def test_what_the_runner_takes(probes: tuple[ProbeSpec, ...], words: str) -> None:
    found = list(find_wrong_probes(probes))
    assert bool(found) == bool(words) and words in "".join(found)
