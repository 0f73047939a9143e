"""What decisions stand on: what may be looked at (`seen`), the steps of a race, conditions, deadlines, processors.

Pure. May be imported by `plan.lifetimes`, `plan.explain`, `plan.verdict`, `plan.acceptance`, `plan`,
`plan.stages`, `plan.comparison`, `manifests`, `machines`, `runtime` and `cli`.
From outside: all of it.
"""
