"""What is done beside races, even when they are over: leftovers, old records, slow deletions, ends nobody else brings.

Nothing here is done for a race that runs. `deleted_races` keeps the places of those that were deleted meanwhile,
`races` what Comparisons read of the Benchmarks that they control. `generations` alone
writes the status of what is over.
From outside: all of it.
"""
