"""Distances between rows that lack values, one pair and one column at a time, by the definition."""

import numpy as np


def distances_reference(A, B, fitted):
    """Distances between rows A and B, where means and variances of columns are those of the fitted rows."""
    mean = [np.nanmean(column) for column in fitted.T]
    variance = [np.nanvar(column) for column in fitted.T]

    def expected(value, j):
        return variance[j] if np.isnan(value) else (value - mean[j]) ** 2

    def distance(a, b):
        common = [j for j in range(len(a)) if not np.isnan(a[j] + b[j])]
        others = [j for j in range(len(a)) if j not in common]
        known = sum((a[j] - b[j]) ** 2 for j in common)
        share = 0.0 if len(common) < min(4, len(a) / 4) else len(common) / (len(common) + 1)
        alike = len(others) / len(common) * known if common else 0.0
        typical = sum(expected(a[j], j) + expected(b[j], j) for j in others)
        return np.sqrt(known + share * alike + (1 - share) * typical)

    return np.array([[distance(a, b) for b in B] for a in A])
