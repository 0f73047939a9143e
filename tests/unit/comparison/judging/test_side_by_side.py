"""Two variants' races beside each other: read from Rally's race.json, compared, refused."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from searched_races import searching_race

from fairlap.comparison.judging.side_by_side import is_workload, judge_side_by_side, overall
from fairlap.comparison.numbers.benchmark_numbers import recorded_race
from fairlap.comparison.numbers.race_numbers import Kind, NotARaceError, Number, Raced, read_race, untold
from fairlap.comparison.terms.verdicts import ComparisonVerdict
from fairlap.statistics.gates import GateFinding, GateVerdict
from fairlap.statistics.paired import Estimate

IDS = itertools.count()
TASKS = ("bulk", "search")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def race_json(scale: float = 1.0, chosen: random.Random | None = None, **changes: Any) -> dict[str, Any]:
    """Return a race whose times are `scale` times the usual ones, with 1 % of noise from `chosen`."""

    def noisy(value: float) -> float:
        return value * (chosen.lognormvariate(0, 0.01) if chosen else 1.0)

    def task(name: str) -> dict[str, Any]:
        times = {key: noisy(ms * scale) for key, ms in (("50_0", 5.0), ("90_0", 8.0), ("99_0", 12.0), ("99_9", 15.0))}
        rate = noisy(1000 / scale)
        return {
            "task": name, "operation": name, "error_rate": 0.0,
            "throughput": {"min": rate, "mean": rate, "median": rate, "max": rate, "unit": "ops/s"},
            "service_time": times,
        }  # fmt: skip

    race = {
        "rally-version": "2.13.0", "track": "log_ingest", "challenge": "default", "track-params": {"documents": 1000},
        "cluster": {"distribution-version": "9.0.0", "revision": "abc"},
        "results": {"op_metrics": [task(name) for name in TASKS], "store_size": 5_000_000},
    }  # fmt: skip
    return race | changes


def raced(scale: float = 1.0, chosen: random.Random | None = None, **changes: Any) -> Raced:
    return read(race_json(scale, chosen, **changes))


def read(race: Mapping[str, Any], name: str = "r") -> Raced:
    """Return it as a race of its own."""
    return read_race(name, json.dumps({"race-id": f"race {next(IDS)}", **race}))


def races(scale: float, seed: int, count: int = 5) -> list[Raced]:
    chosen = random.Random(seed)
    return [raced(scale, chosen) for _ in range(count)]


def test_what_a_race_json_says() -> None:
    race = raced()
    assert race.values[Number("bulk", Kind.THROUGHPUT)] == 1000
    assert race.values[Number("search", Kind.P99)] == 12
    assert race.values[Number("", Kind.STORE)] == 5_000_000
    assert race.facts["Elasticsearch"] == "9.0.0" and race.facts["track parameter documents"] == "1000"
    assert race.supported == set(race.values)


def test_a_percentile_counts_only_where_its_requests_are_proven() -> None:
    race = race_json()
    del race["results"]["op_metrics"][0]["service_time"]["99_9"]  # then Rally saw 100 requests or more, of 368
    found = read(race)
    assert Number("bulk", Kind.P99) not in found.supported and Number("bulk", Kind.P90) in found.supported
    notes = judge_side_by_side([found, read(race)], [raced(), raced()]).notes
    assert "p99 of bulk decides nothing: it needs 368 requests, and the files prove fewer" in notes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "r is no JSON"),
        ("{", "r is no JSON"),
        ("[" * 100_000, "r is no JSON"),
        ("[]", 'it has no object "results"'),
        ("{}", 'it has no object "results"'),
        ('{"results": 3}', 'it has no object "results"'),
    ],
)
def test_what_is_no_race(text: str, words: str) -> None:
    with pytest.raises(NotARaceError, match=words):
        read_race("r", text)


@given(ANYTHING, ANYTHING, ANYTHING)
def test_odd_files_are_races_without_numbers(one: Any, two: Any, three: Any) -> None:
    task = {"task": "t", "throughput": one, "service_time": two, "error_rate": 0.0}
    race = {"results": {"op_metrics": [task, one], "store_size": two}, "cluster": three, "track-params": one}
    found = read_race("r", json.dumps(race))
    assert all(0 < value < float("inf") for value in found.values.values()) and "t" in found.tasks


@pytest.mark.parametrize(
    ("what", "workload"),
    [
        ("track", True),
        ("track parameter documents", True),
        ("pipeline", True),
        ("spec.race.params.x", True),
        ("ran: trackDigest", True),
        ("ran: challenge", True),
        ("ran: corpora[0]", True),
        ("ran: rallyVersion", True),
        ("ran: k6Version", True),
        ("ran: number of requests", True),
        ("ran: request 3: hits", True),
        ("ran: index logs: documents", True),
        ("ran: task a: plan", True),
        ("ran: task a: hits", True),
        ("ran: task a: answer to 0af1: hits", True),
        ("Elasticsearch", False),
        ("spec.elasticsearch.heap", False),
        ("ran: version", False),
        ("ran: java", False),
        ("ran: rallyImage", False),
        ("ran: index logs: shards", False),
        ("ran: what nobody knows", False),
    ],
)
def test_what_was_raced_is_told_from_what_it_was_raced_on(what: str, workload: bool) -> None:
    assert is_workload(what) is workload


@given(ANYTHING)
def test_what_is_no_share_from_0_to_1_is_no_error_rate(told: Any) -> None:
    text = json.dumps({"results": {"op_metrics": [{"task": "t", "error_rate": told}]}})
    if told is None:
        assert read_race("r", text).error_rates == {}
    elif isinstance(told, int | float) and not isinstance(told, bool) and 0 <= told <= 1:
        assert read_race("r", text).error_rates == {"t": told}
    else:
        with pytest.raises(NotARaceError, match=r"r: error_rate of the task t is .*: write which share of"):
            read_race("r", text)


@pytest.mark.parametrize("told", ["1.0", 1.5, -0.1, True, [], float("nan")])
def test_an_error_rate_that_is_no_share_is_not_taken_for_none_failed(told: Any) -> None:
    race = race_json()
    race["results"]["op_metrics"][1]["error_rate"] = told
    with pytest.raises(NotARaceError, match="error_rate of the task search is"):
        read(race)


def test_an_error_rate_that_is_not_there_is_told() -> None:
    race = race_json()
    del race["results"]["op_metrics"][1]["error_rate"]
    sentence = "not every race tells how many requests failed (error_rate): times of search may be those of errors"
    assert sentence in judge_side_by_side([read(race)], [raced()]).notes
    assert sentence not in judge_side_by_side([replace(read(race), judged=True)], [raced()]).notes


def test_a_task_that_is_told_twice_has_no_last_word() -> None:
    race = race_json()
    race["results"]["op_metrics"].append({"task": "search", "throughput": {"mean": 1.0}})
    with pytest.raises(NotARaceError, match="r has 2 entries of the task search in op_metrics, and Rally writes one"):
        read(race)


@pytest.mark.parametrize(("mean", "found"), [(None, 900.0), ("x", 900.0), (800.0, 800.0), (0, None)])
def test_a_median_stands_in_for_a_mean_that_is_not_there(mean: Any, found: float | None) -> None:
    race = race_json()
    race["results"]["op_metrics"][0]["throughput"] = {"mean": mean, "median": 900.0, "unit": "ops/s"}
    assert read(race).values.get(Number("bulk", Kind.THROUGHPUT)) == found


@pytest.mark.parametrize("given", ["a:1,b:2", ["a"], 3, True])
def test_parameters_that_are_no_object_are_compared_as_one_text(given: Any) -> None:
    odd = {"track-params": given}
    alike = judge_side_by_side([raced(**odd) for _ in range(2)], [raced(**odd) for _ in range(2)])
    assert alike.differences == () and alike.obstacles == ()
    text = given if isinstance(given, str) else json.dumps(given)
    beside_none = judge_side_by_side([raced(**{"track-params": {}})], [raced(**odd)])
    assert beside_none.obstacles == (f"track parameter (as one text) is not the same: nothing and {text}",)


def test_which_facts_not_every_file_tells() -> None:
    full = race_json() | {"track-revision": "abc", "pipeline": "benchmark-only", "car": ["external"]}
    full["cluster"] |= {"distribution-flavor": "default"}
    assert untold([read(full), read(full)]) == []
    others = {"track-revision": None, "challenge": None}
    cluster = {"cluster": {"distribution-flavor": "default", "revision": "abc"}}
    assert untold([read(full), read(full | others | cluster)]) == ["track revision", "challenge", "Elasticsearch"]
    old = {key: value for key, value in full.items() if key not in ("rally-version", "track-params")}
    parameters = ["track parameters", "car parameters", "plugin parameters"]
    assert untold([read(old), read(full)]) == ["Rally", *parameters], "Rally alone is known to leave out what is none"
    assert untold([read(old | {"track-params": {"x": 1}})]) == ["Rally", *parameters[1:]]


@pytest.mark.parametrize("in_blocks", [True, False])
@pytest.mark.parametrize(
    ("scale", "outcome"),
    [(1.2, ComparisonVerdict.REGRESSED), (0.8, ComparisonVerdict.IMPROVED), (1.0, ComparisonVerdict.NO_DIFFERENCE)],
)
def test_the_outcome_of_five_races_each(scale: float, outcome: ComparisonVerdict, in_blocks: bool) -> None:
    found = judge_side_by_side(races(1.0, 1), races(scale, 2), in_blocks=in_blocks)
    assert found.verdict == outcome
    assert [line.kind for line in found.gates] == [Kind.THROUGHPUT, Kind.P50, Kind.P99, Kind.STORE]
    assert len(found.others) == 8 and all(line.q is not None for line in found.others)
    assert any("not paired" in note for note in found.notes) != in_blocks


def test_what_both_share_cancels_in_blocks_only() -> None:
    """The machine is slower from race to race: pairs see the 5 %, two heaps of races do not."""
    drift = [1.0, 1.4, 0.8, 1.9, 1.2]
    chosen = random.Random(3)
    one, two = [raced(each, chosen) for each in drift], [raced(each * 1.08, chosen) for each in drift]
    assert judge_side_by_side(one, two, in_blocks=True).verdict == ComparisonVerdict.REGRESSED
    assert judge_side_by_side(one, two).verdict == ComparisonVerdict.INCONCLUSIVE


def test_one_race_each_decides_nothing() -> None:
    found = judge_side_by_side([raced()], [raced(3.0)])
    assert found.verdict == ComparisonVerdict.INCONCLUSIVE and found.gates[0].finding is None
    assert found.gates[0].contender / found.gates[0].baseline == pytest.approx(1 / 3)
    assert found.notes[0].startswith("one race has no spread")


@pytest.mark.parametrize(
    "changes",
    [{"challenge": "other"}, {"track": "x"}, {"rally-version": "2.3.0"}, {"track-params": {"documents": 2}}],
)
def test_another_workload_is_not_compared(changes: Mapping[str, Any]) -> None:
    found = judge_side_by_side(races(1.0, 1), [raced(1.0, **changes) for _ in range(5)])
    assert found.verdict == ComparisonVerdict.NOT_COMPARABLE and "is not the same" in found.obstacles[0]


def test_another_version_is_a_difference_that_is_said() -> None:
    other = {"cluster": {"distribution-version": "8.11.0", "revision": "def"}}
    found = judge_side_by_side(races(1.0, 1), [raced(1.2, **other) for _ in range(5)])
    assert found.verdict == ComparisonVerdict.REGRESSED
    assert ("Elasticsearch", "9.0.0", "8.11.0") in [tuple(each.__dict__.values()) for each in found.differences]


def test_a_variant_that_is_not_one_thing_is_not_compared() -> None:
    mixed = [raced(), raced(cluster={"distribution-version": "8.11.0"})]
    found = judge_side_by_side(mixed, races(1.0, 1))
    assert found.obstacles == ("Elasticsearch is not the same in the races of one variant: 8.11.0 and 9.0.0",)


def test_what_only_one_knows_is_no_difference() -> None:
    bare = {key: value for key, value in race_json().items() if key in ("results", "track")}
    found = judge_side_by_side([read(bare) for _ in range(3)], races(1.0, 1))
    assert found.differences == () and found.verdict != ComparisonVerdict.NOT_COMPARABLE


def benchmark(seed: int, **more: str) -> list[Raced]:
    """Return the races of a Benchmark of which this is known, too."""
    asked = {"spec.race.track.builtin": "log_ingest", "ran: challenge": "default", "ran: index logs: documents": "1000"}
    return [replace(race, facts={**asked, **more}) for race in races(1.0, seed)]


@pytest.mark.parametrize(
    ("what", "values", "comparable"),
    [
        ("spec.race.params.documents", ("nothing", "900"), False),
        ("spec.race.includeTasks[0]", ("nothing", "bulk"), False),
        ("ran: challenge", ("default", "index-only"), False),
        ("ran: index logs: documents", ("1000", "900"), False),
        ("spec.elasticsearch.heap", ("nothing", "1g"), True),
    ],
)
def test_what_one_benchmark_did_not_ask_for_is_compared(what: str, values: tuple[str, str], comparable: bool) -> None:
    plain, other = benchmark(1), benchmark(2, **{what: values[1]})
    for one, two, found in ((plain, other, values), (other, plain, values[::-1])):
        beside = judge_side_by_side(one, two)
        assert [tuple(each.__dict__.values()) for each in beside.differences] == [(what, *found)]
        assert (beside.verdict != ComparisonVerdict.NOT_COMPARABLE) is comparable
    several = judge_side_by_side([*plain, *other], benchmark(3)).obstacles
    assert any(text.startswith(f"{what} is not the same in the races of one variant") for text in several)


def test_how_rally_itself_set_a_cluster_up_is_told() -> None:
    one, two = {"car": "4gheap", "car-params": {"x": 1}}, {"car": ["1gheap", "ea"], "car-params": {"x": 2}}
    found = judge_side_by_side([raced(**one) for _ in range(5)], [raced(**two) for _ in range(5)])
    assert [tuple(each.__dict__.values()) for each in found.differences] == [
        ("car", "4gheap", '["1gheap", "ea"]'),
        ("car parameter x", "1", "2"),
    ]
    assert found.verdict == ComparisonVerdict.NO_DIFFERENCE


def test_races_without_a_number_in_common() -> None:
    stored = [read({"results": {"op_metrics": [{"task": task} for task in TASKS]}}) for _ in range(3)]
    assert judge_side_by_side(stored, races(1.0, 1)).obstacles == ("the races have no number in common",)


def test_the_same_race_is_known_by_its_id_or_else_by_its_text() -> None:
    one, two = race_json(1.0), race_json(1.2)
    assert read(one | {"race-id": "x"}).identity == read(two | {"race-id": "x"}, "elsewhere").identity == "x"
    for odd in ({}, {"race-id": ""}, {"race-id": 3}):
        known = [
            read_race(name, json.dumps(race | odd)).identity for name, race in (("a", one), ("b", one), ("c", two))
        ]
        assert known[0] == known[1] != known[2]
    assert read_race("a", json.dumps(one)).identity == read_race("b", json.dumps(one).encode()).identity


@pytest.mark.parametrize("in_blocks", [True, False])
@pytest.mark.parametrize(
    ("baseline", "contender"),
    [(["a", "a"], ["b", "b"]), (["a", "b"], ["c", "c"]), (["a", "b"], ["a", "b"]), (["a", "b"], ["c", "a"])],
)
def test_one_race_is_not_taken_for_several(baseline: list[str], contender: list[str], in_blocks: bool) -> None:
    there = {name: read(race_json(scale), name) for name, scale in (("a", 1.0), ("b", 1.4), ("c", 2.0))}
    found = judge_side_by_side(
        [there[name] for name in baseline], [there[name] for name in contender], in_blocks=in_blocks
    )
    assert found.verdict == ComparisonVerdict.NOT_COMPARABLE
    twice = [name for name in there if [*baseline, *contender].count(name) > 1]
    assert found.obstacles == tuple(
        f"one race is given 2 times ({name}, {name}): a copy of it is no other race" for name in twice
    )


def test_pairs_need_their_other() -> None:
    with pytest.raises(ValueError, match="5 and 4 races are no pairs"):
        judge_side_by_side(races(1.0, 1), races(1.0, 2, 4), in_blocks=True)


def test_errors_and_missing_tasks_are_said() -> None:
    failing = race_json()
    failing["results"]["op_metrics"][0]["error_rate"] = 0.02
    failing["results"]["op_metrics"].pop()
    notes = judge_side_by_side(races(1.0, 1, 2), [read(failing), read(failing)]).notes
    assert "bulk: 2.00 % of the requests of a race failed: its times are those of errors, too" in notes
    assert "not compared, since not every race has it: search" in notes
    failing["results"]["op_metrics"][0]["error_rate"] = 0.00002
    notes = judge_side_by_side(races(1.0, 1, 2), [read(failing), read(failing)]).notes
    assert "bulk: 0.002 % of the requests of a race failed: its times are those of errors, too" in notes


@pytest.mark.parametrize(("rates", "comparable"), [((0.05, 0.0), True), ((0.06, 0.0), False), ((1.0, 0.01), False)])
def test_times_of_errors_are_not_compared(rates: tuple[float, float], comparable: bool) -> None:
    """Fast answers may be none. How many may fail was judged of a Benchmark's races already."""
    others = []
    for rate in rates:
        failing = race_json(0.1)
        failing["results"]["op_metrics"][1]["error_rate"] = rate
        others.append(read(failing))
    found = judge_side_by_side(races(1.0, 1, 2), others)
    assert (found.verdict != ComparisonVerdict.NOT_COMPARABLE) == comparable
    if not comparable:
        assert f"search: {100 * rates[0]:.2f} % of the requests of a race failed, so" in found.obstacles[0]
    assert any(text.startswith(f"search: {100 * rates[0]:.2f} %") for text in found.notes), "the worst race is told"
    valid = judge_side_by_side(races(1.0, 1, 2), [replace(each, judged=True) for each in others])
    assert valid.verdict != ComparisonVerdict.NOT_COMPARABLE


