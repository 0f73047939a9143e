"""The race as a whole, from its specification to its record, and how the record reaches the operator.

`race` leads a race by Rally through `race_steps`, and `http_race` one over HTTP; `race_frame` is around both, `parts`
and `http_parts` say what is known when. Nothing but `__main__` imports this room.
From outside: `bounds`, `config_map`, `http_race`, `publish`, `race` and `store_metrics`.
"""
