"""What Elasticsearch says over its REST API, from 6.8 to 9: the client, and the evidence before and after a race.

May be imported by the rooms of the race image that race.
"""
