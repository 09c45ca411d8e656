"""Out-of-sample maps, one row and one sum at a time, straight from the formulas of the papers."""

import math

import numpy as np


def kernel_map(D_new, coefficients, bandwidth):
    """y(x) = sum_j alpha_j k_j(x) / sum_l k_l(x), k_j = exp(-d^2 / 2 sigma_j^2) (003_..., section 3).

    Where all kernels are too small for numbers, 0 / 0 counts as 0: such rows fall to the origin (section 6.2).
    """
    positions = []
    for distances in D_new:
        kernels = [math.exp(-0.5 * d**2 / s**2) for d, s in zip(distances, bandwidth, strict=True)]
        total = sum(kernels) or math.inf
        positions.append(sum(k / total * alpha for k, alpha in zip(kernels, coefficients, strict=True)))
    return np.array(positions)


def normalized_gram(D, bandwidth):
    """[K]_ij = k_j(x_i) / sum_l k_l(x_i) (003_..., section 3)."""
    K = np.array([[math.exp(-0.5 * d**2 / s**2) for d, s in zip(row, bandwidth, strict=True)] for row in D])
    return np.array([row / row.sum() for row in K])


def interpolation_coefficients(D, Y, bandwidth):
    """A = K^+ Y (003_..., section 3)."""
    return np.linalg.pinv(normalized_gram(D, bandwidth)) @ Y


def neighbor_distances(X, k):
    """Distance of each row to its k-th closest other row."""
    return np.array([sorted(np.linalg.norm(x - z) for j, z in enumerate(X) if j != i)[k - 1] for i, x in enumerate(X)])


def elm_kernel(x, z):
    """2/pi asin((1 + <x, z>) / sqrt((1 + <x, x>) (1 + <z, z>))), the limit of eq. 14 of Frenay & Verleysen 2011."""
    inner = 1 + sum(a * b for a, b in zip(x, z, strict=True))
    return 2 / math.pi * math.asin(min(1.0, inner / math.sqrt((1 + x @ x) * (1 + z @ z))))


def tsne_affinities(D, perplexity):
    """p_ij of t-SNE: bisection on sigma_i, one row at a time, then symmetrised."""
    n = len(D)
    P = np.zeros((n, n))
    for i in range(n):
        P[i] = conditional_affinities(np.delete(D[i], i), perplexity, insert_zero_at=i)
    return (P + P.T) / (2 * n)


def conditional_affinities(distances, perplexity, insert_zero_at=None):
    """p_{j|i} of one row with the wanted perplexity."""
    low, high = 1e-10, 1e10
    for _ in range(300):
        sigma = math.sqrt(low * high)
        weights = np.exp(-0.5 * (distances**2 - (distances**2).min()) / sigma**2)
        p = weights / weights.sum()
        entropy = -sum(v * math.log(v) for v in p if v > 0)
        low, high = (sigma, high) if entropy < math.log(perplexity) else (low, sigma)
    return p if insert_zero_at is None else np.insert(p, insert_zero_at, 0.0)


def tsne_cost(Y, P):
    """KL(P || Q) with the student-t q_ij, pair by pair."""
    n = len(Y)
    w = [[0.0 if i == j else 1 / (1 + ((Y[i] - Y[j]) ** 2).sum()) for j in range(n)] for i in range(n)]
    total = sum(map(sum, w))
    return sum(P[i, j] * math.log(P[i, j] / (w[i][j] / total)) for i in range(n) for j in range(n) if P[i, j] > 0)


def nerv_row_cost(z, Y, p, sigma, trade_off):
    """t KL(p || q) + (1 - t) KL(q || p) of one row, q a Gaussian of the positions."""
    q = np.array([math.exp(-0.5 * ((z - y) ** 2).sum() / sigma**2) for y in Y])
    q /= q.sum()
    recall = sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)
    precision = sum(b * math.log(b / a) for a, b in zip(p, q, strict=True) if b > 0)
    return trade_off * recall + (1 - trade_off) * precision


def local_quality(X, Y):
    """Q_local of Lee & Verleysen 2010: mean of Q(k) up to the k where Q(k) - k / (n - 1) is largest."""
    n = len(X)
    near_x, near_y = (
        [sorted((j for j in range(n) if j != i), key=lambda j: np.linalg.norm(Z[i] - Z[j])) for i in range(n)]
        for Z in (X, Y)
    )
    Q = [sum(len({*near_x[i][:k]} & {*near_y[i][:k]}) for i in range(n)) / (n * k) for k in range(1, n)]
    best = max(range(n - 1), key=lambda k: Q[k] - (k + 1) / (n - 1))
    return sum(Q[: best + 1]) / (best + 1)


def weighted_inverse_cost(K, A, X, J, share, ridge):
    """sum_i r_i^T (J_i + e I) r_i + ridge |A|^2 with explicit tensors, in the units of the fast code."""
    D = X.shape[1]
    mean = np.mean([np.trace(j) for j in J]) / D
    scale = 1 / (mean * (1 + share))
    R = X - K @ A
    return (
        sum(r @ (scale * (j + share * mean * np.eye(D))) @ r for r, j in zip(R, J, strict=True)) + ridge * (A**2).sum()
    )


