"""Rally itself: how it is started, what it is given, and what its files, samples and words mean.

`launch` starts Rally and changes it from within: what it imports runs inside Rally, too; all the others only know its
formats. May be imported by `track`, `track.check`, `http`, `runner` and `__main__`.
"""
