"""The HTML report of all kinds of Comparisons: its shape, what stands first, and that no name can become markup."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from statistics import median
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.comparison_report.page import Page
from tests.unit.comparison_report.synthetic import CASES, HOSTILE, SLOW, Made, condition, made_once

from fairlap.api.block_record import BlockRecord, Curve, Measured, RaceRecord
from fairlap.api.names import MAX_VARIANTS
from fairlap.comparison_report.archive import DATA_ID, read_archive
from fairlap.comparison_report.comparison_view import NotAComparisonError, read_view
from fairlap.comparison_report.html_report import report_html
from fairlap.comparison_report.report_data import manifest
from fairlap.comparison_report.svg_parts import looks
from fairlap.wording.numerals import digits

every = pytest.mark.parametrize("name", CASES)


@cache
def page_of(name: str) -> Page:
    made = made_once(name)
    return Page(report_html(made.comparison, made.blocks))


def words(name: str) -> str:
    return page_of(name).words.replace("\N{NO-BREAK SPACE}", " ")


@every
def test_ids_stand_once_and_links_stay_in_the_page(name: str) -> None:
    page = page_of(name)
    ids = [str(found["id"]) for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))
    assert all(str(link["href"]).removeprefix("#") in ids for link in page.all("a"))
    referred = [each for _, found in page.elements for each in str(found.get("aria-labelledby") or "").split()]
    assert set(referred) <= set(ids)


@every
def test_nothing_is_loaded_and_nothing_runs(name: str) -> None:
    page = page_of(name)
    assert [found.get("type") for found in page.all("script")] == ["application/json"]
    loading = {"src", "srcset", "data", "action", "xlink:href", "poster", "background"}
    for tag, found in page.elements:
        assert tag not in {"img", "link", "iframe", "object", "embed", "base", "form", "use", "image", "a2"}, tag
        assert not loading & set(found) and not any(key.startswith("on") for key in found), (tag, found)
        assert not str(found.get("href", "#")).lower().startswith(("http", "//", "javascript"))
    style = "".join(page.text_in("style"))
    assert "url(" not in style and "@import" not in style


@every
def test_headings_are_in_order(name: str) -> None:
    levels = [int(tag[1]) for tag, _ in page_of(name).elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page_of(name).all("html") == [{"lang": "en"}]


@every
def test_each_chart_has_title_description_and_table(name: str) -> None:
    page = page_of(name)
    charts = [found for tag, found in page.elements if tag == "svg" and found.get("role") == "img"]
    assert len(charts) == len(page.all("figure"))
    for chart in charts:
        title, text = str(chart["aria-labelledby"]).split()
        assert ("title", {"id": title}) in page.elements and ("desc", {"id": text}) in page.elements
    tables = [parents for (tag, _), parents in zip(page.elements, page.parents, strict=True) if tag == "table"]
    assert sum("figure" in parents for parents in tables) == len(charts)


@every
def test_no_number_is_none(name: str) -> None:
    for tag, found in page_of(name).elements:
        for key, value in found.items():
            assert "nan" not in str(value).lower().split() and "inf" not in str(value).split(), (tag, key, value)
    assert not re.search(r"\b(nan|None|inf)\b", page_of(name).words)


@every
def test_the_same_input_gives_the_same_bytes(name: str) -> None:
    made = made_once(name)
    assert report_html(made.comparison, made.blocks) == report_html(made.comparison, list(reversed(made.blocks)))


@every
def test_the_data_in_the_page_make_the_same_page(name: str) -> None:
    [data] = page_of(name).text_in("script")
    comparison, blocks = read_archive(json.loads(data))
    made = made_once(name)
    assert report_html(comparison, blocks) == report_html(made.comparison, made.blocks)
    assert "managedFields" not in json.dumps(comparison)


def test_the_verdict_stands_first() -> None:
    assert (
        words("regressed").index("Regressed")
        < words("regressed").index("not passed")
        < words("regressed").index("Was it")
    )
    assert "is 8.6 % lower" in words("regressed") and "✓ fair" in words("regressed")


def test_a_void_block_stays_with_its_reason() -> None:
    assert "Block 3 does not count: " in words("regressed") and "killed: out of memory" in words("regressed")
    assert "1 void" in words("regressed")


def test_a_disturbed_block_stays_with_its_reason() -> None:
    text = words("disturbed")
    assert "Block 2 does not count: MachineDisturbed: " in text and "1 void" in text
    assert "no: the load generator's machine was disturbed: the hypervisor took 9 %" in text, "at its race"
    assert "no: another race of its block does not count" in text, "at those beside it"


@pytest.mark.parametrize(
    ("design", "told", "alike"),
    [
        ({}, True, False),
        ({"disturbed": "Repeat"}, True, False),
        ({"disturbed": "Count"}, False, False),
        ({"kind": "Duet"}, False, True),
        ({"kind": "Duet", "disturbed": "Count"}, False, True),
        ({"kind": "Duet", "disturbed": "Repeat"}, True, False),
    ],
)
def test_the_method_says_what_became_of_disturbed_blocks(design: dict[str, str], told: bool, alike: bool) -> None:
    made = CASES["no-twin"]()
    made.comparison["spec"]["design"] |= design
    text = report_html(made.comparison, made.blocks)
    assert ("(MachineDisturbed)" in text) is told
    assert ("meets the requests of all variants alike" in text) is alike


def test_the_method_says_how_the_races_of_a_block_ran() -> None:
    made = CASES["no-twin"]()
    assert "raced once, back to back on the same machines" in report_html(made.comparison, made.blocks)
    made.comparison["status"]["variants"][1]["changed"] = ["elasticsearch.scheduling.nodeSelector.pool"]
    of_its_own = report_html(made.comparison, made.blocks)
    assert (
        "back to back each on the machines that it asks for" in of_its_own and "on the same machines" not in of_its_own
    )
    made.comparison["spec"]["design"] |= {"kind": "Duet"}
    assert "all at the same time on the same machines and in turn" in report_html(made.comparison, made.blocks)
    made.comparison["spec"]["design"] = {"stop": "fixed", "blocks": 30}
    assert re.search(r"number of blocks, 30, was fixed beforehand; it ended after \d+ that count, which is fewer",
                     report_html(made.comparison, made.blocks))  # fmt: skip


@pytest.mark.parametrize(
    ("design", "planned", "told"),
    [
        ({}, [], "after 3, 5, 7 and 10 blocks, as far as it went."),
        ({}, [], "for 99 % after 3, 98.75 % after 5, 98.5 % after 7 and 97.5 % after 10. Together that makes at most"),
        ({"maxBlocks": 5}, [], "for 99 % after 3 and 98.75 % after 5. Together that makes at most 2.25 % false"),
        ({"maxBlocks": 5}, [3, 5], "It was looked after 3 and 5 blocks, as far as it went."),
        ({"minBlocks": 5}, [], "98.5 % after 7 and 97.5 % after 10. Together that makes at most 5 % false alarms."),
        ({"minBlocks": 10}, [10], "once, after 10 blocks. That look asks for 97.5 % instead of the usual 95 %"),
        ({"minBlocks": 10}, [], "which makes at most 2.5 % false alarms."),
        ({"maxBlocks": "many"}, [4], "after 3, 5, 7 and 10 blocks"),
    ],
)
def test_the_method_tells_the_looks_that_the_design_has(design: dict[str, Any], planned: list[int], told: str) -> None:
    made = CASES["no-twin"]()
    made.comparison["spec"]["design"] = {"stop": "sequential", **design}
    made.comparison["status"]["expected"] = {"blocks": planned, "races": 15} if planned else None
    text = report_html(made.comparison, made.blocks).replace("\N{NO-BREAK SPACE}", " ")
    assert told in text
    assert ("after 10" in text) == (10 in planned or "maxBlocks" not in design or design["maxBlocks"] == "many")


def test_the_whole_sentence_stands_first_and_not_the_column_that_is_cut() -> None:
    made = CASES["regressed"]()
    whole = made.comparison["status"]["progress"]
    made.comparison["status"]["progress"] = f"{whole[:60]}…"
    assert read_view(made.comparison, made.blocks).headline == whole


def test_fewer_documents_are_not_called_better() -> None:
    made = CASES["no-twin"]()
    gate = made.comparison["status"]["contenders"][0]["gates"][0]
    gate |= {"metric": "documents", "tasks": [], "unit": "documents"}
    section = report_html(made.comparison, made.blocks).partition('<section id="gates"')[2].partition("</section>")[0]
    assert "any change is worse" in section


def test_an_unfair_difference_comes_before_all_others_with_the_line_that_mends_it() -> None:
    text = words("not-comparable")
    fairness = text[text.index("Was it fair?") :]
    assert fairness.index("17.0.9") < fairness.index("elasticsearch.version")
    assert "write spec.template.elasticsearch.java: 21" in fairness and "✕ not fair" in text


def test_what_would_settle_it_is_said() -> None:
    assert re.search(r"about \d+ more blocks? would settle it, about \d+ (h|min)", words("inconclusive"))
    assert "Smallest visible change" in str(page_of("inconclusive").elements)


@pytest.mark.parametrize(
    ("kind", "seconds", "said"),
    [
        ("Races", [240.0, 240.0, 240.0], "about 7 more blocks would settle it, about 1 h 24 min."),
        ("Races", [240.0, None, 240.0], "about 7 more blocks would settle it."),
        ("Duet", [240.0, 200.0, 240.0], "about 7 more blocks would settle it, about 28 min."),
    ],
)
def test_the_time_for_more_blocks_has_the_building_of_clusters(
    kind: str, seconds: list[float | None], said: str
) -> None:
    """The runner's own seconds, which the records have, leave most of the time out."""
    made = Made({"9.0.0": {}}, noise=0.001)
    made.comparison["spec"]["design"]["kind"] = kind
    (gate, *_) = made.comparison["status"]["contenders"][0]["gates"]
    gate |= {"verdict": "Inconclusive", "moreBlocks": 7}
    for block in made.comparison["status"]["blocks"]:
        for race, took in zip(block["races"], seconds, strict=True):
            race["seconds"] = took
    assert said in Page(report_html(made.comparison, made.blocks)).words
    told = Page(report_html(made.comparison, made.blocks[:2])).words
    assert said in told, "the same with records that are gone"


