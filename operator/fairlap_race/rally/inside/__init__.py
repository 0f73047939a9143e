"""What runs inside Rally's own process, between the requests that it measures: `launch` starts it and imports the rest.

May be imported by `runner`.
"""
