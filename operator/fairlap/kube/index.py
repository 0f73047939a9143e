"""What kopf's indexes look like to those who only read them."""

from typing import Any, Protocol


class UidIndex(Protocol):
    """A kopf index: for the uid of each Benchmark the parts that are kept of its objects."""

    def get(self, key: str, default: Any = ..., /) -> Any:
        """Return the objects under a uid."""
