"""The objects the operator makes, as pure functions from a Benchmark to manifests.

May be imported by `machines` and `runtime`, which create them or must know their names.
From outside: `affinity`, `comparison`, `elasticsearch` and `race_job`.
"""
