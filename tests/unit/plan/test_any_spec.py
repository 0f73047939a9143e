"""Specs made from the CRD's own schema: no decision about one raises, and no manifest of one.

That each of them ends needs a real API server: tests/api/test_every_spec_ends.py.
"""

import traceback

import pytest
from pydantic import ValidationError
from test_interleavings import World, drive
from tests.api.schema_specs import Made, edges, generate
from world import SETTINGS, seen

from fairlap.api.spec import BenchmarkSpec
from fairlap.manifests.elasticsearch import elasticsearch
from fairlap.manifests.race_job import job
from fairlap.plan.acceptance.accept import objections

MANY = 120


def problem(made: Made) -> str:
    """Return what is wrong with what happens to a spec, or nothing."""
    try:
        spec = BenchmarkSpec.model_validate(made.spec)
        if spec.repetitions > 3:
            return ""
        look = seen(of=spec)
        status = drive(World(1), look)
        for step in () if objections(spec, SETTINGS) else ("check", "race-1"):
            job(look.subject, step, SETTINGS)
            if spec.elasticsearch and step != "check":
                elasticsearch(look.subject, step, SETTINGS)
    except ValidationError:
        return ""
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        return f"{made.words()}: {error!r:.200} at {at.filename}:{at.lineno}"
    if status.phase == "Failed" and not (status.reason and status.message):
        return f"{made.words()}: Failed without words"
    return ""


@pytest.mark.parametrize("number", range(3))
def test_many_fields_at_once(number: int) -> None:
    found = [words for made in generate(MANY // 3, 5 + number, races=3) if (words := problem(made))]
    assert not found, "\n".join(found)


def test_each_edge_alone() -> None:
    found = [words for made in edges() if (words := problem(made))]
    assert not found, "\n".join(found)
