"""Races over HTTP: the requests made ready for k6, k6's script and arguments, and what its lines mean.

Nothing here knows Elasticsearch.
"""
