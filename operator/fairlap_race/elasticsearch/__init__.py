"""What Elasticsearch says of itself: a client, and reads of its answers, from version 6.0 to 9.

`client` asks, and `answers` looks into what comes. `evidence` is for before and after a race, `request_counters` and
`search_answers` for between its steps, `course`, `node_stats` and `progress` for while it runs.
May be imported by `rally.inside` and `runner`.
From outside: `answers`, `client`, `course`, `evidence`, `metrics_copy`, `node_stats`, `progress`, `request_counters`
and `search_answers`.
"""
