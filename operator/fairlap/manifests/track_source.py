"""Where the race's pod finds its track and its corpora and keeps its samples: what it is told, and what is mounted."""

from pathlib import Path
from typing import NamedTuple

from fairlap.api.base import Json
from fairlap.api.quantity import parse_quantity
from fairlap.api.spec import Race, Track
from fairlap.settings import Settings
from fairlap_race.contract.race_spec import CorporaSpec, GitSource, TrackSource

TRACK = Path("/track")
CORPORA = Path("/corpora")
SAMPLES = Path("/samples")
GIT_CREDENTIALS = Path("/run/fairlap/git")


class Mounts(NamedTuple):
    """Volumes of the pod and where its container has them."""

    volumes: list[Json]
    mounts: list[Json]


def track_source(track: Track, settings: Settings, commit: str) -> TrackSource:
    """Return where the runner finds the track; `commit`: the one that the track check found, if it was one."""
    if track.builtin:
        return TrackSource(builtin=track.builtin)
    if track.volume:
        return TrackSource(path=TRACK / track.volume.path)
    if track.name:
        url, revision = track.repository or settings.tracks_repository, track.revision or settings.tracks_revision
        return TrackSource(git=GitSource(url=url, revision=commit or revision, path=track.name))
    if track.git:
        git = track.git
        secret = GIT_CREDENTIALS if git.credentials_secret else None
        return TrackSource(git=GitSource(git.url, commit or git.revision, git.path or "", secret))
    return TrackSource(path=TRACK)


def corpora_spec(race: Race) -> CorporaSpec | None:
    """Return where the runner finds the volume of corpora, and its bound in bytes; None when it has none."""
    if race.corpora is None:
        return None
    size = race.corpora.max_size
    return CorporaSpec(CORPORA, int(parse_quantity(size)) if size else None)


def mounts(race: Race) -> Mounts:
    """Return what the track, the corpora and the samples need mounted."""
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
    if race.samples:
        # In every step: a claim that cannot be mounted is known before a cluster is built for the race.
        _add(found, "samples", {"persistentVolumeClaim": {"claimName": race.samples.claim_name}}, SAMPLES, write=True)
    return found


def _add(found: Mounts, name: str, volume: Json, path: Path, *, write: bool = False) -> None:
    found.volumes.append({"name": name, **volume})
    found.mounts.append({"name": name, "mountPath": str(path), **({} if write else {"readOnly": True})})