@pytest.mark.parametrize(("ours", "theirs", "apart"), [(0.0, 0.02, True), (0.02, 0.0, False), (0.02, 0.02, False)])
def test_a_number_with_more_failed_requests_on_one_side_decides_nothing(
    ours: float, theirs: float, apart: bool
) -> None:
    one, two = (
        [replace(each, judged=True, error_rates={"search": rate}) for each in races(scale, 1)]
        for scale, rate in ((1.0, ours), (0.5, theirs))
    )
    found = judge_side_by_side(one, two)
    titles = [line.what for line in found.gates]
    assert ("service time p99, geometric mean of 1 task" in titles) == apart
    assert "service time p50, geometric mean of 2 tasks" in titles, "less than 5 % move a median little"
    why = "service time p99 of search decides nothing: more of its requests failed in one of both"
    assert (why in found.notes) == apart


@pytest.mark.parametrize(
    ("kind", "ours", "theirs", "scale", "decides"),
    [
        ("service time p99", 0.0, 0.02, 2.0, True),
        ("service time p99", 0.02, 0.0, 0.5, True),
        ("service time p99", 0.02, 0.0, 2.0, False),
        ("service time p99", 0.0, 0.02, 1.0, False),
        ("throughput", 0.0, 0.06, 2.0, True),
        ("throughput", 0.0, 0.06, 0.5, False),
        ("throughput", 0.06, 0.0, 0.5, True),
    ],
)
def test_what_is_worse_with_more_failed_requests_or_better_with_fewer_decides(
    kind: str, ours: float, theirs: float, scale: float, decides: bool
) -> None:
    one, two = (
        [replace(each, judged=True, error_rates={"search": rate}) for each in races(factor, 1)]
        for factor, rate in ((1.0, ours), (scale, theirs))
    )
    titles = [line.what for line in judge_side_by_side(one, two).gates]
    assert (f"{kind}, geometric mean of 2 tasks" in titles) == decides
    assert (f"{kind}, geometric mean of 1 task" in titles) != decides


