"""The race as a whole, from its specification to its record, and how the record reaches the operator.

`race` leads; `parts` says what is known when. Nothing but `__main__` imports this room.
"""
