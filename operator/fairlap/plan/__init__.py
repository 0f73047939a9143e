"""Decisions: pure functions without I/O, clock or kopf. What may be looked at is in `Seen`, what follows in `Plan`.

`benchmark.plan` is the entry. Below it are rooms: what decisions stand on (`basis`), how long things stay
(`lifetimes`), what is said of a race (`explain`, `verdict`), and which specs are taken (`acceptance`).
All may be imported.
"""
