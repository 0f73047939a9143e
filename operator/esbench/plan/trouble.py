"""What keeps a step's pods from running, read from Kubernetes' own words."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from esbench_race.reasons import Reason

from ..api.base import Json
from ..api.names import ROLE_LABEL, ROLE_LOAD_GENERATOR
from ..api.spec import BenchmarkSpec
from .seen import LogOf

_PULLING = {"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "RegistryUnavailable"}
_HOPELESS_PULL = {"InvalidImageName", "ErrImageNeverPull"}
_MISCONFIGURED = {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}


class Trouble(NamedTuple):
    """Something that stands in the way, whether waiting may still help, and the log that tells more."""

    reason: Reason
    message: str
    final: bool
    """True when no waiting can help"""
    log: LogOf | None = None


def load_generators(pods: Iterable[Json]) -> list[Json]:
    """Return the pods that Rally runs in."""
    return [p for p in pods if p["metadata"].get("labels", {}).get(ROLE_LABEL) == ROLE_LOAD_GENERATOR]


def elasticsearch_pods(pods: Iterable[Json]) -> list[Json]:
    """Return the Elasticsearch pods, by name."""
    others = (p for p in pods if p["metadata"].get("labels", {}).get(ROLE_LABEL) != ROLE_LOAD_GENERATOR)
    return sorted(others, key=lambda p: str(p["metadata"]["name"]))


def is_ready(pod: Json) -> bool:
    """Return whether a pod is Ready and not on its way out."""
    conditions = pod.get("status", {}).get("conditions", ())
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready and not pod["metadata"].get("deletionTimestamp")


def is_running(pod: Json) -> bool:
    """Return whether the pod's containers have been started at least once."""
    return any(
        "running" in c.get("state", {}) or "terminated" in c.get("state", {})
        for c in pod.get("status", {}).get("containerStatuses", ())
    )


def troubles(pods: Iterable[Json]) -> list[Trouble]:
    """Return what keeps these pods from running, the clearest first."""
    found = [trouble for pod in pods for trouble in _of_pod(pod)]
    return sorted(found, key=lambda trouble: not trouble.final)


def explained(trouble: Trouble | None, spec: BenchmarkSpec) -> Trouble | None:
    """Return the trouble with what the spec has to do with it, where that is not plain from Kubernetes' words."""
    built = spec.elasticsearch
    scheduling = built.scheduling if built else None
    if trouble is None or trouble.reason != Reason.UNSCHEDULABLE or not (scheduling and scheduling.exclusive_nodes):
        return trouble
    nodes = built.nodes if built else 0
    return trouble._replace(
        message=f"{trouble.message}; elasticsearch.scheduling.exclusiveNodes asks for {nodes} machine(s) without any "
        "other pod of a Benchmark, and one more for the load generator"
    )


def _of_pod(pod: Json) -> Iterator[Trouble]:
    name, status = pod["metadata"]["name"], pod.get("status", {})
    for condition in status.get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            yield Trouble(Reason.UNSCHEDULABLE, f"pod {name}: {condition.get('message', 'not scheduled')}", final=False)
    for container in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
        yield from _of_container(name, container)


def _of_container(pod: str, container: Json) -> Iterator[Trouble]:
    waiting = container.get("state", {}).get("waiting") or {}
    reason, where = waiting.get("reason", ""), f"pod {pod}, container {container['name']}"
    if reason in _PULLING:
        message = f"{where}: image {container.get('image', '')}: {waiting.get('message') or reason}"
        yield Trouble(Reason.IMAGE_PULL, message, final=reason in _HOPELESS_PULL)
    elif reason in _MISCONFIGURED:
        message = f"{where}: {waiting.get('message') or reason}"
        yield Trouble(Reason.ELASTICSEARCH_BOOTSTRAP, message, final=False)
    elif container.get("restartCount", 0) >= 2 or reason == "CrashLoopBackOff":
        ended = (container.get("lastState", {}).get("terminated") or {}) | {}
        how = f"{ended.get('reason', 'ended')} (exit code {ended.get('exitCode', '?')})"
        log = LogOf(
            pod, container["name"], previous="waiting" in container.get("state", {}) or "running" in container["state"]
        )
        yield Trouble(
            Reason.ELASTICSEARCH_BOOTSTRAP,
            f"{where}: {how}, started {container.get('restartCount', 0) + 1} times",
            final=container.get("restartCount", 0) >= 2,
            log=log,
        )


def restarted(pods: Iterable[Json]) -> list[str]:
    """Return a sentence for each Elasticsearch container that was started more than once."""
    sentences = []
    for pod in elasticsearch_pods(pods):
        for container in pod.get("status", {}).get("containerStatuses", ()):
            if container.get("restartCount", 0) > 0:
                ended = container.get("lastState", {}).get("terminated") or {}
                why = f"{ended.get('reason', 'unknown reason')}, exit code {ended.get('exitCode', '?')}"
                sentences.append(f"pod {pod['metadata']['name']} restarted ({why})")
    return sentences


def ending(pods: Sequence[Json]) -> tuple[Reason, str, LogOf | None]:
    """Return why a load generator's pod ended without a record: reason, sentence, and the log that tells more."""
    for pod in load_generators(pods):
        name, status = pod["metadata"]["name"], pod.get("status", {})
        if status.get("reason") == "Evicted":
            return Reason.JOB_LOST, f"pod {name} was evicted: {status.get('message', '')}", None
        for container in status.get("containerStatuses", ()):
            ended = container.get("state", {}).get("terminated")
            if not ended:
                continue
            log = LogOf(name, container["name"], previous=False)
            if ended.get("reason") == "OOMKilled" or ended.get("exitCode") == 137:
                sentence = f"pod {name}: {ended.get('reason', 'killed')} (exit code {ended.get('exitCode')})"
                return Reason.LOAD_GENERATOR_OUT_OF_MEMORY, sentence, log
            return Reason.RECORD_MISSING, f"pod {name} ended with exit code {ended.get('exitCode')}", log
    return Reason.JOB_LOST, "the race's Job ended and its pod is gone", None
