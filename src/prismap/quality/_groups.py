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

Whether the class b that is nearest to a on the map is the nearest one in the data, too, is known as far as the rows
show it. The squared distance d_ac^2 of two centres is a U-statistic, in which no row is compared with itself. Its error
comes from the influences of the rows, m_ic - m_ia for i in a and m_ja - m_jc for j in c (Hoeffding 1948), by units. So
b is *right* if ``d_ab^2 < 1.2^2 d_ac^2`` for every other class c by more than 1.64 standard errors: with 19 of 20
chances it is the nearest class, or no more than a fifth farther. It is *wrong* if the opposite holds for some c, and
the c that is nearer by most, less 1.64 standard errors, is named as *nearer*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from prismap._util.blocks import row_blocks
from prismap._util.evidence import SIGNIFICANT, error_of_mean
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
    n_groups : number of classes; None in reports of the first version
    n_right : classes whose nearest class on the map is surely the nearest in the data, or a fifth farther at most
    wrong : classes whose nearest class on the map is surely farther, each with that class
    nearer : for each of these a class that is surely nearer to it in the data; () in reports of older versions
    """

    correlation: float
    n_pairs: int
    p_value: float
    n_groups: int | None = None
    n_right: int = 0
    wrong: tuple[tuple[str, str], ...] = ()
    nearer: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "wrong": [list(pair) for pair in self.wrong], "nearer": list(self.nearer)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Arrangement:
        """The inverse of `to_dict`."""
        wrong, nearer = (stored.get(name, ()) for name in ("wrong", "nearer"))
        return cls(**{**stored, "wrong": tuple((of, near) for of, near in wrong), "nearer": tuple(nearer)})


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
    return _centre_distances(squares_to_classes(X, codes, n_classes, metric), codes)


def arrangement(
    X: Any, Y: Any, y: Any, *, groups: Any = None, metric: Any = "euclidean", random_state: Any = 0
) -> Arrangement | None:
    """How far the distances between classes in the map agree with those in the data; None below four classes.

    The p-value is that of Mantel's test: the share of permutations of the classes that agree as well. A class next to
    another one on the map is right or wrong only where the data are sure of it.

    Parameters
    ----------
    X : rows, distances (with ``metric="precomputed"``), or None for the fitted rows of a metric object
    Y : (n, n_components) positions of the same rows
    y : classes; unlabelled rows (-1 beside other codes, None, NaN) are left out
    groups : which rows are not independent of each other: those of one group; None: none
    metric : name, ``"precomputed"`` or a fitted metric object
    random_state : for the permutations

    Returns
    -------
    Arrangement or None : the rank correlation, the number of pairs of classes, the p-value, and for how many classes
        the nearest one on the map is right or wrong.

    Examples
    --------
    >>> X = [[0.0], [1.0], [3.0], [7.0]]
    >>> arrangement(X, X, ["a", "b", "c", "d"]).n_pairs
    6
    """
    classes, codes = encode_classes(y, len(Y))
    n_classes, B = len(classes), class_distances(Y, y)
    squares = squares_to_classes(X, codes, n_classes, metric)
    A = _centre_distances(squares, codes)
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
    np.fill_diagonal(B, np.inf)
    near = B.argmin(axis=1)
    right, nearer = nearest_right(squares, codes, near, None if groups is None else np.asarray(groups))
    wrong = np.flatnonzero(right < 0)
    return Arrangement(
        correlation, len(upper[0]), (1 + as_good) / (1 + N_PERMUTED), n_classes, int((right > 0).sum()),
        tuple((str(classes[g]), str(classes[near[g]])) for g in wrong), tuple(str(classes[nearer[g]]) for g in wrong),
    )  # fmt: skip


def nearest_right(
    squares: np.ndarray, codes: np.ndarray, near: np.ndarray, units: np.ndarray | None = None, farther: float = 1.2
) -> tuple[np.ndarray, np.ndarray]:
    """Whether each class in `near` is the nearest class in the data: 1 if surely, -1 if surely not, else 0, (C,).

    Also, for those that are surely not, a class that surely is nearer, (C,); -1 for the others.

    squares : mean squared distance of each row to the rows of each class, (n, C). units : of the rows. farther : how
    many times as far as the nearest class still counts as the nearest.
    """
    n_classes, sizes = squares.shape[1], np.bincount(codes[codes >= 0], minlength=squares.shape[1])
    members = [np.flatnonzero(codes == c) for c in range(n_classes)]
    right, nearer = np.zeros(n_classes, dtype=int), np.full(n_classes, -1)
    if sizes.min() < 2:
        return right, nearer
    squares = squares.copy()
    known = np.flatnonzero(codes >= 0)
    squares[known, codes[known]] *= sizes[codes[known]] / (sizes[codes[known]] - 1.0)  # no row with itself

    def error(values: np.ndarray, rows: np.ndarray) -> float:
        return error_of_mean(values, None if units is None else units[rows])

    # What the rows of c say about d_ac^2: it is the mean of what those of a and those of c say.
    shown = [squares[rows] - squares[rows, c][:, None] for c, rows in enumerate(members)]
    squared = np.stack([one.mean(axis=0) for one in shown])
    squared = (squared + squared.T) / 2
    errors = np.array([[error(shown[c][:, a], members[c]) for a in range(n_classes)] for c in range(n_classes)])
    for a, b in enumerate(near):
        others = [c for c in range(n_classes) if c not in (a, b)]
        gaps = np.array([squared[a, b] - farther**2 * squared[a, c] for c in others])
        own = np.array([error(shown[a][:, b] - farther**2 * shown[a][:, c], members[a]) for c in others])
        spread = np.sqrt(own**2 + errors[b, a] ** 2 + farther**4 * errors[others, a] ** 2)
        if (gaps < -1.645 * spread).all():  # each of them at 5 %: one that holds by chance does not make it right
            right[a] = 1
        elif (
            gaps > SIGNIFICANT * spread
        ).any():  # one is enough: of twenty equal classes one is often nearer by chance
            right[a], nearer[a] = -1, others[int(np.argmax(gaps - SIGNIFICANT * spread))]
    return right, nearer


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


def _centre_distances(squares: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Distances between the centres of classes, (C, C)."""
    means = _class_means(squares, codes, squares.shape[1])
    within = means.diagonal()
    squared = (means + means.T) / 2 - (within[:, None] + within) / 2
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


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