MACHINES = "ran: machines of Elasticsearch"


def on(machines: str, seed: int) -> list[Raced]:
    """Return a race on each of these machines."""
    found = zip(races(1.0, seed, len(machines)), machines, strict=True)
    return [replace(race, facts={**race.facts, MACHINES: machine}) for race, machine in found]


def test_blocks_may_rotate_over_machines_and_each_pair_is_on_one() -> None:
    assert judge_side_by_side(on("abc", 1), on("abc", 2), in_blocks=True).obstacles == ()
    moved = judge_side_by_side(on("abc", 1), on("abb", 2), in_blocks=True)
    assert moved.obstacles == (f"{MACHINES} is not the same in the two races of pair 3: b and c",)
    apart = judge_side_by_side(on("aaa", 1), on("bbb", 2), in_blocks=True)
    assert apart.obstacles == () and MACHINES in [each.what for each in apart.differences]
    versions = [raced(), raced(cluster={"distribution-version": "8.11.0"})]
    assert judge_side_by_side(versions, races(1.0, 1, 2), in_blocks=True).verdict == ComparisonVerdict.NOT_COMPARABLE


def test_what_keeps_both_variants_from_being_compared_is_said_once() -> None:
    sentence = f"{MACHINES} is not the same in the races of one variant: a and b and c"
    assert judge_side_by_side(on("abc", 1), on("abc", 2)).obstacles == (sentence,)


