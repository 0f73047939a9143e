"""Rally itself: how it is configured and started, and what its files and words mean.

May be imported by `runner` and `track`; only here, and where a track is loaded, is Rally imported.
"""
