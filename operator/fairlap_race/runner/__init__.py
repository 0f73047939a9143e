"""One race from its specification to its record: prepare, start Rally, watch it, collect, publish.

The top floor of the race image: only its entry point may import it.
"""
