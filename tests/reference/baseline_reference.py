"""The rule of thumb and the permuted-label baseline, one row and one column at a time."""

import numpy as np


def rule_of_thumb_reference(X):
    """``sigma (4 / (d + 2))^(1 / (d + 4)) n^(-1 / (d + 4))`` with the mean variance sigma^2 (Silverman 4.14)."""
    n, d = len(X), len(X[0])
    variance = 0.0
    for column in np.asarray(X).T:
        mean = sum(column) / n
        variance += sum((value - mean) ** 2 for value in column) / n / d
    return np.sqrt(variance) * (4 / (d + 2)) ** (1 / (d + 4)) * n ** (-1 / (d + 4))


def neighbor_error_reference(D, codes):
    """Leave-one-out 1-NN error, by looking at every other row."""
    wrong = 0
    for i in range(len(D)):
        others = [j for j in range(len(D)) if j != i]
        nearest = min(others, key=lambda j: D[i][j])
        wrong += codes[nearest] != codes[i]
    return wrong / len(D)


def chance_reference(codes):
    """Share of ordered pairs of different rows with different labels."""
    pairs = [(a, b) for i, a in enumerate(codes) for j, b in enumerate(codes) if i != j]
    return sum(a != b for a, b in pairs) / len(pairs)
