"""The running operator: kopf's events, a task for each Benchmark and Comparison, the server for metrics and health.

The top floor: only `python -m fairlap` may import it.
From outside: `kopf_handlers`, `loop` and `metrics_server`.
"""
