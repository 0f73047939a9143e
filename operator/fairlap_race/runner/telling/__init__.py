"""How what is known of a race reaches the operator: progress and the record in ConfigMaps, within their bounds.

From outside: all of it.
"""
