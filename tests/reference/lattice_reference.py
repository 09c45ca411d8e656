"""SOM and GTM from their papers' formulas, on vectors, row by row and node by node."""

import numpy as np


def som_step_reference(X, nodes, winners, radius):
    """One batch step of Heskes' SOM: prototypes, new winners and the cost a row."""
    K = len(nodes)
    h = np.array([[np.exp(-np.sum((g - k) ** 2) / (2 * radius**2)) for g in nodes] for k in nodes])
    h /= h.sum(axis=1, keepdims=True)
    W = np.array(
        [
            sum(h[winners[i], node] * X[i] for i in range(len(X))) / sum(h[winners[i], node] for i in range(len(X)))
            for node in range(K)
        ]
    )
    new, cost = [], 0.0
    for x in X:
        costs = [sum(h[k, node] * np.sum((x - W[node]) ** 2) for node in range(K)) for k in range(K)]
        new.append(int(np.argmin(costs)))
        cost += min(costs)
    return W, np.array(new), cost / len(X)


def gtm_reference(X, Phi, R, penalty, noise, n_steps):
    """EM steps of Bishop et al. (1998) with a Gaussian prior on the weights.

    R has shape (K, n) here, as in the paper. Returns weights, noise, responsibilities, penalised log-likelihoods.
    """
    n_rows, d = X.shape
    K = len(Phi)
    objectives = []
    for _ in range(n_steps):
        G = np.diag(R.sum(axis=1))
        W = np.linalg.solve(Phi.T @ G @ Phi + noise * np.diag(penalty), Phi.T @ R @ X)
        centres = Phi @ W
        noise = sum(R[k, i] * np.sum((X[i] - centres[k]) ** 2) for k in range(K) for i in range(n_rows)) / (n_rows * d)
        densities = np.empty((K, n_rows))
        for k in range(K):
            for i in range(n_rows):
                densities[k, i] = np.exp(-np.sum((X[i] - centres[k]) ** 2) / (2 * noise))
        densities /= (2 * np.pi * noise) ** (d / 2)
        R = densities / densities.sum(axis=0)
        prior = 0.5 * sum(penalty[m] * np.sum(W[m] ** 2) for m in range(len(W)))
        objectives.append((np.log(densities.mean(axis=0)).sum() - prior) / n_rows)
    return W, noise, R, objectives
