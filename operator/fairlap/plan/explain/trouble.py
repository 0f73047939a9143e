"""What keeps a step's pods from running, read from Kubernetes' own words."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from fairlap.api.base import Json
from fairlap.api.names import ROLE_LABEL, ROLE_LOAD_GENERATOR
from fairlap.plan.basis.conditions import moment
from fairlap.plan.basis.seen import LogOf, Seen
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.some_of import some_of
from fairlap_race.contract.untrusted import parse_time

_LACKS_CPU = "Insufficient cpu"  # the scheduler's words for machines whose processors are all asked for
_LOST_CLAIM = re.compile(r'persistentvolumeclaim "[^"]*" not found')  # the scheduler's words, too
_PULLING = {"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "RegistryUnavailable"}
_HOPELESS_PULL = {"InvalidImageName", "ErrImageNeverPull"}
_JAVA_HEAP_EXHAUSTED = 3  # the JVM's own code under -XX:+ExitOnOutOfMemoryError, which Elasticsearch sets
_KILLED = 137  # by SIGKILL
_REPLACED_AFTER = timedelta(seconds=5)  # ECK makes all pods of a cluster at once, a second or two after it
_MISCONFIGURED = {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
_OF_PROCESSORS = {"SMTAlignmentError", "TopologyAffinityError"}
_REFUSED = {*_OF_PROCESSORS, "UnexpectedAdmissionError"}  # by a kubelet, not the scheduler
_WHOLE_CORES = (
    "it gives whole cores only: write as many CPUs in its resources.limits.cpu as some cores have threads, say 2"
)


class Trouble(NamedTuple):
    """Something that stands in the way, whether waiting may still help, and the log that tells more."""

    reason: Reason
    message: str
    final: bool
    """True when no waiting can help"""
    log: LogOf | None = None
    lacks_cpu: str = ""
    """What the scheduler or a kubelet said, with the pod, where it found too few processors; "" where others lack."""
    since: datetime | None = None
    """since when the container in trouble could be started; None where that is not known"""


def load_generators(pods: Iterable[Json]) -> list[Json]:
    """Return the pods that Rally runs in."""
    return [p for p in pods if p["metadata"].get("labels", {}).get(ROLE_LABEL) == ROLE_LOAD_GENERATOR]


def elasticsearch_pods(pods: Iterable[Json]) -> list[Json]:
    """Return the Elasticsearch pods, by name."""
    others = (p for p in pods if p["metadata"].get("labels", {}).get(ROLE_LABEL) != ROLE_LOAD_GENERATOR)
    return sorted(others, key=lambda p: str(p["metadata"]["name"]))


def machines_of(pods: Iterable[Json]) -> list[str]:
    """Return the names of the machines that the pods are on, each once."""
    return sorted({str(pod["spec"]["nodeName"]) for pod in pods if pod.get("spec", {}).get("nodeName")})


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


def running_log(pods: Iterable[Json]) -> LogOf | None:
    """Return the log of a container that runs in one of these pods, of one that is not ready if there is any."""
    found = [
        (bool(container.get("ready")), LogOf(pod["metadata"]["name"], container["name"], previous=False))
        for pod in pods
        for key in ("containerStatuses", "initContainerStatuses")
        for container in pod.get("status", {}).get(key, ())
        if "running" in container.get("state", {})
    ]
    return min(found, key=lambda entry: entry[0])[1] if found else None


def find_troubles(pods: Iterable[Json]) -> list[Trouble]:
    """Return what keeps these pods from running, the clearest first."""
    found = [trouble for pod in pods for trouble in _of_pod(pod)]
    return sorted(found, key=lambda trouble: not trouble.final)


def explain_unschedulable(trouble: Trouble | None, seen: Seen) -> Trouble | None:
    """Return the trouble with what else has to do with it, where that is not plain from Kubernetes' words."""
    if trouble is None or trouble.reason != Reason.UNSCHEDULABLE:
        return trouble
    built, words = seen.subject.spec.elasticsearch, [trouble.message]
    if seen.status.lacking_memory:
        words.append(seen.status.lacking_memory)
    if built and built.scheduling and built.scheduling.exclusive_nodes:
        words.append(
            f"elasticsearch.scheduling.exclusiveNodes asks for {built.nodes} machine(s) without any other pod of a "
            "Benchmark, and one more for the load generator"
        )
    if allowed := _allowed_machines(seen):
        words.append(allowed)
    if trouble.lacks_cpu and seen.status.node_processors and seen.status.node_processors.whole:
        words.append(
            "a whole processor for each node of Elasticsearch is asked for, since none is named: write "
            "elasticsearch.resources.requests.cpu, for example 500m, to share them"
        )
    if seen.kept:
        first, *more = sorted(seen.kept.values())
        named = f"{first} and {len(more)} more" if more else first
        words.append(
            f"no race is placed beside a kept cluster: there is that of {named}, until its keepClusterFor is over or "
            "the Benchmark is deleted"
        )
    if seen.status.gave_way:
        words.append(f"it has given its place up to others {seen.status.gave_way} time(s) and lined up again")
    return trouble._replace(message="; ".join(words))


