"""A race whose load Rally sends: `race` leads it through `race_steps`, and `harvest` is the last of them.

From outside: `race` and `store_metrics`.
"""
