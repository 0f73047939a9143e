"""Blocks whose machine was disturbed: which are raced again, how often, and what is said of those that count."""

from datetime import timedelta
from typing import Any

import pytest
from comparison_world import FIXED_2, Film, Said, comparison, record_of
from hypothesis import given
from hypothesis import strategies as st

from fairlap.api.comparison_spec import Design
from fairlap.api.comparison_status import Block, RaceOfBlock
from fairlap.api.names import MAX_CUT_BLOCKS
from fairlap.api.status import RemarkStatus
from fairlap.plan.comparison.block_words import disturbed_words, lost_races, uneven_losses
from fairlap.plan.comparison.disturbed_blocks import counted_at_the_end, is_set_aside, repetitions, set_aside
from fairlap.runtime.loop.announce import comparison_announcements

REASON = "MachineDisturbed"


def block(number: int, attempt: int = 1, *, valid: bool = True, disturbed: bool = True, reason: str = "") -> Block:
    quiet, other = (RaceOfBlock(variant=name, benchmark=f"b-{number}{name}-{attempt}", valid=True) for name in "ab")
    races = [quiet, other.model_copy(update={"reason": REASON, "message": "how"}) if disturbed else other]
    return Block(number=number, attempt=attempt, order=["a", "b"], races=races, valid=valid, reason=reason)


def aside(number: int, attempt: int = 1) -> Block:
    return block(number, attempt, valid=False, reason=REASON)


@pytest.mark.parametrize(
    ("design", "bound"),
    [
        ({}, 5),
        ({"maxBlocks": 7}, 3),
        ({"maxBlocks": 3}, 1),
        ({"stop": "fixed", "blocks": 2}, 1),
        ({"stop": "fixed", "blocks": 30}, 15),
        ({"stop": "fixed", "blocks": 5, "state": "Kept", "tasks": ["search"]}, 2),
        ({"disturbed": "Repeat", "retries": 0}, 5),
        ({"disturbed": "Count"}, 0),
        ({"kind": "Duet"}, 0),
        ({"kind": "Duet", "disturbed": "Repeat"}, 5),
    ],
)
def test_how_many_blocks_may_be_raced_again(design: dict[str, Any], bound: int) -> None:
    assert repetitions(Design.model_validate(design)) == bound


FOUR = {"stop": "fixed", "blocks": 4}


@pytest.mark.parametrize(
    ("design", "before", "over", "counts"),
    [
        (FOUR, [], block(1), False),
        (FOUR, [], block(1, disturbed=False), True),
        (FOUR, [aside(1)], block(1, 2), False),
        (FOUR, [aside(1), aside(1, 2)], block(1, 3), True),
        (FOUR, [aside(1), block(1, 2), aside(2)], block(2, 2), True),
        (FOUR, [block(1), block(2), block(3)], block(4), False),
        (FOUR, [block(1, valid=False, reason="RaceDeleted"), block(1, 2, valid=False, reason="Throttled")], block(1, 3),
         False),
        ({**FOUR, "state": "Kept", "tasks": ["search"]}, [aside(1), aside(1, 2)], block(1, 3), True),
        ({"maxBlocks": 3}, [aside(1)], block(1, 2), True),
        ({**FOUR, "disturbed": "Count"}, [], block(1), True),
        ({**FOUR, "kind": "Duet"}, [], block(1), True),
        ({**FOUR, "kind": "Duet", "disturbed": "Repeat"}, [], block(1), False),
    ],
)  # fmt: skip
def test_which_block_counts(design: dict[str, Any], before: list[Block], over: Block, counts: bool) -> None:
    found = set_aside(Design.model_validate(design), before, over)
    assert (found.valid, found.reason, is_set_aside(found)) == (counts, "" if counts else REASON, not counts)
    assert found.races == over.races, "a race that was disturbed is no race that was lost"


def test_what_is_void_for_another_reason_stays_so() -> None:
    over = block(1, valid=False, reason="Throttled")
    assert set_aside(Design(), [], over) == over and not is_set_aside(over)


@pytest.mark.parametrize(
    ("blocks", "valid"),
    [
        ([], []),
        ([block(0, disturbed=False), block(1)], [True, True]),
        ([block(1), aside(2)], [True, True]),
        ([aside(1), block(1, 2), aside(2)], [False, True, True]),
        ([aside(1), aside(1, 2)], [False, True]),
        ([aside(1), block(1, 2, valid=False, reason="RaceDeleted")], [True, False]),
        ([block(1, valid=False, reason="RecordLost")], [False]),
    ],
)
def test_what_was_not_raced_again_any_more_counts_at_the_end(blocks: list[Block], valid: list[bool]) -> None:
    found = counted_at_the_end(blocks)
    assert [each.valid for each in found] == valid
    assert counted_at_the_end(found) == found, "said once"
    assert all(not each.reason for each in found if each.valid)


