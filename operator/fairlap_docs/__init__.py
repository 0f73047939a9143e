"""The generators of the generated pages in docs/, and the table of who may import whom (`floors`).

In no image. Nothing of the operator or the race image may import it; tests do.
From outside: nothing.
"""
