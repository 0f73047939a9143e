"""Rally's own formats: what it is given, and what its files, samples and words mean. What runs within it is `inside`.

May be imported by `rally.inside`, `track`, `track.check`, `http`, `runner` and `__main__`.
From outside: all but `windows`.
"""
