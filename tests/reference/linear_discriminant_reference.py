"""Linear discriminants by the formula: a refit for every fold, class by class and row by row."""

import numpy as np


def scores_by_formula(X, codes, new, n_classes, sphere, scales):
    """``<S^-1 m_c, x> - <S^-1 m_c, m_c> / 2 + log pi_c`` of rows `new` by the rows X; minus infinity without rows."""
    X, new = X / scales, new / scales
    n_columns, present = X.shape[1], np.unique(codes)
    W = np.zeros((n_columns, n_columns))
    for c in present:
        mean = X[codes == c].mean(axis=0)
        for x in X[codes == c]:
            W += np.outer(x - mean, x - mean)
    W /= len(X) - len(present)
    S = (1 - sphere) * W + sphere * np.trace(W) / n_columns * np.eye(n_columns)
    out = np.full((len(new), n_classes), -np.inf)
    for c in present:
        mean = X[codes == c].mean(axis=0)
        slope = np.linalg.inv(S) @ mean
        for i, x in enumerate(new):
            out[i, c] = slope @ x - slope @ mean / 2 + np.log(np.mean(codes == c))
    return out


def spreads_by_formula(X, codes, least):
    """The standard deviation of each column about the mean of the row's class, at least a share of its whole."""
    within = np.array([X[codes == c] - X[codes == c].mean(axis=0) for c in np.unique(codes)], dtype=object)
    return np.maximum(np.vstack(list(within)).astype(float).std(axis=0), least * X.std(axis=0))
