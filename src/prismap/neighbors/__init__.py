"""Nearest neighbours over any metric."""
