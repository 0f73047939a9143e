"""What keeps kopf's watches honest: namespaces that cannot be read, blind watches, first lists that are small.

From outside: all of it.
"""