def test_a_comparison_that_failed_says_why() -> None:
    assert "✕ Failed: RacesInvalid" in words("failed") and "ran out of memory in 4 of 5 races" in words("failed")


def test_without_a_twin_that_is_said() -> None:
    assert "8.11.0 was not raced against itself, so there is no band" in words("no-twin")
    assert "band" not in [found.get("class") for found in page_of("no-twin").all("rect")]
    assert "band" in [found.get("class") for found in page_of("three").all("rect")]


def captions(made: Made, section: str) -> list[str]:
    """Return what stands above the charts of a section."""
    drawn = (
        report_html(made.comparison, made.blocks).partition(f'<section id="{section}"')[2].partition("</section>")[0]
    )
    return re.findall("<figcaption>(.*?)</figcaption>", drawn)


def test_latency_is_drawn_of_tasks_that_were_asked_at_one_rate_by_all() -> None:
    assert "Latencies by percentile" in words("equal-load") and "it counts from when a request was due" in words(
        "equal-load"
    )
    assert captions(made_once("equal-load"), "latency") == ["bulk-index (ms)"]
    assert len(captions(made_once("equal-load"), "service-times")) == 4
    assert "Latency of bulk-index by percentile" in "".join(page_of("equal-load").text_in("title"))
    assert "Latencies by percentile" not in words("regressed") and "Service times by percentile" in words("regressed")


