"""Prototype and metric learners."""
