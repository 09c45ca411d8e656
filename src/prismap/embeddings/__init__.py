"""Positions in the plane from distances: one estimator a file."""
