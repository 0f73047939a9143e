"""What Elasticsearch says of itself: a client, and reads of its answers, from version 6.0 to 9.

Import `client` to ask, `evidence` for before and after a race, `progress` while it runs, `node_stats` for samples.
May be imported by `rally.inside` and `runner`.
"""
