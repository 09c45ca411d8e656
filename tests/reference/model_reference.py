"""What models say, by plain loops: their own Fisher metric from probabilities alone, and rows that they never saw."""

import numpy as np
from sklearn.base import clone


def log_gradient_reference(model, x, step=1e-5):
    """``grad log p(c|x)`` (C, D) by central differences."""
    out = []
    for d in range(len(x)):
        shift = np.zeros(len(x))
        shift[d] = step
        up, down = model.predict_proba([x + shift])[0], model.predict_proba([x - shift])[0]
        out.append((np.log(up) - np.log(down)) / (2 * step))
    return np.array(out).T


def tensor_reference(model, x):
    """``J(x) = sum_c p_c s_c s_c^T`` (thesis eq. 2.14)."""
    p, S = model.predict_proba([x])[0], log_gradient_reference(model, x)
    return sum(p[c] * np.outer(S[c], S[c]) for c in range(len(p)))


def tangent_reference(model, x, z, T, *, symmetric, w=1.0, sigma=1.0):
    """Sum of ``sqrt(dx^T (w J + (1-w) I / sigma^2) dx)`` over T sub-segments, at left nodes or mirrored ones."""
    step, total = (z - x) / T, 0.0
    for t in range(T):
        node = t
        if symmetric:
            node = t + 0.5 if 2 * t + 1 == T else (t + 1 if 2 * t + 1 > T else t)
        J = w * tensor_reference(model, x + node * step) + (1 - w) * np.eye(len(x)) / sigma**2
        total += np.sqrt(step @ J @ step)
    return total


def out_of_fold_reference(model, matrix, y, folds, *, pairwise, ask="predict_proba"):
    """What a clone that never saw a row's fold says of it, from the entries of a matrix.

    pairwise : whether the model takes entries against its own training rows only, as a kernel machine does (Schulz et
    al. 2017, sec. 6); otherwise the entries against all rows are its features.
    """
    told = {}
    for fold in np.unique(folds):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        columns = train if pairwise else np.arange(len(matrix))
        one = clone(model).fit(matrix[np.ix_(train, columns)], y[train])
        told |= dict(zip(test, getattr(one, ask)(matrix[np.ix_(test, columns)]), strict=True))
    return np.array([told[row] for row in range(len(matrix))])


def signed_certainty_reference(value, value_back):
    """Correlation of a machine's decision values on rows and on their places in its picture (thesis eq. 3.4, 3.5)."""
    mean, mean_back = sum(value) / len(value), sum(value_back) / len(value_back)
    pairs = [(a - mean, b - mean_back) for a, b in zip(value, value_back, strict=True)]
    return sum(a * b for a, b in pairs) / (sum(a * a for a, _ in pairs) * sum(b * b for _, b in pairs)) ** 0.5


def segment_reference(f, back, X, Y, pairs, n_nodes):
    """(shares before the border in the data and in the picture, bends in both), segment by segment.

    f gives (class, certainty) of one row, back the row behind a place.
    """
    shares, bends = [], []
    for i, j in pairs:
        sides = []
        for rows, ask in ((X, f), (Y, lambda place: f(back(place)))):
            sides.append([ask(rows[i] + t / (n_nodes - 1) * (rows[j] - rows[i])) for t in range(n_nodes)])
        bends.append([side[n_nodes // 2][1] - (side[0][1] + side[-1][1]) / 2 for side in sides])
        if sides[0][0][0] != sides[0][-1][0]:
            counts = []
            for side in sides:
                n_same = 0
                while n_same < n_nodes and side[n_same][0] == side[0][0]:
                    n_same += 1
                counts.append(n_same / n_nodes)
            shares.append(counts)
    return np.array(shares), np.array(bends)
