"""Records of races to typed results."""
