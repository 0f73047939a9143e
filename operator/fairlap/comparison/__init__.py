"""Races of two variants beside each other: what they measured, what was not the same, and what that allows to say.

Pure. Knows Rally's race.json, the statistics and the models of the API; asks no cluster. Import from its rooms: the
words in `terms`, how races ran in `facts`, what they measured in `numbers`, the Benchmarks of a Comparison in
`variants`, what is known of noise in `noise`, and the verdict in `judging`.
From outside: all of it.
"""
