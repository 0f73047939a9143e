"""Every spec from the CRD's own schema that the API server takes ends, gives its place back, and leaves nothing."""

from tests.api.controlplane import ControlPlane
from tests.api.every_spec import EverySpec
from tests.api.operator_process import Operator
from tests.api.schema_specs import generate
from tests.api.stage import Stage

from .progress import Progress

SPECS, PLACES, SECONDS = 40, 10, 120.0


def test_every_spec_that_is_accepted_ends(stage: Stage, plane: ControlPlane, progress: Progress) -> None:
    wrong: list[str] = []
    for seed in progress.chunks():
        namespace = stage.make_namespace(f"specs-{seed}")
        operator = Operator(plane, namespace, maxActive=PLACES)
        operator.start()
        try:
            operator.wait_ready()
            every = EverySpec(stage, namespace, operator, PLACES)
            every.prove(generate(SPECS, seed), SECONDS)
            refused = operator.refused()
        finally:
            operator.stop()
            stage.forget(namespace)
        print(seed, every.figures.as_json())
        problems = every.problems + refused[:3]
        if not problems:
            progress.passed(seed, every.figures.as_json())
        wrong += [f"seed {seed}: {problem}" for problem in problems]
    assert not wrong, "\n".join(wrong)
