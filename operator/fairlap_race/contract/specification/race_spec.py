"""What a race is to do: the JSON in FAIRLAP_RACE_SPEC, which the operator writes and the runner reads, strictly.

`RaceSpec.to_json` and `parse_spec` are the contract between the operator and the race image: keys are the camelCase of
the field names, and nothing may be accepted and ignored.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from fairlap_race.contract.codec import DecodeError, camel, compact_json, decode_strictly
from fairlap_race.contract.request_files.probe import ProbeSpec, find_wrong_probes
from fairlap_race.contract.specification.document_plan import ExpectedByUser
from fairlap_race.contract.specification.http_spec import MOST_HOSTS, HttpSpec, find_wrong
from fairlap_race.contract.specification.sweep import SweepSpec, find_wrong_steps
from fairlap_race.contract.specification.turns import TurnsSpec, find_wrong_turns

FORMAT = 1
SPEC_VARIABLE = "FAIRLAP_RACE_SPEC"
POD_IP_VARIABLE = "POD_IP"
"""with the address of the pod, where others are to find it"""
MOST_SPEC_BYTES = (128 << 10) - len(f"{SPEC_VARIABLE}=") - 1
"""of its value in UTF-8: Linux starts no process with a longer variable (MAX_ARG_STRLEN, its name and NUL included)"""
MOST_CANARY_SECONDS = 60
REQUIRE_TASKS, RACED_AGAIN = "requireTasks", "racedAgain"
"""Fields of tasks that a Comparison writes into its Benchmarks; what the check finds wrong in them begins so."""
TRACK_MOUNT = Path("/track")
"""Where the pod has the ConfigMap or the volume of its track."""
REPLAY = "replay"
"""The builtin track whose requests come from a file."""
KEY_PER_CLIENT = "create_api_key_per_client"
"""The client option with which each of Rally's clients has an API key of its own."""
OPERATORS_CLIENT_OPTIONS = frozenset(
    {
        *("hosts", "use_ssl", "verify_certs", "ca_certs", "client_cert", "client_key", "ssl_context", "ssl_show_warn"),
        *("ssl_assert_hostname", "ssl_assert_fingerprint", "basic_auth_user", "basic_auth_password", "basic_auth"),
        *("http_auth", "api_key", "bearer_auth", "headers", "static_responses"),
        *("max_retries", "retry_on_timeout", "retry_on_status"),
    }
)
"""Client options that a user may not set: TLS is always verified, credentials come from secrets, no retry is hidden."""
NOT_OVER_HTTP = frozenset(
    {
        *("track", "corpora", "offline", "challenge", "params", "include_tasks", "exclude_tasks"),
        *("expect", "client_options", "telemetry", "telemetry_params", "down_sampling", "user_tags", "index", "cores"),
        *("metrics_store", "most_warmup_seconds", "turns", "raced_again"),
    }
)
"""Fields that only Rally or Elasticsearch have a use for."""


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
    """name of the Secret that the files for user and password, or for the API key, come from, for messages"""
    certificate_secret: str | None = None
    ca_secret: str | None = None
    overwrite: bool = False
    """the track may delete or overwrite what is there, and run tasks whose effects cannot be foreseen"""
    remove: str = "always"
    """when to remove what the race created: always, onSuccess or never"""
    kept: bool = False
    """it was built for these races: tasks whose effects cannot be foreseen may run, and what is there stays"""


@dataclass(frozen=True)
class MetricsStoreSpec:
    """An Elasticsearch of the user's that keeps Rally's own documents."""

    hosts: tuple[str, ...]
    """NAME:PORT each"""
    tls: bool = False
    """TLS, always verified; with `ca_file` against that"""
    user: str = "elastic"
    user_file: Path | None = None
    password_file: Path | None = None
    api_key_file: Path | None = None
    ca_file: Path | None = None
    credentials_secret: str | None = None
    """names of the Secrets, for messages"""
    ca_secret: str | None = None


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
    credentials_secret: str | None = None
    """its name, for messages"""


