"""Which of several comparisons of the same objects matter: for a map of them, and for their classes.

For a map the weights are those of `MixtureMetric`, which lower the cost of a map together with its positions. They are
learnt from several starts, because the cost has many minima. The baseline gives every comparison its values back in an
order of its own: each keeps its shape, and they agree on nothing.

For classes the weights are those whose mixture of centred similarities comes nearest to the similarity of the labels,
by least squares and without negative ones (the alignment of Cortes, Mohri and Rostamizadeh, 2012), judged out of fold.
Each similarity is centred and brought to unit size before, so that weights can be compared; this looks at all rows, but
at no label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from scipy.optimize import nnls
from sklearn.svm import SVC

from prismap._util.random import as_generator
from prismap._util.repr import Brief
from prismap._util.validation import check_similarity
from prismap.comparisons import ComparisonMatrix, Objects
from prismap.exceptions import InputError
from prismap.metrics._mixture import MixtureMetric
from prismap.target import make_target, split_rows

# --- for classes ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class ClassMixture(Brief):
    """The mixture that separates classes, and how well, out of fold.

    Attributes
    ----------
    weights : of each similarity by name, on all labelled rows; they sum to 1.
    spread : standard deviation of each weight over the folds.
    permuted : mean weights for permuted labels: a weight that is no larger than this means nothing.
    error : share of rows that a support vector machine on the mixture gets wrong, weights and machine without them.
    alone : the same of each similarity by itself.
    equal : the same of equal weights.
    permuted_error : the same of the mixture for permuted labels.
    """

    weights: dict[str, float]
    spread: dict[str, float]
    permuted: dict[str, float]
    error: float
    alone: dict[str, float]
    equal: float
    permuted_error: float

    def mix(self, similarities: Mapping[str, Any]) -> np.ndarray:
        """The mixture of similarity matrices (n, n) by name, for ``data="similarity"``."""
        _, stacked = stack(similarities)
        return np.tensordot([self.weights[name] for name in similarities], scaled(stacked), 1)


def mixture_for_classes(similarities: Mapping[str, Any], y: Any, *, n_folds: int = 5, random_state: Any = None):
    """Weights of several similarities for classes.

    Parameters
    ----------
    similarities : matrices (n, n) by name, such as ``Objects(compare, "similarity").over(objects).block()``.
    y : classes; rows without one are left out.
    n_folds : each fold is judged by weights and a machine from the others.
    random_state : seed of the folds and of the permuted labels.

    Returns
    -------
    ClassMixture

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> telling, noise = rng.normal(size=(40, 2)) + 3 * y[:, None], rng.normal(size=(40, 2))
    >>> mixture = mixture_for_classes({"telling": telling @ telling.T, "noise": noise @ noise.T}, y, random_state=0)
    >>> mixture.weights["telling"] > 0.9
    True
    """
    names, stacked = stack(similarities)
    target = make_target(y, len(stacked[0]), "class")
    known = target.labelled_rows
    target = target.take(known)
    sizes = np.bincount(target.values)
    if sizes.min() < n_folds:
        raise InputError(
            f"y must hold at least two classes of {n_folds} rows or more; the smallest of {len(sizes)} has "
            f"{int(sizes.min())}. Use fewer n_folds."
        )
    rng = as_generator(random_state)
    codes, kernels = target.values, scaled(stacked)[:, known[:, None], known]
    seed = int(rng.integers(2**31))
    folds = split_rows(len(codes), n_folds, seed, codes)
    of_folds, error = judged(kernels, codes, folds)
    shuffled = target.permuted(rng).values
    of_permuted, permuted_error = judged(kernels, shuffled, split_rows(len(codes), n_folds, seed, shuffled))
    same = np.full(len(names), 1 / len(names))
    singles = [out_of_fold(kernels, codes, folds, [one] * len(folds)) for one in np.eye(len(names))]

    def by_name(values):
        return dict(zip(names, np.asarray(values).tolist(), strict=True))

    return ClassMixture(
        by_name(aligned(kernels, codes)), by_name(np.std(of_folds, axis=0)), by_name(np.mean(of_permuted, axis=0)),
        error, by_name(singles), out_of_fold(kernels, codes, folds, [same] * len(folds)), permuted_error,
    )  # fmt: skip


def stack(similarities):
    """Names and matrices (m, n, n), checked."""
    if not isinstance(similarities, Mapping) or not similarities:
        raise InputError("similarities must be a dictionary of matrices by name, with at least one.")
    stacked = []
    for name, matrix in similarities.items():
        matrix = np.asarray(matrix, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape != np.shape(next(iter(similarities.values()))):
            raise InputError(f"similarities[{name!r}] has shape {matrix.shape}; all must be square and of one size.")
        if not np.isfinite(matrix).all():
            raise InputError(f"similarities[{name!r}] holds values that are not finite.")
        check_similarity(matrix)
        stacked.append(matrix)
    return [str(name) for name in similarities], np.stack(stacked)


def scaled(stacked):
    """Each matrix centred, in the space of its similarity, and of unit size; one without any structure is all zero."""
    rows = stacked.mean(axis=2, keepdims=True)
    centred = stacked - rows - rows.transpose(0, 2, 1) + stacked.mean(axis=(1, 2), keepdims=True)
    size = np.sqrt(np.square(centred).mean(axis=(1, 2), keepdims=True))
    return np.divide(centred, size, out=np.zeros_like(centred), where=size > 1e-12 * np.abs(stacked).max())


def aligned(kernels, codes):
    """Weights without negative ones, summing to 1, whose mixture is nearest to the similarity of the labels."""
    labels = np.eye(codes.max() + 1)[codes]
    labels = labels - labels.mean(axis=0)
    centred = kernels - kernels.mean(axis=1, keepdims=True) - kernels.mean(axis=2, keepdims=True)
    centred = centred + kernels.mean(axis=(1, 2), keepdims=True)
    weights, _ = nnls(centred.reshape(len(kernels), -1).T, (labels @ labels.T).ravel())
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(kernels), 1 / len(kernels))


def judged(kernels, codes, folds):
    """Weights of each fold's training rows, and the error of the rows left out."""
    weights = [aligned(kernels[:, train[:, None], train], codes[train]) for train, _ in folds]
    return weights, out_of_fold(kernels, codes, folds, weights)


