"""What CEL cannot know about a spec: checked again, and said in the condition Accepted, before anything is created."""

import ipaddress
import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from fairlap.api.quantity import parse_heap, parse_quantity
from fairlap.api.spec import BenchmarkSpec, Toleration
from fairlap.plan.acceptance import spec_bounds as bounds
from fairlap.plan.verdict import applied_settings
from fairlap.settings import Settings
from fairlap_race.contract.index_settings import flatten
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.specification.race_spec import KEY_PER_CLIENT, OPERATORS_CLIENT_OPTIONS


class Objection(NamedTuple):
    """Why a Benchmark is not accepted."""

    reason: Reason
    message: str


SpecCheck = Callable[[BenchmarkSpec], Iterator[Objection]]

# ECK keeps these for itself (its documentation: "Settings managed by ECK") and would ignore or refuse them.
_ECK_SETTINGS = (
    "cluster.name", "discovery.zen.minimum_master_nodes", "discovery.seed_hosts", "discovery.seed_providers",
    "discovery.zen.ping.unicast.hosts", "cluster.initial_master_nodes", "network.host", "network.publish_host",
    "http.publish_host", "node.name", "path.data", "path.logs", "xpack.security.authc.reserved_realm.enabled",
    "xpack.security.enabled", "xpack.security.http.ssl", "xpack.security.transport.ssl",
)  # fmt: skip
_LABEL = re.compile("[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_IPV4 = re.compile(r"([0-9]{1,3}[.]){3}[0-9]{1,3}")
"""what Rally takes for one"""
_PART_OF_PREFIX = re.compile("[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONGEST_PREFIX = 253
_A_KEY = "write letters, digits, -, _ and ., for example disktype, or with a prefix example.com/disktype"
_A_VALUE = "write at most 63 letters, digits, -, _ and ., the first and the last a letter or digit"


def objections(spec: BenchmarkSpec, settings: Settings) -> list[Objection]:
    """Return every reason why this spec cannot be run here, in the order of the fields.

    What is out of its bounds comes alone: the other checks walk through it.
    """
    return _out_of_bounds(spec) or [
        *_java_is_configured(spec, settings),
        *_anywhere(spec),
        *_track_exists(spec, settings),
    ]


def objections_anywhere(spec: BenchmarkSpec) -> list[Objection]:
    """Return the reasons among these that hold in every installation, whatever its settings."""
    return _out_of_bounds(spec) or _anywhere(spec)


def _out_of_bounds(spec: BenchmarkSpec) -> list[Objection]:
    return [Objection(Reason.INVALID_SPEC, text) for text in bounds.objections(spec)]


def _anywhere(spec: BenchmarkSpec) -> list[Objection]:
    return [objection for check in CHECKS for objection in check(spec)]


def _java_is_configured(spec: BenchmarkSpec, settings: Settings) -> Iterator[Objection]:
    java = spec.elasticsearch.java if spec.elasticsearch else None
    if java is not None and java not in settings.jdk_images:
        known = ", ".join(str(major) for major in sorted(settings.jdk_images)) or "none"
        yield Objection(
            Reason.INVALID_SPEC,
            f"elasticsearch.java is {java}, but this installation has JDK images for: {known}; write one of these, "
            "leave java out for the JDK of the image, or add an image to the chart's value jdkImages",
        )


def _heap_fits_memory(spec: BenchmarkSpec) -> Iterator[Objection]:
    if spec.elasticsearch is None:
        return
    heap, limit = spec.elasticsearch.heap, spec.elasticsearch.resources.limits.memory
    if limit is None:
        yield Objection(
            Reason.INVALID_SPEC,
            "elasticsearch.resources.limits.memory is missing: heap and page cache would depend on the machine; "
            "write for example memory: 2Gi",
        )
    elif heap and parse_heap(heap) > 0.9 * parse_quantity(limit):
        yield Objection(
            Reason.INVALID_SPEC,
            f"elasticsearch.heap {heap} leaves too little of elasticsearch.resources.limits.memory {limit} for "
            "anything but the heap; write at most half of the limit",
        )


def _requests_within_limits(spec: BenchmarkSpec) -> Iterator[Objection]:
    asked = {"elasticsearch": spec.elasticsearch.resources} if spec.elasticsearch else {}
    for field, resources in {**asked, "race": spec.race.resources}.items():
        for name in ("cpu", "memory"):
            request, limit = getattr(resources.requests, name), getattr(resources.limits, name)
            if request and limit and parse_quantity(request) > parse_quantity(limit):
                yield Objection(
                    Reason.INVALID_SPEC,
                    f"{field}.resources.requests.{name} {request} is more than its limit {limit}; "
                    "write a request of at most the limit",
                )


def _scheduling_is_kubernetes(spec: BenchmarkSpec) -> Iterator[Objection]:
    """Yield what no pod may have: the API server takes it in what is handed to ECK, which can never build that."""
    built = {"elasticsearch.scheduling": spec.elasticsearch.scheduling} if spec.elasticsearch else {}
    for field, scheduling in {**built, "race.scheduling": spec.race.scheduling}.items():
        for key, value in scheduling.node_selector.items() if scheduling else ():
            if not _is_label_key(key):
                words = f"{field}.nodeSelector has {key[:80]!r}, which is no key of a label: {_A_KEY}"
                yield Objection(Reason.INVALID_SPEC, words)
            elif not _is_label_value(value):
                words = f"{field}.nodeSelector has {value!r} for {key}, which is no value of a label: {_A_VALUE}"
                yield Objection(Reason.INVALID_SPEC, words)
        for number, toleration in enumerate(scheduling.tolerations if scheduling else ()):
            if words := _wrong_toleration(toleration):
                yield Objection(Reason.INVALID_SPEC, f"{field}.tolerations[{number}] has {words}")


def _wrong_toleration(it: Toleration) -> str:
    """Return what a toleration has that no pod may have, and what to write instead, or ""."""
    if it.key and not _is_label_key(it.key):
        return f"the key {it.key[:80]!r}, which is none of a taint: {_A_KEY}"
    if not it.key and it.operator == "Equal":
        return "no key: write that of the taint, or operator: Exists for every taint"
    if it.operator == "Exists" and it.value:
        return "a value beside operator: Exists, which compares none: leave value out, or write operator: Equal"
    if not _is_label_value(it.value or ""):
        return f"the value {it.value!r}, which is none of a taint: {_A_VALUE}"
    if it.toleration_seconds is not None and it.effect != "NoExecute":
        return "tolerationSeconds, which is for effect: NoExecute alone: write that effect, or leave it out"
    return ""


def _is_label_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    good = not slash or all(_PART_OF_PREFIX.fullmatch(part) for part in prefix.split("."))
    return good and len(prefix) <= _LONGEST_PREFIX and _LABEL.fullmatch(name) is not None


def _is_label_value(value: str) -> bool:
    return value == "" or _LABEL.fullmatch(value) is not None


def _config_leaves_eck_alone(spec: BenchmarkSpec) -> Iterator[Objection]:
    for key in sorted(flatten(spec.elasticsearch.config)) if spec.elasticsearch else ():
        if key in _ECK_SETTINGS or key.startswith(("xpack.security.http.ssl.", "xpack.security.transport.ssl.")):
            yield Objection(
                Reason.INVALID_SPEC, f"elasticsearch.config sets {key}, which ECK manages itself; remove it"
            )


def _texts_are_seen(spec: BenchmarkSpec) -> Iterator[Objection]:
    """Yield each text with a character that looks like a blank or like nothing, as what is copied from a page has."""
    track, requests = spec.race.track, spec.race.requests
    options = spec.elasticsearch.jvm_options if spec.elasticsearch else []
    texts = {f"elasticsearch.jvmOptions[{number}]": option for number, option in enumerate(options)}
    texts["race.track.git.url"] = track.git.url if track and track.git else ""
    texts["race.track.repository"] = (track.repository if track else None) or ""
    texts["race.requests.git.url"] = requests.git.url if requests and requests.git else ""
    for field, text in texts.items():
        if unseen := next((char for char in text if not char.isprintable()), ""):
            words = f"{field} has the character U+{ord(unseen):04X}, which nobody sees: type that part anew"
            yield Objection(Reason.INVALID_SPEC, words)


def _index_settings_make_sense(spec: BenchmarkSpec) -> Iterator[Objection]:
    for message in applied_settings.objections(spec):
        yield Objection(Reason.INVALID_SPEC, message)


def _client_options_hold_no_credentials(spec: BenchmarkSpec) -> Iterator[Objection]:
    for key in sorted(set(spec.race.client_options) & OPERATORS_CLIENT_OPTIONS):
        yield Objection(
            Reason.INVALID_SPEC,
            f"race.clientOptions sets {key}, which is not for a user to set (credentials and TLS come from "
            "secrets, hidden retries are off); remove it",
        )


def _key_per_client_has_a_password(spec: BenchmarkSpec) -> Iterator[Objection]:
    wanted = spec.race.client_options.get(KEY_PER_CLIENT, False)
    if not isinstance(wanted, bool):
        words = f"race.clientOptions.{KEY_PER_CLIENT} is {json.dumps(wanted)[:40]}: write true, or leave it out"
        yield Objection(Reason.INVALID_SPEC, words)
    elif wanted and spec.target and not (spec.target.credentials_secret or spec.target.elastic_user_secret):
        yield Objection(
            Reason.INVALID_SPEC,
            f"race.clientOptions sets {KEY_PER_CLIENT}, and Rally makes such keys with user and password only: write "
            "target.credentialsSecret or target.elasticUserSecret, or leave the option out",
        )


def _timeout_is_a_number_of_seconds(spec: BenchmarkSpec) -> Iterator[Objection]:
    """Yield what Rally would drop, or give to its client as no time at all; it has one name of its own for it."""
    options = spec.race.client_options
    if "request_timeout" in options:
        words = "race.clientOptions sets request_timeout, which Rally calls timeout: write it as timeout"
        yield Objection(Reason.INVALID_SPEC, words)
    wanted = options.get("timeout", 1)
    if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not wanted > 0:
        words = f"race.clientOptions.timeout is {json.dumps(wanted)[:40]}: write seconds as a number, for example 60"
        yield Objection(Reason.INVALID_SPEC, words)


def _telemetry_params_are_of_a_device(spec: BenchmarkSpec) -> Iterator[Objection]:
    for key in sorted(spec.race.telemetry_params):
        if not key.startswith(tuple(f"{device}-" for device in spec.race.telemetry)):
            known = ", ".join(spec.race.telemetry) or "none"
            yield Objection(
                Reason.INVALID_SPEC,
                f"race.telemetryParams sets {key}, which is of no device in race.telemetry ({known}): name its device "
                "there, or remove it; parameters begin with their device's name, as node-stats-sample-interval",
            )


def _nothing_of_rally_over_http(spec: BenchmarkSpec) -> Iterator[Objection]:
    race = spec.race
    free = {
        "race.params": race.params, "race.clientOptions": race.client_options,
        "race.telemetryParams": race.telemetry_params, "racedAgain": spec.raced_again,
    }  # fmt: skip
    if spec.over_http and (written := [name for name, value in free.items() if value]):
        words = f"what means nothing with target.kind: http, so leave it out: {', '.join(written)}"
        yield Objection(Reason.INVALID_SPEC, words)


def _rates_are_those_of_the_steps(spec: BenchmarkSpec) -> Iterator[Objection]:
    race = spec.race
    field = "race.sweep" if race.sweep else "race.capacity" if race.capacity else ""
    if field and race.load and race.load.target_throughput is not None:
        words = (
            f"race.load.targetThroughput means nothing beside {field}, whose steps are sent as it says: leave it out"
        )
        yield Objection(Reason.INVALID_SPEC, words)


def _hosts_are_addresses(spec: BenchmarkSpec) -> Iterator[Objection]:
    target, store = spec.target, spec.race.metrics_store
    written = {"target": target.hosts if target else [], "race.metricsStore": store.hosts if store else []}
    for field, hosts in written.items():
        for host in hosts:
            address = host.partition("[")[2].partition("]")[0]
            if address and not _is_ipv6(address):
                words = f"{field}.hosts: {host} has no IPv6 address in its brackets; write one as http://[fd00::1]:9200"
                yield Objection(Reason.INVALID_SPEC, words)
    if target and spec.over_http and len({host.lower() for host in target.hosts}) < len(target.hosts):
        words = "target.hosts has a host twice: each gets the same share of the requests, so name it once"
        yield Objection(Reason.INVALID_SPEC, words)


def _names_and_addresses_are_not_mixed(spec: BenchmarkSpec) -> Iterator[Objection]:
    """Yield what Rally refuses when it has begun: it verifies the certificates of the one or of the other."""
    hosts = spec.target.hosts if spec.target and not spec.over_http else []
    names = [host.partition("://")[2].rpartition(":")[0] for host in hosts if host.startswith("https://")]
    if len({_IPV4.fullmatch(name) is None for name in names}) > 1:
        words = (
            "target.hosts has names and IP addresses, and Rally verifies the certificates of either alone: write a "
            "name for each host, or the address of each"
        )
        yield Objection(Reason.INVALID_SPEC, words)


def _is_ipv6(address: str) -> bool:
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return True


def _track_exists(spec: BenchmarkSpec, settings: Settings) -> Iterator[Objection]:
    name, challenge = spec.race.track.builtin if spec.race.track else None, spec.race.challenge
    if name is None:
        return
    if name not in settings.builtin_tracks:
        known = ", ".join(sorted(settings.builtin_tracks))
        yield Objection(
            Reason.UNKNOWN_TRACK, f"race.track.builtin {name} does not exist; the builtin tracks are: {known}"
        )
    elif challenge is not None and challenge not in settings.builtin_tracks[name]:
        known = ", ".join(settings.builtin_tracks[name])
        yield Objection(
            Reason.UNKNOWN_CHALLENGE, f"race.challenge {challenge} does not exist in track {name}; it has: {known}"
        )


CHECKS: tuple[SpecCheck, ...] = (
    _heap_fits_memory,
    _requests_within_limits,
    _scheduling_is_kubernetes,
    _config_leaves_eck_alone,
    _texts_are_seen,
    _index_settings_make_sense,
    _client_options_hold_no_credentials,
    _key_per_client_has_a_password,
    _timeout_is_a_number_of_seconds,
    _telemetry_params_are_of_a_device,
    _nothing_of_rally_over_http,
    _rates_are_those_of_the_steps,
    _hosts_are_addresses,
    _names_and_addresses_are_not_mixed,
)
"""All but those that ask what an installation has."""
