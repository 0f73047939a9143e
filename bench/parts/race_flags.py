"""Flags that change what is raced: challenge, parameters, how long it may warm up. Only what is given counts."""

import argparse
import json
from collections.abc import Callable
from typing import Any

from parts.kubectl import Json


def add_race_flags(add: Callable[..., object]) -> None:
    """Add the flags with a parser's add_argument."""
    add("--challenge", default="", help="of the track, in place of its default one")
    add("--steady", default="", metavar="DURATION", help="race.steady.maxWarmup, for example 5m")
    add("--param", type=param, action="append", default=[], metavar="KEY=VALUE", help="of the track; may be repeated")


def param(text: str) -> tuple[str, Any]:
    """Return name and value of KEY=VALUE, the value as JSON where it is some; raises ArgumentTypeError."""
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise argparse.ArgumentTypeError(f"{text} is not KEY=VALUE, for example documents=20000")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def changed(race: Json, options: argparse.Namespace) -> Json:
    """Return a spec's `race` with what was given. Without a flag it is the same, so that earlier lines still count."""
    given: Json = {}
    if options.challenge:
        given["challenge"] = options.challenge
    if options.steady:
        given["steady"] = {"maxWarmup": options.steady}
    if options.param:
        given["params"] = {**race.get("params", {}), **dict(options.param)}
    return {**race, **given}


def in_words(options: argparse.Namespace) -> str:
    """Return what was given, in words, after a comma; "" for nothing."""
    steady = [f"steady for {options.steady}"] if options.steady else []
    challenge = [f"challenge {options.challenge}"] if options.challenge else []
    params = [f"{name}={json.dumps(value)}" for name, value in options.param]
    return "".join(f", {each}" for each in (*challenge, *steady, *params))
