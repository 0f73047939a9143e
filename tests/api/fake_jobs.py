"""A stand-in for the Job controller and, inside its pods, for the runner: it counts every race that ever starts."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from fairlap_race.contract.config_maps import packed, progress_name
from fairlap_race.contract.recorded.record import LoadGeneratorHost, Progress, timestamp
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec, SpecError, parse_spec
from fairlap_race.contract.specification.turns import TurnsSpec

from .fake_eck import ENDINGS, Eck, running, unschedulable, waiting
from .fakes import BENCHMARK, STEP, UID, Run, World, create_pod, owned_by
from .records import hostile, record, resources
from .rest import Json, RestError
from .tools import patience

DEATHS = {"dies": (1, "Error"), "out-of-memory": (137, "OOMKilled"), "evicted": (137, "Evicted")}
TABLE = "10.0.0.7:9330"
"""where races that take turns meet"""


class Jobs:
    """Runs each Job once, from the moment it is not suspended."""

    def __init__(self, world: World, eck: Eck) -> None:
        self.world, self.eck = world, eck
        self._started: set[str] = set()
        self._gone: dict[str, asyncio.Event] = {}
        self._clusters_used: set[str] = set()

    def act(self, kind: str, job: Json) -> None:
        uid = job["metadata"]["uid"]
        if kind == "DELETED" or job["metadata"].get("deletionTimestamp"):
            self._gone.setdefault(uid, asyncio.Event()).set()
        elif not job["spec"].get("suspend") and uid not in self._started:
            self._started.add(uid)
            self._gone.setdefault(uid, asyncio.Event())
            self.world.spawn(self._run(job), f"run job {job['metadata']['name']}")

    async def _run(self, job: Json) -> None:
        world, meta = self.world, job["metadata"]
        labels = meta["labels"]
        run = Run(meta["namespace"], labels[UID], labels[STEP], meta["name"], meta["uid"])
        fault = world.of(job).race_fault(run.step)
        if fault == "unschedulable":  # its pod never begins
            if pod := await create_pod(world, job, "Job", _pod(job, "")):
                await self._pod(pod, unschedulable(pod))
            return
        if any((r.benchmark_uid, r.step) == (run.benchmark_uid, run.step) for r in world.runs):
            world.blame(job, f"step {run.step} runs a second time")
        world.runs.append(run)
        await self._set(job, {"active": 1, "startTime": _now(), "conditions": []})
        node = world.node(world.of(job), job["spec"]["template"])
        pod = await create_pod(world, job, "Job", _pod(job, node))
        if pod is None:
            return
        if fault == "image-pull":
            await self._pod(pod, waiting(pod, "ImagePullBackOff", "Back-off pulling image: not found"))
            return
        await self._pod(pod, running(pod))
        world.running.add(run)
        benchmark = await world.rest.get("benchmarks", run.namespace, labels[BENCHMARK])
        if in_turn := ((benchmark or {}).get("spec") or {}).get("inTurn"):
            world.blocks[run.benchmark_uid] = in_turn["block"]
        self._note_concurrency(run)
        try:
            ended = await self._play(job, pod, run, fault)
        finally:
            world.running.discard(run)
        if ended is not None and not self._gone[run.job_uid].is_set():
            await self._finish(job, pod, ended)

    def _note_concurrency(self, run: Run) -> None:
        world = self.world
        beside = [r for r in world.running if r.namespace == run.namespace and r.step != "check"]
        racing = {world.blocks.get(r.benchmark_uid, r.benchmark_uid) for r in beside}
        world.most_running[run.namespace] = max(world.most_running[run.namespace], len(racing))
        checks = sum(r.step == "check" for r in world.running if r.namespace == run.namespace)
        world.most_checks[run.namespace] = max(world.most_checks[run.namespace], checks)

    async def _play(self, job: Json, pod: Json, run: Run, fault: str) -> tuple[int, str] | None:
        """Return the container's exit code and reason, or None when it never ends."""
        world, started = self.world, time.time()
        spec = self._told(job)
        if spec is None:
            return 2, "Error"
        elasticsearch = await self._cluster(job, pod, spec)
        knobs = world.of(job)
        send = self._sender(job, pod, spec)
        met = spec.turns is None or await self._met(job, spec.turns, send)
        if fault == "hangs":
            await send({"progress": _progress("racing", 1)})
            await self._gone[run.job_uid].wait()
        if fault == "hangs" or self._gone[run.job_uid].is_set():
            return None
        if not met:
            return 1, "Error"
        for percent in (10, 60):
            if not await send({"progress": _progress("racing", percent)}):
                return 1, "Error"
            await self._rest(run, (knobs.run[0] / 2, knobs.run[1] / 2))
            if self._gone[run.job_uid].is_set():
                return None
            if percent == 10 and (harm := knobs.cluster_fault(run.step)) in ENDINGS:
                await self.eck.restart(run.namespace, run.name, *ENDINGS[harm])
            if percent == 10 and knobs.cluster_fault(run.step) == "evicted":
                await self.eck.evict(run.namespace, run.name)
        if fault in DEATHS:
            return DEATHS[fault]
        host = LoadGeneratorHost(pod["metadata"]["name"], pod["spec"]["nodeName"], spec.cores, 2.0, 2**31, "6.1.0")
        made = record(spec, elasticsearch, started, host, fault)
        text = made.to_json()
        texts = {"record.json": _told_as(fault, text)}
        if fault != "no-table":
            texts["resources.json"] = resources(made, fault).to_json()
        zipped = packed({**texts, "race.json": text, "rally.log": "INFO Rally ran\n"})
        written = await send({}, zipped, to=spec.record)
        # Without this word, what the operator sees is what a watch on ConfigMaps shows that has gone blind.
        said = fault == "silent" or await send({"progress": _progress("done", 100)})
        return (0, "Completed") if written and said else (1, "Error")

    async def _met(self, job: Json, turns: TurnsSpec, send: Callable[..., Awaitable[bool]]) -> bool:
        """Return when all races of a block that are raced in turn are there; False when they do not come."""
        gone, there = self._gone[job["metadata"]["uid"]], self.world.tables[turns.block]
        if turns.number == 0:
            await send({"progress": Progress(_now(), "preparing", meets_at=TABLE).to_json()})
        elif turns.at != TABLE:
            self.world.blame(job, f"it is to meet the others at {turns.at}")
        there.add(turns.number)
        end = time.monotonic() + patience(5)
        while len(there) < turns.races and not gone.is_set() and time.monotonic() < end:
            await self.world.pause((0.02, 0.05))
        return len(there) == turns.races

    def _told(self, job: Json) -> RaceSpec | None:
        (container,) = job["spec"]["template"]["spec"]["containers"]
        env = {entry["name"]: entry.get("value", "") for entry in container["env"]}
        if "secret-password" in json.dumps(job):
            self.world.blame(job, "the password is in the Job's specification")
        try:
            return parse_spec(env["FAIRLAP_RACE_SPEC"])
        except (KeyError, SpecError) as error:
            self.world.blame(job, f"the runner cannot read its specification: {error}")
            return None

    async def _cluster(self, job: Json, pod: Json, spec: RaceSpec) -> Json | None:
        """Return the cluster to race on after looking at everything that must be there before a race begins."""
        world, meta = self.world, job["metadata"]
        bench = await world.rest.get("benchmarks", meta["namespace"], meta["labels"][BENCHMARK])
        step = ((bench or {}).get("status") or {}).get("step") or {}
        same = bench is not None and bench["metadata"]["uid"] == meta["labels"][UID]
        if same and not self._gone[meta["uid"]].is_set() and step.get("jobUID") != meta["uid"]:
            world.blame(job, f"it runs, but the status says {step}")
        if spec.target:
            return await self._kept(job, spec.hosts)
        if spec.mode is Mode.CHECK:
            return None
        elasticsearch = await world.rest.get("elasticsearches", meta["namespace"], meta["name"])
        if elasticsearch is None or elasticsearch["metadata"]["uid"] not in world.ready:
            if await self._is_wanted(job):
                world.blame(job, "the race began before the cluster took requests")
            return elasticsearch
        if elasticsearch["metadata"]["uid"] in self._clusters_used:
            world.blame(job, "the cluster had been raced on before")
        self._clusters_used.add(elasticsearch["metadata"]["uid"])
        for volume in pod["spec"]["volumes"]:
            secret = volume.get("secret", {}).get("secretName")
            missing = secret and await world.rest.get("secrets", meta["namespace"], secret) is None
            if missing and await self._is_wanted(job):
                world.blame(job, f"the pod mounts a secret that is not there: {secret}")
        return elasticsearch

    async def _kept(self, job: Json, hosts: tuple[str, ...]) -> Json | None:
        """Return the cluster that a Benchmark has kept, which must be there, if it is one; None for any other."""
        space = job["metadata"]["namespace"]
        host = next((each for each in hosts if f"-es-http.{space}.svc" in each), "")
        if not host:
            return None
        name = host.removeprefix("https://").partition("-es-http.")[0]
        found = await self.world.rest.get("elasticsearches", space, name)
        ready = found is not None and found["metadata"]["uid"] in self.world.ready
        if not ready and await self._is_wanted(job):
            self.world.blame(job, f"it races on {name}, which is not there")
        return found

    async def _is_wanted(self, job: Json) -> bool:
        """Tell whether the Job is there to stay: deleted with its Benchmark, things go in any order."""
        meta, world = job["metadata"], self.world
        owner = await world.rest.get("benchmarks", meta["namespace"], meta["labels"][BENCHMARK])
        now = await world.rest.get("jobs", meta["namespace"], meta["name"])
        return all(
            found is not None and found["metadata"]["uid"] == uid and not found["metadata"].get("deletionTimestamp")
            for found, uid in ((owner, meta["labels"][UID]), (now, meta["uid"]))
        )

    def _sender(self, job: Json, pod: Json, spec: RaceSpec) -> Callable[..., Awaitable[bool]]:
        user = f"system:serviceaccount:{spec.namespace}:{pod['spec']['serviceAccountName']}"
        gone = self._gone[job["metadata"]["uid"]]

        async def send(data: dict[str, str], binary: dict[str, str] | None = None, to: str = "") -> bool:
            name = to or progress_name(spec.record)
            body: Json = {"data": data} | ({"binaryData": binary} if binary else {})
            end = time.monotonic() + patience(2)
            while True:
                if gone.is_set():
                    return False
                try:
                    await self.world.rest.patch("configmaps", spec.namespace, name, body, user=user)
                    return True
                except RestError as error:
                    if time.monotonic() > end:
                        self.world.blame(job, f"the runner may not write its record: {error}")
                        return False
                # The authorizer learns of a new RoleBinding by watching; the runner tries again, too.
                await asyncio.sleep(0.1)

        return send

    async def _rest(self, run: Run, span: tuple[float, float]) -> None:
        try:
            async with asyncio.timeout(self.world.dice.uniform(*span)):
                await self._gone[run.job_uid].wait()
        except TimeoutError:
            pass

    async def _finish(self, job: Json, pod: Json, ended: tuple[int, str]) -> None:
        code, reason = ended
        status = running(pod, ready=False)
        status["phase"] = "Succeeded" if code == 0 else "Failed"
        if reason == "Evicted":
            status |= {"reason": "Evicted", "message": "The node was low on resource: memory. "}
        for container in status["containerStatuses"]:
            container["state"] = {"terminated": {"exitCode": code, "reason": reason}}
            container["started"] = False
        await self._pod(pod, status)
        await self.world.pause((0.0, 0.1))
        if code == 0:
            conditions = _conditions("SuccessCriteriaMet", "Complete", reason="CompletionsReached")
            await self._set(job, {"active": 0, "succeeded": 1, "completionTime": _now(), "conditions": conditions})
        else:
            conditions = _conditions("FailureTarget", "Failed", reason="BackoffLimitExceeded")
            await self._set(job, {"active": 0, "failed": 1, "conditions": conditions})

    async def _set(self, job: Json, status: dict[str, Any]) -> None:
        meta = job["metadata"]
        await self.world.rest.patch("jobs", meta["namespace"], meta["name"], {"status": status}, "status")

    async def _pod(self, pod: Json, status: Json) -> None:
        meta = pod["metadata"]
        await self.world.rest.patch("pods", meta["namespace"], meta["name"], {"status": status}, "status")


def _told_as(fault: str, record: str) -> str:
    """Return what the pod writes as its record."""
    return {"garbage": "not JSON", "hostile": hostile(record)}.get(fault, record)


def _pod(job: Json, node: str) -> Json:
    meta, template = job["metadata"], job["spec"]["template"]
    return {
        "metadata": {
            "name": f"{meta['name']}-{meta['uid'][:5]}",
            "namespace": meta["namespace"],
            "labels": template["metadata"]["labels"],
            "ownerReferences": owned_by(job, "Job", "batch/v1"),
        },
        "spec": {**template["spec"], **({"nodeName": node} if node else {})},
    }


def _progress(stage: str, percent: int) -> str:
    now = timestamp(time.time())
    return Progress(now, stage, "bulk-index", percent, 3, 7, now).to_json()


def _conditions(*kinds: str, reason: str) -> list[Json]:
    now = _now()
    return [
        {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": now, "lastProbeTime": now}
        for kind in kinds
    ]


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
