"""Fisher distances of a real target against the thesis' formula, pair by pair.

`cases` yields dicts with a name, `ours` and `theirs` (callables) and `check`, which takes both results and says whether
they agree. `theirs` is the thesis' tensor with explicit t1 and t2 (eq. 2.38 to 2.40), as numpy array expressions and
with the kernel matrix inverted beforehand; in the last case the double sum of t2 is one matrix-vector product, as a
careful user would write it. All 499,500 pairs of 1,000 rows would take minutes to hours, so it measures a few of them
only, and the ratio it is part of is as many times too small as the name says.
"""

import numpy as np

from prismap.metrics import FisherMetric

N_ROWS, N_PAIRS, MORE_PAIRS, T = 1000, 20, 400, 2
N_ALL = N_ROWS * (N_ROWS - 1) // 2


def rows_and_target():
    """1,000 rows of ten features, three of which matter, and a target with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 10))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=N_ROWS)


def explicit_t2(x, X, k, inverse):
    """``sum_i k_i sum_j (x_i + x_j - 2 x) k_j [(K + noise I)^{-1}]_ji``, term by term."""
    t2 = np.zeros(len(x))
    for i in range(len(X)):
        t2 += k[i] * np.sum((X[i] + X - 2 * x) * (k * inverse[:, i])[:, None], axis=0)
    return t2


def quick_t2(x, X, k, inverse):
    """The same by symmetry: ``2 sum_i (x_i - x) k_i [(K + noise I)^{-1} k]_i``."""
    return 2 * (k * (inverse @ k)) @ (X - x)


def by_tensors(X, y, pairs, signal, beta, noise, make_t2=explicit_t2):
    """Lengths of single pairs, ``sqrt(dx^T J dx)`` at one node a sub-segment; mirrored nodes of two are the ends."""
    D2 = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    inverse = np.linalg.inv(signal * np.exp(-beta * D2) + noise * np.eye(len(X)))
    alpha = inverse @ (y - y.mean())

    def tensor(x):
        k = signal * np.exp(-beta * np.sum((X - x) ** 2, axis=1))
        v = signal + noise - k @ inverse @ k
        t1, t2 = (k * alpha) @ (X - x), make_t2(x, X, k, inverse)
        return 2 * beta**2 / v * (2 * np.outer(t1, t1) + np.outer(t2, t2) / v)

    steps = [(X[i], X[j], (X[j] - X[i]) / T) for i, j in pairs]
    return np.array([sum(np.sqrt(dx @ tensor(x) @ dx) for x in ends) for *ends, dx in steps])


def cases(data_folder=None):
    """All pairs of 1,000 rows, all of them support, against a few pairs by explicit tensors."""
    X, y = rows_and_target()
    more = np.random.default_rng(1).choice(N_ROWS, size=(MORE_PAIRS, 2), replace=False)
    few = more[:N_PAIRS]
    tangent = FisherMetric(path="tangent", n_segments=T, cross_fit=False, random_state=0).fit(X, y)
    chord = FisherMetric(random_state=0).fit(X, y)
    hyper = tangent.state()["process"][0]

    def scale(n_pairs):
        return f"{N_ALL:,} pairs against {n_pairs} of them (true ratio {N_ALL // n_pairs:,}x that)"

    def same(ours, theirs):
        return np.allclose(ours[tuple(more[: len(theirs)].T)], theirs, rtol=1e-6)

    def same_size(ours, theirs):
        # Another rule and other support.
        return 0.5 < np.median(ours[tuple(more[: len(theirs)].T)] / theirs) < 2

    yield {
        "name": f"Fisher lengths of a real target, speeds at {T} nodes, n=1,000: {scale(N_PAIRS)}",
        "ours": tangent.pairwise,
        "theirs": lambda: by_tensors(X, y, few, *hyper),
        "check": same,
    }
    yield {
        "name": f"the default (chord, 2 sub-segments, cross-fitted), n=1,000: {scale(N_PAIRS)}",
        "ours": chord.pairwise,
        "theirs": lambda: by_tensors(X, y, few, *hyper),
        "check": same_size,
    }
    yield {
        "name": f"the default, against tensors with a quick t2: {scale(MORE_PAIRS)}",
        "ours": chord.pairwise,
        "theirs": lambda: by_tensors(X, y, more, *hyper, make_t2=quick_t2),
        "check": same_size,
    }