def _allowed_machines(seen: Seen) -> str:
    """Return which machines the spec leaves to the pods that are waited for now, as a sentence, or ""."""
    spec, step = seen.subject.spec, seen.status.step
    field, scheduling = "race", spec.race.scheduling
    if step and step.stage == "Provisioning" and spec.elasticsearch:
        field, scheduling = "elasticsearch", spec.elasticsearch.scheduling
    if scheduling is None or not scheduling.machines:
        return ""
    return f"{field}.scheduling.machines allows {some_of(scheduling.machines, 5)} alone"


def _of_pod(pod: Json) -> Iterator[Trouble]:
    name, status = pod["metadata"]["name"], pod.get("status", {})
    if status.get("reason") == "Evicted":
        yield Trouble(Reason.EVICTED, describe_eviction(name, status.get("message", "")), final=True)
    if status.get("reason") in _REFUSED:
        cure = f"; {_WHOLE_CORES}" if status["reason"] == "SMTAlignmentError" else ""
        message = f"pod {name}: its machine refused it: {status['reason']}: {status.get('message', '')}{cure}"
        # A kubelet that has room for a pod, and not for whole processors of its own.
        of_cpu = status["reason"] in _OF_PROCESSORS or "cpu" in str(status.get("message", "")).lower()
        yield Trouble(Reason.UNSCHEDULABLE, message, final=False, lacks_cpu=message if of_cpu else "")
    for condition in status.get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            yield _unscheduled(name, str(condition.get("message", "not scheduled")))
    for container in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
        yield from (trouble._replace(since=_could_start(status)) for trouble in _of_container(name, container))


def _could_start(status: Json) -> datetime | None:
    """Return when the pod had its machine, or its last init container ended: who waits now comes after that."""
    placed = [c.get("lastTransitionTime") for c in status.get("conditions", ()) if c["type"] == "PodScheduled"]
    ended = [c.get("state", {}).get("terminated") or {} for c in status.get("initContainerStatuses", ())]
    times = (parse_time(at) for at in (*placed, *(state.get("finishedAt") for state in ended)))
    return max((at for at in times if at is not None), default=None)


def _unscheduled(pod: str, words: str) -> Trouble:
    """Return why a pod has no machine; the one place that reads the scheduler's `words`."""
    message, lost = f"pod {pod}: {words}", _LOST_CLAIM.search(words)
    reason = Reason.VOLUME_CLAIM_MISSING if lost else Reason.UNSCHEDULABLE
    return Trouble(reason, message, final=False, lacks_cpu=message if _LACKS_CPU in words else "")


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
        ended = container.get("lastState", {}).get("terminated") or {}
        if sentence := describe_memory_end(pod, container) or _describe_kill(pod, container["name"], ended):
            yield Trouble(Reason.OUT_OF_MEMORY, sentence, final=container.get("restartCount", 0) >= 2)
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


def describe_eviction(pod: str, words: str) -> str:
    """Return the sentence for a pod that was evicted."""
    return f"pod {pod} was evicted: {words.strip().rstrip('.')}"


def describe_memory_end(pod: str, container: Json) -> str:
    """Return a sentence when an Elasticsearch container ended for lack of memory, else ""."""
    for state in (container.get("state", {}), container.get("lastState", {})):
        ended = state.get("terminated") or {}
        how = f"({ended.get('reason', 'ended')}, exit code {ended.get('exitCode', '?')})"
        if ended.get("reason") == "OOMKilled":
            return f"pod {pod}: Elasticsearch was killed for lack of memory {how}: its container's limit is too low"
        if ended.get("exitCode") == _JAVA_HEAP_EXHAUSTED:
            return f"pod {pod}: Elasticsearch ended for lack of memory {how}: its Java heap is too small"
    return ""


