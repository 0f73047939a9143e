"""Values of options that are more than a word: a time, and the parameters of a track."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fairlap.cli.edge.exits import UsageError

_UNITS = {"s": 1, "m": 60, "h": 3600}


class TimeOption(click.ParamType[float]):
    """A time as Kubernetes writes it, 90s, 30m or 1h30m; its value is in seconds."""

    name = "time"

    def __init__(self, *, some: bool = False) -> None:
        """Take no time at all, 0s, unless `some` is asked for."""
        self._some = some

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds; raises click.BadParameter."""
        if isinstance(value, float):
            return value
        parts = re.findall(r"(\d+(?:\.\d+)?)([smh])", value)
        if not parts or "".join(f"{number}{unit}" for number, unit in parts) != value:
            self.fail(f"{value!r} is no time: write 90s, 30m or 1h30m", param, ctx)
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
        if self._some and not seconds:
            self.fail(f"{value!r} is no time at all: write for example 4m", param, ctx)
        return seconds


class Percent(click.FloatRange):
    """A share in per cent, above 0 and at most 1000."""

    def __init__(self) -> None:
        super().__init__(0, 1000, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; raises click.BadParameter, also for "nan", which no bound keeps out."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is no number: write 3, for example", param, ctx)
        return number


def track_params(pairs: Sequence[str], file: str | None) -> dict[str, Any]:
    """Return the track parameters of --params and --param; the latter win. Raises UsageError."""
    params: dict[str, Any] = {}
    if file is not None:
        params |= _read(file)
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--param {pair}: write KEY=VALUE")
        try:
            params[key] = json.loads(value)
        except (ValueError, RecursionError):
            params[key] = value
    return params


def _read(file: str) -> dict[str, Any]:
    import yaml  # noqa: PLC0415 - most commands read no YAML

    from fairlap.cli.edge.json_yaml import JsonLoader  # noqa: PLC0415

    try:
        found = yaml.load(Path(file).read_text(encoding="utf-8"), JsonLoader)  # noqa: S506 - it is a safe one
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise UsageError(
            f"--params {file}: {getattr(error, 'strerror', None) or 'is neither JSON nor YAML'}"
        ) from error
    if not isinstance(found, dict):
        raise UsageError(f"--params {file}: must hold one object with the parameters")
    return found
