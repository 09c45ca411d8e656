"""Explicit maps for new rows, and back."""
