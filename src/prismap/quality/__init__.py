"""How good a map is, and what chance would have given."""
