"""From a race's record to its verdict: named checks, remarks, and what both say in the status.

May be imported by `plan.acceptance`, `plan`, `plan.stages`, `manifests` and `runtime`.
From outside: `applied_settings`, `checked_by`, `collect`, `existing_cluster` and `judged`.
"""
