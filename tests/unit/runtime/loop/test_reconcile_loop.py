"""What holds for each object that is driven, whatever its kind."""

import gc
import logging
import weakref

import pytest

from fairlap.runtime.loop.state import Operator
from fairlap.runtime.reconcilers.benchmark_reconciler import BenchmarkReconciler
from fairlap.runtime.reconcilers.comparison_deciders import DECIDERS
from fairlap.runtime.reconcilers.comparison_reconciler import ComparisonReconciler
from fairlap.runtime.reconcilers.look import ChildIndexes
from fairlap.settings import Settings

BODY = {"metadata": {"name": "a", "namespace": "n", "uid": "u"}}


@pytest.mark.parametrize("kind", ["Benchmark", "Comparison"])
def test_what_is_made_for_one_event_goes_with_it_at_once(kind: str) -> None:
    """Each event makes one, and with it goes the body, which may be large: it must not wait to be collected."""
    operator, logger = Operator(Settings(race_image="race")), logging.getLogger("test")
    made = (
        BenchmarkReconciler(operator, BODY, "u", ChildIndexes({}, {}, {}, {}, {}), logger)
        if kind == "Benchmark"
        else ComparisonReconciler(operator, BODY, "u", None, logger, deciders=DECIDERS)
    )
    assert made.kind.name == kind
    held = weakref.ref(made)
    gc.disable()
    try:
        del made
        assert held() is None
    finally:
        gc.enable()