def representable_widths(Y, landmarks):
    """``f n_j``: n_j the nearest other landmark, f the least factor that leaves no kernel value below the numbers."""
    nearest = neighbor_distances(landmarks, 1)
    factor = 0.0
    for y in Y:
        for landmark, own in zip(landmarks, nearest, strict=True):
            # exp(-d^2 / 2 (f n)^2) = tiny
            needed = np.linalg.norm(y - landmark) / own / np.sqrt(2 * -np.log(np.finfo(float).tiny))
            factor = max(factor, needed)
    return factor * nearest, factor


def representable_factor(X, smallest, every_entry):
    """The smallest f such that kernels of width f n_j are at least `smallest`, all of them or the largest of others."""
    n, nearest = len(X), neighbor_distances(X, 1)
    needed = []
    for i in range(n):
        ratios = [math.dist(X[i], X[j]) / nearest[j] for j in range(n) if j != i]
        needed.append(max(ratios) if every_entry else min(ratios))
    return max(needed) / math.sqrt(-2 * math.log(smallest))


def stress_row_cost(z, Y, d, power):
    """sum_j w_j (d_j - |z - y_j|)^2 / sum_j w_j d_j^2 with w_j = d_j^-power."""
    above = sum(a**-power * (a - math.dist(z, y)) ** 2 for a, y in zip(d, Y, strict=True))
    return above / sum(a**-power * a**2 for a in d)


def path_lengths(D, n_neighbors):
    """Lengths of shortest paths over the graph of nearest neighbours, from distances D: Floyd and Warshall."""
    n = len(D)
    G = np.full((n, n), math.inf)
    for i in range(n):
        for j in sorted(range(n), key=lambda j: D[i, j])[: n_neighbors + 1]:
            G[i, j] = G[j, i] = D[i, j]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                G[i, j] = min(G[i, j], G[i, k] + G[k, j])
    return G


def connected_paths(D):
    """The same with the fewest neighbours that connect all rows."""
    return next(G for G in (path_lengths(D, k) for k in range(1, len(D))) if np.isfinite(G).all())


def isomap_position(x, X, n_neighbors, n_components=2):
    """Bengio et al. (2003): y_k(x) = sum_j v_jk / sqrt(l_k) K(x, x_j), K from path lengths, doubly centred."""
    G = path_lengths(np.array([[math.dist(a, b) for b in X] for a in X]), n_neighbors)
    near = sorted(range(len(X)), key=lambda j: math.dist(x, X[j]))[:n_neighbors]
    delta = [min(math.dist(x, X[k]) + G[k, j] for k in near) for j in range(len(X))]
    J = np.eye(len(X)) - 1 / len(X)
    values, vectors = np.linalg.eigh(-0.5 * J @ G**2 @ J)
    kernel = [-0.5 * (delta[j] ** 2 - np.mean(G[:, j] ** 2)) for j in range(len(X))]
    kernel = np.array(kernel) - np.mean(kernel)
    leading = np.argsort(values)[::-1][:n_components]
    return np.array([vectors[:, k] @ kernel / math.sqrt(values[k]) for k in leading])


def rebuilt_position(x, X, Y, n_neighbors, reg):
    """Saul & Roweis (2003), sec. 6.1: weights of the neighbours that rebuild x, applied to their positions."""
    near = sorted(range(len(X)), key=lambda j: math.dist(x, X[j]))[:n_neighbors]
    G = np.array([[(X[j] - x) @ (X[k] - x) for k in near] for j in near])
    w = np.linalg.solve(G + reg * np.trace(G) * np.eye(n_neighbors), np.ones(n_neighbors))
    return sum(a * Y[j] for a, j in zip(w / w.sum(), near, strict=True))


def network_position(x, X, layers, n_inputs):
    """A tanh network over the principal coordinates of x, scaled to unit mean square, one unit at a time."""
    mean = X.mean(axis=0)
    values, vectors = np.linalg.eigh((X - mean).T @ (X - mean))
    axes = vectors[:, np.argsort(values)[::-1][:n_inputs]]
    axes = axes * np.sign(((X - mean) @ axes)[np.abs((X - mean) @ axes).argmax(axis=0), range(n_inputs)])
    size = math.sqrt(np.mean([sum(c**2 for c in (row - mean) @ axes) for row in X]) / n_inputs)
    h = list((x - mean) @ axes / size)
    for number, (W, b) in enumerate(layers):
        h = [sum(h[i] * W[i, j] for i in range(len(h))) + b[j] for j in range(len(b))]
        if number < len(layers) - 1:
            h = [math.tanh(v) for v in h]
    return np.array(h)


def shadow_targets(F, first, cost_of, max_iter):
    """Tipping & Lowe (1997): targets T = Y - eta dE/dY, weights by the pseudo-inverse, eta times 1.2 or a half."""
    A = np.linalg.pinv(F) @ first
    cost, gradient = cost_of(F @ A)
    eta = 0.1 * np.linalg.norm(F @ A) / np.linalg.norm(gradient)
    for _ in range(max_iter):
        trial = np.linalg.pinv(F) @ (F @ A - eta * gradient)
        new_cost, new_gradient = cost_of(F @ trial)
        if new_cost < cost:
            A, cost, gradient, eta = trial, new_cost, new_gradient, 1.2 * eta
        else:
            eta = 0.5 * eta
    return A
