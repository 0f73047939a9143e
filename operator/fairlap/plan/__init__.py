"""Decisions: pure functions without I/O, clock or kopf. What may be looked at is in `Seen`, what follows in `Plan`.

May be imported by the rooms that carry decisions out; it imports no room that does I/O.
"""
