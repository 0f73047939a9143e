"""What runs inside Rally's own process, between the requests that it measures: `launch` starts it and imports the rest.

By their own functions the runner writes before a race what these are told, and reads afterwards what they left.
May be imported by `runner`.
From outside: all but `lean_documents`, `next_step_at_once`, `own_schedule` and `same_choices`.
"""
