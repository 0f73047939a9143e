"""Why a race or a block does not count: a Comparison's own reasons, and whose fault each reason is.

Beside its own reasons a race has those of its Benchmark, of the closed list of the contract.
"""

from enum import StrEnum
from typing import Self

from fairlap_race.contract.reasons import Fault, Reason


class BlockReason(StrEnum):
    """Why a race, its block or a preparation does not count although no record says so; docs/comparisons.md has all."""

    sentence: str
    """what happened"""
    fault: Fault
    """whose fault it is; with "none" no variant has lost a race by it"""

    def __new__(cls, word: str, sentence: str, fault: Fault = "none") -> Self:
        """Make the word a member that has its sentence."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.sentence, member.fault = sentence, fault
        return member

    RACE_DELETED = "RaceDeleted", "Somebody deleted its Benchmark before the race was over."
    RACE_SUSPENDED = "RaceSuspended", "Somebody suspended its Benchmark, and the block had waited 15 minutes for it."
    RACE_REFUSED = (
        "RaceRefused",
        "The API server refused its Benchmark, or what that asked for all the time, or a quota had no room for it in "
        "15 minutes.",
    )
    NAME_TAKEN = "NameTaken", "Something else had its Benchmark's name, or that of the block's record, for 15 minutes."
    OTHERS_LEFT = "OthersLeft", "A race with which it was raced in turn had ended, or never began."
    RECORD_LOST = "RecordLost", "The block's numbers could not be kept, or somebody deleted them."
    CLUSTER_RESTARTED = (
        "ClusterRestarted",
        "The kept cluster is no more what was filled: a node was started again, or its Benchmark was deleted.",
    )
    CLUSTER_IN_DOUBT = "ClusterInDoubt", "A race on a kept cluster did not count, so all of them are built again."
    INSTALLATION_CHANGED = (
        "InstallationChanged",
        "The operator was upgraded between its races, or their images were not the same; they are valid, and it is "
        "raced again.",
    )
    FAILED = "Failed", "Its Benchmark has failed and does not say why.", "race"


_FAULTS: dict[str, Fault] = {each: each.fault for each in (*Reason, *BlockReason)}


def fault_of(reason: str) -> Fault:
    """Return whose fault it is that a race or a block ended with this reason; "race" of one that nobody knows."""
    return _FAULTS.get(reason, "race")


def sentence_of(reason: str) -> str:
    """Return what happened for a Comparison's own reason; "" for any other, whose race has a message."""
    return next((each.sentence for each in BlockReason if each == reason), "")
