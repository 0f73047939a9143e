"""What races measured, and the pairs of a block; how a ConfigMap keeps them. Pure.

May be imported by `comparison.noise`, `comparison.judging`, `comparison_report`, `runtime` and `cli`.
From outside: all of it.
"""
