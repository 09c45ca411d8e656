"""What the levels of a column shift: rows as they would be without that column, at the same target.

Of a column that is known and of no interest (a batch) with levels b, and of a target in groups g (classes, or bins of a
number), each feature is taken apart into ``x = alpha_g + gamma_b + s_b e`` and a row becomes

    z = (x - gamma_b) / s_b + mean(gamma).

The effect alpha of the target is estimated inside levels only: rows are centred in their level, and alpha are the
coefficients of the groups (Frisch and Waugh 1933). A plain centring per level (alpha = 0) would take the target away
with the level wherever the two go together, and put classes of different levels on each other. The least-squares
alpha (Johnson, Li and Rabinovic 2007, sec. 3) lets its own error in, which shows the level as if it were the target
where few rows tell the two apart (Nygaard, Roedland and Hovig 2016). So alpha is shrunk feature by feature, by

    max(0, 1 - c / F),

where F compares the variance that the groups explain inside levels with what is left, and c is the value that F exceeds
by chance in one of twenty features. What may be chance inside levels counts for the level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as f_distribution

from prismap._util.arrays import Numbers, Rows
from prismap.target import Target, read_levels

#: The share of features in which chance alone would keep some of the target's effect.
BY_CHANCE = 0.05
#: Rows that the spread over all levels counts for, beside those of the level.
PRIOR_ROWS = 10.0


@dataclass(frozen=True, eq=False)
class LevelShift:
    """What is subtracted from the rows of each level, and what they are then divided by: (levels, features) each."""

    offsets: NDArray[Any]
    scales: NDArray[Any]

    def apply(self, rows: NDArray[Any], levels: Rows) -> NDArray[Any]:
        """Rows without what their levels shift, each by itself."""
        return np.asarray((rows - self.offsets[levels]) / self.scales[levels])


def fit_shift(rows: NDArray[Any], target: Target) -> LevelShift | None:
    """What the levels of the target's rows shift; None where there is one level, or none is given."""
    if target.n_levels < 2:
        return None
    X, levels, groups = rows.astype(np.float64), target.levels, group_codes(target)
    alpha = target_effects(X, levels, groups)
    own = np.vstack([alpha, np.zeros(X.shape[1])])[groups]  # that of an unlabelled row is the mean, which is 0
    gamma = level_means(X, levels, target.n_levels) - level_means(own, levels, target.n_levels)
    scales = level_scales(X - gamma[levels] - own, levels, target.n_levels)
    center = gamma[levels].mean(axis=0)
    return LevelShift((gamma - center * scales).astype(rows.dtype), scales.astype(rows.dtype))


def without_shift(rows: Any, target: Target) -> Any:
    """Rows without what their levels shift; as they are where there is one level, or none is given."""
    shift = fit_shift(rows, target)
    return rows if shift is None else shift.apply(rows, target.levels)


def without_levels(rows: Any, target: Target, given: Any) -> Any:
    """The same with the levels as a user gives them, or None."""
    if given is None:
        return rows
    levels, codes = read_levels(given, len(target))
    return without_shift(rows, target.inside(codes, len(levels)))


def group_codes(target: Target) -> Rows:
    """The group of each row: numbered without gaps, -1 where it has no target."""
    groups = target.groups
    codes = np.full(len(groups), -1, dtype=np.intp)
    codes[groups >= 0] = np.unique(groups[groups >= 0], return_inverse=True)[1]
    return codes


def level_means(X: Numbers, levels: Rows, n_levels: int) -> Numbers:
    """Means (levels, features) of the values that are there; where a level has none, those of all rows."""
    sums, counts = totals(np.nan_to_num(X), levels, n_levels), totals(~np.isnan(X), levels, n_levels)
    overall = sums.sum(axis=0) / np.maximum(counts.sum(axis=0), 1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), overall)


def totals(X: NDArray[Any], codes: Rows, n_codes: int) -> Numbers:
    """Sums (codes, features) of rows of the same code."""
    sums = np.zeros((n_codes, X.shape[1]))
    for code in range(n_codes):
        sums[code] = X[codes == code].sum(axis=0)
    return sums


def target_effects(X: Numbers, levels: Rows, groups: Rows) -> Numbers:
    """alpha (groups, features), whose mean over the labelled rows is 0: the shrunk effect of the target inside levels.

    A missing value counts as the mean of its level, which shrinks a little more. Levels that share no group with others
    cannot be compared with them at the same target: the solution of least norm takes all that they differ in for the
    level's.
    """
    known = groups >= 0
    X, levels, groups = X[known], np.unique(levels[known], return_inverse=True)[1], groups[known]
    n_groups, n_levels = int(groups.max(initial=-1)) + 1, int(levels.max(initial=-1)) + 1
    if n_groups < 2:
        return np.zeros((n_groups, X.shape[1]))
    inside = np.nan_to_num(X - level_means(X, levels, n_levels)[levels])
    cells = np.zeros((n_levels, n_groups))
    np.add.at(cells, (levels, groups), 1.0)
    products = np.diag(cells.sum(axis=0)) - cells.T @ (cells / cells.sum(axis=1, keepdims=True))
    sums = totals(inside, groups, n_groups)
    alpha = np.linalg.pinv(products, hermitian=True) @ sums
    rank = int(np.linalg.matrix_rank(products, hermitian=True))
    alpha *= kept_share((alpha * sums).sum(axis=0), np.square(inside).sum(axis=0), rank, len(X) - n_levels - rank)
    return np.asarray(alpha - cells.sum(axis=0) @ alpha / len(X))


def kept_share(explained: Numbers, total: Numbers, rank: int, n_free: int) -> Numbers:
    """``max(0, 1 - c / F)`` of each feature; 0 where nothing is known."""
    if rank < 1 or n_free < 1:
        return np.zeros_like(total)
    left = np.maximum(total - explained, np.finfo(np.float64).eps * total)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (left / n_free) / (explained / rank)  # 1 / F
    limit = float(f_distribution.isf(BY_CHANCE, rank, n_free))
    return np.where(explained > 0, np.maximum(0.0, 1.0 - limit * ratio), 0.0)


def level_scales(residuals: Numbers, levels: Rows, n_levels: int) -> Numbers:
    """Spreads (levels, features) over that of all levels, drawn towards 1 as if `PRIOR_ROWS` more rows had it."""
    squares = totals(np.square(np.nan_to_num(residuals)), levels, n_levels)
    counts = totals(~np.isnan(residuals), levels, n_levels)
    pooled = squares.sum(axis=0) / np.maximum(counts.sum(axis=0), 1)
    variances = (squares + PRIOR_ROWS * pooled) / (counts + PRIOR_ROWS)
    return np.sqrt(np.where(pooled > 0, variances / np.where(pooled > 0, pooled, 1.0), 1.0))
