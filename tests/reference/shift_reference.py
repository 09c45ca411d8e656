"""What levels shift, feature by feature and row by row: ordinary least squares on indicators, written from the formula.

``x = alpha_g + gamma_b + s_b e``; alpha times ``max(0, 1 - c / F)``, F of the model with groups against that without.
"""

import numpy as np
from scipy.stats import f as f_distribution

PRIOR_ROWS, BY_CHANCE = 10.0, 0.05


def residual_squares(design, x):
    """Sum of squares that a linear model leaves."""
    return float(np.square(x - design @ np.linalg.lstsq(design, x, rcond=None)[0]).sum())


def shrunk_effects(x, levels, groups):
    """alpha of each group for one feature, with mean 0 over the rows."""
    of_levels, of_groups = (np.equal.outer(codes, np.unique(codes)).astype(float) for codes in (levels, groups))
    both = np.hstack([of_levels, of_groups])
    alone, together = residual_squares(of_levels, x), residual_squares(both, x)
    rank = np.linalg.matrix_rank(both) - of_levels.shape[1]
    n_free = len(x) - of_levels.shape[1] - rank
    F = ((alone - together) / rank) / (together / n_free)
    alpha = np.linalg.lstsq(both, x, rcond=None)[0][of_levels.shape[1] :]
    alpha = alpha * max(0.0, 1.0 - f_distribution.isf(BY_CHANCE, rank, n_free) / F)
    return alpha - (of_groups @ alpha).mean()


def without_levels(X, levels, groups):
    """Rows of all features as they would be without their levels."""
    Z = np.empty(X.shape)
    for j, x in enumerate(X.T):
        own = shrunk_effects(x, levels, groups)[groups]
        gamma = {b: (x - own)[levels == b].mean() for b in np.unique(levels)}
        rest = np.array([x[i] - own[i] - gamma[levels[i]] for i in range(len(x))])
        pooled = np.square(rest).mean()
        center = np.mean([gamma[b] for b in levels])
        for i, b in enumerate(levels):
            part = np.square(rest[levels == b])
            scale = np.sqrt((part.sum() + PRIOR_ROWS * pooled) / (len(part) + PRIOR_ROWS) / pooled)
            Z[i, j] = (x[i] - gamma[b]) / scale + center
    return Z
