"""Where the race's pod finds its track and its corpora and keeps its samples: what it is told, and what is mounted."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from fairlap.api.base import Json
from fairlap.api.quantity import parse_quantity
from fairlap.api.spec import GitTrack, Race, Requests, Track
from fairlap.settings import Settings
from fairlap_race.contract.specification.race_spec import (
    TRACK_MOUNT,
    CorporaSpec,
    GitSource,
    RequestsSource,
    TrackSource,
)

REQUESTS = Path("/requests")
CORPORA = Path("/corpora")
SAMPLES = Path("/samples")
GIT_CREDENTIALS = Path("/run/fairlap/git")


class Mounts(NamedTuple):
    """Volumes of the pod and where its container has them."""

    volumes: list[Json]
    mounts: list[Json]


def track_source(track: Track | None, settings: Settings, commit: str) -> TrackSource:
    """Return where the runner finds the track; `commit`: the one that the track check found, if it was one."""
    if track is None:
        return TrackSource()
    if track.builtin:
        return TrackSource(builtin=track.builtin)
    if track.volume:
        return TrackSource(path=TRACK_MOUNT / track.volume.path)
    if track.name:
        url, revision = track.repository or settings.tracks_repository, track.revision or settings.tracks_revision
        return TrackSource(git=GitSource(url=url, revision=commit or revision, path=track.name))
    if track.git:
        return TrackSource(git=_git_source(track.git, commit))
    return TrackSource(path=TRACK_MOUNT)


def requests_source(requests: Requests | None, commit: str) -> RequestsSource | None:
    """Return where the runner finds the requests of a replay; `commit`: the one that the track check found."""
    if requests is None:
        return None
    if requests.git:
        return RequestsSource(git=_git_source(requests.git, commit), file=requests.file)
    return RequestsSource(REQUESTS / requests.volume.path if requests.volume else REQUESTS, file=requests.file)


def _git_source(git: GitTrack, commit: str) -> GitSource:
    found, secret = GitSource(git.url, commit or git.revision, git.path or ""), git.credentials_secret
    return replace(found, credentials=GIT_CREDENTIALS, credentials_secret=secret.name) if secret else found


def corpora_spec(race: Race) -> CorporaSpec | None:
    """Return where the runner finds the volume of corpora, and its bound in bytes; None when it has none."""
    if race.corpora is None:
        return None
    size = race.corpora.max_size
    return CorporaSpec(CORPORA, int(parse_quantity(size)) if size else None)


def mounts(race: Race) -> Mounts:
    """Return what the track, the corpora and the samples need mounted."""
    found = Mounts([], [])
    for name, source, path in (("track", race.track, TRACK_MOUNT), ("requests", race.requests, REQUESTS)):
        if source and source.config_map:
            _add(found, name, {"configMap": {"name": source.config_map.name}}, path)
        if source and source.volume:
            _add_claim(found, name, source.volume.claim_name, path)
        # Only one of them has a repository: with requests the track is a builtin one.
        if source and source.git and source.git.credentials_secret:
            # Optional, as those of a target: a pod that waits for its Secret could not say that this is missing.
            # Readable for the group only: ssh refuses a private key that its own user shares.
            secret = {"secretName": source.git.credentials_secret.name, "optional": True, "defaultMode": 0o440}
            _add(found, "git-credentials", {"secret": secret}, GIT_CREDENTIALS)
    if race.corpora:
        _add_claim(found, "corpora", race.corpora.claim_name, CORPORA, write=True)
    if race.samples:
        # In every step: a claim that cannot be mounted is known before a cluster is built for the race.
        _add_claim(found, "samples", race.samples.claim_name, SAMPLES, write=True)
    return found


def _add_claim(found: Mounts, name: str, claim: str, path: Path, *, write: bool = False) -> None:
    """Mount a claim at another path, too, where it is mounted already: a pod with two volumes of it never starts."""
    volume = next((it for it in found.volumes if it.get("persistentVolumeClaim", {}).get("claimName") == claim), None)
    if volume is None:
        volume = {"name": name, "persistentVolumeClaim": {"claimName": claim, "readOnly": True}}
        found.volumes.append(volume)
    if write:
        # Only where nothing is written the claim says so itself, as some must that several machines have at a time.
        volume["persistentVolumeClaim"].pop("readOnly", None)
    _mount(found, volume["name"], path, write=write)


def _add(found: Mounts, name: str, volume: Json, path: Path) -> None:
    found.volumes.append({"name": name, **volume})
    _mount(found, name, path)


def _mount(found: Mounts, name: str, path: Path, *, write: bool = False) -> None:
    found.mounts.append({"name": name, "mountPath": str(path), **({} if write else {"readOnly": True})})