def test_a_single_number_is_shown_as_it_was_measured() -> None:
    found = judge_side_by_side([raced(10.0)], [raced(20.0)])
    shown = {line.what: (line.baseline, line.contender) for line in (*found.gates, *found.others)}
    assert shown["bulk throughput"] == (100.0, 50.0) and shown["store size"] == (5_000_000, 5_000_000)


def finding(verdict: GateVerdict) -> GateFinding:
    return GateFinding(verdict, Estimate(0, 1, 1), 0, 0, 0.95, False, 5, 0)


NO, WORSE, BETTER, WHO = (
    GateVerdict.NO_DIFFERENCE,
    GateVerdict.REGRESSED,
    GateVerdict.IMPROVED,
    GateVerdict.INCONCLUSIVE,
)


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        ([NO, NO], ComparisonVerdict.NO_DIFFERENCE),
        ([NO, WORSE], ComparisonVerdict.REGRESSED),
        ([WHO, WORSE], ComparisonVerdict.REGRESSED),
        ([BETTER, WORSE], ComparisonVerdict.MIXED),
        ([GateVerdict.IMPROVED_WITHIN_MARGIN, WORSE], ComparisonVerdict.MIXED),
        ([BETTER, NO], ComparisonVerdict.IMPROVED),
        ([BETTER, WHO], ComparisonVerdict.INCONCLUSIVE),
        ([GateVerdict.REGRESSED_WITHIN_MARGIN, NO], ComparisonVerdict.REGRESSED_WITHIN_MARGIN),
        ([], ComparisonVerdict.INCONCLUSIVE),
    ],
)
def test_all_gates_together(verdicts: list[GateVerdict], outcome: ComparisonVerdict) -> None:
    assert overall(map(finding, verdicts)) == outcome


