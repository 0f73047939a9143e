"""Why something is not there, not ready or not gone, in Kubernetes' own words. All may be imported."""
