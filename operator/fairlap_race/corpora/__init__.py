"""Documents that do not come with a track: what is needed (`need`), fetched once, kept in a store that races share.

May be imported by `track`, `track.check` and `runner`.
From outside: `corpora` and `need`.
"""
