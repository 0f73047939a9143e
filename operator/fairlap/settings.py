"""What the installation decides: images, namespaces, limits. environ.py reads it, once, from the environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# The tracks in tracks/ and their challenges; a test compares this with what Rally finds in them.
BUILTIN_TRACKS: Mapping[str, tuple[str, ...]] = {
    "log_ingest": ("default", "quick", "high-concurrency", "ramp-up"),
    "page_cache": ("default", "quick"),
    "percolator": ("default", "quick"),
    "replay": ("default",),
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
    race_image_pull_secrets: tuple[str, ...] = ()
    """Secrets with registries' credentials that every pod of a race names; they must be in the Benchmark's namespace"""
    race_images: Mapping[str, str] = field(default_factory=dict)
    """images with older lines of Rally, by line"""
    jdk_images: Mapping[int, JdkImage] = field(default_factory=dict)
    namespaces: tuple[str, ...] = ()
    """watched namespaces; empty means all"""
    max_active: int = 1
    """Benchmarks, or blocks of Comparisons, that may be past the queue at once"""
    max_active_per_namespace: int = 0
    """how many of them, and of the track checks, may be of one namespace; 0: no limit"""
    max_checks: int = 2
    """track checks that may run at once before their Benchmarks are in the queue"""
    canary_seconds: int = 3
    """of fixed work around each race, which tells whether its machine was another one meanwhile; 0: none"""
    avoid_kept_clusters: bool = True
    """whether races keep away from the machines of kept clusters"""
    unschedulable_seconds: int = 300
    """how long a Benchmark whose pods find no machine holds its place while others wait"""
    metrics_port: int = 8080
    prometheus: PrometheusSettings = PrometheusSettings()
    lease: str = ""
    """NAMESPACE/NAME of the Lease that the working operator holds; empty: none, for a single operator under a hand"""
    lease_holder: str = ""
    """how this operator calls itself in the Lease"""
    lease_seconds: int = 60
    """how long the Lease is held without being renewed"""
    resync_seconds: int = 300
    """how long what events have told is believed without asking the API server again"""
    sweep_seconds: int = 30
    """how often claims that a removed cluster left behind are looked for"""
    unreachable_seconds: int = 30
    """how long a watched namespace may not be readable before it is left out"""
    page_cache: str = ""
    """NAMESPACE/NAME of the ConfigMap of the helpers that drop page caches; empty: there are none"""
    cleanup_seconds: int = 600
    """how long the objects of a step may take to go away"""
    tracks_repository: str = TRACKS_REPOSITORY
    """Elastic's repository of tracks, or a mirror of it"""
    tracks_revision: str = TRACKS_REVISION
    """its commit that race.track.name means"""
    builtin_tracks: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: BUILTIN_TRACKS)
