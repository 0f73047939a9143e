"""From the records of races to typed results and remarks. All may be imported."""