@pytest.mark.parametrize("asked", [{"8.11.0": 50.0, "9.0.0": 60.0}, {"8.11.0": 50.0}])
def test_latency_at_unequal_load_is_not_drawn(asked: dict[str, float]) -> None:
    made = Made({"9.0.0": {}}, blocks=2, asked=asked)
    assert "Latencies by percentile" not in report_html(made.comparison, made.blocks)


def test_throughput_has_the_unit_of_its_task() -> None:
    assert captions(made_once("regressed"), "rates")[:2] == ["bulk-index (docs/s)", "search-term (ops/s)"]
    page = report_html(made_once("regressed").comparison, made_once("regressed").blocks)
    section = page.partition('<section id="rates"')[2].partition("</section>")[0]
    first, second = section.split("</figure>")[:2]
    assert "docs/s, median of 5 races" in first and "docs/s" not in second and "ops/s" not in first
    for row, unit in (("bulk-index", "docs/s"), ("search-term", "ops/s")):
        assert re.search(rf"{row} throughput [\d,]+ {unit}", words("regressed")), row


def test_what_single_tasks_cost_stands_beside_the_whole_race() -> None:
    costs = words("regressed").partition("What it costs")[2].partition("What it would take")[0]
    rows = ["peak of memory 3.", "bulk-index CPU per operation", "bulk-index peak of memory 1 GiB", "search-term CPU",
            "search-term peak of memory 2 GiB", "search-term bytes written to disk 0 bytes"]  # fmt: skip
    assert [row in costs for row in rows] == [True] * len(rows) and sorted(rows, key=costs.index) == rows
    numbers = words("regressed").partition("Beside the gates these are hints")[2]
    assert "CPU per operation" in numbers and "bulk-index peak of memory" not in numbers