def _describe_kill(pod: str, container: str, ended: Json) -> str:
    """Return a sentence when an Elasticsearch that cannot start was killed, else "": nobody else kills it there.

    containerd tells of the kernel's kill and of the container's end apart, and the kubelet may see only the latter.
    """
    if container != "elasticsearch" or ended.get("exitCode") != _KILLED:
        return ""
    how = f"({ended.get('reason', 'ended')}, exit code {_KILLED})"
    cause = "most likely for lack of memory: its container's limit is too low"
    return f"pod {pod}: Elasticsearch was killed {how}, {cause}"


def was_replaced(elasticsearch: Json | None, pods: Iterable[Json]) -> bool:
    """Return whether an Elasticsearch pod is younger than its cluster: an earlier one may have been evicted.

    A replacement shows only in Kubernetes' events, since it takes the place of the evicted pod at once.
    """
    created = (elasticsearch or {"metadata": {}})["metadata"].get("creationTimestamp")
    if not created:
        return False
    ages = (pod["metadata"].get("creationTimestamp") for pod in elasticsearch_pods(pods))
    return any(age and moment(age) - moment(created) > _REPLACED_AFTER for age in ages)


def find_mishaps(pods: Sequence[Json], evictions: Mapping[str, str]) -> list[Trouble]:
    """Return what ended an Elasticsearch pod or container during a race, the clearest first.

    `evictions`: Kubernetes' words for pods that were evicted, by name, the replaced ones included. A container that
    ended for the last time before there was a load generator started hard, which is no mishap of the race.
    """
    began = _race_began(pods)
    found = [
        Trouble(Reason.EVICTED, describe_eviction(name, words), final=True) for name, words in sorted(evictions.items())
    ]
    for pod in elasticsearch_pods(pods):
        name, status = pod["metadata"]["name"], pod.get("status", {})
        if status.get("reason") == "Evicted" and name not in evictions:
            found.append(Trouble(Reason.EVICTED, describe_eviction(name, status.get("message", "")), final=True))
        for container in status.get("containerStatuses", ()):
            if _ended_before(container, began):
                continue
            if sentence := describe_memory_end(name, container):
                found.append(Trouble(Reason.OUT_OF_MEMORY, sentence, final=True))
            elif container.get("restartCount", 0) > 0:
                ended = container.get("lastState", {}).get("terminated") or {}
                why = f"{ended.get('reason', 'unknown reason')}, exit code {ended.get('exitCode', '?')}"
                found.append(Trouble(Reason.ELASTICSEARCH_RESTARTED, f"pod {name} restarted ({why})", final=True))
    order = (Reason.EVICTED, Reason.OUT_OF_MEMORY, Reason.ELASTICSEARCH_RESTARTED)
    return sorted(found, key=lambda trouble: order.index(trouble.reason))


def _race_began(pods: Iterable[Json]) -> datetime | None:
    """Return when the load generator was made, which is done once the cluster is ready; None without one."""
    created = (parse_time(pod["metadata"].get("creationTimestamp")) for pod in load_generators(pods))
    return min((at for at in created if at is not None), default=None)


def _ended_before(container: Json, began: datetime | None) -> bool:
    """Return whether a container that runs now ended for the last time before the race."""
    ended = (container.get("lastState", {}).get("terminated") or {}).get("finishedAt")
    runs, at = "running" in container.get("state", {}), parse_time(ended)
    return runs and began is not None and at is not None and at < began


def find_ending(pods: Sequence[Json]) -> tuple[Reason, str, LogOf | None]:
    """Return why a load generator's pod ended without a record: reason, sentence, and the log that tells more."""
    for pod in load_generators(pods):
        name, status = pod["metadata"]["name"], pod.get("status", {})
        if status.get("reason") == "Evicted":
            return Reason.EVICTED, describe_eviction(name, status.get("message", "")), None
        for container in status.get("containerStatuses", ()):
            ended = container.get("state", {}).get("terminated")
            if not ended:
                continue
            log = LogOf(name, container["name"], previous=False)
            if ended.get("reason") == "OOMKilled" or ended.get("exitCode") == _KILLED:
                sentence = f"pod {name}: {ended.get('reason', 'killed')} (exit code {ended.get('exitCode')})"
                return Reason.LOAD_GENERATOR_OUT_OF_MEMORY, sentence, log
            return Reason.RECORD_MISSING, f"pod {name} ended with exit code {ended.get('exitCode')}", log
        if status.get("phase") == "Failed" and status.get("reason"):  # none was started: its machine did not take it
            said = ": ".join(filter(None, (status["reason"], status.get("message"))))
            return Reason.UNSCHEDULABLE, f"pod {name}: {said}", None
    return Reason.JOB_LOST, "the race's Job ended and its pod is gone", None
