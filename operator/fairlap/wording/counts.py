"""Counts as people say them."""


def counted(count: int, what: str) -> str:
    """Return how many there are of what an s makes a plural of: "1 race", "2 races"."""
    return f"{count} {what}{'s' * (count != 1)}"
