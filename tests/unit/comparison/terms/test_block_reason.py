"""Whose fault the end of a race is decides what a Comparison does: races it again, ends, or counts it as lost."""

import pytest
from comparison_world import FIXED_2, Film, comparison

from fairlap.api.comparison_status import Block, RaceOfBlock
from fairlap.comparison.terms.block_reason import BlockReason, fault_of, sentence_of
from fairlap.plan.comparison.block_words import lost_races
from fairlap_race.contract.reasons import Reason

KEPT = {**FIXED_2, "state": "Kept", "tasks": ["search"]}
OF_A_RACE = [reason for reason in Reason if not reason.remark]


def test_each_reason_has_a_word_of_its_own_and_a_sentence() -> None:
    words = [*map(str, Reason), *map(str, BlockReason)]
    assert len(words) == len(set(words))
    for each in BlockReason:
        assert len(each) <= 63 and each.sentence[0].isupper() and each.sentence.endswith(".")
        assert BlockReason(str(each)) is each and sentence_of(str(each)) == each.sentence
    assert sentence_of("OutOfMemory") == sentence_of("") == ""


def test_what_nobody_knows_is_the_races_own_fault() -> None:
    """As the reason that an operator of another version wrote."""
    assert fault_of("OfAnotherOperator") == fault_of("") == fault_of("OutOfMemory") == "race"
    assert (fault_of("Evicted"), fault_of("UnknownTask"), fault_of("RaceDeleted")) == ("cluster", "spec", "none")


def test_a_remark_is_nobodys_fault_and_what_ends_a_race_is_somebodys() -> None:
    assert {reason.fault for reason in Reason if reason.remark} == {"none"}
    assert {reason.fault for reason in OF_A_RACE} == {"spec", "cluster", "race"}


@pytest.mark.parametrize("reason", OF_A_RACE)
def test_a_preparation_is_made_again_where_the_cluster_may_be_another_one_the_next_time(reason: Reason) -> None:
    film = Film(comparison(design=FIXED_2)).until("Running", 0)
    film.finish("Failed", reason=str(reason), message="no")
    film.step(), film.step()
    assert (film.status.phase == "Failed") is (reason.fault != "cluster")


@pytest.mark.parametrize("reason", OF_A_RACE)
def test_on_kept_clusters_what_is_written_ends_it_in_the_first_block(reason: Reason) -> None:
    film = Film(comparison(design=KEPT)).until("Running", 1)
    film.finish("Failed", reason=str(reason), message="no")
    film.step(), film.step(), film.step()
    assert (film.status.phase == "Failed") is (reason.fault == "spec")


@pytest.mark.parametrize("reason", [*OF_A_RACE, *BlockReason])
def test_a_variant_loses_no_race_by_what_is_nobodys_fault(reason: Reason | BlockReason) -> None:
    race = RaceOfBlock(variant="a", benchmark="b", valid=False, reason=str(reason))
    (lost, of, _) = lost_races([Block(number=1, races=[race])], ["a"])["a"]
    assert (lost, of) == (int(reason.fault != "none"), 1)
    assert (reason.fault == "none") is (isinstance(reason, BlockReason) and reason != BlockReason.FAILED)