@given(
    st.builds(Design, stop=st.just("fixed"), blocks=st.integers(2, 30), disturbed=st.sampled_from(["Repeat", "Count"])),
    st.lists(st.booleans(), max_size=60),
)
def test_it_always_ends_with_all_blocks_whatever_is_disturbed(design: Design, disturbed: list[bool]) -> None:
    blocks: list[Block] = []
    while (counted := sum(bool(each.valid) for each in blocks)) < (design.blocks or 0):
        number = counted + 1
        attempt = 1 + sum(each.number == number for each in blocks)
        hit = disturbed[len(blocks)] if len(blocks) < len(disturbed) else True
        blocks.append(set_aside(design, blocks, block(number, attempt, disturbed=hit)))
        assert len(blocks) <= (design.blocks or 0) + repetitions(design)
    assert counted_at_the_end(blocks) == blocks, "all that was set aside was replaced"


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([block(1, disturbed=False), block(2, disturbed=False)], []),
        ([aside(1), block(1, 2, disturbed=False)], []),
        ([block(1), block(2, disturbed=False)], ["the machine was disturbed in 1 of the 2 blocks that count"]),
        ([aside(1), block(1, 2)],
         ["the machine was disturbed in 1 of the 1 blocks that count, after 1 was raced again for that"]),
        ([aside(1), aside(1, 2), block(1, 3), block(2)],
         ["the machine was disturbed in 2 of the 2 blocks that count, after 2 were raced again for that"]),
        ([block(1, valid=False, reason="Throttled")], []),
    ],
)  # fmt: skip
def test_what_is_said_of_the_blocks_that_count(blocks: list[Block], words: list[str]) -> None:
    assert disturbed_words(blocks) == words
    assert uneven_losses(blocks, ["a", "b"]) == [] and lost_races(blocks, ["b"])["b"][0] == 0


def test_a_disturbed_block_is_raced_again_as_a_whole_and_stays_with_its_reason() -> None:
    film = Film(disturbed=lambda benchmark: benchmark == "upgrade-1b")
    film.until("Recording", 1, 3)
    order = film.status.block and film.status.block.order
    film.step(), film.step()
    progress = "block 1/2 is raced again (9.0.0: MachineDisturbed: the load generator's machine was disturbed: "
    assert film.status.progress.startswith(progress) and film.status.phase == "Queued"
    assert (film.status.blocks_done, film.status.admitted_time) == ("0/2", None)
    status = film.run().status
    assert (status.phase, status.verdict, status.blocks_done) == ("Complete", "NoDifference", "2/2")
    first, again, second = status.blocks[1:]
    assert [(each.number, each.attempt, each.valid, each.reason) for each in (first, again, second)] == [
        (1, 1, False, REASON), (1, 2, True, ""), (2, 1, True, ""),
    ]  # fmt: skip
    assert first.order == again.order == order and first.record == "upgrade-block-1"
    assert {race.benchmark[-2:] for race in again.races} == {"-2"} and len(again.races) == 3
    assert [(race.valid, race.reason) for race in first.races if race.variant == "9.0.0"] == [(True, REASON)]
    assert all(race.valid and not race.reason for race in first.races if race.variant != "9.0.0")
    assert status.cost_races == 9 and status.findings == [] and film.court.asked == [(2, (2,), True)]


@pytest.mark.parametrize("state", [{}, {"state": "Kept", "tasks": ["search"]}])
def test_when_the_bound_is_spent_disturbed_blocks_count_and_it_is_said(state: dict[str, Any]) -> None:
    design = {"stop": "fixed", "blocks": 4, "seed": 1, "retries": 0, **state}
    film = Film(comparison(design=design), disturbed=lambda benchmark: True)
    film.court.said = Said(findings=["a finding of the numbers"])
    status = film.run().status
    assert (status.phase, status.blocks_done) == ("Complete", "4/4"), "not one of those that retries bounds"
    assert [(each.number, each.valid) for each in status.blocks] == [
        (0, True), (1, False), (1, False), (1, True), (2, True), (3, True), (4, True),
    ]  # fmt: skip
    words = "the machine was disturbed in 4 of the 4 blocks that count, after 2 were raced again for that"
    assert status.findings == [words, "a finding of the numbers"]
    assert [race.name for race in film.created].count("upgrade-0a") == 1, "kept clusters are as they were"


def test_who_says_so_has_nothing_raced_again() -> None:
    film = Film(comparison(design={**FIXED_2, "disturbed": "Count"}), disturbed=lambda benchmark: True)
    status = film.run().status
    assert [each.valid for each in status.blocks] == [True] * 3 and status.cost_races == 6
    assert status.findings == ["the machine was disturbed in 2 of the 2 blocks that count"]
    assert {race.reason for each in status.blocks[1:] for race in each.races} == {REASON}


