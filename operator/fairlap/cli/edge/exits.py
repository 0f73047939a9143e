"""How a command ends that does not end well."""

from typing import Final

SUCCEEDED: Final = 0
FAILED: Final = 1
USAGE: Final = 2
UNDECIDED: Final = 3
"""of `gate`: nothing can be said, which is neither passed nor a regression"""
TIMED_OUT: Final = 124
INTERRUPTED: Final = 130
DEBUG: Final = "FAIRLAP_DEBUG"
"""variable of the environment: an error that was not foreseen is shown with where it was"""


class CliError(Exception):
    """The command cannot go on; the text is a sentence for the user."""

    def __init__(self, sentence: str, code: int = FAILED) -> None:
        super().__init__(sentence)
        self.code = code


class UsageError(CliError):
    """The user asked for something that cannot be done as it was written."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, USAGE)


class RefusedError(CliError):
    """The API server refused a request; the text is its sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class NotWrittenError(CliError):
    """Standard output takes nothing more, say on a full disk."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output: {error.strerror}")


class UnknownNameError(CliError):
    """There is no object of this name; the text says which there are."""


class UnknownKindError(UnknownNameError):
    """The API server knows no objects of this kind, as one says too that has just started."""


def unforeseen(error: Exception) -> str:
    """Return a sentence for the user on an error that nobody has thought of."""
    what = (f"{type(error).__name__}: {error}".splitlines() or [""])[0]
    return f"this should not have happened: {what} ({DEBUG}=1 shows where)"