def test_names_are_shown_as_they_are_and_do_nothing() -> None:
    page = page_of("hostile")
    assert HOSTILE in page.words and "onerror=alert(3)" in page.words
    assert len(page.all("style")) == 1 and len(page.all("title")) > 1
    assert "\u202e" not in page.words and "\x00" not in page.words


def test_a_comparison_that_only_just_began_has_a_report() -> None:
    spec = {"baseline": "a", "variants": [{"name": "a"}, {"name": "b"}]}
    page = Page(report_html({"kind": "Comparison", "metadata": {"name": "x"}, "spec": spec}, []))
    assert "Not over yet" in page.words and "b against a" in page.words


@pytest.mark.parametrize(
    ("broken", "said"),
    [({"kind": "Benchmark", "spec": {}}, "no Comparison"), ({}, "no Comparison"),
     ({"spec": {}, "status": {"verdict": "Great"}}, "status.verdict cannot be read")],
)  # fmt: skip
def test_what_is_no_comparison_is_refused(broken: dict[str, Any], said: str) -> None:
    with pytest.raises(NotAComparisonError, match=said):
        report_html(broken, [])


def test_the_manifest_repeats_seed_and_spec_under_another_name() -> None:
    made = made_once("regressed")
    again = yaml.safe_load(manifest(read_view(made.comparison, made.blocks)))
    spec = made.comparison["spec"]
    assert again["metadata"] == {"name": "upgrade-2", "namespace": "search-team"}
    assert list(again["spec"]) == ["template", "variants", "baseline", "design"]
    assert again["spec"]["design"] == {**spec["design"], "seed": 1234567}
    assert again["spec"]["variants"] == spec["variants"] and "suspend" not in again["spec"]


@pytest.mark.parametrize("name", ["8123e45", "1e5", "y", "N", "0o17", "9.0", "12", "+1", "true", "null", ".5", "a: b"])
def test_names_in_the_manifest_are_texts_to_every_reader_of_yaml(name: str) -> None:
    """A short hash of a commit may look like a number, which kubectl's YAML takes it for, and Python's does not."""
    made = CASES["no-twin"]()
    made.comparison["spec"] |= {"baseline": name}
    text = manifest(read_view(made.comparison, made.blocks))
    assert f"baseline: '{name}'" in text and yaml.safe_load(text)["spec"]["baseline"] == name


def test_numbers_that_are_none_are_left_out() -> None:
    made = Made({"9.0.0": {}}, blocks=3)
    race = made.blocks[0].races[0]
    numbers = [
        Measured(task="t", metric="throughput", value=value) for value in (float("nan"), float("inf"), 0.0, -1.0)
    ]
    curves = [Curve(task="t", points=[(50.0, float("nan")), (99.0, 0.0), (200.0, 3.0)])]
    races = [
        race.model_copy(update={"numbers": numbers, "service_times": curves, "latencies": curves, "rates": curves})
    ]
    page = Page(report_html(made.comparison, [BlockRecord(number=1, races=races), *made.blocks[1:]]))
    assert DATA_ID in str(page.elements) and "NaN" not in "".join(page.text_in("script"))


def test_numbers_next_to_nothing_have_a_report() -> None:
    made = Made({"9.0.0": {}}, blocks=3)
    blocks = []
    for place, block in enumerate(made.blocks):
        tiny = "9.0.0" if place % 2 else made.baseline
        races = []
        for race in block.races:
            changed = 5e-324 if race.variant == tiny else 1e300
            numbers = [
                replace(each, value=changed) if each.metric in ("storeBytes", "throughput") else each
                for each in race.numbers
            ]
            races.append(race.model_copy(update={"numbers": numbers}))
        blocks.append(block.model_copy(update={"races": races}))
    assert "9.0.0" in Page(report_html(made.comparison, blocks)).words