@dataclass(frozen=True)
class TrackSource:
    """Where the track is: exactly one of these."""

    builtin: str | None = None
    """name of a track that ships with the race image"""
    path: Path | None = None
    """directory of the track in the pod"""
    git: GitSource | None = None


@dataclass(frozen=True)
class RequestsSource:
    """Where the requests of the builtin track replay are: exactly one of `path` and `git`."""

    path: Path | None = None
    """directory in the pod"""
    git: GitSource | None = None
    file: str = "requests.ndjson"
    """name of the file in that directory; documents.json and index.json may lie beside it"""


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
    """name of the ConfigMap that the record goes to"""
    race_id: str
    track: TrackSource = TrackSource()
    """none for a race over HTTP"""
    format: int = FORMAT
    http: HttpSpec | None = None
    """set for a race over HTTP: k6 sends the requests, and there is no track"""
    requests: RequestsSource | None = None
    """for the builtin track replay and for a race over HTTP alone, which need them"""
    corpora: CorporaSpec | None = None
    offline: bool = False
    """fetch nothing: corpora must be beside the track or in the cache"""
    challenge: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    include_tasks: tuple[str, ...] = ()
    exclude_tasks: tuple[str, ...] = ()
    require_tasks: tuple[str, ...] = ()
    """names of tasks that must be left of the challenge; for the check alone"""
    raced_again: tuple[str, ...] = ()
    """names of tasks that will be raced alone, again and again, on the cluster that this race leaves; for the check
    alone"""
    sweep: SweepSpec | None = None
    """steps in place of one task; the check looks whether they can be had, a smoke race has none"""
    expect: ExpectedByUser | None = None
    """what the user says about the documents in the end; None for a smoke race, which indexes others"""
    allowed_errors: Mapping[str, float] = field(default_factory=dict)
    """by task the share of its requests that may fail"""
    probes: tuple[ProbeSpec, ...] = ()
    """read on every host, before and after; whether they are within their bounds is not the runner's to say"""
    client_options: Mapping[str, Any] = field(default_factory=dict)
    telemetry: tuple[str, ...] = ()
    telemetry_params: Mapping[str, Any] = field(default_factory=dict)
    down_sampling: int = 1
    """Rally keeps the times of one request of so many"""
    user_tags: Mapping[str, Any] = field(default_factory=dict)
    index: IndexSpec = IndexSpec()
    hosts: tuple[str, ...] = ()
    """NAME:PORT each, over HTTP also [IPv6 address]:PORT"""
    tls: bool = False
    """TLS, always verified against the system's CAs; with `ca_file`, it is TLS in any case, verified against that"""
    user: str = "elastic"
    user_file: Path | None = None
    """holds the user's name, instead of `user`"""
    password_file: Path | None = None
    api_key_file: Path | None = None
    """holds an API key, instead of user and password"""
    certificate_file: Path | None = None
    """the client's certificate, for a server that asks for one"""
    certificate_key_file: Path | None = None
    ca_file: Path | None = None
    target: TargetSpec | None = None
    """set for a cluster that exists already"""
    samples: Path | None = None
    """directory that every request's sample is kept in"""
    metrics_store: MetricsStoreSpec | None = None
    """looked at in every step, and filled after a race that counts"""
    most_warmup_seconds: float | None = None
    """warm-ups go on until their task has settled, for so long at most; None where each ends as the track says"""
    turns: TurnsSpec | None = None
    """set where it is raced in turn with others, request by request"""
    canary_seconds: float = 3.0
    """of fixed work around a race, half of them before it; 0: none"""
    cores: int | None = None
    stall_seconds: float = 600.0
    timeout_seconds: float = 21600.0

    @property
    def test_mode(self) -> bool:
        """True when Rally runs with --test-mode."""
        return self.mode is Mode.SMOKE

    def to_json(self) -> str:
        """Return the JSON text for FAIRLAP_RACE_SPEC."""
        return compact_json(self)


