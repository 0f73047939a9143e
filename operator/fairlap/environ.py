"""Reads the operator's settings from its environment, and says in one sentence which variable cannot be used.

It is apart from the settings, which decisions and so the command line import, since pydantic-settings takes a while.
"""

import re
import socket
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, Json, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from fairlap.settings import JdkImage, PrometheusSettings, Settings

_PREFIX = "FAIRLAP_"
_CREDENTIALS = re.compile(
    r"(?is)^((https?|git)://[^/]*(@|%40)|ssh://[^/]*(:|%3a)[^/]*(@|%40)|"
    r"(https?|git|ssh)://[^/:\[]*(:|%3a)(/|[0-9]{0,5}[^0-9/]|[0-9]{6}).*(@|%40))"
)
"""What a password may have in it stands at the same expression of `fairlap_race.contract.address_secrets`."""


def _split_at_commas(text: object) -> object:
    return tuple(word.strip() for word in text.split(",") if word.strip()) if isinstance(text, str) else text


def _http_url(url: str) -> str:
    if _CREDENTIALS.match(url):  # before it is split, whose error may quote it
        raise ValueError("must hold no credentials: use prometheus.credentialsSecret")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must look like http://prometheus.monitoring.svc:9090")
    return url


def _git_url(url: str) -> str:
    if _CREDENTIALS.match(url):
        raise ValueError("must hold no credentials: a repository that asks for them is for race.track.git")
    return url


Whole = Annotated[int, Field(ge=1, description="a whole number from 1 up")]
Count = Annotated[int, Field(ge=0, description="a whole number from 0 up")]
CanarySeconds = Annotated[int, Field(ge=0, le=60, description="a whole number from 0 to 60")]
ImageName = Annotated[str, Field(min_length=1)]
Label = Annotated[str, BeforeValidator(str)]


class Variables(BaseSettings):
    """The variables by their names without FAIRLAP_; an empty one counts as not set.

    A description says what the variable must be, for the sentence about one that is not.
    """

    model_config = SettingsConfigDict(env_prefix=_PREFIX, env_ignore_empty=True, validate_default=False)

    race_image: str
    race_image_pull_policy: str = Settings.race_image_pull_policy
    race_image_pull_secrets: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_at_commas)] = ()
    race_images: Json[dict[str, ImageName]] = Field({}, description='{"2.3": "IMAGE"}')
    jdk_images: Json[dict[int, JdkImage]] = Field({}, description='{"21": {"image": ..., "path": ...}}')
    namespaces: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_at_commas)] = Settings.namespaces
    max_active: Whole = Settings.max_active
    max_active_per_namespace: Count = Settings.max_active_per_namespace
    max_checks: Whole = Settings.max_checks
    canary_seconds: CanarySeconds = Settings.canary_seconds
    avoid_kept_clusters: bool = Field(Settings.avoid_kept_clusters, description="true or false")
    unschedulable_seconds: Whole = Settings.unschedulable_seconds
    tracks_repository: Annotated[str, AfterValidator(_git_url)] = Settings.tracks_repository
    tracks_revision: str = Settings.tracks_revision
    metrics_port: Whole = Settings.metrics_port
    lease: str = Settings.lease
    lease_holder: str = Field(default_factory=socket.gethostname)
    lease_seconds: Whole = Settings.lease_seconds
    resync_seconds: Whole = Settings.resync_seconds
    sweep_seconds: Whole = Settings.sweep_seconds
    unreachable_seconds: Whole = Settings.unreachable_seconds
    page_cache: str = Settings.page_cache
    cleanup_seconds: Whole = Settings.cleanup_seconds
    prometheus_url: Annotated[str, AfterValidator(_http_url)] = PrometheusSettings.url
    prometheus_credentials: str = PrometheusSettings.credentials
    prometheus_ca: str = PrometheusSettings.ca_file
    prometheus_labels: Json[dict[str, Label]] = Field({}, description='{"name": "value"}')


def settings_from_environment() -> Settings:
    """Return the settings of this process; raises ValueError with a variable's name when it cannot be used."""
    try:
        found = dict(Variables())
    except ValidationError as error:
        raise ValueError(_sentence(error)) from None
    prometheus = PrometheusSettings(
        url=found.pop("prometheus_url"),
        credentials=found.pop("prometheus_credentials"),
        ca_file=found.pop("prometheus_ca"),
        labels=found.pop("prometheus_labels"),
    )
    return Settings(**found, prometheus=prometheus)


def _sentence(error: ValidationError) -> str:
    first = error.errors()[0]
    field, *inside = (str(part) for part in first["loc"])
    name, wanted = f"{_PREFIX}{field.upper()}", Variables.model_fields[field].description
    if first["type"] == "missing" and not inside:
        return f"{name} is not set: it names the image that Rally runs in"
    if first["type"] == "value_error":
        return f"{name} {first['ctx']['error']}"
    if Variables.model_fields[field].annotation is int:
        return f"{name} is {first['input']!r}: it must be {wanted}"
    return f"{name} must be {wanted}: {' '.join(['.'.join(inside), first['msg']]).lstrip()}"
