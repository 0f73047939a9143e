"""The documents of a track: downloaded once, kept in a bounded store, put where Rally looks for them.

May be imported by `track` and `runner`.
"""
