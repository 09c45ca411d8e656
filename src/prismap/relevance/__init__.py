"""Which features drive a map, and valid bounds for linear models."""
