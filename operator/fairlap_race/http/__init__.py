"""Races over HTTP: the requests made ready for k6, its script and arguments, and what the script's lines mean.

Nothing here knows Elasticsearch. May be imported by `runner`.
From outside: all but `planned_times`.
"""
