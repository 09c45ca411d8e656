"""Slow, obvious twins of the named comparisons, each written from its definition."""

from functools import cache

import numpy as np
from scipy.optimize import linprog


def edit_distance_reference(a, b):
    """Levenshtein's recursion."""

    @cache
    def distance(i, j):
        if not i or not j:
            return i + j
        return min(distance(i - 1, j) + 1, distance(i, j - 1) + 1, distance(i - 1, j - 1) + (a[i - 1] != b[j - 1]))

    return distance(len(a), len(b))


def alignment_reference(a, b, score, local, gap_open, gap_extend):
    """The best of all alignments: a gap of any length ends at every entry (Waterman, Smith, Beyer 1976)."""

    def gap(length):
        return gap_open + gap_extend * (length - 1)

    H = np.zeros((len(a) + 1, len(b) + 1))
    for i in range(len(a) + 1):
        for j in range(len(b) + 1):
            if i == j == 0:
                continue
            ways = [H[i - k, j] - gap(k) for k in range(1, i + 1)] + [H[i, j - k] - gap(k) for k in range(1, j + 1)]
            if i and j:
                ways.append(H[i - 1, j - 1] + score(a[i - 1], b[j - 1]))
            H[i, j] = max([*ways, 0.0] if local else ways)
    return H.max() if local else H[-1, -1]


def alignment_by_rows(scores, local, gap_open, gap_extend):
    """The best alignment under a matrix of letter scores, a row of Gotoh's program (1982) at a time.

    A gap opened out of another gap in the same row never pays (gap_open >= gap_extend), so that the best score that
    ends in a gap along the row is a running maximum, ``F_ij = max_k<j (H'_ik + e k) - o - e (j - 1)``, with H' the row
    without F.
    """
    n, m = scores.shape
    ramp = gap_extend * np.arange(m + 1.0)
    edge = np.zeros(n + 1) if local else -(gap_open - gap_extend) - gap_extend * np.arange(n + 1.0)
    H = np.zeros(m + 1) if local else -(gap_open - gap_extend) - ramp
    H[0] = 0.0
    E = np.full(m + 1, -np.inf)
    row, best = np.empty(m + 1), 0.0
    for i in range(n):
        E = np.maximum(H - gap_open, E - gap_extend)
        row[0] = edge[i + 1]
        np.maximum(H[:-1] + scores[i], E[1:], out=row[1:])
        if local:
            np.maximum(row, 0.0, out=row)
        F = np.maximum.accumulate(row + ramp)[:-1] - gap_open - ramp[:-1]
        np.maximum(row[1:], F, out=row[1:])
        H, row = row, H
        if local:
            best = max(best, float(H.max()))
    return best if local else float(H[-1])


def dtw_reference(a, b, width):
    """The least sum of squared differences over all monotone paths inside the band, entry by entry."""
    a, b = (np.asarray(x, dtype=float).reshape(len(x), -1) for x in (a, b))
    D = np.full((len(a) + 1, len(b) + 1), np.inf)
    D[0, 0] = 0.0
    for i in range(len(a)):
        for j in range(len(b)):
            if abs(i - j) <= width:
                cost = float(((a[i] - b[j]) ** 2).sum())
                D[i + 1, j + 1] = cost + min(D[i, j + 1], D[i + 1, j], D[i, j])
    return float(np.sqrt(D[-1, -1]))


def dtw_by_diagonals(a, b, width):
    """The same for long series: the entries of an anti-diagonal do not depend on each other."""
    n, m = len(a), len(b)
    before, last, now = (np.full(n + 2, np.inf) for _ in range(3))  # entry i + 1 holds D_ij
    for k in range(n + m - 1):
        low, high = max(0, k - m + 1, (k - width + 1) // 2), min(n - 1, k, (k + width) // 2)
        # With width 0 every other anti-diagonal is empty.
        cost = 0.0
        for x, y in zip(a.T, b.T, strict=True):
            cost = cost + np.square(x[low : high + 1] - y[k - high : k - low + 1][::-1])
        if k:
            best = np.minimum(last[low : high + 1], last[low + 1 : high + 2])
            cost = cost + np.minimum(best, before[low : high + 1])
        now[low + 1 : high + 2] = cost
        now[low] = now[high + 2] = np.inf
        before, last, now = last, now, before
    return float(np.sqrt(last[n]))


def tree_edit_reference(a, b):
    """The recursion over forests (Tai 1979): remove the last root on either side, or match the two."""

    def whole(tree):
        return (tree[0], tuple(whole(child) for child in tree[1:])) if isinstance(tree, list) else (tree, ())

    @cache
    def distance(left, right):
        if not left and not right:
            return 0
        ways = []
        if left:
            ways.append(distance(left[:-1] + left[-1][1], right) + 1)
        if right:
            ways.append(distance(left, right[:-1] + right[-1][1]) + 1)
        if left and right:
            (x, below), (y, beneath) = left[-1], right[-1]
            ways.append(distance(left[:-1], right[:-1]) + distance(below, beneath) + (x != y))
        return min(ways)

    return distance((whole(a),), (whole(b),))


def weisfeiler_lehman_reference(a, b, n_iterations):
    """The kernel from labels that are nested tuples, compared as they are."""

    def rounds(graph):
        labels = list(graph["nodes"])
        every = [(0, label) for label in labels]
        for h in range(1, n_iterations + 1):
            near = [[] for _ in labels]
            for i, j in graph["edges"]:
                near[i].append(labels[j])
                if i != j:
                    near[j].append(labels[i])
            labels = [(own, tuple(sorted(map(repr, around)))) for own, around in zip(labels, near, strict=True)]
            every += [(h, label) for label in labels]
        return every

    x, y = rounds(a), rounds(b)
    return sum(one == other for one in x for other in y)


def transport_reference(points_a, weights_a, points_b, weights_b):
    """The linear program with every flow as a variable and dense constraints."""
    n, m = len(weights_a), len(weights_b)
    cost = [float(np.linalg.norm(np.subtract(p, q))) for p in points_a for q in points_b]
    rows = [[float(k // m == i) for k in range(n * m)] for i in range(n)]
    rows += [[float(k % m == j) for k in range(n * m)] for j in range(m)]
    totals = [w / sum(weights_a) for w in weights_a] + [w / sum(weights_b) for w in weights_b]
    return linprog(cost, A_eq=rows[:-1], b_eq=totals[:-1]).fun
