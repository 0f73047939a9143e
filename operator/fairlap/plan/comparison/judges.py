"""What the decisions about a Comparison ask of those who know numbers: their questions and answers, nothing else."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from fairlap.api.block_record import BlockRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import ContenderStatus, DifferenceStatus, Expected, Verdict
from fairlap.comparison.variants.variants import ResolvedVariant
from fairlap.statistics.gates import Look
from fairlap.statistics.moderation import Prior


class BlocksJudged(Protocol):
    """What the numbers of all blocks say."""

    @property
    def contenders(self) -> list[ContenderStatus]:
        """Each variant against the baseline."""

    @property
    def verdict(self) -> Verdict:
        """All of them together."""

    @property
    def sentence(self) -> str:
        """The verdict in words."""

    @property
    def settled(self) -> bool:
        """Whether more blocks would change nothing."""

    @property
    def futile(self) -> bool:
        """Whether not even all blocks will settle it, at this noise."""

    @property
    def gate_passed(self) -> bool | None:
        """Whether the gates are passed; None when none of them decides."""

    @property
    def findings(self) -> list[str]:
        """What else a reader must know."""

    @property
    def scope(self) -> list[str]:
        """How far the verdict reaches."""


class FairOrNot(Protocol):
    """Whether what ran may be compared."""

    @property
    def fair(self) -> bool:
        """Whether nothing differs but what is compared, and what follows from it."""

    @property
    def differences(self) -> list[DifferenceStatus]:
        """What was not the same."""

    @property
    def not_comparable(self) -> Mapping[str, str]:
        """Contenders that nothing can be said of, and why: in a matrix there may be some although others are fair."""

    @property
    def sentence(self) -> str:
        """All of it in words."""


class Judge(Protocol):
    """Judges the numbers of the blocks that count."""

    def __call__(
        self,
        spec: ComparisonSpec,
        variants: Sequence[ResolvedVariant],
        blocks: Sequence[BlockRecord],
        looks: Sequence[Look],
        priors: Mapping[str, Prior],
        last: bool,
        /,
    ) -> BlocksJudged:
        """Return what they say; `last`: no look comes after this one."""


class Differ(Protocol):
    """Holds what ran against what was to differ."""

    def __call__(
        self, spec: ComparisonSpec, variants: Sequence[ResolvedVariant], blocks: Sequence[BlockRecord], /
    ) -> FairOrNot:
        """Return whether it is fair."""


class Expecter(Protocol):
    """Says beforehand what it will take."""

    def __call__(
        self,
        spec: ComparisonSpec,
        variants: Sequence[ResolvedVariant],
        seconds_of_a_race: float | None,
        noise: Mapping[str, Prior] | None,
        /,
    ) -> Expected:
        """Return how many races, how long, and how small a difference they show."""


class WhatIsForeseen(Protocol):
    """What the first block shows of the gates."""

    @property
    def findings(self) -> list[str]:
        """A sentence for each gate that it could not judge."""

    @property
    def hopeless(self) -> str:
        """Why no block will judge any gate that decides; "" where one may."""


class Foreseer(Protocol):
    """Says what the first block shows of the gates."""

    def __call__(
        self, spec: ComparisonSpec, variants: Sequence[ResolvedVariant], blocks: Sequence[BlockRecord], /
    ) -> WhatIsForeseen:
        """Return which gates it could not judge, and whether any ever will be."""


class Judges(NamedTuple):
    """All of them."""

    judge: Judge
    diff: Differ
    expect: Expecter
    foresee: Foreseer
