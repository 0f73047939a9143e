"""What happens next to a Benchmark, by the stage that it is in: a module for each, named after it.

It begins (`beginning`), and ends (`ending`); each of its steps is provisioned, started, run and cleaned up after; what
comes next is decided `between_steps`. How long a stage waits for its pods is `patience`. Pure, as all of `plan`.
May be imported by `plan`: by its `benchmark` alone.
From outside: all but `ending` and `patience`.
"""
