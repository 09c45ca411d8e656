"""Several targets by their formula: each pair, each target, each threshold by itself."""

import numpy as np

from reference.gaussian_process_reference import fisher_rao


def arc(p, q):
    """Fisher's distance of two class distributions: twice the angle between their square roots."""
    return 2 * np.arccos(min(float(np.sum(np.sqrt(p * q))), 1.0))


def squared_length(kind, one, two):
    """Of class probabilities, or of a mean and a variance."""
    if kind == "real":
        return fisher_rao(one[0], one[1], two[0], two[1]) ** 2
    if kind == "class":
        return arc(one, two) ** 2
    above = [(one[c:].sum(), two[c:].sum()) for c in range(1, len(one))]
    return np.mean([arc(np.array([p, 1 - p]), np.array([q, 1 - q])) ** 2 for p, q in above])


def squared_lengths(kinds, known, weights, units):
    """All pairs; `known` is what is known of the rows, for each target: (n, classes), or (n, 2)."""
    n, unit = len(known[0]), np.dot(weights, units)
    D2 = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            for kind, rows, weight, own in zip(kinds, known, weights, units, strict=True):
                D2[i, j] += weight * unit / own * squared_length(kind, rows[i], rows[j])
    return D2