def test_a_gate_that_one_race_could_not_judge_is_open() -> None:
    assert overall([None, finding(NO)]) == ComparisonVerdict.INCONCLUSIVE


@pytest.mark.parametrize("count", [3, 1])
@pytest.mark.parametrize(
    ("key", "what", "comparable"),
    [
        ("track-params", "track parameter", False),
        ("car-params", "car parameter", True),
        ("plugin-params", "plugin parameter", True),
    ],
)
def test_a_parameter_that_only_one_was_given_is_a_difference(key: str, what: str, comparable: bool, count: int) -> None:
    """Rally leaves the key out of race.json where nothing was given."""
    plain = [read(without(race_json(), "track-params")) for _ in range(count)]
    given = [read(without(race_json(), "track-params") | {key: {"x": 1}}) for _ in range(count)]
    for one, two, values in ((plain, given, ("nothing", "1")), (given, plain, ("1", "nothing"))):
        found = judge_side_by_side(one, two)
        assert [tuple(each.__dict__.values()) for each in found.differences] == [(f"{what} x", *values)]
        assert (found.verdict != ComparisonVerdict.NOT_COMPARABLE) is comparable
    within = judge_side_by_side([*plain, *given], [read(race_json()) for _ in range(2)]).obstacles
    assert f"{what} x is not the same in the races of one variant: 1 and nothing" in within


