"""The running operator: kopf's events, one task for each active Benchmark, and the server for metrics and health.

The top floor: only `python -m fairlap` may import it.
"""