texts = st.text(max_size=20)
values = st.floats(allow_nan=True, allow_infinity=True)


@given(
    names=st.lists(texts, min_size=2, max_size=3, unique=True),
    tasks=st.lists(texts, max_size=3),
    numbers=st.lists(values, max_size=4),
    points=st.lists(st.tuples(values, values), max_size=4),
)
def test_any_record_has_a_report_that_is_well_formed(
    names: list[str], tasks: list[str], numbers: list[float], points: list[tuple[float, float]]
) -> None:
    def race(name: str) -> RaceRecord:
        measured = [Measured(task=task, metric="throughput", value=value) for task in tasks for value in numbers]
        curves = [Curve(task=task, points=points) for task in tasks]
        return RaceRecord(
            variant=name, benchmark="b", numbers=measured, service_times=curves, latencies=curves, rates=curves,
            target_throughput=dict.fromkeys(tasks, 5.0),
        )  # fmt: skip

    blocks = [BlockRecord(number=number, races=[race(name) for name in names]) for number in (1, 2)]
    gates = [
        {"task": task, "metric": "throughput", "policy": "reportOnly", "verdict": "Inconclusive", "change": value,
         "low": value, "high": value, "spread": 1.0}
        for task in tasks for value in numbers if abs(value) < 1e9
    ]  # fmt: skip
    status = {"contenders": [{"name": names[1], "verdict": "Inconclusive", "gates": gates}], "phase": "Complete"}
    page = Page(report_html({"spec": {"baseline": names[0]}, "status": status}, blocks))
    assert page.all("h1")


@pytest.mark.long
def test_thirty_blocks_of_twelve_variants_take_seconds() -> None:
    effects = {f"v{number}": {"throughput": 1 + number / 50} for number in range(11)}
    made = Made(effects, blocks=30, tasks=[f"task-{number}" for number in range(12)])
    began = time.process_time()
    text = report_html(made.comparison, made.blocks)
    assert time.process_time() - began < 20
    assert len(text) < 40_000_000


def test_no_two_variants_look_alike_without_colours() -> None:
    names = [f"v{number}" for number in range(MAX_VARIANTS)]
    drawn = looks(names, "v0*").values()
    assert len({(each.shape, each.dash, each.hollow) for each in drawn}) == MAX_VARIANTS + 1


def test_the_curves_of_a_sweep_are_drawn_with_every_race() -> None:
    steps = [f"search@{clients}" for clients in (1, 2, 4, 8, 16)]
    made = Made({"9.0.0": {"throughput": 1.1}}, tasks=steps, blocks=3, twin=False)
    made.comparison["spec"]["template"]["race"]["sweep"] = {"task": "search", "clients": [1, 2, 4, 8, 16]}
    page = report_html(made.comparison, made.blocks)
    drawn = page.partition('<section id="sweep"')[2].partition("</section>")[0]
    assert "throughput of search by clients" in drawn and "Curves of the sweep" in drawn
    chart = drawn.partition("<figure")[2].partition("</figure>")[0]
    assert "throughput of search (docs/s)" in chart and " ops/s" not in chart.split("@2:")[0]
    assert chart.count('class="mark ') == 2 * 3 * len(steps), "a sign for each race"
    without = Made({"9.0.0": {"throughput": 1.1}}, tasks=steps, blocks=3, twin=False)
    assert '<section id="sweep"' not in report_html(without.comparison, without.blocks)


