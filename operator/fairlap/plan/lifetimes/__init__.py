"""How long what is over stays, and how it begins again: kept clusters, expiry, reruns. Pure.

May be imported by `plan.verdict`, `plan.stages`, `runtime` and `cli`.
From outside: all of it.
"""
