"""Relevance bounds by the papers' own programs: slow, one general solver call a bound."""

import math

import numpy as np
from scipy.optimize import linprog


def null_space(X, effective_dim):
    """Eigenvectors v_{I+1}, ..., v_D of the covariance of X (thesis: X X^T with rows as columns), one a column."""
    values, vectors = np.linalg.eigh(X.T @ X)
    return vectors[:, np.argsort(values)[::-1]][:, effective_dim:]


def large_program(N, w, j, sense, budget):
    """Thesis (4.18) for sense 0, (4.19) for sense +1 and -1, over (w~, alpha); None if infeasible."""
    D, n_null = N.shape
    # w~_k >= +-(w_k + sum_i alpha_i (v_i)_k)
    A = np.block([[-np.eye(D), N], [-np.eye(D), -N], [np.ones((1, D)), np.zeros((1, n_null))]])
    b = np.concatenate([-w, w, [budget]])
    c = np.zeros(D + n_null)
    if sense == 0:
        c[j] = 1.0
    else:
        c[D:] = -sense * N[j]
        A = np.vstack([A, np.concatenate([np.zeros(D), -sense * N[j]])])  # and the sign constraint
        b = np.append(b, sense * w[j])
    answer = linprog(c, A_ub=A, b_ub=b, bounds=[(0, None)] * D + [(None, None)] * n_null, method="highs")
    if not answer.success:
        return None
    return answer.fun if sense == 0 else -answer.fun + sense * w[j]


def shortest_length(N, w):
    """mu of thesis (4.15)."""
    D, n_null = N.shape
    A = np.block([[-np.eye(D), N], [-np.eye(D), -N]])
    c = np.concatenate([np.ones(D), np.zeros(n_null)])
    bounds = [(0, None)] * D + [(None, None)] * n_null
    return linprog(c, A_ub=A, b_ub=np.concatenate([-w, w]), bounds=bounds, method="highs").fun


def large_bounds(X, w, effective_dim, slack, features=None):
    """Lower and upper bounds by three large programs a feature."""
    N = null_space(X, effective_dim)
    budget = (1 + slack) * shortest_length(N, w)
    rows = []
    for j in range(X.shape[1]) if features is None else features:
        uppers = [large_program(N, w, j, sense, budget) for sense in (1, -1)]
        rows.append([large_program(N, w, j, 0, budget), max(u for u in uppers if u is not None)])
    return np.array(rows)


def convex_bounds(X, w, effective_dim, slack):
    """The bounds stated with absolute values and norms, solved by cvxpy."""
    import cvxpy as cp

    D = X.shape[1]
    N = null_space(X, effective_dim)
    alpha = cp.Variable(N.shape[1])
    other = w + N @ alpha
    sharp = {"solver": cp.CLARABEL, "tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    mu = cp.Problem(cp.Minimize(cp.norm1(other))).solve(**sharp)
    inside = [cp.norm1(other) <= (1 + slack) * mu]
    rows = []
    for j in range(D):
        lower = cp.Problem(cp.Minimize(cp.abs(other[j])), inside).solve(**sharp)
        ends = [cp.Problem(cp.Maximize(s * other[j]), inside).solve(**sharp) for s in (1, -1)]
        rows.append([lower, max(ends)])
    return np.array(rows)


def greedy_reference(X, Y, n_steps):
    """Thesis, algorithms 1 and 2, with the mean square error of a linear regression, in loops over sets."""

    def c(subset):
        A = np.column_stack([np.ones(len(X)), X[:, sorted(subset)]])
        rest = Y - A @ np.linalg.lstsq(A, Y, rcond=None)[0]
        return float((rest**2).sum()) / len(X)

    D = X.shape[1]
    every = set(range(D))
    result = []
    for j in range(D):
        lower = c(every - {j}) - c(every)
        upper = max(lower, c(set()) - c({j}))
        C, S = every - {j}, set()
        for _ in range(2, n_steps + 1):
            if not C:
                break
            gains = {k: c(S | {k}) - c(S | {j, k}) for k in C}
            best = max(gains, key=gains.get)
            upper = max(upper, gains[best])
            C, S = C - {best}, S | {best}
        while S:
            gains = {k: c(S - {k}) - c((S - {k}) | {j}) for k in S}
            best = max(gains, key=gains.get)
            upper = max(upper, gains[best])
            S = S - {best}
        result.append([lower, upper])
    return np.array(result)


def hinge_bounds(X, y, w, slack):
    """Bounds over all maps whose hinge loss is no larger than that of w, stated with norms, solved by cvxpy."""
    import cvxpy as cp

    sides = np.where(y == np.unique(y)[1], 1.0, -1.0)
    sharp = {"solver": cp.CLARABEL, "tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}

    def loss_of(map_, offset):
        return cp.sum(cp.pos(1 - cp.multiply(sides, X @ map_ + offset)))

    offset, other = cp.Variable(), cp.Variable(X.shape[1])
    loss = cp.Problem(cp.Minimize(loss_of(w, offset))).solve(**sharp)
    inside = [loss_of(other, offset) <= (1 + slack) * loss]
    mu = cp.Problem(cp.Minimize(cp.norm1(other)), inside).solve(**sharp)
    inside.append(cp.norm1(other) <= (1 + slack) * mu)
    rows = []
    for j in range(X.shape[1]):
        ends = [cp.Problem(cp.Maximize(s * other[j]), inside).solve(**sharp) for s in (1, -1)]
        lower = cp.Problem(cp.Minimize(cp.abs(other[j])), inside).solve(**sharp)
        rows.append([lower, max(ends)])
    return loss, np.array(rows)


def digamma_reference(m):
    """psi of a whole number: -gamma + 1 + 1/2 + ... + 1/(m - 1)."""
    return -0.5772156649015329 + sum(1 / i for i in range(1, m))


def entropy_reference(X, k):
    """Kozachenko & Leonenko (1987), row by row: psi(n) - psi(k) + log V_d + d mean log e_i."""
    n, d = X.shape
    reach = [sorted(math.dist(a, b) for j, b in enumerate(X) if j != i)[k - 1] for i, a in enumerate(X)]
    volume = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
    psi = digamma_reference
    return psi(n) - psi(k) + math.log(volume) + d * sum(math.log(e) for e in reach) / n


def real_information_reference(X, Y, k):
    """Kraskov et al. (2004), eq. 8, row by row."""
    n, psi = len(X), digamma_reference
    total = 0.0
    for i in range(n):
        by_x = [max(abs(X[i] - X[j])) for j in range(n)]
        by_y = [max(abs(Y[i] - Y[j])) for j in range(n)]
        reach = sorted(max(a, b) for j, (a, b) in enumerate(zip(by_x, by_y, strict=True)) if j != i)[k - 1]
        total += psi(sum(a < reach for a in by_x)) + psi(sum(b < reach for b in by_y))
    return max(psi(k) + psi(n) - total / n, 0.0)


def class_information_reference(X, codes, k):
    """Ross (2014), eq. 2, row by row; classes of one row are left out."""
    kept = [i for i in range(len(X)) if sum(codes == codes[i]) > 1]
    n, psi = len(kept), digamma_reference
    total = 0.0
    for i in kept:
        same = sorted(math.dist(X[i], X[j]) for j in kept if j != i and codes[j] == codes[i])
        own = min(k, len(same))
        within = sum(math.dist(X[i], X[j]) <= same[own - 1] for j in kept if j != i)
        total += psi(own) - psi(len(same) + 1) - psi(within)
    return max(psi(n) + total / n, 0.0)