def test_what_the_operator_gives_to_rally_by_itself_is_no_difference() -> None:
    given = [raced(**{"track-params": {"documents": 1000, "error_level": ""}}) for _ in range(3)]
    assert judge_side_by_side(given, [raced() for _ in range(3)]).differences == ()


def without(race: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in race.items() if name != key}


@pytest.mark.parametrize("nothing", [None, 0])
def test_a_task_that_a_mean_is_without_is_told(nothing: Any) -> None:
    odd = race_json()
    odd["results"]["op_metrics"][1]["throughput"] |= {"mean": nothing, "median": nothing}
    found = judge_side_by_side(races(1.0, 1, 3), [read(odd), *races(1.0, 2, 2)])
    assert found.gates[0].what == "throughput, geometric mean of 1 task"
    assert "throughput of search decides nothing: not every race has a number above 0 of it" in found.notes
    assert not [
        text for text in judge_side_by_side(races(1.0, 1, 3), races(1.0, 2, 3)).notes if "decides nothing" in text
    ]


def test_a_task_of_too_few_requests_for_a_percentile_is_told() -> None:
    few = race_json()
    few["results"]["op_metrics"][1]["service_time"] = {"50_0": 5.0, "100_0": 9.0}  # fewer than 10 requests
    notes = judge_side_by_side(races(1.0, 1, 3), [read(few), *races(1.0, 2, 2)]).notes
    assert "p50 of search decides nothing: it needs 6 requests, and the files prove fewer" in notes
    assert "p99 of search decides nothing: it needs 368 requests, and the files prove fewer" in notes


