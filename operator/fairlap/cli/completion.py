"""Shell completion: the shells ask `fairlap __complete WORD…`, which answers from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

COMMAND = "__complete"
FILES = ":files"
"""Said instead of words where a file name belongs."""

_BASH = """\
_fairlap() {
  local IFS=$'\\n' answer
  answer=$(fairlap __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ $answer == ":files" ]]; then
    COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
    compopt -o filenames 2>/dev/null
  else
    COMPREPLY=($answer)
  fi
}
complete -F _fairlap fairlap
"""
_ZSH = """\
#compdef fairlap
_fairlap() {
  local -a answer
  answer=("${(@f)$(fairlap __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ ${answer[1]} == ":files" ]]; then
    _files
  else
    compadd -- $answer
  fi
}
compdef _fairlap fairlap
"""
_FISH = """\
function __fairlap_complete
  set -l answer (fairlap __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)
  if test "$answer" = ":files"
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $answer
  end
end
complete -c fairlap -f -a '(__fairlap_complete)'
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def complete(
    parser: argparse.ArgumentParser, words: Sequence[str], names: Callable[[Sequence[str]], Sequence[str]]
) -> list[str]:
    """Return what the last of `words` may become; `names` returns the Benchmarks' names, given the words."""
    *before, current = words or [""]
    waiting: argparse.Action | None = None
    given = 0
    for word in before:
        if waiting is not None and waiting.nargs != 0 and not word.startswith("-"):
            waiting = None
            continue
        option = _option(parser, word)
        if option is not None:
            waiting = option if option.nargs != 0 and "=" not in word else None
            continue
        waiting = None
        below = _commands(parser).get(word)
        parser, given = (below, 0) if below is not None else (parser, given + 1)
    if waiting is not None and waiting.nargs != 0:
        return _matching(_values(waiting, words, names), current)
    if current.startswith("-"):
        return _matching([name for action in parser._actions for name in action.option_strings], current)
    commands = _commands(parser)
    if commands:
        return _matching([name for name in commands if not name.startswith("_")], current)
    positional = [action for action in parser._actions if not action.option_strings]
    if not positional or (given >= len(positional) and positional[-1].nargs not in ("+", "*")):
        return []
    return _matching(_values(positional[min(given, len(positional) - 1)], words, names), current)


def _option(parser: argparse.ArgumentParser, word: str) -> argparse.Action | None:
    name = word.partition("=")[0]
    return next((action for action in parser._actions if name in action.option_strings), None)


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _values(
    action: argparse.Action, words: Sequence[str], names: Callable[[Sequence[str]], Sequence[str]]
) -> Sequence[str]:
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    if action.metavar in ("FILE", "PATH", "DIR"):
        return [FILES]
    return names(words) if action.dest == "names" or action.metavar == "NAME" else []


def _matching(values: Sequence[str], start: str) -> list[str]:
    return [value for value in values if value == FILES or value.startswith(start)]