def test_the_way_down_of_a_sweep_is_not_joined_to_the_way_up() -> None:
    up = [f"search@{clients}" for clients in (1, 2, 4)]
    made = Made({"9.0.0": {}}, tasks=[*up, *(f"{step}-down" for step in up[::-1])], blocks=3, twin=False)
    made.comparison["spec"]["template"]["race"]["sweep"] = {
        "task": "search",
        "clients": [1, 2, 4],
        "order": "upAndDown",
    }
    plain = Made({"9.0.0": {}}, tasks=up, blocks=3, twin=False)
    plain.comparison["spec"]["template"]["race"]["sweep"] = {"task": "search", "clients": [1, 2, 4]}
    both, alone = (
        report_html(each.comparison, each.blocks).partition('<section id="sweep"')[2].partition("</section>")[0]
        for each in (made, plain)
    )
    chart, other = (each.partition("<figure")[2].partition("</figure>")[0] for each in (both, alone))
    lines = [re.findall(r'<path d="M([^"]*)" class="line', each) for each in (chart, other)]
    assert [[line.count("L") for line in each] for each in lines] == [[2, 2], [2, 2]]
    cells = re.findall(r'<th scope="row">([^<]*)</th>', chart)
    assert cells == ["1", "1 (downwards)", "2", "2 (downwards)", "4", "4 (downwards)"]
    assert "the way down is not joined" in both and "the way down" not in alone
    medians = [
        median(number.value for block in made.blocks for race in block.races for number in race.numbers
               if (race.variant, number.task, number.metric) == ("8.11.0", step, "throughput"))
        for step in (up[0], f"{up[0]}-down")
    ]  # fmt: skip
    shown = re.findall(r'<th scope="row">1(?: .downwards.)?</th><td class="n">([^<]*)</td>', chart)
    assert shown == list(map(digits, medians))


def in_other_units(made: Made, blocks: Sequence[int], task: str = "bulk-index") -> list[BlockRecord]:
    """Return the blocks, with a task's throughput of 9.0.0 told in MB/s in those of these places."""

    def told(race: RaceRecord) -> RaceRecord:
        numbers = [
            replace(each, unit="MB/s") if (each.task, each.metric) == (task, "throughput") else each
            for each in race.numbers
        ]
        return race.model_copy(update={"numbers": numbers}) if race.variant == "9.0.0" else race

    return [
        block.model_copy(update={"races": list(map(told, block.races))}) if place in blocks else block
        for place, block in enumerate(made.blocks)
    ]


@pytest.mark.parametrize("places", [range(9), [0]], ids=["in all blocks", "in one"])
def test_numbers_in_different_units_are_neither_drawn_nor_set_against_each_other(places: Sequence[int]) -> None:
    made = CASES["no-twin"]()
    for gate in made.comparison["status"]["contenders"][0]["gates"]:
        if gate["metric"] == "throughput":
            gate.update(tasks=[], task="bulk-index")
    page = report_html(made.comparison, in_other_units(made, places)).replace("\N{NO-BREAK SPACE}", " ")
    said = Page(page).words
    assert re.search("bulk-index throughput, told in different units – – – ", said)
    every_race = said.partition("Every number of")[2]
    assert (
        re.search(r"bulk-index throughput [^a-z]*\d docs/s [^a-z]*\d MB/s", every_race) and "search-term" in every_race
    )
    assert captions(made, "rates")[0] == "bulk-index (docs/s)", "with one unit"
    assert "<figcaption>bulk-index (" not in page.partition('<section id="rates"')[2].partition("</section>")[0]
    assert "throughput of bulk-index" not in page.partition('<section id="races"')[2].partition("</section>")[0]
    assert "service time p50" in page.partition('<section id="races"')[2].partition("</section>")[0]


def test_a_void_race_in_another_unit_spoils_no_number() -> None:
    made = CASES["regressed"]()
    void = [place for place, told in enumerate(made.told) if not told["valid"]]
    said = Page(report_html(made.comparison, in_other_units(made, void))).words
    assert void and "told in different units" not in said


def test_steps_of_a_sweep_in_different_units_have_no_chart() -> None:
    made = Made({"9.0.0": {}}, tasks=["search@1", "search@2"], blocks=3, twin=False)
    made.comparison["spec"]["template"]["race"]["sweep"] = {"task": "search", "clients": [1, 2]}
    assert captions(made, "sweep")[0] == "throughput of search (docs/s)"
    made.blocks[:] = in_other_units(made, range(9), "search@2")
    drawn = captions(made, "sweep")
    assert not any("throughput" in each for each in drawn) and any("p50" in each for each in drawn)


def test_where_no_gate_decides_none_is_called_passed() -> None:
    made = CASES["regressed"]()
    status, said = made.comparison["status"], "no gate decides: it is slower"
    passed = condition("GatePassed", True, "NothingToDecide", said)
    status["conditions"] = [passed if each["type"] == "GatePassed" else each for each in status["conditions"]]
    text = Page(report_html(made.comparison, made.blocks)).words
    assert f"nothing to decide – {said}" in text and "✓ passed" not in text


