"""Manifold learners from their papers' formulas: loops, dense matrices, no shortcuts."""

import numpy as np


def shortest_paths_reference(i, j, length, n_rows):
    """Floyd-Warshall over undirected edges."""
    D = np.full((n_rows, n_rows), np.inf)
    np.fill_diagonal(D, 0.0)
    for a, b, d in zip(i, j, length, strict=True):
        D[a, b] = D[b, a] = min(d, D[a, b])
    for k in range(n_rows):
        D = np.minimum(D, D[:, k][:, None] + D[k][None, :])
    return D


def n_components_reference(neighbours):
    """Connected components of the undirected neighbour graph, by flooding."""
    n_rows = len(neighbours)
    linked = [set() for _ in range(n_rows)]
    for i, row in enumerate(neighbours):
        for j in row:
            linked[i].add(int(j))
            linked[int(j)].add(i)
    unseen, count = set(range(n_rows)), 0
    while unseen:
        count += 1
        todo = [unseen.pop()]
        while todo:
            for j in linked[todo.pop()] & unseen:
                unseen.discard(j)
                todo.append(j)
    return count


def lle_reference(X, neighbours, reg, n_components):
    """Weights, positions of unit covariance and cost of locally linear embedding (Roweis & Saul 2000), from vectors."""
    n_rows = len(X)
    W = np.zeros((n_rows, n_rows))
    for i in range(n_rows):
        Z = X[neighbours[i]] - X[i]
        C = Z @ Z.T
        w = np.linalg.solve(C + reg * np.trace(C) * np.eye(len(C)), np.ones(len(C)))
        W[i, neighbours[i]] = w / w.sum()
    M = (np.eye(n_rows) - W).T @ (np.eye(n_rows) - W)
    _, vectors = np.linalg.eigh(M)
    Y = vectors[:, 1 : n_components + 1] * np.sqrt(n_rows)
    cost = sum(np.sum((Y[i] - sum(W[i, j] * Y[j] for j in neighbours[i])) ** 2) for i in range(n_rows)) / n_rows
    return W, Y, cost


def mvu_reference(i, j, length, n_rows):
    """The semi-definite program of maximum variance unfolding: the optimal Gram matrix and its trace."""
    import cvxpy as cp

    K = cp.Variable((n_rows, n_rows), PSD=True)
    kept = [K[a, a] + K[b, b] - 2 * K[a, b] == d**2 for a, b, d in zip(i, j, length, strict=True)]
    problem = cp.Problem(cp.Maximize(cp.trace(K)), [cp.sum(K) == 0, *kept])
    problem.solve(solver="CLARABEL")
    assert problem.status == "optimal"
    return K.value, problem.value
