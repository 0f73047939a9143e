"""Makes files of requests from what there is: slow logs, access logs, answers of a search engine. Pure.

Readers are tolerant: what is no request is named by its line and left out. What they yield, a replay accepts.
May be imported by `cli`.
From outside: all but `logged_search`.
"""
