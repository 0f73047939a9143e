"""Decisions: pure functions without I/O, clock or kopf. What may be looked at is in `Seen`, what follows in `Plan`.

The entry is `plan` of `benchmark`, which asks the module of the stage that a Benchmark is in (`stages`). Below are
rooms: what decisions stand on (`basis`), how long things stay (`lifetimes`), what is said of a race (`explain`,
`verdict`), and which specs are taken (`acceptance`).
The rooms say who may import them.
From outside: `acceptance`, `basis`, `benchmark`, `comparison`, `explain`, `lifetimes`, `newer_crd`, `outdated_crd`,
`unforeseen` and `verdict`.
"""