def parse_spec(text: str) -> RaceSpec:
    """Return the specification in the JSON `text`.

    Raises SpecError naming the first field that is wrong; an unknown field is wrong too, since nothing may be accepted
    and ignored.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        raise SpecError(f"the specification is not JSON: {error}") from error
    if isinstance(data, dict) and data.get("format") != FORMAT:
        raise SpecError(f"format: this runner reads format {FORMAT}, not {data.get('format')!r}")
    try:
        spec = decode_strictly(RaceSpec, data)
    except DecodeError as error:
        raise SpecError(str(error)) from error
    if wrong := next(_wrong(spec), None):
        raise SpecError(wrong)
    return spec


def _wrong(spec: RaceSpec) -> Iterator[str]:
    """Yield a sentence for each value that is out of its bounds or contradicts another."""
    yield from (f"{name}: must not be empty" for name, value in _texts(spec) if value == "")
    yield from _wrong_numbers(spec)
    yield from _wrong_sources(spec) if spec.http is None else _wrong_http(spec, spec.http)
    yield from _wrong_requests(spec)
    yield from find_wrong_probes(spec.probes)
    yield from _wrong_sweep(spec)
    if "/" in spec.race_id or spec.race_id in (".", ".."):
        yield "raceId: becomes a directory name and must not contain '/'"
    if spec.include_tasks and spec.exclude_tasks:
        yield "includeTasks, excludeTasks: Rally takes only one of them"
    for name, tasks in ((REQUIRE_TASKS, spec.require_tasks), (RACED_AGAIN, spec.raced_again)):
        if tasks and spec.mode is not Mode.CHECK:
            yield f"{name}: the check alone looks at them, not {spec.mode.value}"
    if spec.target and spec.target.remove not in ("always", "onSuccess", "never"):
        yield f"target.remove: must be always, onSuccess or never, not {spec.target.remove!r}"
    if spec.api_key_file and spec.password_file:
        yield "apiKeyFile, passwordFile: only one of them can say who asks"
    if (spec.certificate_file is None) != (spec.certificate_key_file is None):
        yield "certificateFile, certificateKeyFile: one needs the other"
    if not spec.hosts and (spec.mode is not Mode.CHECK or spec.target):
        yield "hosts: at least one is needed"
    yield from _wrong_hosts("hosts", spec.hosts)
    if store := spec.metrics_store:
        yield from _wrong_store(store)
    yield from _wrong_turns(spec)


def _wrong_turns(spec: RaceSpec) -> Iterator[str]:
    if spec.turns is not None:
        yield from find_wrong_turns(spec.turns)
        if spec.mode is not Mode.RACE:
            yield f"turns: a race alone takes turns, not {spec.mode.value}"
        if spec.sweep is not None or spec.most_warmup_seconds is not None:
            yield "turns: a race with steps, or whose warm-ups go on until they have settled, cannot take turns"


def _wrong_hosts(name: str, hosts: tuple[str, ...]) -> Iterator[str]:
    for host in hosts:
        if not host.rpartition(":")[2].isdecimal():
            yield f"{name}: {host!r} needs a port, as in name:9200"


def _wrong_store(store: MetricsStoreSpec) -> Iterator[str]:
    if not store.hosts:
        yield "metricsStore.hosts: at least one is needed"
    if store.api_key_file and store.password_file:
        yield "metricsStore.apiKeyFile, metricsStore.passwordFile: only one of them can say who asks"
    yield from _wrong_hosts("metricsStore.hosts", store.hosts)


def _wrong_sweep(spec: RaceSpec) -> Iterator[str]:
    if spec.sweep is not None and spec.mode not in (Mode.CHECK, Mode.RACE):
        yield f"sweep: the check and a race alone take it, not {spec.mode.value}"
    if spec.sweep is not None:
        yield from (f"sweep.{wrong}" for wrong in find_wrong_steps(spec.sweep))


def _wrong_sources(spec: RaceSpec) -> Iterator[str]:
    if [spec.track.builtin, spec.track.path, spec.track.git].count(None) != 2:
        yield "track: must have exactly one of builtin, path and git"
    builtin = spec.track.builtin or ""
    if "/" in builtin or builtin.startswith("."):
        yield f"track.builtin: {builtin!r} is not a name"
    if (spec.requests is not None) != (builtin == REPLAY):
        yield f"requests: the builtin track {REPLAY} needs them, and no other track takes them"


def _wrong_http(spec: RaceSpec, http: HttpSpec) -> Iterator[str]:
    """Yield what is wrong with a race over HTTP; what means nothing there is wrong, too."""
    if spec.requests is None:
        yield "requests: a race over HTTP needs them"
    if spec.mode is Mode.PROBE:
        yield "mode: there is nothing to probe over HTTP; the check asks each host's health path"
    if not 1 <= len(spec.hosts) <= MOST_HOSTS:
        yield f"hosts: there are {len(spec.hosts)}; write 1 to {MOST_HOSTS}"
    if spec.target and (spec.target.overwrite or spec.target.remove != TargetSpec().remove):
        yield "target: overwrite and remove mean nothing in a race over HTTP; leave them out"
    if spec.target and spec.target.kept:
        yield "target.kept: means nothing in a race over HTTP; leave it out"
    if len(set(spec.hosts)) < len(spec.hosts):
        yield "hosts: one of them is there twice; each gets the same share of the requests, so name it once"
    for each in dataclasses.fields(RaceSpec):
        default = each.default_factory() if callable(each.default_factory) else each.default
        if each.name in NOT_OVER_HTTP and getattr(spec, each.name) != default:
            yield f"{camel(each.name)}: means nothing in a race over HTTP; leave it out"
    if spec.sweep and spec.sweep.names != tuple(load.name for load in http.loads):
        yield "sweep.steps: over HTTP each is a load of the same name, in the same order"
    yield from find_wrong(http)


def _wrong_requests(spec: RaceSpec) -> Iterator[str]:
    if (found := spec.requests) is not None:
        if [found.path, found.git].count(None) != 1:
            yield "requests: must have exactly one of path and git"
        if not found.file or "/" in found.file or found.file.startswith("."):
            yield f"requests.file: {found.file!r} is not the name of a file"


def _wrong_numbers(spec: RaceSpec) -> Iterator[str]:
    numbers = (
        ("index.shards", spec.index.shards, 1),
        ("index.replicas", spec.index.replicas, 0),
        ("corpora.maxBytes", spec.corpora.max_bytes if spec.corpora else None, 1),
        ("cores", spec.cores, 1),
        ("downSampling", spec.down_sampling, 1),
    )
    for name, number, least in numbers:
        if number is not None and number < least:
            yield f"{name}: must be a whole number of at least {least}"
    for task, share in spec.allowed_errors.items():
        if not 0 < share <= 1:
            yield f"allowedErrors.{task}: must be a share above 0, at most 1"
    for name, seconds in (
        ("stallSeconds", spec.stall_seconds),
        ("timeoutSeconds", spec.timeout_seconds),
        ("mostWarmupSeconds", spec.most_warmup_seconds),
    ):
        if seconds is not None and seconds <= 0:
            yield f"{name}: must be a number of seconds above 0"
    if not 0 <= spec.canary_seconds <= MOST_CANARY_SECONDS:
        yield f"canarySeconds: must be a number of seconds from 0 to {MOST_CANARY_SECONDS}"


def _texts(spec: RaceSpec) -> Iterator[tuple[str, str | None]]:
    """Yield the JSON paths and values of the texts that may not be empty."""
    for name, git in (("track", spec.track.git), ("requests", spec.requests.git if spec.requests else None)):
        yield from ((f"{name}.git.url", git.url), (f"{name}.git.revision", git.revision)) if git else ()
    yield from (("namespace", spec.namespace), ("record", spec.record), ("raceId", spec.race_id))
    yield from (("track.builtin", spec.track.builtin), ("challenge", spec.challenge), ("user", spec.user))
    yield from (("index.codec", spec.index.codec), ("index.sourceMode", spec.index.source_mode))
    lists = {
        "includeTasks": spec.include_tasks,
        "excludeTasks": spec.exclude_tasks,
        REQUIRE_TASKS: spec.require_tasks,
        RACED_AGAIN: spec.raced_again,
        "telemetry": spec.telemetry,
    }
    for name, texts in lists.items():
        yield from ((f"{name}[{number}]", text) for number, text in enumerate(texts))
