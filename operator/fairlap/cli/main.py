"""Starts the command that the user asked for; every failure is one sentence on standard error and an exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from fairlap.cli.command_words import fairlap
from fairlap.cli.completion import VARIABLE, answer_shell, kubectl_answer
from fairlap.cli.edge.exits import (
    DEBUG,
    FAILED,
    INTERRUPTED,
    SUCCEEDED,
    USAGE,
    CliError,
    NotWrittenError,
    UsageError,
    unforeseen,
)
from fairlap.cli.edge.printable import print_text, stop_printing


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (None: that of the process); return the exit code.

    Raises what was not foreseen where FAIRLAP_DEBUG is set.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without Unicode has no "→" and no "±"
    try:
        if asked := os.environ.get(VARIABLE):
            return answer_shell(fairlap, asked)
        return _run(list(sys.argv[1:] if argv is None else argv))
    except CliError as error:
        print_text(f"fairlap: {error}", sys.stderr)
        return error.code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # of what click prints by itself
        stop_printing(sys.stdout)
        return SUCCEEDED
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:  # click's printing
            stop_printing(sys.stdout)
            print_text(f"fairlap: {NotWrittenError(error)}", sys.stderr)
            return FAILED
        if os.environ.get(DEBUG):
            raise
        print_text(f"fairlap: {unforeseen(error)}", sys.stderr)
        return FAILED


def completion_main() -> int:
    """Answer kubectl, which completes `kubectl fairlap …` by starting `kubectl_complete-fairlap`."""
    print_text("\n".join(kubectl_answer(fairlap, sys.argv[1:])))
    return SUCCEEDED


def _run(words: list[str]) -> int:
    # Not Command.main(), which ends the process in its own ways.
    program = "kubectl fairlap" if Path(sys.argv[0]).name.startswith("kubectl-") else "fairlap"
    try:
        with fairlap.make_context(program, words) as context:
            return int(fairlap.invoke(context))
    except click.exceptions.Exit as end:  # --help and --version
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return USAGE
    except click.ClickException as error:
        raise UsageError(_sentence(error)) from error


def _sentence(error: click.ClickException) -> str:
    text = " ".join(error.format_message().split()).removesuffix(".")
    context = getattr(error, "ctx", None)
    return f"{text} ({context.command_path} --help shows what it takes)" if context else text
