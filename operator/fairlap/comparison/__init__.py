"""Races of two variants beside each other: what they measured, what was not the same, and what that allows to say.

Pure. Knows Rally's race.json, the statistics and nothing of Kubernetes.
May be imported by `comparison_report`, `plan.verdict`, `plan.comparison`, `runtime` and `cli`.
"""
