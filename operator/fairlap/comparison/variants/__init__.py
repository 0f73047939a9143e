"""The Benchmarks of a Comparison, from its variants or its matrix, and what is wrong with their specs alone. Pure.

May be imported by `plan.comparison`, `runtime` and `cli`.
From outside: `tasks_in_turn` and `variants`.
"""
