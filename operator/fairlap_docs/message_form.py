"""Whether a message reads as the example of its reason: the tests compare what they produce with it."""

import re

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"


def looks_like(example: str, message: str) -> bool:
    """Return whether a message is of an example's form: … matches any text, a number any number."""
    return re.fullmatch(_pattern(example), " ".join(message.split()), re.S) is not None


def _pattern(example: str) -> str:
    parts = re.split(f"(…|{_NUMBER})", " ".join(example.split()))
    return "".join(".*" if p == "…" else _NUMBER if re.match(_NUMBER, p) else re.escape(p) for p in parts)