def out_of_fold(kernels, codes, folds, weights):
    """Share of rows that a support vector machine on the others gets wrong, by the weights of each fold."""
    wrong = 0
    for (train, test), own in zip(folds, weights, strict=True):
        K = np.tensordot(own, kernels, 1)
        machine = SVC(kernel="precomputed").fit(K[np.ix_(train, train)], codes[train])
        wrong += int((machine.predict(K[np.ix_(test, train)]) != codes[test]).sum())
    return wrong / len(codes)


# --- for a map, and both for objects ----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class ComparisonWeights(Brief):
    """Weights of comparisons for a map.

    Attributes
    ----------
    weights : of each comparison by name, from the start with the lowest cost; they sum to 1. Each comparison is in
        units of its mean over all pairs.
    spread : standard deviation of each weight over the starts.
    permuted : mean weight where the comparisons agree on nothing: a weight no larger than this comes from the shape
        of the comparison's values.
    costs : of the map from each start.
    scales : mean of each comparison over all pairs.
    positions : of the objects on the map with the lowest cost.
    """

    weights: dict[str, float]
    spread: dict[str, float]
    permuted: dict[str, float]
    costs: np.ndarray
    scales: dict[str, float]
    positions: np.ndarray
    comparisons: dict[str, Objects] = field(repr=False)

    def __call__(self, a: Any, b: Any) -> float:
        """The mixture of two objects, for ``Objects(weights, "dissimilarity")``: a map of it places new objects too."""
        terms = (
            self.weights[name] / self.scales[name] * apart(how, a, b)
            for name, how in self.comparisons.items() if self.weights[name]
        )  # fmt: skip
        return max(0.0, sum(terms))


