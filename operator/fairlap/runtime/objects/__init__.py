"""Reads and writes of the API server in the words of the domain, whose an object is, and what is kept of one.

From outside: all of it.
"""
