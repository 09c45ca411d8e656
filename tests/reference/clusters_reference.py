"""Groups of a map, joined from the nearest on, and the gaps between them: lists of rows, by the definition."""

import numpy as np
from scipy.spatial.distance import cdist


def reach(Y, k=5):
    """Distances between places, none shorter than those of either to its k-th nearest place."""
    D = cdist(Y, Y)
    core = np.sort(D, axis=1)[:, min(k, len(Y) - 1)]
    return np.maximum(D, np.maximum(core[:, None], core)) + 1e-9 * D, core


def joined(Y):
    """(left rows, right rows, distance) of every step, the nearest first."""
    R, _ = reach(Y)
    groups = [[i] for i in range(len(Y))]
    steps = []
    while len(groups) > 1:
        pairs = [
            (min(R[i, j] for i in a for j in b), p, q) for p, a in enumerate(groups) for q, b in enumerate(groups[:p])
        ]
        distance, p, q = min(pairs)
        steps.append((groups[p], groups[q], distance))
        groups = [g for r, g in enumerate(groups) if r not in (p, q)] + [groups[p] + groups[q]]
    return steps


def gaps(Y, fewest):
    """The gaps at which two groups of at least `fewest` rows meet, in the order in which they do."""
    _, core = reach(Y)
    return [d / max(np.median(core[a]), np.median(core[b])) for a, b, d in joined(Y) if min(len(a), len(b)) >= fewest]


def best_jaccard(Y, rows):
    """The Jaccard index of some rows and the group most like them."""
    rows, groups = set(rows), [[i] for i in range(len(Y))] + [a + b for a, b, _ in joined(Y)]
    return max(len(rows & set(g)) / len(rows | set(g)) for g in groups)


def gap_around(Y, rows, fewest, alike=0.75):
    """The widest gap at which a group meets another that has these rows, by the Jaccard index; 0 if none has."""
    _, core = reach(Y)
    rows, widest = set(rows), 0.0
    for a, b, d in joined(Y):
        if min(len(a), len(b)) >= fewest and any(len(rows & set(g)) >= alike * len(rows | set(g)) for g in (a, b)):
            widest = max(widest, d / max(np.median(core[a]), np.median(core[b])))
    return widest