@pytest.mark.parametrize(
    ("rates", "left", "kept"),
    [
        ([{"search": 50.0}] * 6, "search", 1),
        ([{"search": 50.0}] * 3 + [None] * 3, "search", 1),  # files beside Benchmarks do not tell
        ([{"search": 50.0, "bulk": 9.0}] * 6, "bulk, search", 0),
        ([{"search": 50.0}] * 5 + [{"search": 60.0}], "", 2),
        ([{"search": 50.0}] * 5 + [{}], "", 2),
        ([None] * 6, "", 2),
    ],
)
def test_a_rate_that_was_asked_for_is_in_no_mean_throughput_and_is_told(
    rates: list[dict[str, float] | None], left: str, kept: int
) -> None:
    told = [replace(race, rates=asked) for race, asked in zip(races(1.0, 1, 6), rates, strict=True)]
    found = judge_side_by_side(told[:3], told[3:])
    plural = "s" if kept > 1 else ""
    gates = {line.kind: line.what for line in found.gates}
    assert gates.get(Kind.THROUGHPUT) == (f"throughput, geometric mean of {kept} task{plural}" if kept else None)
    assert gates[Kind.P50] == "service time p50, geometric mean of 2 tasks"
    assert str(Number("search", Kind.THROUGHPUT)) in [line.what for line in found.others]
    why = "decides nothing: a rate was asked for, which is the throughput as long as it is kept"
    assert [text for text in found.notes if why in text] == ([f"throughput of {left} {why}"] if left else [])


def test_a_rate_that_one_side_does_not_keep_counts() -> None:
    told = [replace(race, rates={"search": 50.0}) for race in races(1.0, 1, 6)]
    search = Number("search", Kind.THROUGHPUT)
    slower = [replace(race, values={**race.values, search: 0.6 * race.values[search]}) for race in told[3:]]
    found = judge_side_by_side(told[:3], slower)
    (line,) = [line for line in found.gates if line.kind == Kind.THROUGHPUT]
    assert line.what == "throughput, geometric mean of 2 tasks"
    assert line.finding and line.finding.verdict == "Regressed"
    assert not any("a rate was asked for" in text for text in found.notes)


@pytest.mark.parametrize(
    ("capacities", "verdict"),
    [
        ((5000.0, 5000.0), "Inconclusive"),  # both carried all that was tried
        ((50.0, 50.0), "Inconclusive"),
        ((5000.0, 300.0), "Inconclusive"),
        ((300.0, 420.0), "Improved"),
    ],
)
def test_races_that_look_for_their_capacity_decide_by_nothing_else(
    capacities: tuple[float, float], verdict: str
) -> None:
    """What was indexed before the probes is faster by a third in all races of the contender."""
    sides = []
    for side, capacity in enumerate(capacities):
        races = []
        for number in range(3):
            of = searching_race(capacity * (1 + number / 50))
            tasks = [replace(it, rate=(50 + 20 * side) * (1 + number / 1000)) for it in of.tasks if it.task == "bulk"]
            record = replace(of, tasks=(*tasks, *(it for it in of.tasks if it.task != "bulk")))
            races.append(recorded_race(f"{side} {number}", record, {}))
        sides.append(races)
    found = judge_side_by_side(*sides)
    assert found.verdict == verdict and [line.kind for line in found.gates] == [Kind.CAPACITY] * (verdict == "Improved")
    told = "capacity of search decides nothing: not every race found one" in found.notes
    assert told == (verdict == "Inconclusive")
