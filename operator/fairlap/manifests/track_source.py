"""Where the race's pod finds its track and its corpora: what the runner is told, and what is mounted."""

from typing import NamedTuple

from fairlap.api.base import Json
from fairlap.api.quantity import parse_quantity
from fairlap.api.spec import Race, Track
from fairlap.settings import Settings

TRACK = "/track"
CORPORA = "/corpora"
GIT_CREDENTIALS = "/run/fairlap/git"


class Mounts(NamedTuple):
    """Volumes of the pod and where its container has them."""

    volumes: list[Json]
    mounts: list[Json]


def track_told(track: Track, settings: Settings, commit: str) -> Json:
    """Return what the runner is told of the track; `commit`: the one that the track check found, if it was one."""
    if track.builtin:
        return {"builtin": track.builtin}
    if track.volume:
        return {"path": f"{TRACK}/{track.volume.path}".rstrip("/")}
    if track.name:
        url, revision = track.repository or settings.tracks_repository, track.revision or settings.tracks_revision
        return {"git": {"url": url, "revision": commit or revision, "path": track.name}}
    if track.git:
        git = {"url": track.git.url, "revision": commit or track.git.revision, "path": track.git.path or None}
        return {"git": {**git, "credentials": GIT_CREDENTIALS if track.git.credentials_secret else None}}
    return {"path": TRACK}


def corpora_told(race: Race) -> Json | None:
    """Return what the runner is told of the volume of corpora."""
    if race.corpora is None:
        return None
    size = race.corpora.max_size
    return {"path": CORPORA, "maxBytes": int(parse_quantity(size)) if size else None}


def mounts(race: Race) -> Mounts:
    """Return what the track and the corpora need mounted."""
    found = Mounts([], [])
    track = race.track
    if track.config_map:
        _add(found, "track", {"configMap": {"name": track.config_map.name}}, TRACK)
    if track.volume:
        _add(found, "track", {"persistentVolumeClaim": {"claimName": track.volume.claim_name, "readOnly": True}}, TRACK)
    if track.git and track.git.credentials_secret:
        # Readable for the group only: ssh refuses a private key that its own user shares.
        secret = {"secretName": track.git.credentials_secret.name, "defaultMode": 0o440}
        _add(found, "git-credentials", {"secret": secret}, GIT_CREDENTIALS)
    if race.corpora:
        _add(found, "corpora", {"persistentVolumeClaim": {"claimName": race.corpora.claim_name}}, CORPORA, write=True)
    return found


def _add(found: Mounts, name: str, volume: Json, path: str, *, write: bool = False) -> None:
    found.volumes.append({"name": name, **volume})
    found.mounts.append({"name": name, "mountPath": path, **({} if write else {"readOnly": True})})
