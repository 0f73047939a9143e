"""Shell completion by click's own mechanism; kubectl, which has another one, is answered from the same source."""

from __future__ import annotations

from collections.abc import Sequence

from click import Command
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class, shell_complete

PROGRAM = "fairlap"
VARIABLE = "_FAIRLAP_COMPLETE"
"""Set by the completion scripts when they ask."""
_FILES_ALLOWED, _NO_FILES = ":0", ":4"
"""Directives of kubectl's completion (cobra's Default and NoFileComp)."""


def completion_script(command: Command, shell: str) -> str:
    """Return the completion script of bash, fish or zsh; raises ValueError for any other shell."""
    found = get_completion_class(shell)
    if found is None:
        raise ValueError(shell)
    return found(command, {}, PROGRAM, VARIABLE).source() + "\n"


def answer_shell(command: Command, asked: str) -> int:
    """Print what the shell asked for in its variables, `asked` being that of VARIABLE; return the exit code."""
    return shell_complete(command, {}, PROGRAM, VARIABLE, asked)


def suggest(command: Command, words: Sequence[str]) -> list[CompletionItem]:
    """Return what the last of `words` may become; an item of the type "file" or "dir" stands for such names."""
    *before, current = words or [""]
    return ShellComplete(command, {}, PROGRAM, VARIABLE).get_completions(before, current)


def kubectl_answer(command: Command, words: Sequence[str]) -> list[str]:
    """Return the lines that kubectl reads: what the last of `words` may become, and then a directive."""
    found = suggest(command, words)
    names = [str(item.value) for item in found if item.type == "plain"]
    return [*names, _FILES_ALLOWED if any(item.type != "plain" for item in found) else _NO_FILES]
