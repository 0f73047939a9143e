"""What the installation decides: images, namespaces, limits; read once from the environment."""

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

# The tracks in tracks/ and their challenges; a test compares this with what Rally finds in them.
BUILTIN_TRACKS: Mapping[str, tuple[str, ...]] = {
    "log_ingest": ("default", "high-concurrency", "ramp-up"),
    "page_cache": ("default",),
    "percolator": ("default",),
}


TRACKS_REPOSITORY = "https://github.com/elastic/rally-tracks"
TRACKS_REVISION = "cff4b31f89b3cb52f6c37f4f38920c8b3c39bb70"


@dataclass(frozen=True)
class JdkImage:
    """An image that a JDK is copied from, and the folder it has there."""

    image: str
    path: str


@dataclass(frozen=True)
class PrometheusSettings:
    """Where cAdvisor's series can be asked for; no url means nowhere."""

    url: str = ""
    credentials: str = ""
    """folder of files: token, or username and password"""
    ca_file: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    """labels that this cluster's series have, where one Prometheus holds those of several"""


@dataclass(frozen=True)
class Settings:
    """The operator's configuration."""

    race_image: str
    race_image_pull_policy: str = "IfNotPresent"
    race_images: Mapping[str, str] = field(default_factory=dict)
    """images with older lines of Rally, by line"""
    jdk_images: Mapping[int, JdkImage] = field(default_factory=dict)
    namespaces: tuple[str, ...] = ()
    """watched namespaces; empty means all"""
    max_active: int = 1
    """Benchmarks that may be past the queue at once"""
    metrics_port: int = 8080
    prometheus: PrometheusSettings = PrometheusSettings()
    lease: str = ""
    """NAMESPACE/NAME of the Lease that the working operator holds; empty: none, for a single operator under a hand"""
    lease_holder: str = ""
    """how this operator calls itself in the Lease"""
    lease_seconds: int = 60
    resync_seconds: int = 300
    sweep_seconds: int = 30
    """how often claims that a removed cluster left behind are looked for"""
    """how long what events have told is believed without asking the API server again"""
    cleanup_seconds: int = 600
    """how long the objects of a step may take to go away"""
    tracks_repository: str = TRACKS_REPOSITORY
    """Elastic's repository of tracks, or a mirror of it"""
    tracks_revision: str = TRACKS_REVISION
    """its commit that race.track.name means"""
    builtin_tracks: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: BUILTIN_TRACKS)


def settings_from(environ: Mapping[str, str]) -> Settings:
    """Return the settings in `environ`; raises ValueError with the variable's name when one cannot be used."""
    image = environ.get("FAIRLAP_RACE_IMAGE", "")
    if not image:
        raise ValueError("FAIRLAP_RACE_IMAGE is not set: it names the image that Rally runs in")
    try:
        raw = json.loads(environ.get("FAIRLAP_JDK_IMAGES") or "{}")
        jdks = {int(major): JdkImage(image=entry["image"], path=entry["path"]) for major, entry in raw.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f'FAIRLAP_JDK_IMAGES must be {{"21": {{"image": ..., "path": ...}}}}: {error}') from error
    return Settings(
        race_image=image,
        race_images=_images(environ.get("FAIRLAP_RACE_IMAGES") or "{}"),
        race_image_pull_policy=environ.get("FAIRLAP_RACE_IMAGE_PULL_POLICY") or "IfNotPresent",
        jdk_images=jdks,
        namespaces=tuple(n.strip() for n in environ.get("FAIRLAP_NAMESPACES", "").split(",") if n.strip()),
        max_active=_positive(environ, "FAIRLAP_MAX_ACTIVE", 1),
        tracks_repository=environ.get("FAIRLAP_TRACKS_REPOSITORY") or TRACKS_REPOSITORY,
        tracks_revision=environ.get("FAIRLAP_TRACKS_REVISION") or TRACKS_REVISION,
        metrics_port=_positive(environ, "FAIRLAP_METRICS_PORT", 8080),
        lease=environ.get("FAIRLAP_LEASE", ""),
        lease_holder=environ.get("FAIRLAP_LEASE_HOLDER") or socket.gethostname(),
        lease_seconds=_positive(environ, "FAIRLAP_LEASE_SECONDS", 60),
        resync_seconds=_positive(environ, "FAIRLAP_RESYNC_SECONDS", 300),
        sweep_seconds=_positive(environ, "FAIRLAP_SWEEP_SECONDS", 30),
        cleanup_seconds=_positive(environ, "FAIRLAP_CLEANUP_SECONDS", 600),
        prometheus=_prometheus(environ),
    )


def _prometheus(environ: Mapping[str, str]) -> PrometheusSettings:
    url = environ.get("FAIRLAP_PROMETHEUS_URL", "")
    parts = urlsplit(url)
    if url and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise ValueError("FAIRLAP_PROMETHEUS_URL must look like http://prometheus.monitoring.svc:9090")
    if parts.username or parts.password:
        raise ValueError("FAIRLAP_PROMETHEUS_URL must hold no credentials: use prometheus.credentialsSecret")
    try:
        labels = {str(k): str(v) for k, v in json.loads(environ.get("FAIRLAP_PROMETHEUS_LABELS") or "{}").items()}
    except (ValueError, AttributeError) as error:
        raise ValueError(f'FAIRLAP_PROMETHEUS_LABELS must be {{"name": "value"}}: {error}') from error
    return PrometheusSettings(
        url=url,
        credentials=environ.get("FAIRLAP_PROMETHEUS_CREDENTIALS", ""),
        ca_file=environ.get("FAIRLAP_PROMETHEUS_CA", ""),
        labels=labels,
    )


def _images(text: str) -> Mapping[str, str]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(image, str) and image for image in found.values()):
        raise ValueError(f'FAIRLAP_RACE_IMAGES must be {{"2.3": "IMAGE"}}, not {text!r}')
    return found


def _positive(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name) or str(default)
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{name} is {text!r}: it must be a whole number from 1 up")
    return int(text)
