"""A small fixed share of specs from the CRD's own schema: what the API server takes, ends. `make soak` has the rest."""

from collections.abc import Callable

import pytest

from .every_spec import EverySpec
from .operator_process import Operator
from .schema_specs import Made, edges, generate
from .stage import Stage

pytestmark = pytest.mark.long
SEED, SPECS, PLACES = 11, 30, 10
NOTABLE = {"race": "99999999h", "provisioning": "99999999h", "keepClusterFor": "99999999h", "params": "deep"}
"""edges that once kept a place for ever"""


def test_every_spec_that_is_accepted_ends(stage: Stage, namespace: str, install: Callable[..., Operator]) -> None:
    operator = install(namespace, maxActive=PLACES)
    operator.wait_ready()
    every = EverySpec(stage, namespace, operator, PLACES)
    every.prove([*generate(SPECS, SEED, races=2), *filter(is_notable, edges())], seconds=60)
    print(every.figures.as_json())
    assert not every.problems, "\n".join(every.problems)
    assert every.figures.accepted >= SPECS * 0.3, "enough specs are good ones"
    assert every.figures.refused >= SPECS * 0.1, "enough specs are bad ones"


def is_notable(made: Made) -> bool:
    ((path, value),) = made.changes
    known = NOTABLE.get(path[-1])
    return known is not None and (known == value or (isinstance(value, dict) and known in value))
