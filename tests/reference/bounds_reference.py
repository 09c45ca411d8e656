"""Relevance bounds by the papers' own programs: slow, one general solver call a bound."""

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
