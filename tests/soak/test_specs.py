"""Every spec from the CRD's own schema that the API server takes ends, gives its place back, and leaves nothing."""

import secrets
from collections.abc import Callable

from tests.api.controlplane import ControlPlane
from tests.api.every_spec import EverySpec
from tests.api.operator_process import Operator
from tests.api.schema_specs import Made, edges, generate
from tests.api.stage import Stage

from .progress import Progress

SPECS, PLACES, SECONDS = 40, 10, 120.0


def test_every_edge_alone(stage: Stage, plane: ControlPlane, progress: Progress) -> None:
    """Each field's known and outermost values, one to a spec."""
    made = edges()
    prove(stage, plane, progress, lambda number: made[number * SPECS :][:SPECS], most=-(-len(made) // SPECS))


def test_many_fields_at_once(stage: Stage, plane: ControlPlane, progress: Progress) -> None:
    """One to six fields written anew by Hypothesis, chunk after chunk until the time is over."""
    prove(stage, plane, progress, lambda number: generate(SPECS, progress.seed + number), most=None)


def prove(
    stage: Stage, plane: ControlPlane, progress: Progress, make: Callable[[int], list[Made]], most: int | None
) -> None:
    """Prove it for chunk after chunk, and fail in the end with everything that was found."""
    wrong: list[str] = []
    for seed in progress.chunks(most):
        namespace = stage.make_namespace(f"specs-{seed}-{secrets.token_hex(3)}")
        operator = Operator(plane, namespace, maxActive=PLACES)
        operator.start()
        try:
            operator.wait_ready()
            every = EverySpec(stage, namespace, operator, PLACES)
            every.prove(make(seed - progress.seed), SECONDS)
            problems = every.problems + operator.refused()[:3]
        finally:
            operator.stop()
            stage.forget(namespace)
        print(seed, every.figures.as_json(), *problems, sep="\n", flush=True)
        if not problems:
            progress.passed(seed, every.figures.as_json())
        wrong += [f"chunk {seed}: {problem}" for problem in problems]
    assert not wrong, "\n".join(wrong)
