"""What kopf's indexes look like to those who only read them."""

from collections.abc import Iterator
from typing import Any, Protocol


class UidIndex(Protocol):
    """A kopf index: for the uid of each Benchmark the parts that are kept of its objects."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the uids that have objects."""

    def get(self, key: str, default: Any = ..., /) -> Any:
        """Return the objects under a uid."""