def comparison_weights(
    comparisons: Mapping[str, Any], objects: Any, *, n_starts: int = 5, n_permutations: int = 3,
    random_state: Any = None, **options: Any,
) -> ComparisonWeights:  # fmt: skip
    """Weights of several comparisons of the same objects, learnt together with a map of them.

    Parameters
    ----------
    comparisons : `Objects`, or names of comparisons, by a name of their own. Similarities s count by their distance
        ``sqrt(s(a, a) + s(b, b) - 2 s(a, b))``.
    objects : list of objects that all comparisons take.
    n_starts, n_permutations : starts of the weights, and of the baseline, each with a random state of its own.
    random_state : seed.
    **options : parameters of `MixtureMetric`, such as ``cost`` or ``allow_negative`` (False by default here).

    Returns
    -------
    ComparisonWeights

    See Also
    --------
    comparison_weights_for_classes : the same for classes.
    prismap.inspection.ComparisonDisplay : the weights as bars.

    References
    ----------
    I. Rice (2016), Improved data visualisation through multiple dissimilarity modelling, section 4.

    Examples
    --------
    >>> words = [stem + end for stem in ("house", "garden", "winter") for end in ("", "s", "y", "er", "ed", "ing")]
    >>> shape = Objects(lambda a, b: abs(len(a) - len(b)), "dissimilarity")
    >>> mixture = comparison_weights({"letters": "edit", "length": shape}, words, n_starts=2, random_state=0)
    >>> sorted(mixture.weights), round(sum(mixture.weights.values()), 6)
    (['length', 'letters'], 1.0)
    """
    hows = checked(comparisons)
    objects = list(objects)
    rng = as_generator(random_state)
    matrices = [distances(how, objects) for how in hows.values()]
    options = {"allow_negative": False, "init": "random", "n_init": 1, **options}

    def learnt(parts):
        metric = MixtureMetric(parts, random_state=int(rng.integers(2**31)), **options)
        return metric.fit(np.arange(len(objects)))

    starts = [learnt(matrices) for _ in range(n_starts)]
    shuffled = []
    for _ in range(n_permutations):
        orders = [rng.permutation(len(objects)) for _ in matrices]
        shuffled.append(learnt([D[np.ix_(order, order)] for D, order in zip(matrices, orders, strict=True)]))
    costs = np.array([one.stress_ for one in starts])
    best = starts[int(costs.argmin())]

    def by_name(values):
        return dict(zip(hows, np.asarray(values, dtype=float).tolist(), strict=True))

    return ComparisonWeights(
        by_name(best.weights_), by_name(np.std([one.weights_ for one in starts], axis=0)),
        by_name(np.mean([one.weights_ for one in shuffled], axis=0)), costs, by_name(best.scales_), best.positions_,
        hows,
    )  # fmt: skip


def comparison_weights_for_classes(
    comparisons: Mapping[str, Any], objects: Any, y: Any, *, n_folds: int = 5, random_state: Any = None
) -> ClassMixture:
    """Weights of several comparisons of the same objects for their classes, judged out of fold.

    Parameters
    ----------
    comparisons : `Objects`, or names of comparisons, by a name of their own. Similarities count as they are,
        dissimilarities by a Gaussian kernel whose width is their median.
    objects, y : list of objects that all comparisons take, and their classes.
    n_folds : each fold is judged by weights and a machine from the others.
    random_state : seed of the folds and of the permuted labels.

    Returns
    -------
    ClassMixture : weights with their spread over folds, beside permuted labels, and the errors of held-out objects.

    Examples
    --------
    >>> words, kind = ["aab", "aba", "baa", "ccd", "cdc", "dcc"] * 5, [0, 0, 0, 1, 1, 1] * 5
    >>> mixture = comparison_weights_for_classes({"edits": "edit", "bytes": "compression"}, words, kind, random_state=0)
    >>> sorted(mixture.weights)
    ['bytes', 'edits']
    """
    objects = list(objects)
    kernels = {}
    for name, how in checked(comparisons).items():
        kernel = "gaussian" if how.kind == "dissimilarity" else "values"
        kernels[name] = ComparisonMatrix(how, kernel=kernel).fit_transform(objects)
    return mixture_for_classes(kernels, y, n_folds=n_folds, random_state=random_state)


def checked(comparisons: Any) -> dict[str, Objects]:
    """Comparisons by name, at least two."""
    if not isinstance(comparisons, Mapping) or len(comparisons) < 2:
        raise InputError("comparisons must be a dictionary of at least two, by name.")
    return {str(name): how if isinstance(how, Objects) else Objects(how) for name, how in comparisons.items()}


def distances(how: Objects, objects: list[Any]) -> np.ndarray:
    """Dissimilarities between all objects."""
    values = how.over(objects).block()
    if how.kind == "dissimilarity":
        return values
    own = np.diag(values)
    D = np.sqrt(np.maximum(own[:, None] + own - 2 * values, 0.0))
    np.fill_diagonal(D, 0.0)
    return D


def apart(how: Objects, a: Any, b: Any) -> float:
    """The dissimilarity of two objects."""
    named = how.comparison
    compare: Any = how.compare if named is None else lambda x, z: named(named.prepared(x), named.prepared(z))
    if how.kind == "dissimilarity":
        return float(compare(a, b))
    return sqrt(max(0.0, compare(a, a) + compare(b, b) - 2 * compare(a, b)))
