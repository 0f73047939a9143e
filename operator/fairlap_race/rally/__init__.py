"""Rally itself: how it is started, what it is given, and what its files, samples and words mean.

`launch` runs in Rally's own process; all the others only know its formats.
May be imported by `track` and `runner`.
"""
