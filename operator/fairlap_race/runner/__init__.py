"""The race as a whole, from its specification to its record, and how the record reaches the operator.

`by_rally` leads a race whose load Rally sends, `over_http` one of k6; here stands what both need: `race_frame` is
around each, `parts` says what is known when. `watching` looks at machines meanwhile, and `telling` has the ConfigMaps.
Nothing but `__main__` imports this room.
From outside: `by_rally`, `over_http` and `telling`.
"""
