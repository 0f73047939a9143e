"""What kopf's indexes look like to those who only read them."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol


class UidIndex(Protocol):
    """A kopf index: for the uid of each Benchmark the parts that are kept of its objects."""

    def __iter__(self) -> Iterator[str]: ...

    def items(self) -> Iterable[tuple[str, Iterable[Any]]]:
        """Return all uids with their objects."""

    def values(self) -> Iterable[Iterable[Any]]:
        """Return the objects of each uid."""

    def get(self, key: str, default: Any = ..., /) -> Any:
        """Return the objects under a uid."""
