"""From a race's record to its verdict: named checks, remarks, and what both say in the status. All may be imported."""
