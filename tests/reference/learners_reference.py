"""The learners' costs, row by row from the papers' formulas."""

import numpy as np


def rslvq_reference(W, labels, X, y, sigma):
    """Seo & Obermayer 2003: minus the mean log ratio of the own-class density to the whole density."""
    total = 0.0
    for x, c in zip(X, y, strict=True):
        densities = np.array([np.exp(-((x - w) @ (x - w)) / (2 * sigma**2)) for w in W])
        total -= np.log(densities[labels == c].sum() / densities.sum())
    return total / len(X)


def gmlvq_reference(W, labels, omega, X, y, noise=0.0):
    """Schneider et al. 2009: the mean of (d+ - d-) / (d+ + d-), distances in expectation over noise in every column."""
    total = 0.0
    for x, c in zip(X, y, strict=True):
        d = np.array([np.linalg.norm(omega @ (x - w)) ** 2 for w in W]) + noise * np.trace(omega.T @ omega)
        right, wrong = d[labels == c].min(), d[labels != c].min()
        total += (right - wrong) / (right + wrong)
    return total / len(X)


def lgmlvq_reference(W, labels, omegas, X, y, noise=0.0):
    """The same with a matrix for each prototype, all of length 1."""
    total = 0.0
    for x, c in zip(X, y, strict=True):
        units = [omega / np.sqrt(np.trace(omega.T @ omega)) for omega in omegas]
        d = np.array([np.linalg.norm(unit @ (x - w)) ** 2 + noise for unit, w in zip(units, W, strict=True)])
        right, wrong = d[labels == c].min(), d[labels != c].min()
        total += (right - wrong) / (right + wrong)
    return total / len(X)


def lmnn_reference(omega, X, y, n_neighbors, push, noise=0.0):
    """Weinberger & Saul 2009, eq. 13, targets by plain sorting, distances in expectation over noise in every column."""
    D = np.array([[np.linalg.norm(a - b) for b in X] for a in X])
    d = np.array([[np.linalg.norm(omega @ (a - b)) ** 2 for b in X] for a in X])
    d += 2 * noise * np.trace(omega.T @ omega)
    pull = hinge = 0.0
    for i in range(len(X)):
        same = [j for j in np.argsort(D[i], kind="stable") if y[j] == y[i] and j != i]
        for j in same[:n_neighbors]:
            pull += d[i, j]
            hinge += sum(max(0.0, 1 + d[i, j] - d[i, k]) for k in range(len(X)) if y[k] != y[i])
    return (1 - push) * pull + push * hinge
