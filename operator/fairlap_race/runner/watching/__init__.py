"""What is looked at while a race runs: the machine, the cluster, the load generator, and whether anything moves.

Each look has the time of `race_clock`. Nothing here leads a race.
From outside: `canary`, `cluster_watch`, `cost`, `host`, `load_series`, `machine_watcher`, `race_clock`, `sampler` and
`watchdog`.
"""
