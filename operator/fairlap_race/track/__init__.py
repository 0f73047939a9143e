"""A track from wherever it comes to what it is: its tasks, documents and effects on a cluster.

`ready` gets it, `ask` describes it. A track's own code runs only in a `child` process, which is where `load` belongs.
May be imported by `track.check`, `http`, `runner` and `cli`.
From outside: all but `document_effects`, `git`, `lfs` and `services`.
"""
