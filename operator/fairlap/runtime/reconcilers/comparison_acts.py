"""Carry out what a decision about a Comparison asks for. Every act can be repeated: names are fixed."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from fairlap.api.base import Json
from fairlap.api.block_record import BlockRecord, RaceRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import PREPARATION, RaceOfBlock
from fairlap.api.names import KIND, MANAGED_BY, MANAGER, NOISE_CONFIG_MAP
from fairlap.comparison.facts.disturbed_race import with_slower_machines
from fairlap.comparison.numbers.block_pack import pack_block
from fairlap.comparison.terms.block_reason import BlockReason
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.manifests.comparison import block_record, noise_config_map, race_benchmark
from fairlap.plan.comparison.block_race import benchmark_of
from fairlap.plan.comparison.comparison_seen import ComparisonSeen, ComparisonSubject, RaceToCreate
from fairlap.runtime.objects.ownership import is_controlled_by, owner_uid
from fairlap.runtime.objects.reads import find_run
from fairlap.runtime.objects.writes import create_child, create_if_free

log = logging.getLogger(__name__)
_TRIES: Final = 5
_LEARN_SECONDS: Final = 60.0
"""while others wait for the room that its records take"""
OfBenchmark = tuple[Json, Json | None]
"""a Benchmark that is over, and the ConfigMap with its race's record"""
RecordRace = Callable[[OfBenchmark, OfBenchmark | None, str, ComparisonSpec], RaceRecord]
"""from a race, the one that has built the cluster it ran on (None: itself), the variant's name, and the Comparison's
spec to what is kept"""
Learn = Callable[[Json, ComparisonSeen], Json | None]
"""from the data of what was learnt so far and a Comparison to the new data; None when there is nothing to add"""


async def create_race(api_server: ApiServer, subject: ComparisonSubject, race: RaceToCreate) -> str:
    """Create the Benchmark of a race; its own that exists already is a success.

    Returns a sentence when something that is not of this Comparison has the name, else "". Raises ApiError.
    """
    return await create_child(api_server, race_benchmark(subject, race))


async def packed_block(api_server: ApiServer, seen: ComparisonSeen, name: str, record_race: RecordRace) -> Json | None:
    """Return the ConfigMap to create in which the current block is kept, packed.

    None where it is kept already: that stays as it is. Raises ApiError.
    """
    subject, block = seen.subject, seen.status.block
    if block is None:
        return None
    there = await api_server.find("ConfigMap", subject.namespace, name)
    if there is not None and is_controlled_by(there, subject):
        return None
    races = [await _raced(api_server, seen, race, record_race) for race in block.races]
    kept = BlockRecord(number=block.number, attempt=block.attempt, races=with_slower_machines(races))
    return block_record(subject, name, block.number, pack_block(kept))


async def _raced(api_server: ApiServer, seen: ComparisonSeen, race: RaceOfBlock, record_race: RecordRace) -> RaceRecord:
    subject = seen.subject
    there = await find_run(api_server, KIND, subject.namespace, race.benchmark)
    said: Json = {"variant": race.variant, "benchmark": race.benchmark, "uid": race.uid}
    if race.valid is False:
        said |= {"valid": False, "reason": race.reason, "message": race.message}
    if there is None or not is_controlled_by(there, subject) or there["metadata"]["uid"] != race.uid:
        gone = {"valid": False, "reason": race.reason or BlockReason.RACE_DELETED}
        return RaceRecord.model_validate({**said, **gone, "seconds": race.seconds})
    builder = await _builder(api_server, seen, race)
    if builder is None and seen.subject.spec.design.keeps_clusters:
        text = "the Benchmark that has built its cluster was deleted, so nothing is known of that"
        gone = {"valid": False, "reason": BlockReason.CLUSTER_RESTARTED, "message": text}
        return RaceRecord.model_validate({**said, **gone})
    raced = there, await _record_of(api_server, there)
    found = await asyncio.to_thread(record_race, raced, builder, race.variant, subject.spec)  # it may be large
    return found.model_copy(update=said)


async def _builder(api_server: ApiServer, seen: ComparisonSeen, race: RaceOfBlock) -> OfBenchmark | None:
    """Return the Benchmark that has built the kept cluster of a race; None where each race builds its own."""
    if not seen.subject.spec.design.keeps_clusters:
        return None
    name = benchmark_of(seen.status, race, range(PREPARATION, PREPARATION + 1))
    there = await find_run(api_server, KIND, seen.subject.namespace, name) if name else None
    if there is None or not is_controlled_by(there, seen.subject):
        return None
    return there, await _record_of(api_server, there)


async def _record_of(api_server: ApiServer, benchmark: Json) -> Json | None:
    """Return the ConfigMap of a Benchmark's last race, if it is its own."""
    meta, races = benchmark["metadata"], (benchmark.get("status") or {}).get("races") or ()
    name = next((race["record"] for race in reversed(races) if race.get("record")), "")
    found = await api_server.find("ConfigMap", meta["namespace"], name) if name else None
    return found if found and owner_uid(found) == meta["uid"] else None


async def learn(api_server: ApiServer, seen: ComparisonSeen, learnt: Learn) -> None:
    """Add what a Comparison has shown of noise to what is known in its namespace.

    Nothing depends on it but how soon later ones are sure: what the API server refuses is logged and left.
    """
    namespace = seen.subject.namespace
    try:
        async with asyncio.timeout(_LEARN_SECONDS):
            for _ in range(_TRIES):
                there = await api_server.find("ConfigMap", namespace, NOISE_CONFIG_MAP)
                if there is not None and (there["metadata"].get("labels") or {}).get(MANAGED_BY) != MANAGER:
                    log.warning("ConfigMap %s/%s is not ours: noise is not kept there", namespace, NOISE_CONFIG_MAP)
                    return
                # In a thread, as the verdict: of many numbers it takes seconds.
                data = await asyncio.to_thread(learnt, (there or {}).get("data") or {}, seen)
                if data is None or await _keep(api_server, namespace, there, data):
                    return
    except (ApiError, TimeoutError) as error:
        log.warning("what %s/%s has shown of noise was not kept: %r", namespace, seen.subject.name, error)


async def _keep(api_server: ApiServer, namespace: str, there: Json | None, data: Json) -> bool:
    """Write what is known; return False when another one has written meanwhile."""
    if there is None:
        return await create_if_free(api_server, noise_config_map(namespace, NOISE_CONFIG_MAP, data)) is not None
    body = {"metadata": {"resourceVersion": there["metadata"]["resourceVersion"]}, "data": data}
    try:
        await api_server.patch("ConfigMap", namespace, NOISE_CONFIG_MAP, body)
    except ApiError as error:
        if error.status == 409:
            return False
        raise
    return True
