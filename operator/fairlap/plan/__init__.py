"""Decisions: pure functions without I/O, clock or kopf. What may be looked at is in `Seen`, what follows in `Plan`.

`benchmark.plan` is the entry. What decisions stand on has rows of its own in the table of who may import whom: `seen`,
`steps`, `sweep_plan`, `conditions`, `deadline`, `keep`, `expiry`, `rerun`, `rerun_history`, `node_processors`,
`spec_bounds`, `accept`. All may be imported.
"""
