"""What `fairlap doctor noise` knows of a cluster, and what it advises. Pure.

From outside: all of it.
"""
