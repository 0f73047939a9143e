"""What the operator reads from the API server about a Comparison."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from fairlap.api.base import Json
from fairlap.api.block_record import KEY_BLOCK, BlockRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import ComparisonStatus
from fairlap.api.names import COMPARISON_LABEL, KIND
from fairlap.comparison.numbers.block_pack import memory_of, unpack_block, without_curves
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.manifests.comparison import race_benchmark
from fairlap.plan.comparison.children import record_name
from fairlap.plan.comparison.comparison_seen import ComparisonSeen, ComparisonSubject, RaceToCreate, SeenRace
from fairlap.queue.turn import Turn
from fairlap.runtime.beside.races import seen_race
from fairlap.runtime.objects.ownership import is_controlled_by
from fairlap.runtime.objects.reads import find_run
from fairlap.settings import Settings
from fairlap_race.contract.untrusted import MAX_JSON_VALUES, unpacked, value_count

MOST_BLOCK_BYTES: Final = 16 << 20
"""of a block's record, unpacked"""
MOST_MEMORY: Final = 96 << 20
"""of all records that one Comparison is judged by: what races have written must not take all that the operator has"""


def build_comparison_seen(
    comparison: Mapping[str, Any], settings: Settings, now: datetime, known: ComparisonSubject | None = None
) -> ComparisonSeen:
    """Return what a decision may look at, before anything was fetched.

    `known`: what an earlier one looked at; its spec and variants are not made anew while its generation is the same.
    Raises pydantic.ValidationError when the spec is not one that this version of the operator can read.
    """
    meta = comparison["metadata"]
    same = known is not None and (known.uid, known.generation) == (meta["uid"], meta["generation"])
    status = ComparisonStatus.model_validate(comparison.get("status") or {})
    subject = (same and known) or ComparisonSubject(
        name=meta["name"],
        namespace=meta["namespace"],
        uid=meta["uid"],
        generation=meta["generation"],
        spec=ComparisonSpec.model_validate(comparison["spec"]),
        accepted=bool(status.variants),
    )
    return ComparisonSeen(subject=subject, status=status, settings=settings, now=now, turn=Turn(may_go=False))


async def try_variants(
    api_server: ApiServer,
    subject: ComparisonSubject,
    trials: Iterable[RaceToCreate],
    is_refusal: Callable[[ApiError], bool],
) -> dict[str, str]:
    """Return for each variant what the API server says of its Benchmark, "" when it would take it.

    `is_refusal`: whether an error is its last word. Raises ApiError for any other.
    """
    return {trial.variant: await _try_out(api_server, race_benchmark(subject, trial), is_refusal) for trial in trials}


async def _try_out(api_server: ApiServer, manifest: Json, is_refusal: Callable[[ApiError], bool]) -> str:
    try:
        await api_server.try_out(manifest)
    except ApiError as error:
        # A name that is taken is found last, after all else was right; whose it is, is seen when the race begins.
        if error.status == 409:
            return ""
        if is_refusal(error):
            return error.message
        raise
    return ""


async def read_races(api_server: ApiServer, seen: ComparisonSeen) -> dict[str, SeenRace]:
    """Return its Benchmarks by name as the API server has them now; of earlier blocks, what events told of them.

    Raises ApiError.
    """
    subject, block = seen.subject, seen.status.block
    current = {race.benchmark for race in block.races} if block else set()
    query = {"labelSelector": f"{COMPARISON_LABEL}={subject.name}"}
    listed = await api_server.list_metadata(KIND, [subject.namespace], query)
    uids = {each["metadata"]["name"]: each["metadata"]["uid"] for each in listed if is_controlled_by(each, subject)}
    found = {name: race for name, race in seen.races.items() if race.uid == uids.get(name) and name not in current}
    for name in sorted((uids.keys() | current) - found.keys()):
        there = await find_run(api_server, KIND, subject.namespace, name)
        if there is not None and is_controlled_by(there, subject):
            found[name] = seen_race(there)
    return found


async def read_blocks(api_server: ApiServer, seen: ComparisonSeen) -> dict[int, BlockRecord | None]:
    """Return the records of the blocks that count and of the current one, by number; None where there is none.

    They are without the curves that only reports show. Raises ApiError, and ValueError where they are too large
    together.
    """
    subject, status = seen.subject, seen.status
    names = {block.number: block.record for block in status.blocks if block.valid and block.record}
    if status.block is not None:
        number, attempt = status.block.number, status.block.attempt
        names[number] = status.block.record or record_name(subject.name, number, attempt)
    found, taken = dict[int, BlockRecord | None](), 0
    for number, name in names.items():
        block = await read_block(api_server, subject, name)
        found[number] = kept = without_curves(block) if block else None
        taken += memory_of(kept)
        if taken > MOST_MEMORY:
            raise ValueError(
                f"the records of its blocks take more than {MOST_MEMORY >> 20} MiB of memory together: compare fewer "
                "variants, or tasks"
            )
    return found


async def read_block(api_server: ApiServer, subject: ComparisonSubject, name: str) -> BlockRecord | None:
    """Return a block's record by its ConfigMap's name; None when it is not there or not the Comparison's own.

    Raises ApiError, and ValueError when there is one of its own that cannot be read: it is never written again.
    """
    there = await api_server.find("ConfigMap", subject.namespace, name)
    if there is None or not is_controlled_by(there, subject):
        return None
    packed = (there.get("binaryData") or {}).get(KEY_BLOCK)
    text = unpacked(packed, MOST_BLOCK_BYTES) if isinstance(packed, str) else None
    found = unpack_block(text) if text is not None and value_count(text) <= MAX_JSON_VALUES else None
    # Under its name stands what it says it is: another one would be written for ever and never found.
    if found is None or record_name(subject.name, found.number, found.attempt) != name:
        raise ValueError(f"the record of a block, ConfigMap {name}, cannot be read")
    return found
