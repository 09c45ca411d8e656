"""Classes as groups: are they as separate in the map as in the data, and do the groups lie as they do there?

Everything follows from the mean squared distances of rows to classes,

    m_ic = mean of d_ij^2 over the rows j of class c,    w_c = mean of m_ic over the rows i of class c,

since m_ic - w_c / 2 is the squared distance of row i to the centre of class c, and the mean of m_ib over class a less
(w_a + w_b) / 2 is that between two centres. With Euclidean distances both are exact, and any other metric has them too.

    Label-trustworthiness = 1 - mean over pairs of classes of max(s_data - s_map, 0)     (Jeon et al. 2023)
    Label-continuity      = 1 - mean over pairs of classes of max(s_map - s_data, 0)

with s the distance consistency of a pair of classes: the share of their rows that lie nearer to the centre of their own
class, rescaled so that 0 is chance and 1 is perfect. A low label-trustworthiness says that the map merges classes that
are separate in the data, a low label-continuity that it separates classes that are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from prismap._util.blocks import row_blocks
from prismap._util.random import as_generator
from prismap.quality._distances import distance_rows
from prismap.target._labels import check_target_length, encode_classes

#: Pairs of classes from which on their arrangement can be judged: four classes have six.
FEWEST_PAIRS = 6
#: Permutations of the classes behind the p-value of an arrangement.
N_PERMUTED = 999


@dataclass(frozen=True)
class Arrangement:
    """How far the distances between classes in a map agree with those in the data.

    Attributes
    ----------
    correlation : Spearman's rank correlation
    n_pairs : number of pairs of classes
    p_value : that of Mantel's test
    """

    correlation: float
    n_pairs: int
    p_value: float


def label_trustworthiness(X: Any, Y: Any, y: Any, *, metric: Any = "euclidean") -> float:
    """1 if no pair of classes is less separate in the map than in the data; lower where the map merges classes.

    Parameters
    ----------
    X : rows, distances (with ``metric="precomputed"``), or None for the fitted rows of a metric object
    Y : (n, n_components) positions of the same rows
    y : classes; unlabelled rows (-1 beside other codes, None, NaN) are left out
    metric : name, ``"precomputed"`` or a fitted metric object

    Returns
    -------
    float

    Examples
    --------
    >>> X = [[0.0], [0.1], [1.0], [1.1]]
    >>> label_trustworthiness(X, X, ["a", "a", "b", "b"]), label_trustworthiness(X, [[0.0]] * 4, ["a", "a", "b", "b"])
    (1.0, 0.0)
    """
    in_data, in_map = _both(X, Y, y, metric)
    return float(1.0 - np.maximum(in_data - in_map, 0.0).mean())


def label_continuity(X: Any, Y: Any, y: Any, *, metric: Any = "euclidean") -> float:
    """1 if no pair of classes is more separate in the map than in the data; lower if the map separates classes.

    Parameters
    ----------
    X : rows, distances (with ``metric="precomputed"``), or None for the fitted rows of a metric object
    Y : (n, n_components) positions of the same rows
    y : classes; unlabelled rows (-1 beside other codes, None, NaN) are left out
    metric : name, ``"precomputed"`` or a fitted metric object

    Returns
    -------
    float

    Examples
    --------
    >>> X = [[0.0], [0.1], [1.0], [1.1]]
    >>> label_continuity(X, X, ["a", "a", "b", "b"])
    1.0
    """
    in_data, in_map = _both(X, Y, y, metric)
    return float(1.0 - np.maximum(in_map - in_data, 0.0).mean())


def class_separations(X: Any, y: Any, *, metric: Any = "euclidean") -> np.ndarray:
    """Distance consistency of each pair of classes: the share of rows nearer to their own centre, 0 at chance.

    Parameters
    ----------
    X : rows, distances (with ``metric="precomputed"``), or None for the fitted rows of a metric object
    y : classes; unlabelled rows (-1 beside other codes, None, NaN) are left out
    metric : name, ``"precomputed"`` or a fitted metric object

    Returns
    -------
    array (C, C) : values from -1 to 1, and NaN on the diagonal.

    Examples
    --------
    >>> float(class_separations([[0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b"])[0, 1])
    1.0
    """
    codes, n_classes = _codes(y, X)
    squares = squares_to_classes(X, codes, n_classes, metric)
    within = _class_means(squares, codes, n_classes).diagonal()
    to_centre = squares - within / 2
    separate = np.full((n_classes, n_classes), np.nan)
    scale = max(float(np.abs(squares[codes >= 0]).max(initial=0.0)), np.finfo(float).tiny)
    for a in range(n_classes):
        for b in range(a):
            gap = np.concatenate([to_centre[codes == a][:, [b, a]], to_centre[codes == b][:, [a, b]]])
            gap = (gap[:, 0] - gap[:, 1]) / scale
            right = np.where(np.abs(gap) < 1e-12, 0.5, gap > 0)  # as near to one centre as to the other
            separate[a, b] = separate[b, a] = 2.0 * right.mean() - 1.0
    return separate


def class_distances(X: Any, y: Any, *, metric: Any = "euclidean") -> np.ndarray:
    """Distances between the centres of the classes.

    Parameters
    ----------
    X : rows, distances (with ``metric="precomputed"``), or None for the fitted rows of a metric object
    y : classes; unlabelled rows (-1 beside other codes, None, NaN) are left out
    metric : name, ``"precomputed"`` or a fitted metric object

    Returns
    -------
    array (C, C)

    Examples
    --------
    >>> float(class_distances([[0.0], [0.2], [1.0], [1.2]], ["a", "a", "b", "b"])[0, 1].round(6))
    1.0
    """
    codes, n_classes = _codes(y, X)
    means = _class_means(squares_to_classes(X, codes, n_classes, metric), codes, n_classes)
    within = means.diagonal()
    squared = (means + means.T) / 2 - (within[:, None] + within) / 2
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def arrangement(X: Any, Y: Any, y: Any, *, metric: Any = "euclidean", random_state: Any = 0) -> Arrangement | None:
    """How far the distances between classes in the map agree with those in the data; None below four classes.

    The p-value is that of Mantel's test: the share of permutations of the classes that agree as well.

    Parameters
    ----------
    X : rows, distances (with ``metric="precomputed"``), or None for the fitted rows of a metric object
    Y : (n, n_components) positions of the same rows
    y : classes; unlabelled rows (-1 beside other codes, None, NaN) are left out
    metric : name, ``"precomputed"`` or a fitted metric object
    random_state : for the permutations

    Returns
    -------
    Arrangement or None : the rank correlation, the number of pairs of classes, and the p-value.

    Examples
    --------
    >>> X = [[0.0], [1.0], [3.0], [7.0]]
    >>> arrangement(X, X, ["a", "b", "c", "d"]).n_pairs
    6
    """
    A, B = class_distances(X, y, metric=metric), class_distances(Y, y)
    n_classes = len(A)
    upper = np.triu_indices(n_classes, 1)
    if len(upper[0]) < FEWEST_PAIRS:
        return None
    rng, ranks = as_generator(random_state), _centred_ranks(A[upper])
    others = np.zeros_like(B)  # another order of the classes exchanges the ranks of B, so they are found only once
    others[upper] = _centred_ranks(B[upper])
    others += others.T
    correlation = float(ranks @ others[upper])
    orders = (rng.permutation(n_classes) for _ in range(N_PERMUTED))
    as_good = sum(ranks @ others[order[upper[0]], order[upper[1]]] >= correlation - 1e-12 for order in orders)
    return Arrangement(correlation, len(upper[0]), (1 + as_good) / (1 + N_PERMUTED))


def squares_to_classes(X: Any, codes: np.ndarray, n_classes: int, metric: Any = "euclidean") -> np.ndarray:
    """Mean squared distance of each row to the rows of each class, (n, C), a block of rows at a time."""
    source = distance_rows(X, metric, name="X")
    members = np.zeros((len(codes), n_classes))
    members[codes >= 0, codes[codes >= 0]] = 1.0
    sums = np.empty((len(codes), n_classes))
    for part in row_blocks(len(codes), 24.0 * source.n_columns):
        sums[part] = np.square(source.block(np.arange(len(codes))[part])) @ members
    return np.asarray(sums / members.sum(axis=0))


def _class_means(squares: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Mean of the rows of each class, (C, C)."""
    return np.stack([squares[codes == c].mean(axis=0) for c in range(n_classes)])


def _both(X: Any, Y: Any, y: Any, metric: Any) -> tuple[np.ndarray, np.ndarray]:
    """Separations of all pairs of classes, in the data and on the map."""
    pairs = np.tril_indices(_codes(y, Y)[1], -1)
    return class_separations(X, y, metric=metric)[pairs], class_separations(Y, y)[pairs]


def _codes(y: Any, X: Any) -> tuple[np.ndarray, int]:
    """Codes of the classes that have rows, and how many there are."""
    n_rows = np.size(y) if X is None else np.shape(X)[0]
    classes, codes = encode_classes(check_target_length(y, n_rows), n_rows)
    return codes, len(classes)


def _centred_ranks(values: np.ndarray) -> np.ndarray:
    ranks = np.asarray(rankdata(values))
    ranks -= ranks.mean()
    return np.asarray(ranks / max(np.sqrt(ranks @ ranks), np.finfo(float).tiny))
