"""What a race is to do: the JSON in FAIRLAP_RACE_SPEC."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

FORMAT = 1
BUILTIN_TRACKS = Path("/opt/fairlap/tracks")
"""Where the race image keeps the tracks that ship with it."""


class SpecError(ValueError):
    """FAIRLAP_RACE_SPEC is not a valid specification; the message names the field."""


class Mode(StrEnum):
    """What kind of step this is."""

    PROBE = "probe"
    """Only ask an existing cluster what it is."""
    CHECK = "check"
    """Render the track without a cluster."""
    SMOKE = "smoke"
    """Race in Rally's test mode: proves that everything works, measures nothing."""
    RACE = "race"
    """The race whose numbers count."""


@dataclass(frozen=True)
class IndexSpec:
    """What the track's indices must be; None leaves it to the track."""

    shards: int | None = None
    replicas: int | None = None
    codec: str | None = None
    source_mode: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """further settings by their names without "index.", not nested"""


@dataclass(frozen=True)
class TargetSpec:
    """How to treat a cluster that exists already."""

    credentials_secret: str | None = None
    """name of the Secret that the files for user and password come from, for messages"""
    ca_secret: str | None = None
    overwrite: bool = False
    """the track may delete or overwrite what is there, and run tasks whose effects cannot be foreseen"""
    remove: str = "always"
    """when to remove what the race created: always, onSuccess or never"""


@dataclass(frozen=True)
class GitSource:
    """A track in a git repository."""

    url: str
    revision: str
    """commit, branch or tag"""
    path: str = ""
    """directory of track.json in the repository"""
    credentials: Path | None = None
    """directory of the files of a secret: username and password, or ssh-privatekey and known_hosts; ca.crt"""


@dataclass(frozen=True)
class CorporaSpec:
    """A volume that corpora are kept on from race to race."""

    path: Path
    max_bytes: int | None = None


@dataclass(frozen=True)
class RaceSpec:
    """One step's specification; holds no secret, only the paths of files that do."""

    mode: Mode
    namespace: str
    record: str
    race_id: str
    track_path: Path
    """directory of the track; the repository's address is in `git` instead when it must be fetched first"""
    builtin: str | None = None
    git: GitSource | None = None
    corpora: CorporaSpec | None = None
    offline: bool = False
    """fetch nothing: corpora must be beside the track or in the cache"""
    challenge: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    include_tasks: tuple[str, ...] = ()
    exclude_tasks: tuple[str, ...] = ()
    client_options: Mapping[str, Any] = field(default_factory=dict)
    telemetry: tuple[str, ...] = ()
    user_tags: Mapping[str, Any] = field(default_factory=dict)
    index: IndexSpec = IndexSpec()
    hosts: tuple[str, ...] = ()
    tls: bool = False
    """TLS, always verified: against `ca_file`, without one against the system's CAs"""
    user: str = "elastic"
    user_file: Path | None = None
    """holds the user's name, instead of `user`"""
    password_file: Path | None = None
    ca_file: Path | None = None
    target: TargetSpec | None = None
    """set for a cluster that exists already"""
    cores: int | None = None
    stall_seconds: float = 600.0
    timeout_seconds: float = 21600.0

    @property
    def test_mode(self) -> bool:
        """True when Rally runs with --test-mode."""
        return self.mode is Mode.SMOKE