def test_looks_are_at_blocks_that_count() -> None:
    film = Film(
        comparison(design={"seed": 1, "maxBlocks": 5}, calibrate=False),
        disturbed=lambda benchmark: benchmark in ("upgrade-2a", "upgrade-4a"),
    )
    film.court.said = Said("Inconclusive", gate_passed=False)
    status = film.run().status
    assert film.court.asked == [(3, (3, 5), False), (5, (3, 5), True)] and status.blocks_done == "5/5"
    assert [(each.number, each.attempt) for each in status.blocks if not each.valid] == [(2, 1), (4, 1)]


def test_a_block_that_is_lost_and_one_that_is_disturbed_have_bounds_of_their_own() -> None:
    film = Film(comparison(design={**FIXED_2, "retries": 1}), disturbed=lambda benchmark: benchmark == "upgrade-2a")
    film.until("Recording", 1, 3)
    film.records[1] = record_of(film.status, lambda benchmark: True, **{"9.0.0": "Throttled"})
    status = film.run().status
    assert [(each.number, each.reason) for each in status.blocks if not each.valid] == [(1, "Throttled"), (2, REASON)]
    assert (status.phase, status.blocks_done) == ("Complete", "2/2")
    assert status.findings[0].startswith("not all variants lost as many races: 9.0.0 1 of 4 (Throttled), 8.11.0 none")


def test_a_record_that_is_lost_beside_a_disturbed_block_ends_it_where_retries_does() -> None:
    film = Film(comparison(design={**FIXED_2, "retries": 0}), disturbed=lambda benchmark: benchmark == "upgrade-2a")
    film.until("Recording", 2, 3)
    film.step()
    film.records = {2: film.records[2]}
    film.step()
    assert (film.status.phase, film.status.reason) == ("Failed", "RacesInvalid")
    assert "1 blocks did not count" in film.status.message and "RecordLost" in film.status.message


@pytest.mark.parametrize(
    ("design", "disturbed", "verdict", "counted"),
    [
        ({"stop": "fixed", "blocks": 5}, ["upgrade-1a"], "Inconclusive", 1),
        ({"stop": "fixed", "blocks": 5}, ["upgrade-3a"], "NoDifference", 3),
        ({}, ["upgrade-3a"], "NoDifference", 3),
    ],
)
def test_at_the_deadline_what_was_to_be_raced_again_counts(
    design: Any, disturbed: list[str], verdict: str, counted: int
) -> None:
    film = Film(comparison(design={**design, "seed": 1}, calibrate=False), disturbed=lambda name: name in disturbed)
    film.court.said = Said(verdict)  # type: ignore[arg-type]
    film.until("Recording", counted, 2)
    while film.status.block:
        film.step()
    assert film.status.blocks[-1].reason == REASON
    film.now += timedelta(hours=168)
    film.step()
    assert film.status.blocks[-1].valid and film.status.blocks_done.startswith(f"{counted}/")
    assert not film.status.completion_time, "said before its record is read"
    film.step()
    assert (film.status.phase, film.status.verdict) == ("Complete", verdict)
    words = f"the machine was disturbed in 1 of the {counted} blocks that count"
    assert film.status.findings[0] == words and len(film.status.findings) == 2


def test_how_a_machine_was_disturbed_is_told_and_takes_no_room() -> None:
    film = Film(disturbed=lambda benchmark: True).until("Recording", 1, 3)
    made = record_of(film.status, film.disturbed)
    long = [RemarkStatus(reason="MachineDisturbed", message="x" * 4000)]
    film.records[1] = made.model_copy(update={"races": [r.model_copy(update={"remarks": long}) for r in made.races]})
    before = film.status
    film.step()
    assert [race.message for race in film.status.blocks[1].races] == ["x" * 400] * 3
    (told,) = [each for each in comparison_announcements(before, film.status) if each.reason == "BlockInvalid"]
    assert told.message == f"block 1 does not count: MachineDisturbed: {'x' * 400}" and told.kind == "Warning"


CUT = "InstallationChanged"


def raced_by(film: Film, *versions: str) -> None:
    """Have the record of the current block say which Rally raced each of its races."""
    made = record_of(film.status)
    races = [
        race.model_copy(update={"facts": {"ran: rallyVersion": version}})
        for race, version in zip(made.races, versions, strict=True)
    ]
    film.records[made.number] = made.model_copy(update={"races": races})


