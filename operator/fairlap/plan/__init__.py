"""Decisions: pure functions without I/O, clock or kopf. What may be looked at is in `Seen`, what follows in `Plan`.

`benchmark.plan` is the entry; seen, steps, conditions, deadline, keep and rerun are what decisions stand on. All may be
imported.
"""
