"""Why something is not there, not ready or not gone, in Kubernetes' own words.

May be imported by `plan.verdict`, `plan`, `plan.stages`, `machines` and `runtime`.
From outside: all of it.
"""
