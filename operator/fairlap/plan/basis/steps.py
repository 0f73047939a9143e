"""The steps of a Benchmark: probe, check, smoke, race-1 … race-N, and the names that follow from them."""

import hashlib
from typing import NamedTuple

from fairlap.api.names import CHECK_STEP, is_race
from fairlap.api.spec import BenchmarkSpec, Race

PROBE = "probe"
CHECK = CHECK_STEP
SMOKE = "smoke"
_BEFORE_RACES = (PROBE, CHECK, SMOKE)


def steps(spec: BenchmarkSpec) -> tuple[str, ...]:
    """Return the names of all steps in order."""
    races = tuple(f"race-{number}" for number in range(1, spec.repetitions + 1))
    first = (PROBE,) if spec.target and not spec.over_http else ()
    return (*first, *((CHECK,) if needs_check(spec) else ()), *((SMOKE,) if spec.smoke_test else ()), *races)


def needs_check(spec: BenchmarkSpec) -> bool:
    """Return whether the track must be rendered first: a builtin one as it is was rendered when it was released.

    On an existing cluster it always is: what the track will create and delete there is said before it begins. So it is
    in a rehearsal without a smoke test, which would do nothing else.
    """
    race = spec.race
    filtered = bool(race.include_tasks or race.exclude_tasks or race.require_tasks)
    # Of a metrics store the check is that it answers, and takes documents.
    told = any(it is not None for it in (race.requests, race.allow, race.sweep, race.capacity, race.metrics_store))
    asked = filtered or told or bool(race.params)
    nothing_else = not (spec.repetitions or spec.smoke_test)
    return spec.target is not None or race.track is None or race.track.builtin is None or asked or nothing_else


def track_words(race: Race) -> str:
    """Return the name of the track for people, wherever it comes from; without one that of the file of requests."""
    track = race.track
    if track is None:
        return race.requests.file if race.requests else ""
    if track.config_map:
        return f"configMap {track.config_map.name}"
    if track.volume:
        return "/".join(part for part in (f"volume {track.volume.claim_name}", track.volume.path) if part)
    if track.git:
        return track.git.path or track.git.url.rstrip("/").rpartition("/")[2].removesuffix(".git")
    return track.builtin or track.name or ""


class ConfigMapKey(NamedTuple):
    """A key of a ConfigMap that the pod of the track check needs."""

    field: str
    name: str
    key: str
    beside: str
    """what else may be in it"""


def config_map_key(race: Race) -> ConfigMapKey | None:
    """Return what must be there before the track can be checked; None when it is in no ConfigMap."""
    if race.track and (found := race.track.config_map):
        return ConfigMapKey("race.track.configMap", found.name, "track.json", "the files that it uses")
    if race.requests and race.requests.config_map:
        name, key = race.requests.config_map.name, race.requests.file
        beside = "documents.json and index.json, if there are any" if race.track else "nothing else"
        return ConfigMapKey("race.requests.configMap", name, key, beside)
    return None


def step_after(spec: BenchmarkSpec, finished: str | None) -> str | None:
    """Return the step that follows `finished` (None: the first one), or None after the last.

    Another version may have finished one that this one leaves out. Raises ValueError for one that no version has.
    """
    past = -1 if finished is None else _rank(finished)
    return next((name for name in steps(spec) if _rank(name) > past), None)


def _rank(step: str) -> int:
    return len(_BEFORE_RACES) + int(step.removeprefix("race-")) if is_race(step) else _BEFORE_RACES.index(step)


def builds_cluster(spec: BenchmarkSpec, step: str) -> bool:
    """Return whether an Elasticsearch cluster is built for the step."""
    return spec.target is None and not is_preparation(step)


def is_preparation(step: str) -> bool:
    """Return whether the step only finds out whether there can be races."""
    return step in (PROBE, CHECK)


def title(spec: BenchmarkSpec, step: str) -> str:
    """Return the step's name for people, for example "race 2/3"."""
    if is_race(step):
        return f"race {step.removeprefix('race-')}/{spec.repetitions}"
    check = "check of target and requests" if spec.over_http else "track check"
    return {PROBE: "looking at the target", CHECK: check, SMOKE: "smoke test"}[step]


def object_name(benchmark: str, step: str) -> str:
    """Return the name of every object of a step."""
    return f"{benchmark}-{step}"


def account_name(benchmark: str, uid: str, step: str) -> str:
    """Return the name of a step's ServiceAccount, Role and RoleBinding.

    Nobody can take it beforehand: it carries what is known only once the Benchmark of that uid is there.
    """
    return f"{object_name(benchmark, step)}-{hashlib.sha256(f'{uid}/{step}'.encode()).hexdigest()[:12]}"


def race_id(namespace: str, benchmark: str, uid: str, step: str) -> str:
    """Return Rally's race id: it names the Benchmark, its incarnation and the attempt."""
    return f"{namespace}.{benchmark}.{uid[:8]}.{step}"
