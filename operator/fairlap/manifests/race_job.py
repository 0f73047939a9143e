"""The Job of a race, by Rally or over HTTP by k6, its permissions, and the record it writes."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairlap.api.base import Json
from fairlap.api.kinds import CONFIG_MAP, JOB, ROLE, ROLE_BINDING, SERVICE_ACCOUNT
from fairlap.api.load_spec import RequestLoad
from fairlap.api.names import (
    PART_LABEL,
    PART_PROGRESS,
    PART_RECORD,
    RACE_CONTAINER,
    ROLE_ELASTICSEARCH,
    ROLE_LOAD_GENERATOR,
    is_race,
)
from fairlap.api.quantity import parse_duration, parse_quantity
from fairlap.api.spec import BenchmarkSpec, Expect, Race, Resources, Target
from fairlap.manifests import metrics_store, target
from fairlap.manifests.affinity import anti_affinity, machines, node_affinity
from fairlap.manifests.elasticsearch import resource_requirements
from fairlap.manifests.http_load import http_spec
from fairlap.manifests.meta import in_turn_labels, labels, metadata
from fairlap.manifests.pod_parts import UNDISTURBED, pull_secrets
from fairlap.manifests.target import CA, CREDENTIALS
from fairlap.manifests.track_source import SAMPLES, Mounts, corpora_spec, requests_source, track_source
from fairlap.manifests.track_source import mounts as track_mounts
from fairlap.plan.basis.seen import Subject
from fairlap.plan.basis.steps import (
    CHECK,
    PROBE,
    SMOKE,
    account_name,
    builds_cluster,
    is_preparation,
    object_name,
    race_id,
)
from fairlap.plan.basis.sweep_plan import allowed_errors, steps_of_race
from fairlap.settings import Settings
from fairlap_race.contract.config_maps import progress_name
from fairlap_race.contract.index_settings import flatten
from fairlap_race.contract.recorded.record import KEY_PROGRESS
from fairlap_race.contract.request_files.probe import ProbeSpec
from fairlap_race.contract.specification.document_plan import ExpectedByUser
from fairlap_race.contract.specification.race_spec import POD_IP_VARIABLE, SPEC_VARIABLE, IndexSpec, Mode, RaceSpec
from fairlap_race.contract.specification.sweep import SweepSpec
from fairlap_race.contract.specification.turns import TurnsSpec

_UID = 1000
# A task may look idle this long (a force-merge reports no progress) before the race counts as standing still.
_STALL_SECONDS = 900
# Over HTTP one request may be waited for until it is given up, and sent long after the one before it.
_BEYOND_A_REQUEST = 60
# The runner ends a race by itself; the Job's own deadline is for a runner that cannot.
_JOB_GRACE_SECONDS = 300
# A race that takes turns waits so much longer for the others than their pods may wait for a machine.
_LATER_SECONDS = 300


def race_spec(subject: Subject, step: str, settings: Settings, commit: str = "") -> RaceSpec:
    """Return what the runner is to do: everything but secrets. `commit`: of the track, once it was checked."""
    spec = subject.spec
    race, index = spec.race, spec.index
    swept = steps_of_race(race, race_id(subject.namespace, subject.name, subject.uid, step))
    asked = RaceSpec(
        mode=Mode.RACE if is_race(step) else Mode(step),
        namespace=subject.namespace,
        record=object_name(subject.name, step),
        race_id=race_id(subject.namespace, subject.name, subject.uid, step),
        track=track_source(race.track, settings, commit),
        requests=requests_source(race.requests, commit),
        corpora=corpora_spec(race),
        offline=race.offline,
        challenge=race.challenge,
        params=race.params,
        include_tasks=tuple(race.include_tasks),
        exclude_tasks=tuple(race.exclude_tasks),
        require_tasks=tuple(race.require_tasks) if step == CHECK else (),
        raced_again=tuple(spec.raced_again or ()) if step == CHECK and not spec.target else (),
        expect=_expected(race.expect) if race.expect and step != SMOKE else None,
        probes=tuple(ProbeSpec(it.name, it.path, it.pointer, it.weight, it.part, it.rest) for it in race.probes),
        sweep=None if step in (PROBE, SMOKE) else swept,
        allowed_errors=allowed_errors(race) if is_race(step) else (race.allow.error_rate if race.allow else {}),
        client_options=race.client_options,
        telemetry=tuple(race.telemetry),
        telemetry_params=race.telemetry_params,
        down_sampling=race.down_sampling,
        user_tags=race.user_tags,
        index=IndexSpec(index.shards, index.replicas, index.codec, index.source_mode, flatten(index.settings))
        if index
        else IndexSpec(),
        cores=_worker_processes(race.resources),
        samples=SAMPLES if race.samples and is_race(step) else None,
        metrics_store=metrics_store.metrics_store_spec(race.metrics_store) if step != PROBE else None,
        most_warmup_seconds=parse_duration(race.steady.max_warmup).total_seconds()
        if race.steady and is_race(step)
        else None,
        turns=_turns(spec) if is_race(step) else None,
        canary_seconds=settings.canary_seconds,
        stall_seconds=_STALL_SECONDS,
        timeout_seconds=_timeout(subject, step),
    )
    if spec.target:
        found = target.with_target(asked, spec, spec.target, step)
        return _over_http(found, spec.target, race.load, race, swept) if race.load else found
    return _with_own_cluster(asked, subject) if builds_cluster(spec, step) else asked


def _over_http(asked: RaceSpec, target: Target, load: RequestLoad, race: Race, swept: SweepSpec | None) -> RaceSpec:
    """Return the specification with what k6 sends."""
    http = http_spec(target, load, swept, race.requests.hits if race.requests else None)
    stall = max(asked.stall_seconds, http.longest_silence + _BEYOND_A_REQUEST)
    return replace(asked, http=http, cores=None, stall_seconds=stall)


def _worker_processes(resources: Resources) -> int:
    """Return how many processes Rally sends from: one a processor of the limit, or of the request without a limit."""
    limit, request = (parse_quantity(of.cpu or "0") for of in (resources.limits, resources.requests))
    return max(1, math.floor(limit or request))


def _with_own_cluster(asked: RaceSpec, subject: Subject) -> RaceSpec:
    """Return the specification with the way to the cluster that is built for the step."""
    return replace(
        asked,
        hosts=(f"{asked.record}-es-http.{subject.namespace}.svc:9200",),
        tls=True,
        user="elastic",
        password_file=CREDENTIALS / "elastic",
        ca_file=CA / "ca.crt",
    )


def _expected(expect: Expect) -> ExpectedByUser:
    return ExpectedByUser(expect.documents, expect.total_documents)


def record(subject: Subject, step: str) -> Json:
    """Return the ConfigMap that the runner fills in the end; its label keeps it out of every watch."""
    meta = metadata(subject, step)
    return {
        "apiVersion": CONFIG_MAP.api_version,
        "kind": CONFIG_MAP.kind,
        "metadata": {**meta, "labels": {**meta["labels"], PART_LABEL: PART_RECORD}},
    }


def job(subject: Subject, step: str, settings: Settings, image: str | None = None, commit: str = "") -> Json:
    """Return the Job of one step, suspended: it is let run only after its uid was recorded.

    `image` stands for the race image where an older release of Rally is needed. `commit`: of the track, once checked.
    """
    pod = _pod(subject, step, settings, image or settings.race_image, commit)
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": metadata(subject, step),
        "spec": {
            "suspend": True,
            "backoffLimit": 0,
            "activeDeadlineSeconds": _job_seconds(subject, step),
            "template": {
                "metadata": {
                    "labels": {**labels(subject, step, ROLE_LOAD_GENERATOR), **in_turn_labels(subject, step)},
                    "annotations": dict(UNDISTURBED),
                },
                "spec": pod,
            },
        },
    }


def progress(subject: Subject, step: str, job_uid: str) -> Json:
    """Return the ConfigMap in which the runner tells how far it is; it belongs to the Job and vanishes with it."""
    meta = metadata(subject, step, _the_job(subject, step, job_uid))
    name, part = progress_name(meta["name"]), {**meta["labels"], PART_LABEL: PART_PROGRESS}
    return {
        "apiVersion": CONFIG_MAP.api_version,
        "kind": CONFIG_MAP.kind,
        "metadata": {**meta, "name": name, "labels": part},
        "data": {KEY_PROGRESS: ""},
    }


def _the_job(subject: Subject, step: str, uid: str) -> Json:
    name = object_name(subject.name, step)
    return {"apiVersion": JOB.api_version, "kind": JOB.kind, "name": name, "uid": uid, "controller": True}


def access(subject: Subject, step: str, job_uid: str) -> list[Json]:
    """Return the runner's ServiceAccount, Role and RoleBinding: read and patch its own two ConfigMaps, nothing else.

    They belong to the Job, so that they vanish with it. Their name is not the Job's: somebody could have taken that.
    """
    name, account = object_name(subject.name, step), account_name(subject.name, subject.uid, step)
    meta = {**metadata(subject, step, _the_job(subject, step, job_uid)), "name": account}
    own_maps = {"apiGroups": [CONFIG_MAP.group], "resources": [CONFIG_MAP.plural]}
    return [
        {
            "apiVersion": SERVICE_ACCOUNT.api_version,
            "kind": SERVICE_ACCOUNT.kind,
            "metadata": meta,
            "automountServiceAccountToken": False,
        },
        {
            "apiVersion": ROLE.api_version,
            "kind": ROLE.kind,
            "metadata": meta,
            "rules": [{**own_maps, "resourceNames": [name, progress_name(name)], "verbs": ["get", "patch"]}],
        },
        {
            "apiVersion": ROLE_BINDING.api_version,
            "kind": ROLE_BINDING.kind,
            "metadata": meta,
            "roleRef": {"apiGroup": ROLE.group, "kind": ROLE.kind, "name": account},
            "subjects": [{"kind": SERVICE_ACCOUNT.kind, "name": account, "namespace": subject.namespace}],
        },
    ]


def _turns(spec: BenchmarkSpec) -> TurnsSpec | None:
    if spec.in_turn is None:
        return None
    # The others' pods may get their machines as late as this one's did.
    wait = max(TurnsSpec.others_seconds, _seconds(spec.timeouts.provisioning) + _LATER_SECONDS)
    return TurnsSpec(**spec.in_turn.model_dump(exclude_none=True), others_seconds=wait)


def _timeout(subject: Subject, step: str) -> int:
    timeouts = subject.spec.timeouts
    return _seconds(timeouts.provisioning if is_preparation(step) else timeouts.race)


def _job_seconds(subject: Subject, step: str) -> int:
    # They count from before the pod has a machine, for which there is timeouts.provisioning.
    return _seconds(subject.spec.timeouts.provisioning) + _timeout(subject, step) + _JOB_GRACE_SECONDS


def _seconds(duration: str) -> int:
    return int(parse_duration(duration).total_seconds())


def _pod(subject: Subject, step: str, settings: Settings, image: str, commit: str) -> Json:
    scheduling, mounted = subject.spec.race.scheduling, _mounts(subject, step)
    told = race_spec(subject, step, settings, commit)
    return {
        "restartPolicy": "Never",
        "serviceAccountName": account_name(subject.name, subject.uid, step),
        "automountServiceAccountToken": True,
        "terminationGracePeriodSeconds": 60,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True, "runAsUser": _UID, "runAsGroup": _UID, "fsGroup": _UID,
            # Else the kubelet changes the group of every file of a volume of corpora, however many there are.
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": {**anti_affinity(subject, (ROLE_ELASTICSEARCH,)), **node_affinity(scheduling)},
        "containers": [{**_container(subject, step, settings, image, told), "volumeMounts": mounted.mounts}],
        "volumes": mounted.volumes,
        **pull_secrets(subject.spec, settings),
        **machines(scheduling),
    }  # fmt: skip


def _container(subject: Subject, step: str, settings: Settings, image: str, told: RaceSpec) -> Json:
    """Return the pod's one container, without what it has mounted; `told`: what the runner in it is to do."""
    return {
        "name": RACE_CONTAINER,
        "image": image,
        "imagePullPolicy": settings.race_image_pull_policy,
        "command": ["python", "-m", "fairlap_race"],
        "env": [
            {"name": SPEC_VARIABLE, "value": told.to_json()},
            _downward("POD_NAME", "metadata.name"),
            _downward("NODE_NAME", "spec.nodeName"),
            *([_downward(POD_IP_VARIABLE, "status.podIP")] if in_turn_labels(subject, step) else ()),
        ],
        "resources": resource_requirements(subject.spec.race.resources),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def _mounts(subject: Subject, step: str) -> Mounts:
    """Return all volumes of the pod, and where its container has them."""
    secrets, of_track = _secrets(subject, step), track_mounts(subject.spec.race)
    return Mounts(
        [
            {"name": "work", "emptyDir": {}},
            {"name": "tmp", "emptyDir": {}},
            *(volume for volume, _ in secrets),
            *of_track.volumes,
        ],
        [
            {"name": "work", "mountPath": "/work"},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108
            *(_read_only(volume["name"], path) for volume, path in secrets),
            *of_track.mounts,
        ],
    )


def _secrets(subject: Subject, step: str) -> list[tuple[Json, Path]]:
    """Return the volumes of Secrets with the paths they are mounted at: of what is raced, then of the metrics store."""
    spec, name = subject.spec, object_name(subject.name, step)
    found: list[tuple[Json, Path]] = []
    if spec.target:
        found = target.volumes(spec.target)
    elif builds_cluster(spec, step):
        credentials = {"secretName": f"{name}-es-elastic-user", "items": [{"key": "elastic", "path": "elastic"}]}
        ca = {"secretName": f"{name}-es-http-certs-public", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
        found = [
            ({"name": "credentials", "secret": {**credentials, "defaultMode": 0o440}}, CREDENTIALS),
            ({"name": "ca", "secret": ca}, CA),
        ]
    return [*found, *metrics_store.volumes(spec.race.metrics_store)]


def _read_only(volume: str, path: Path) -> Json:
    return {"name": volume, "mountPath": str(path), "readOnly": True}


def _downward(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
