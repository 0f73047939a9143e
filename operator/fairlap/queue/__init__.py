"""Who may hold a cluster now, and what is kept of every Benchmark and Comparison to decide that.

May be imported by `plan.basis`, `plan`, `plan.comparison` and `runtime`.
From outside: all of it.
"""