def test_a_block_that_an_upgrade_cut_in_two_is_raced_again_and_spends_no_retry() -> None:
    film = Film(comparison(design={**FIXED_2, "retries": 0, "disturbed": "Count"})).until("Recording", 1, 3)
    raced_by(film, "2.13.0", "2.13.0", "2.14.0")
    before = film.status
    film.step()
    how = "the installation was changed since the block's first race: rallyVersion 2.13.0, now 2.14.0"
    (told,) = [each for each in comparison_announcements(before, film.status) if each.reason == "BlockInvalid"]
    assert told.message == f"block 1 does not count: {CUT}: {how}"
    assert f"{CUT}: {how}"[:40] in film.status.progress and film.status.phase == "Queued"
    status = film.run().status
    assert (status.phase, status.verdict, status.blocks_done) == ("Complete", "NoDifference", "2/2")
    assert [(each.number, each.attempt, each.valid, each.reason) for each in status.blocks] == [
        (0, 1, True, ""), (1, 1, False, CUT), (1, 2, True, ""), (2, 1, True, ""),
    ]  # fmt: skip
    assert [(race.valid, race.reason) for race in status.blocks[1].races] == [(True, ""), (True, ""), (True, CUT)]
    assert status.findings == [] and lost_races(status.blocks, ["9.0.0"])["9.0.0"][0] == 0


def test_what_differs_in_the_very_same_again_is_no_upgrade_and_is_judged() -> None:
    film = Film().until("Recording", 1, 3)
    for versions, valid in (("aab", False), ("abb", False), ("aab", True)):
        raced_by(film, *versions)
        film.step()
        over = film.status.blocks[-1]
        assert (over.number, over.valid, over.reason) == (1, valid, "" if valid else CUT)
        if not valid:
            film.until("Recording", 1, 3)


def test_an_upgrade_within_a_block_that_was_disturbed_beyond_its_bound_does_not_count_either() -> None:
    first, other = block(1).races
    races = [first, other.model_copy(update={"reason": CUT, "message": "how"})]
    cut = block(1, 3).model_copy(update={"races": races})
    before = [aside(1), aside(1, 2)]
    found = set_aside(Design.model_validate(FOUR), before, cut)
    assert (found.valid, found.reason) == (False, CUT) and not is_set_aside(found)
    assert counted_at_the_end([*before, found])[-1].valid is False, "at the deadline it does not come back"
    lost = cut.model_copy(update={"valid": False, "reason": "Throttled"})
    assert set_aside(Design.model_validate(FOUR), before, lost) == lost


def cut(number: int, attempt: int = 1, how: str = "how", *, valid: bool = True) -> Block:
    """Return a block in which an upgrade changed something for its second race."""
    first, other = block(number, attempt, disturbed=False).races
    races = [first, other.model_copy(update={"reason": CUT, "message": how})]
    changes = {"races": races, "valid": valid, "reason": "" if valid else CUT}
    return block(number, attempt).model_copy(update=changes)


def test_no_more_than_ten_blocks_are_raced_again_for_an_upgrade() -> None:
    design, before = Design.model_validate(FOUR), [cut(1, n, f"how {n}", valid=False) for n in range(1, 10)]
    assert set_aside(design, before, cut(2)).reason == CUT
    spent = [*before, cut(2, valid=False)]
    assert set_aside(design, spent, cut(2, 2, "other")) == cut(2, 2, "other"), "it counts, and is not comparable"
    assert set_aside(design, spent, block(2, 2)).reason == REASON, "a disturbance has a bound of its own"


def test_what_differed_so_in_another_block_is_an_upgrade_nevertheless() -> None:
    design = Design.model_validate(FOUR)
    assert set_aside(design, [cut(1, valid=False)], cut(2)).reason == CUT
    assert set_aside(design, [cut(1, valid=False), cut(1, 2, "b", valid=False)], cut(1, 3)).valid


@given(
    st.builds(Design, stop=st.just("fixed"), blocks=st.integers(2, 30), disturbed=st.sampled_from(["Repeat", "Count"])),
    st.lists(st.sampled_from(["", "one", "another"]), max_size=60),
)
def test_it_always_ends_with_all_blocks_whatever_upgrades_cut(design: Design, how: list[str]) -> None:
    """A block may be cut otherwise each time, and what is not cut may be disturbed."""
    blocks: list[Block] = []
    while (counted := sum(bool(each.valid) for each in blocks)) < (design.blocks or 0):
        number, raced = counted + 1, len(blocks)
        attempt = 1 + sum(each.number == number for each in blocks)
        change = how[raced] if raced < len(how) else f"change {raced}"
        over = cut(number, attempt, change) if change else block(number, attempt)
        blocks.append(set_aside(design, blocks, over))
        assert len(blocks) <= (design.blocks or 0) + repetitions(design) + MAX_CUT_BLOCKS
