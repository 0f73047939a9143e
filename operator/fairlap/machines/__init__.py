"""Completes what a race's machines did with what only the operator can find out: Prometheus, volumes, mounts.

May be imported by `runtime`.
From outside: all of it.
"""
