"""How one object is driven, a Benchmark or a Comparison: look, plan, write the status, act, sleep until woken.

`object_tasks` begins and ends a task for each, `reconcile_loop` has the steps, `state` what all of the operator's parts
share.
From outside: `announce`, `driven_kind`, `reconcile_loop` and `state`.
"""