def parse_spec(text: str, builtin_tracks: Path = BUILTIN_TRACKS) -> RaceSpec:
    """Return the specification in the JSON `text`.

    A builtin track's path is below `builtin_tracks`. Raises SpecError naming the first field that is wrong;
    an unknown field is wrong too, since nothing may be accepted and ignored.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        raise SpecError(f"the specification is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise SpecError("the specification is not a JSON object")
    unknown = sorted(set(data) - _KEYS)
    if unknown:
        raise SpecError(f"unknown field {unknown[0]!r}")
    if data.get("format") != FORMAT:
        raise SpecError(f"format: this runner reads format {FORMAT}, not {data.get('format')!r}")
    try:
        mode = Mode(data.get("mode", ""))
    except ValueError:
        raise SpecError(f"mode: must be one of {[m.value for m in Mode]}, not {data.get('mode')!r}") from None
    git = _git(data.get("track"))
    builtin, path = (None, Path(git.path)) if git else _track(data.get("track"), builtin_tracks)
    spec = RaceSpec(
        mode=mode,
        namespace=_text(data, "namespace"),
        record=_text(data, "record"),
        race_id=_text(data, "raceId"),
        builtin=builtin,
        track_path=path,
        git=git,
        corpora=_corpora(_object(data, "corpora")),
        offline=_truth(data, "offline"),
        challenge=_optional_text(data, "challenge"),
        params=_object(data, "params"),
        include_tasks=_texts(data, "includeTasks"),
        exclude_tasks=_texts(data, "excludeTasks"),
        client_options=_object(data, "clientOptions"),
        telemetry=_texts(data, "telemetry"),
        user_tags=_object(data, "userTags"),
        index=_index(_object(data, "index")),
        hosts=_texts(data, "hosts"),
        tls=_flag(data, "tls") or data.get("caFile") is not None,
        user=_optional_text(data, "user") or "elastic",
        user_file=_path(data, "userFile"),
        password_file=_path(data, "passwordFile"),
        ca_file=_path(data, "caFile"),
        target=_target(_object(data, "target")),
        cores=_whole(data, "cores", 1),
        stall_seconds=_seconds(data, "stallSeconds", 600.0),
        timeout_seconds=_seconds(data, "timeoutSeconds", 21600.0),
    )
    _cross_check(spec)
    return spec


_KEYS = {
    *("format", "mode", "namespace", "record", "raceId", "track", "challenge", "params", "includeTasks"),
    *("excludeTasks", "clientOptions", "telemetry", "userTags", "index", "hosts", "user", "passwordFile"),
    *("caFile", "cores", "stallSeconds", "timeoutSeconds", "tls", "userFile", "target", "corpora", "offline"),
}


def _cross_check(spec: RaceSpec) -> None:
    if "/" in spec.race_id or spec.race_id in (".", ".."):
        raise SpecError("raceId: becomes a directory name and must not contain '/'")
    if spec.include_tasks and spec.exclude_tasks:
        raise SpecError("includeTasks, excludeTasks: Rally takes only one of them")
    if spec.mode is not Mode.CHECK or spec.target:
        if not spec.hosts:
            raise SpecError("hosts: at least one is needed")
        for host in spec.hosts:
            if not host.rpartition(":")[2].isdecimal():
                raise SpecError(f"hosts: {host!r} needs a port, as in name:9200")


def _track(value: Any, builtin_tracks: Path) -> tuple[str | None, Path]:
    if not isinstance(value, dict) or len(value) != 1:
        raise SpecError('track: must be {"builtin": NAME}, {"path": PATH} or {"git": SOURCE}')
    kind, name = next(iter(value.items()))
    if kind not in ("builtin", "path") or not isinstance(name, str) or not name:
        raise SpecError('track: must be {"builtin": NAME}, {"path": PATH} or {"git": SOURCE}')
    if kind == "path":
        return None, Path(name)
    if "/" in name or name.startswith("."):
        raise SpecError(f"track.builtin: {name!r} is not a name")
    return name, builtin_tracks / name


def _git(value: Any) -> GitSource | None:
    if not isinstance(value, dict) or set(value) != {"git"}:
        return None
    source = _object(value, "git")
    unknown = sorted(set(source) - {"url", "revision", "path", "credentials"})
    if unknown:
        raise SpecError(f"track.git: unknown field {unknown[0]!r}")
    return GitSource(
        url=_text(source, "url"),
        revision=_text(source, "revision"),
        path=_optional_text(source, "path") or "",
        credentials=_path(source, "credentials"),
    )


def _corpora(value: Mapping[str, Any]) -> CorporaSpec | None:
    if not value:
        return None
    unknown = sorted(set(value) - {"path", "maxBytes"})
    if unknown:
        raise SpecError(f"corpora: unknown field {unknown[0]!r}")
    return CorporaSpec(path=Path(_text(value, "path")), max_bytes=_whole(value, "maxBytes", 1))


def _index(value: Mapping[str, Any]) -> IndexSpec:
    unknown = sorted(set(value) - {"shards", "replicas", "codec", "sourceMode", "settings"})
    if unknown:
        raise SpecError(f"index: unknown field {unknown[0]!r}")
    return IndexSpec(
        shards=_whole(value, "shards", 1),
        replicas=_whole(value, "replicas", 0),
        codec=_optional_text(value, "codec"),
        source_mode=_optional_text(value, "sourceMode"),
        settings=_object(value, "settings"),
    )


def _target(value: Mapping[str, Any]) -> TargetSpec | None:
    if not value:
        return None
    unknown = sorted(set(value) - {"credentialsSecret", "caSecret", "overwrite", "remove"})
    if unknown:
        raise SpecError(f"target: unknown field {unknown[0]!r}")
    if value.get("remove") not in ("always", "onSuccess", "never"):
        raise SpecError(f"target.remove: must be always, onSuccess or never, not {value.get('remove')!r}")
    return TargetSpec(
        credentials_secret=_optional_text(value, "credentialsSecret"),
        ca_secret=_optional_text(value, "caSecret"),
        overwrite=_flag(value, "overwrite"),
        remove=value["remove"],
    )


def _flag(data: Mapping[str, Any], key: str) -> bool:
    value = data.get(key)
    if value is not None and not isinstance(value, bool):
        raise SpecError(f"{key}: must be true or false")
    return bool(value)


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value:
        raise SpecError(f"{key}: must be a text")
    return value


def _optional_text(data: Mapping[str, Any], key: str) -> str | None:
    return None if data.get(key) is None else _text(data, key)


def _path(data: Mapping[str, Any], key: str) -> Path | None:
    value = _optional_text(data, key)
    return None if value is None else Path(value)


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = data.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise SpecError(f"{key}: must be a list of texts")
    return tuple(value)


def _object(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SpecError(f"{key}: must be an object")
    return value


def _whole(data: Mapping[str, Any], key: str, least: int) -> int | None:
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SpecError(f"{key}: must be a whole number of at least {least}")
    return value


def _truth(data: Mapping[str, Any], key: str) -> bool:
    value = data.get(key, False)
    if not isinstance(value, bool):
        raise SpecError(f"{key}: must be true or false")
    return value


def _seconds(data: Mapping[str, Any], key: str, default: float) -> float:
    value = data.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise SpecError(f"{key}: must be a number of seconds above 0")
    return float(value)