def test_a_chart_of_void_races_alone_says_so() -> None:
    made = Made({"9.0.0": SLOW}, blocks=3)
    for told in made.comparison["status"]["blocks"]:
        told |= {"valid": False, "reason": "MachineDisturbed"}
    page = Page(report_html(made.comparison, made.blocks))
    assert "." not in page.text_in("desc") and "No race counts." in page.text_in("desc")


@pytest.mark.parametrize(
    ("begins", "shown"),
    [
        (["2026-11-20T09:00:00Z", "2026-11-20T23:59:00Z", "2026-11-20T10:30:00Z"], ["09:00", "23:59", "10:30"]),
        (
            ["2026-11-20T22:00:00Z", "2026-11-20T23:30:00Z", "2026-11-21T01:00:00Z"],
            ["11-20 22:00", "23:30", "11-21 01:00"],
        ),
        (["2026-11-20T22:00:00Z", "", "2026-11-21T01:00:00Z"], ["11-20 22:00", "11-21 01:00"]),
    ],
)
def test_when_blocks_began_is_told_with_the_day_where_it_changes(begins: list[str], shown: list[str]) -> None:
    made = Made({"9.0.0": {}}, blocks=3)
    blocks = []
    for block, began in zip(made.blocks, begins, strict=True):
        (first, *others) = block.races
        blocks.append(block.model_copy(update={"races": [first.model_copy(update={"started_at": began}), *others]}))
    order = report_html(made.comparison, blocks).partition('<section id="order"')[2].partition("</section>")[0]
    assert re.findall(r">([\d-]* ?\d\d:\d\d)<", order.partition("<table")[0]) == shown
    assert "Times are UTC" in order and ("the day stands where it changes" in order) == (" " in shown[0])


def test_who_was_not_raced_is_told_beside_the_gates_and_has_no_column() -> None:
    made = Made({"9.0.0": {}}, noise=0.001)
    odd = {"name": "odd", "verdict": "NotComparable", "sentence": "not raced: odd differs in 2 variables"}
    made.comparison["status"]["contenders"].append(odd)
    assert read_view(made.comparison, made.blocks).arms == ("8.11.0", "9.0.0", "8.11.0*")
    assert "not raced: odd differs in 2 variables" in Page(report_html(made.comparison, made.blocks)).words
    odd["name"] = "9.0.0"
    assert "9.0.0" in read_view(made.comparison, made.blocks).arms, "it was raced"


def test_variants_that_disagree_are_no_trade() -> None:
    made = Made({"9.0.0": {"throughput": 0.8}, "9.1.0": {"throughput": 1.3}}, noise=0.005)
    for each, verdict in zip(made.comparison["status"]["contenders"], ("Regressed", "Improved"), strict=True):
        each["verdict"] = verdict
    made.comparison["status"]["verdict"] = "Mixed"
    said = Page(report_html(made.comparison, made.blocks)).words
    assert "◆ Mixed – variants disagree" in said and "Mixed – a trade" not in said
    made.comparison["status"]["contenders"][0]["verdict"] = "Mixed"
    assert "Mixed – a trade" in Page(report_html(made.comparison, made.blocks)).words


@pytest.mark.parametrize(
    ("more", "passed", "policy", "said"),
    [
        (4, False, "requireNonInferior", "9.0.0, throughput, mean of 4 tasks: about 4 more blocks would settle it"),
        (0, False, "requireNonInferior", "How many blocks more would settle it cannot be said."),
        (0, True, "failOnRegression", "No gate is open."),
    ],
)
def test_a_worsening_whose_margin_is_to_be_ruled_out_is_open(more: int, passed: bool, policy: str, said: str) -> None:
    made = Made({"9.0.0": {}}, noise=0.001)
    (gate, *others) = made.comparison["status"]["contenders"][0]["gates"]
    for other in others:
        other["verdict"] = "NoDifference"
    gate |= {"verdict": "RegressedWithinMargin", "policy": policy, "passed": passed, "moreBlocks": more}
    assert said in Page(report_html(made.comparison, made.blocks)).words
