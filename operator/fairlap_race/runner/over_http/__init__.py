"""A race whose load k6 sends over HTTP: `http_race` leads it, and `http_parts` says what is known when.

From outside: `http_race`.
"""
