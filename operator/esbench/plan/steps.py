"""The steps of a Benchmark: check, smoke, race-1 … race-N, and the names that follow from them."""

from ..api.spec import BenchmarkSpec

CHECK = "check"
SMOKE = "smoke"


def steps(spec: BenchmarkSpec) -> tuple[str, ...]:
    """Return the names of all steps in order."""
    races = tuple(f"race-{number}" for number in range(1, spec.repetitions + 1))
    return (*((CHECK,) if needs_check(spec) else ()), *((SMOKE,) if spec.smoke_test else ()), *races)


def needs_check(spec: BenchmarkSpec) -> bool:
    """Return whether the track must be rendered first: a builtin one as it is was rendered when it was released."""
    race = spec.race
    return race.track.builtin is None or bool(race.params or race.include_tasks or race.exclude_tasks)


def step_after(spec: BenchmarkSpec, finished: str | None) -> str | None:
    """Return the step that follows `finished` (None: the first one), or None after the last."""
    names = steps(spec)
    position = 0 if finished is None else names.index(finished) + 1
    return names[position] if position < len(names) else None


def has_cluster(step: str) -> bool:
    """Return whether the step needs an Elasticsearch cluster."""
    return step != CHECK


def is_race(step: str) -> bool:
    """Return whether the step gives numbers that count."""
    return step.startswith("race-")


def title(spec: BenchmarkSpec, step: str) -> str:
    """Return the step's name for people, for example "race 2/3"."""
    if is_race(step):
        return f"race {step.removeprefix('race-')}/{spec.repetitions}"
    return {CHECK: "track check", SMOKE: "smoke test"}[step]


def object_name(benchmark: str, step: str) -> str:
    """Return the name of every object of a step."""
    return f"{benchmark}-{step}"


def race_id(namespace: str, benchmark: str, uid: str, step: str) -> str:
    """Return Rally's race id: it names the Benchmark, its incarnation and the attempt."""
    return f"{namespace}.{benchmark}.{uid[:8]}.{step}"
