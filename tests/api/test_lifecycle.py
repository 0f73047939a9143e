from .operator_process import Operator
from .manifests import benchmark
from .stage import Stage

def test_happy(stage: Stage, namespace: str, operator: Operator) -> None:
    stage.apply(benchmark(namespace))
    print(stage.ends(namespace, "bm"))
    print(stage.runs(namespace))
